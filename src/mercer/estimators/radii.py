"""From calibration scores to the radius of each new set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Items, count
from .prediction_sets import row_weights, weighted_quantile


@dataclass(frozen=True)
class OneRadius:
    """The same radius for every input."""

    radius: float

    def at(self, X: Items) -> np.ndarray:
        """One radius an input."""
        return np.full(count(X), self.radius)


@dataclass(frozen=True)
class RadiusByCategory:
    """A radius for each category of inputs (Mondrian sets); infinite for one that is not known."""

    by: Callable[[Items], Any]
    radii: dict

    def at(self, X: Items) -> np.ndarray:
        """The radius of each input's category."""
        return np.array([self.radii.get(name, np.inf) for name in categories(self.by, X)])


@dataclass(frozen=True)
class RadiusByClass:
    """A radius for each candidate: that of the calibration examples with this output."""

    radii: np.ndarray

    def at(self, X: Items) -> np.ndarray:
        """One row an input, one column a candidate."""
        return np.broadcast_to(self.radii, (count(X), len(self.radii)))


@dataclass(frozen=True)
class ShiftedRadius:
    """Weighted conformal prediction: inputs to come have another distribution than those seen.

    The radius at x is the quantile of the calibration scores weighted by `shift`, the new input
    itself with a score of infinity.
    """

    shift: Callable[[Items], Any]
    scores: np.ndarray
    reached: np.ndarray
    level: float

    @classmethod
    def of(
        cls, shift: Any, X: Items, scores: np.ndarray, labels: np.ndarray, level: float
    ) -> ShiftedRadius:
        """Sort the scores, and add their weights up; rows of a group share its weight."""
        weights = density_ratios(shift, X) / np.bincount(labels)[labels]
        order = np.argsort(scores)
        return cls(shift, scores[order], np.cumsum(weights[order]), level)

    def at(self, X: Items) -> np.ndarray:
        """The weighted quantile for each input."""
        wanted = self.level * (self.reached[-1] + density_ratios(self.shift, X))
        place = np.searchsorted(self.reached, wanted * (1 - 1e-12))
        return np.append(self.scores, np.inf)[place]


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


def radii_by_name(names: list, scores: np.ndarray, labels: np.ndarray, level: float) -> dict:
    """The quantile of the scores of each name, groups counting alike."""
    found = {}
    for name in dict.fromkeys(names):
        rows = np.array([other == name for other in names])
        own = np.unique(labels[rows], return_inverse=True)[1]
        found[name] = float(weighted_quantile(scores[rows], row_weights(own), level))
    return found


def radii_of(
    sets: Any, X: Items, names: list | None, scores: np.ndarray, labels: np.ndarray
) -> OneRadius | RadiusByCategory | RadiusByClass | ShiftedRadius:
    """What gives the radius of an input, as `ConformalSets` were asked to settle it."""
    if sets.shift is not None:
        return ShiftedRadius.of(sets.shift, X, scores, labels, sets.level_)
    if names is None:
        return OneRadius(float(weighted_quantile(scores, row_weights(labels), sets.level_)))
    found = radii_by_name(names, scores, labels, sets.level_)
    if sets.by != "class":
        return RadiusByCategory(sets.by, found)
    pool = range(len(sets.shape_.number))
    return RadiusByClass(np.array([found.get(i, np.inf) for i in pool]))


def fewest_groups(names: list | None, labels: np.ndarray) -> int:
    """The number of groups in the smallest category."""
    if names is None:
        return int(labels.max()) + 1
    pairs = {(name, group) for name, group in zip(names, labels.tolist(), strict=True)}
    sizes: dict[Any, int] = {}
    for name, _ in pairs:
        sizes[name] = sizes.get(name, 0) + 1
    return min(sizes.values())
