"""The choice of a setting on pairs left out of the fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..._progress import Steps
from .calibration import Trial
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


@dataclass(frozen=True)
class Choice:
    """Tries settings one parameter at a time, each from the best so far.

    Attributes
    ----------
    task
        What is to be learnt.
    steps
        Who is told of the trials.
    """

    task: Task
    steps: Steps

    def best(self, setting: Setting) -> tuple[Setting, list[tuple[dict, float]]]:
        """Return the setting with the most exact matches, and all that were tried.

        A setting replaces the best so far only where it is ahead by one pair in three hundred:
        smaller leads are mostly chance.
        """
        sample = self._sample()
        if len(np.unique(sample.labels)) < 6:
            return setting, []
        trials: list[tuple[dict, float]] = []

        def tried(each: Setting) -> float:
            for known, accuracy in trials:
                if known == asdict(each):
                    return accuracy
            accuracy = self._accuracy(sample, each)
            trials.append((asdict(each), accuracy))
            return accuracy

        top = tried(setting)
        for name in ("direction", *STEPS):
            for other in variants(setting, name):
                accuracy = tried(other)
                if accuracy > top + 1 / 300:
                    setting, top = other, accuracy
        return setting, trials

    def _sample(self) -> Task:
        """Whole groups of pairs, drawn until there are enough."""
        rng = np.random.default_rng(self.task.model.random_state)
        groups = rng.permutation(int(self.task.labels.max()) + 1)[self.task.labels]
        order = np.argsort(groups, kind="stable")[:PAIRS]
        return self.task.take(np.sort(order))

    def _accuracy(self, task: Task, setting: Setting) -> float:
        """The share of exact matches on a third of the pairs, learnt from the rest."""
        ready = replace(task, unalignable="skip").ready(setting)
        trial = Trial(task.model, ready.pairs, ready.ridge, self.steps)
        return trial.accuracy(task.labels[ready.keep], len(task.X))


def variants(setting: Setting, name: str) -> list[Setting]:
    """Return the settings beside one that differ in one parameter."""
    now = getattr(setting, name)
    values: list[Any]
    if name == "direction":
        values = {"forward": ["backward"], "backward": ["forward"]}.get(now, [])
    elif name in LEAST:
        values = [max(now + step, LEAST[name]) for step in STEPS[name]]
    else:
        most = 0.95 if name == "decay" else np.inf
        values = [min(now * step, most) for step in STEPS[name]]
    changes: list[dict[str, Any]] = [{name: value} for value in values]
    return [replace(setting, **change) for change in changes]
