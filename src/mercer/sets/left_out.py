"""Prediction sets around a fitted model, from its own left-out predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from .._base.arrays import Items
from ..embedding import Embedding
from ..estimators.blend import Blend
from ..estimators.left_out_points import LeftOutPoints
from ..estimators.pairs import group_labels
from .around import BandScore, IntervalScore
from .checks import checked_fraction
from .scores import CandidateScore, Score
from .shapes import in_output_form
from .weights import row_weights, weighted_quantile


@dataclass(frozen=True)
class LeftOutSets:
    """Bands and lists of any coverage, calibrated on the left-out predictions of a fitted model.

    Nothing is fitted again, and the coverage is chosen when predicting. The level is about what is
    requested and is *not* proven: left-out models hold what was chosen on all examples, and what
    they lack of the model itself is not added (`ConformalSets` does both).

    Attributes
    ----------
    model
        A fitted model with left-out points: `KernelDependency`, `KernelDependencyCV`,
        `ForestDependency`, `Blend`.
    score
        Bands for vectors and curves, lists of candidates for other outputs.
    scores, weights
        The score of every left-out prediction, and its weight.
    intervals, each
        For vectors and curves the score of single values, and those of left-out predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependencyCV
    >>> from mercer.sets import LeftOutSets, set_columns
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> Y = np.hstack([np.sin(6 * X), np.cos(6 * X)])
    >>> sets = LeftOutSets.of(KernelDependencyCV().fit(X, Y))
    >>> set_columns(sets.predict(X[:1], coverage=0.9), ["sin", "cos"]).keys()
    dict_keys(['sin lower', 'sin upper', 'cos lower', 'cos upper'])
    """

    model: Any
    score: Score
    scores: np.ndarray
    weights: np.ndarray
    intervals: IntervalScore | None = None
    each: np.ndarray | None = None

    @classmethod
    def of(cls, model: Any, groups: Items | None = None, intervals: bool = True) -> LeftOutSets:
        """Calibrate the sets on the left-out predictions of a fitted model.

        Parameters
        ----------
        model
            The fitted model.
        groups
            A label for each training example; examples of a group count as one together. None for
            the groups that the model left out (of a `Blend`, which leaves folds out, none).
        intervals
            Whether intervals of single values are needed too. They keep a number for each value of
            each training output.
        """
        if not isinstance(model, LeftOutPoints):
            raise TypeError(
                f"{type(model).__name__} has no left-out predictions to calibrate sets on: fit "
                "ConformalSets around it."
            )
        return cls.calibrated(model, groups, intervals)

    @classmethod
    def calibrated(cls, model: Any, groups: Items | None, intervals: bool = True) -> LeftOutSets:
        """Calibrate the sets on the left-out points of a model, or of one field of a record."""
        points, y = model.loo_embed(), model.outputs_
        left_out = np.unique(np.asarray(points.left_out), return_inverse=True)[1]
        known = groups is not None or isinstance(model, Blend)
        weights = row_weights(group_labels(groups, len(left_out)) if known else left_out)
        if not model.output_kernel_.predicts_directly:
            lists = CandidateScore(model, None, left_out)
            return cls(model, lists, lists.scores(points, y), weights)
        bands = BandScore(model, points, y)
        if not intervals:
            return cls(model, bands, bands.scores(points, y), weights)
        each = IntervalScore(model, points, y)
        return cls(model, bands, bands.scores(points, y), weights, each, each.scores(points, y))

    def predict(self, X: Items, coverage: float = 0.9, joint: bool = True) -> Sequence:
        """Return the sets of new inputs: `Bands`, or lists of outputs, nearest first.

        Parameters
        ----------
        X
            Inputs, as the model takes them.
        coverage
            The probability that a set holds the truth.
        joint
            Whether a band holds all values of an output together. If False, the interval of each
            value holds that value with this probability. Lists are the same either way.
        """
        return self.sets_of(self.model.embed(X), coverage, joint)

    def sets_of(self, points: Embedding, coverage: float, joint: bool) -> Sequence:
        """Return the sets around predicted points, for all values jointly or for each value."""
        score, scores, level = self.score, self.scores, self._checked_coverage(coverage)
        if not joint and not score.lists:
            if self.intervals is None or self.each is None:
                raise ValueError("joint=False needs sets that were made with intervals=True.")
            score, scores = self.intervals, self.each
        radius = weighted_quantile(np.moveaxis(scores, 0, -1), self.weights, level)
        found = score.sets(points, np.broadcast_to(radius, (len(points), *radius.shape)))
        return in_output_form(found, self.model)

    def _checked_coverage(self, coverage: Any) -> float:
        """Return the coverage; raise an error if there are too few groups for it."""
        level = checked_fraction(coverage, "coverage")
        if self.weights.sum() < level - 1e-12:
            groups = round(1.0 / (1.0 - self.weights.sum())) - 1
            raise ValueError(
                f"{groups} rows or groups are too few for coverage {coverage}: need at least "
                f"{ceil(level / (1.0 - level) - 1e-9)}."
            )
        return level
