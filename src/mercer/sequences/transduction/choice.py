"""The choice of a setting on pairs left out of the fit."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..._progress import Steps
from .calibration import left_out_accuracy
from .setting import Setting
from .task import Task

PAIRS = 3600
"""Pairs that settings are tried on; a third of them is left out."""
STEPS: dict[str, tuple] = {
    "max_chunk": (-1, 2),
    "decay": (0.7, 1.4),
    "alpha": (0.4, 2.5),
    "radius": (-1, 2),
    "history": (-1, 1),
}
"""What is tried from where the search stands: factors of numbers, differences of whole numbers."""
LEAST = {"max_chunk": 1, "radius": 1, "history": 0}


def best_setting(
    task: Task, setting: Setting, steps: Steps
) -> tuple[Setting, list[tuple[dict, float]]]:
    """Return the setting with the most exact matches, and all that were tried.

    Parameters are changed one at a time, each from the best so far. A setting replaces the best
    only where it is ahead by one pair in three hundred: smaller leads are mostly chance.
    """
    sample = _sample(task)
    if len(np.unique(sample.labels)) < 6:
        return setting, []
    known: dict[Setting, float] = {}

    def tried(each: Setting) -> float:
        if each not in known:
            known[each] = _accuracy(sample, each, steps)
        return known[each]

    top = tried(setting)
    for name in ("direction", *STEPS):
        for other in variants(setting, name):
            if tried(other) > top + 1 / 300:
                setting, top = other, tried(other)
    return setting, [(asdict(each), accuracy) for each, accuracy in known.items()]


def _sample(task: Task) -> Task:
    """Whole groups of pairs, drawn until there are enough."""
    rng = np.random.default_rng(task.model.random_state)
    groups = rng.permutation(int(task.labels.max()) + 1)[task.labels]
    return task.take(np.sort(np.argsort(groups, kind="stable")[:PAIRS]))


def _accuracy(task: Task, setting: Setting, steps: Steps) -> float:
    """The share of exact matches on a third of the pairs, learnt from the rest."""
    pairs = task.aligned(setting, unalignable="skip")
    return left_out_accuracy(task.model, pairs, len(task.X), steps)


def variants(setting: Setting, name: str) -> list[Setting]:
    """Return the settings beside one that differ in one parameter."""
    now = getattr(setting, name)
    values: Any
    if name == "direction":
        values = {"forward": ["backward"], "backward": ["forward"]}.get(now, [])
    elif name in LEAST:
        values = [max(now + step, LEAST[name]) for step in STEPS[name]]
    else:
        most = 0.95 if name == "decay" else np.inf
        values = [min(now * step, most) for step in STEPS[name]]
    return [replace(setting, **{name: value}) for value in values]
