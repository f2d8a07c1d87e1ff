"""Statistics of rows that count as often as their sample weights say."""

from __future__ import annotations

import numpy as np

MAX_REPEATED_ROWS = 10**6
"""The largest sum of integer weights for which each row is repeated as often as its weight."""


def standard_error(values: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, float]:
    """Return the weighted mean of values, and the standard error of this mean."""
    mean = float(np.average(values, weights=weights))
    variance = float(np.average((values - mean) ** 2, weights=weights))
    number = len(values) if weights is None else float(weights.sum())
    return mean, (variance / number) ** 0.5


def exceeds_standard_error(gains: np.ndarray, weights: np.ndarray | None = None) -> bool:
    """Return whether the weighted mean of the gains of rows exceeds its standard error."""
    mean, error = standard_error(gains, weights)
    return mean > error


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """Return the median of values, each counted as often as its weight says."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    half = cumulative[-1] / 2.0
    low, high = (np.searchsorted(cumulative, half, side=side) for side in ("left", "right"))
    return float(values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2.0


def are_counts(weights: np.ndarray) -> bool:
    """Return whether weights are integers, and few enough to repeat each row that often."""
    return bool((weights == np.round(weights)).all()) and weights.sum() <= MAX_REPEATED_ROWS


def repeat_by_weight(weights: np.ndarray) -> np.ndarray:
    """Return example indices, each repeated in proportion to the weight of the example.

    Weights that are not integers are rounded to quarters of the mean weight.
    """
    repetitions = weights if are_counts(weights) else 4.0 * weights / weights.mean()
    return np.repeat(np.arange(len(weights)), np.maximum(1, np.round(repetitions).astype(int)))
