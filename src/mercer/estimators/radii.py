"""From calibration scores to the radius of each new set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Items, count
from .prediction_sets import row_weights, weighted_quantile


def settled_radii(
    sets: Any, X: Items, names: list | None, scores: np.ndarray, labels: np.ndarray
) -> Any:
    """What `radii_at` needs: a quantile of the scores of calibration pairs, groups counting alike.

    One number; a dictionary by category (Mondrian sets); an array over the candidates for
    by="class"; for inputs to come of another distribution (weighted conformal prediction) the
    sorted scores, and what calibration pairs up to each of them weigh.
    """
    if sets.shift is not None:
        weights, order = (
            density_ratios(sets.shift, X) / np.bincount(labels)[labels],
            np.argsort(scores),
        )
        return scores[order], np.cumsum(weights[order])
    if names is None:
        return float(weighted_quantile(scores, row_weights(labels), sets.level_))
    found = {}
    for name in dict.fromkeys(names):
        rows = np.array([other == name for other in names])
        own = np.unique(labels[rows], return_inverse=True)[1]
        found[name] = float(weighted_quantile(scores[rows], row_weights(own), sets.level_))
    if sets.by != "class":
        return found
    return np.array([found.get(i, np.inf) for i in range(len(sets.shape_.number))])


def radii_at(sets: Any, X: Items) -> np.ndarray:
    """The radius of each input, infinite in a category that was not seen.

    With by="class" one row an input, one column a candidate.
    """
    if sets.shift is not None:
        # The new input itself weighs too, with a score of infinity.
        scores, reached = sets.radii_
        wanted = sets.level_ * (reached[-1] + density_ratios(sets.shift, X))
        return np.append(scores, np.inf)[np.searchsorted(reached, wanted * (1 - 1e-12))]
    if isinstance(sets.radii_, dict):
        return np.array([sets.radii_.get(name, np.inf) for name in categories(sets.by, X)])
    return np.broadcast_to(sets.radii_, (count(X), *np.shape(sets.radii_)))


def categories(by: Callable[[Items], Any], X: Items) -> list:
    """The category of each input, as `by` names it."""
    names = [name.item() if isinstance(name, np.generic) else name for name in by(X)]
    if len(names) != count(X):
        raise ValueError(
            f"by must return one category for each of the {count(X)} inputs, got {len(names)}."
        )
    return names


def density_ratios(shift: Callable[[Items], Any], X: Items) -> np.ndarray:
    """How much likelier each input is among those to come, as `shift` tells."""
    weights = np.asarray(shift(X), dtype=float)
    if weights.shape != (count(X),) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            f"shift must return a weight ≥ 0 for each of the {count(X)} inputs: how much likelier "
            f"it is among the inputs to come; got an array of shape {weights.shape}."
        )
    return weights


def fewest_groups(names: list | None, labels: np.ndarray) -> int:
    """The number of groups in the smallest category."""
    if names is None:
        return int(labels.max()) + 1
    pairs = set(zip(names, labels.tolist(), strict=True))
    return min(Counter(name for name, _ in pairs).values())
