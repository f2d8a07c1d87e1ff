"""Conformal risk control: lists whose best output has a bounded expected loss."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.arrays import Items, count, object_array, one
from ..metrics import edit_distance, hamming_accuracy, sample_f1
from .lists import ListScore

Losses = Callable[[Items, Items], np.ndarray]
"""A function from true and predicted outputs to the losses of all pairs."""


def normalised_edits(y_true: Items, y_pred: Items) -> np.ndarray:
    """Return the edit distance of each pair, divided by the length of the longer sequence."""
    lengths = [max(len(a), len(b), 1) for a, b in zip(y_true, y_pred, strict=True)]
    return edit_distance(y_true, y_pred, average=False) / np.array(lengths)


NAMED_LOSSES: dict[str, Losses] = {
    "f1": lambda a, b: 1.0 - sample_f1(a, b, average=False),
    "hamming": lambda a, b: 1.0 - hamming_accuracy(a, b, average=False),
    "edit": normalised_edits,
}
"""The losses that have names."""


def as_loss(loss: Any) -> Losses:
    """Return the loss function with a given name; return a function unchanged."""
    if not callable(loss) and loss not in NAMED_LOSSES:
        raise ValueError(f"loss must be one of {tuple(NAMED_LOSSES)} or a function, got {loss!r}.")
    return loss if callable(loss) else NAMED_LOSSES[loss]


def loss_steps(
    score: ListScore, points: Any, y: Items, loss: Losses
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each point the radii at which its list grows, and the least loss in each list."""
    return [
        (gaps, np.minimum.accumulate(_losses_of(loss, one(y, i), outputs)))
        for i, (gaps, outputs) in enumerate(score.ranked(points))
    ]


def _losses_of(loss: Losses, y: Any, outputs: Items) -> np.ndarray:
    """Return the loss of each of the outputs, given the true output y."""
    n = count(outputs)
    array = isinstance(outputs, np.ndarray) and outputs.dtype != object
    truth = np.broadcast_to(np.asarray(y), (n, *np.shape(y))) if array else object_array([y] * n)
    values = np.asarray(loss(truth, outputs), dtype=float)
    if values.shape != (n,) or not ((values >= -1e-12) & (values <= 1 + 1e-12)).all():
        raise ValueError("loss must return a value from 0 to 1 for each pair of outputs.")
    return values


def risk_at(steps: list[tuple[np.ndarray, np.ndarray]], radius: float) -> np.ndarray:
    """Return for each example the least loss in its list at a radius, given its `loss_steps`."""
    return np.array(
        [least[np.searchsorted(gaps, radius, side="right") - 1] for gaps, least in steps]
    )


def controlled_radius(
    steps: list[tuple[np.ndarray, np.ndarray]], weights: np.ndarray, bound: float
) -> float:
    """Return the least radius at which the expected loss of the best listed output is ≤ bound.

    `steps` has the `loss_steps` of the calibration examples, and `weights` their weights. The new
    example, which has the remaining weight, has a loss of 1. The radius is infinite if the bound
    cannot be reached. The risk falls as lists grow, so that bisection finds the radius.

    References
    ----------
    Angelopoulos, Bates, Fisch, Lei, Schuster: Conformal risk control (ICLR 2024).
    """
    radii = np.unique(np.concatenate([gaps[np.isfinite(gaps)] for gaps, _ in steps]))
    spare = 1.0 - float(weights.sum())

    def within(radius: float) -> bool:
        """Return whether the expected loss at a radius is at most the bound."""
        return float(weights @ risk_at(steps, radius)) + spare <= bound + 1e-12

    least = bisect_left(radii, True, key=within)
    return float(radii[least]) if least < len(radii) else np.inf
