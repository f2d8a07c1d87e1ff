"""How well a predicted set matches a true one, from their overlap: one place for three formulas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Overlap = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]
"""From the number of labels in both, in the prediction, in the truth, and of all labels."""


def f1(both: np.ndarray, predicted: np.ndarray, true: np.ndarray, labels: int) -> np.ndarray:
    """Return 2|y ∩ ŷ| / (|y| + |ŷ|), 1 for two empty sets."""
    total = predicted + true
    return np.where(total > 0, 2.0 * both / np.maximum(total, 1), 1.0)


def hamming(both: np.ndarray, predicted: np.ndarray, true: np.ndarray, labels: int) -> np.ndarray:
    """Return the fraction of labels that are correctly in or out."""
    return 1.0 - (predicted + true - 2 * both) / labels


def subset(both: np.ndarray, predicted: np.ndarray, true: np.ndarray, labels: int) -> np.ndarray:
    """Return 1 where the sets are equal, else 0."""
    return ((both == predicted) & (both == true)).astype(float)


OVERLAPS: dict[str, Overlap] = {"f1": f1, "hamming": hamming, "subset": subset}
