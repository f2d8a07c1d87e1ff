"""How well a predicted set matches a true one, from their overlap: one place for three formulas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Overlap = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]
"""From the number of labels in both, in the prediction, in the truth, and of all labels."""


def f1(both: np.ndarray, predicted: np.ndarray, true: np.ndarray, labels: int) -> np.ndarray:
    """Return the F1 score 2|y ∩ ŷ| / (|y| + |ŷ|) of label sets; 1 for two empty sets.

    The arguments are the sizes of the intersection, of the predicted set and of the true set.
    """
    total = predicted + true
    return np.where(total > 0, 2.0 * both / np.maximum(total, 1), 1.0)


def hamming(both: np.ndarray, predicted: np.ndarray, true: np.ndarray, labels: int) -> np.ndarray:
    """Return the Hamming accuracy of label sets from their sizes and the size of the overlap."""
    return 1.0 - (predicted + true - 2 * both) / labels


def subset(both: np.ndarray, predicted: np.ndarray, true: np.ndarray, labels: int) -> np.ndarray:
    """Return 1 where the predicted set equals the true set, else 0, from sizes and overlaps."""
    return ((both == predicted) & (both == true)).astype(float)


OVERLAPS: dict[str, Overlap] = {"f1": f1, "hamming": hamming, "subset": subset}
