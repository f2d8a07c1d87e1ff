"""Radii of sets that are calibrated on held-out pairs: quantiles of their scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Items, count
from .lists import CandidateScore
from .scores import Score
from .weights import (
    column_quantiles,
    row_mass,
    row_weights,
    rows_by_category,
    weighted_quantile,
)


@dataclass(frozen=True)
class Radii:
    """The same radius for all inputs, or one for each category of inputs (Mondrian sets).

    Attributes
    ----------
    radius
        A number, or one for each candidate or location; with `by` a dictionary from categories to
        numbers. New categories have infinite radii.
    by
        A function that returns the category of each input.
    """

    radius: Any
    by: Callable[[Items], Any] | None = None

    @classmethod
    def of(cls, scores: np.ndarray, labels: np.ndarray, level: float) -> Radii:
        """Return radii: the weighted quantile at `level` of each column of scores."""
        found = column_quantiles(scores, row_weights(labels), level)
        return cls(found if found.ndim else float(found))

    def at(self, X: Items) -> np.ndarray:
        """Return one radius for each input, or a row with one for each candidate or location."""
        if self.by is None:
            return np.broadcast_to(self.radius, (count(X), *np.shape(self.radius)))
        return np.array([self.radius.get(name, np.inf) for name in categories(self.by, X)])


def category_radii(
    by: Callable[[Items], Any] | str,
    score: Score,
    X: Items,
    y: Items,
    scores: np.ndarray,
    labels: np.ndarray,
    level: float,
) -> tuple[list, Radii]:
    """Return the category of each calibration pair (X, y), and the radius of each category.

    Parameters
    ----------
    by
        A function of inputs; or "class", for which the categories are the candidates of `score`.
    scores, labels
        The scores and the groups of the calibration pairs.
    level
        The coverage within each category.
    """
    if callable(by):
        names = categories(by, X)
        return names, Radii(_quantiles_by_category(scores, names, labels, level), by)
    if not isinstance(score, CandidateScore):
        raise ValueError('by="class" is for lists out of one pool: use kind="candidates".')
    names = score.numbers_of(y).tolist()
    found = _quantiles_by_category(scores, names, labels, level)
    every = range(count(score.outputs))
    return names, Radii(np.array([found.get(number, np.inf) for number in every]))


def _quantiles_by_category(
    scores: np.ndarray, names: list, labels: np.ndarray, level: float
) -> dict[Any, float]:
    """Return the weighted quantile at `level` of the calibration scores of each category."""
    _refuse_scores_by_location(scores)
    return {
        name: float(weighted_quantile(scores[rows], row_weights(labels, rows), level))
        for name, rows in rows_by_category(names).items()
    }


def _refuse_scores_by_location(scores: np.ndarray) -> None:
    """Raise an error if an output has several scores, one for each location."""
    if scores.ndim > 1:
        raise ValueError('by= and shift= are for one score an output: use kind="band".')


@dataclass(frozen=True)
class ShiftedRadii:
    """Radii for inputs from another distribution, by weighted conformal prediction.

    Attributes
    ----------
    shift
        The density ratio of inputs.
    scores, cumulative
        The sorted calibration scores, and the cumulative weights of their rows.
    level
        The coverage.
    """

    shift: Callable[[Items], Any]
    scores: np.ndarray
    cumulative: np.ndarray
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
        """Return radii from calibration scores, weighted by density ratios `shift(X)`."""
        _refuse_scores_by_location(scores)
        weights, order = density_ratios(shift, X) * row_mass(labels), np.argsort(scores)
        return cls(shift, scores[order], np.cumsum(weights[order]), level)

    def at(self, X: Items) -> np.ndarray:
        """Return for each input the weighted quantile of the calibration scores and infinity.

        Infinity stands for the unknown score of the input itself.
        """
        needed = self.level * (self.cumulative[-1] + density_ratios(self.shift, X))
        return np.append(self.scores, np.inf)[
            np.searchsorted(self.cumulative, needed * (1 - 1e-12))
        ]


def categories(by: Callable[[Items], Any], X: Items) -> list:
    """Return the category `by(X)` of each input as a list; check that inputs have one each."""
    names = [name.item() if isinstance(name, np.generic) else name for name in by(X)]
    if len(names) != count(X):
        raise ValueError(
            f"by must return one category for each of the {count(X)} inputs, got {len(names)}."
        )
    return names


def density_ratios(shift: Callable[[Items], Any], X: Items) -> np.ndarray:
    """Return `shift(X)`, checked: density of new inputs over that of training inputs."""
    weights = np.asarray(shift(X), dtype=float)
    if weights.shape != (count(X),) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            f"shift must return a weight ≥ 0 for each of the {count(X)} inputs: how much likelier "
            f"it is among the inputs to come; got an array of shape {weights.shape}."
        )
    return weights
