"""Radii of prediction sets: one for all, one for each category or candidate, or under a shift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Items, count
from .weights import category_weights, row_mass, row_weights, rows_by_category, weighted_quantile


class Radii:
    """Base class of the radii of prediction sets."""

    one = float("nan")
    """The radius if all inputs have the same, else NaN."""

    def at(self, X: Items) -> np.ndarray:
        """Return one radius for each input, or a row with one for each candidate or location."""
        raise NotImplementedError


@dataclass(frozen=True)
class EqualRadii(Radii):
    """The same radius for all inputs: a number, or one for each candidate or location."""

    radius: Any

    @classmethod
    def of(cls, scores: np.ndarray, labels: np.ndarray, level: float) -> EqualRadii:
        """Return the weighted quantile at `level` of each column of the calibration scores."""
        found = weighted_quantile(np.moveaxis(scores, 0, -1), row_weights(labels), level)
        return cls(found if found.ndim else float(found))

    @property
    def one(self) -> float:  # type: ignore[override]
        """The radius if it is a single number, else NaN."""
        return self.radius if isinstance(self.radius, float) else float("nan")

    def at(self, X: Items) -> np.ndarray:
        """Return the common radius, repeated for each input."""
        return np.broadcast_to(self.radius, (count(X), *np.shape(self.radius)))


@dataclass(frozen=True)
class CategoryRadii(Radii):
    """A radius for each category of inputs (Mondrian sets); infinite for new categories."""

    by: Callable[[Items], Any]
    found: dict[Any, float]

    def at(self, X: Items) -> np.ndarray:
        """Return the radius of the category of each input."""
        return np.array([self.found.get(name, np.inf) for name in categories(self.by, X)])


def radii_by_category(
    scores: np.ndarray, names: list, labels: np.ndarray, level: float
) -> dict[Any, float]:
    """Return the quantile at `level` of the calibration scores of each category."""
    return {
        name: float(weighted_quantile(scores[rows], category_weights(labels, rows), level))
        for name, rows in rows_by_category(names).items()
    }


@dataclass(frozen=True)
class ShiftedRadii(Radii):
    """Radii for inputs from another distribution, by weighted conformal prediction.

    Attributes
    ----------
    shift
        The density ratio of inputs.
    scores, reached
        The sorted calibration scores, and the weight of the rows up to each of them.
    level
        The coverage.
    """

    shift: Callable[[Items], Any]
    scores: np.ndarray
    reached: np.ndarray
    level: float

    @classmethod
    def of(
        cls,
        shift: Callable[[Items], Any],
        X: Items,
        scores: np.ndarray,
        labels: np.ndarray,
        level: float,
    ) -> ShiftedRadii:
        """Weight the calibration scores by the density ratios `shift(X)`, and return the radii."""
        weights, order = density_ratios(shift, X) * row_mass(labels), np.argsort(scores)
        return cls(shift, scores[order], np.cumsum(weights[order]), level)

    def at(self, X: Items) -> np.ndarray:
        """Return the quantile of scores for each input, whose own score counts as infinite."""
        needed = self.level * (self.reached[-1] + density_ratios(self.shift, X))
        return np.append(self.scores, np.inf)[np.searchsorted(self.reached, needed * (1 - 1e-12))]


def categories(by: Callable[[Items], Any], X: Items) -> list:
    """Return the category `by(X)` of each input, as a checked list."""
    names = [name.item() if isinstance(name, np.generic) else name for name in by(X)]
    if len(names) != count(X):
        raise ValueError(
            f"by must return one category for each of the {count(X)} inputs, got {len(names)}."
        )
    return names


def density_ratios(shift: Callable[[Items], Any], X: Items) -> np.ndarray:
    """Return `shift(X)`, the density of new inputs over that of training inputs, checked."""
    weights = np.asarray(shift(X), dtype=float)
    if weights.shape != (count(X),) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            f"shift must return a weight ≥ 0 for each of the {count(X)} inputs: how much likelier "
            f"it is among the inputs to come; got an array of shape {weights.shape}."
        )
    return weights
