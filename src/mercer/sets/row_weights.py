"""Weights of calibration rows, under which all groups have equal weight, and weighted quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np


def row_mass(labels: np.ndarray, sample_weight: np.ndarray | None = None) -> np.ndarray:
    """Return for each row its share of its group, given group numbers and sample weights.

    Without sample weights it is 1 / (the number of rows in the group).
    """
    w = np.ones(len(labels)) if sample_weight is None else sample_weight
    return w / np.bincount(labels, w)[labels]


def row_weights(
    labels: np.ndarray,
    rows: np.ndarray | slice = slice(None),
    sample_weight: np.ndarray | None = None,
) -> np.ndarray:
    """Return the calibration weights of all rows, or of the rows of one category.

    Each of K groups has the weight 1 / (K + 1), divided among its rows by their sample weights,
    or equally. The remaining weight 1 / (K + 1) is that of the new group, whose score is unknown.

    A new example is a random row of a new group. Within a category, the weight of a group is
    proportional to the fraction of its rows in that category, so that the weight of a row is
    proportional to 1 / (size of its whole group). The new group has weight one, the largest
    possible weight, before all weights are normalised.
    """
    mass = row_mass(labels, sample_weight)[rows]
    return mass / (mass.sum() + 1.0)


def rows_by_category(names: list) -> dict[Any, np.ndarray]:
    """Return a dictionary from each category to the numbers of its rows."""
    found: dict[Any, list[int]] = {}
    for row, name in enumerate(names):
        found.setdefault(name, []).append(row)
    return {name: np.array(rows) for name, rows in found.items()}


def fewest_groups(names: list | None, labels: np.ndarray) -> float:
    """Return the least number of groups in a category; a split group counts in fractions.

    `names` has the category of each row; None for a single category.
    """
    mass = row_mass(labels)
    if names is None:
        return float(mass.sum())
    return min(float(mass[rows].sum()) for rows in rows_by_category(names).values())


def weighted_quantile(scores: np.ndarray, weights: np.ndarray, level: float) -> np.ndarray:
    """Return the smallest score such that scores up to it have at least `level` of the weight.

    The quantile is taken along the last axis. It is infinite if the total weight is below `level`.
    """
    order = np.argsort(scores, axis=-1)
    ranked = np.take_along_axis(scores, order, axis=-1)
    # A tolerance: 18 / 20 of the weight is nine tenths, whatever rounding says.
    enough = np.cumsum(weights[order], axis=-1) >= level - 1e-12
    first = np.argmax(enough, axis=-1)
    found = np.take_along_axis(ranked, first[..., None], axis=-1)[..., 0]
    return np.where(enough.any(axis=-1), found, np.inf)


def column_quantiles(scores: np.ndarray, weights: np.ndarray, level: float) -> np.ndarray:
    """Return the weighted quantile of calibration scores, of each column if there are several."""
    return weighted_quantile(np.moveaxis(scores, 0, -1), weights, level)


def fraction_upper_bound(
    outside: np.ndarray, labels: np.ndarray, confidence: float = 0.95
) -> float:
    """Return an upper confidence bound on the probability that `outside` is true for a new row.

    It is the bound of Clopper and Pearson over groups; a group counts as outside if one of its rows
    is. `labels` are the groups of the rows.
    """
    from scipy.stats import beta  # slow to import, not always needed

    groups = np.unique(labels)
    hit = len(np.unique(labels[outside]))
    return 1.0 if hit == len(groups) else float(beta.ppf(confidence, hit + 1, len(groups) - hit))
