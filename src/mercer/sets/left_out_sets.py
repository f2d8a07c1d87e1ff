"""Prediction sets around a fitted model, from its own left-out predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._base.arrays import Items, count, take
from .._base.checks import Limits
from ..decoders.records import Field, check_fields, fields_of
from ..embedding import Embedding
from ..estimators.left_out_points import LeftOutPoints
from ..estimators.pairs import group_labels
from ..kernels import Kernel
from .forms import in_output_form
from .lists import CandidateScore
from .parameters import checked_fraction, require_groups
from .row_weights import column_quantiles, row_weights
from .scores import BandScore


@dataclass(frozen=True)
class LeftOutSets:
    """Bands and lists of any coverage, calibrated on the left-out predictions of a fitted model.

    Nothing is fitted again, and the coverage is chosen when predicting. Training outputs with
    missing values do not count. The level is about what is requested and is *not* proven: left-out
    models hold what was chosen on all examples, and what they lack of the model itself is not added
    (`ConformalSets` does both).

    Attributes
    ----------
    model
        A fitted model with left-out points: `KernelDependency`, `KernelDependencyCV`,
        `ForestDependency`, `Blend`. None for the sets of one field in `RecordSets`.
    score
        Bands for vectors and curves, lists of candidates for other outputs.
    scores, weights
        The score of every left-out prediction, and its weight.
    unit
        The unit of these scores at each location of a band; None for lists.
    each
        For vectors and curves the errors of left-out predictions at each location, which intervals
        of single values are made of.

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
    score: BandScore | CandidateScore
    scores: np.ndarray
    weights: np.ndarray
    unit: np.ndarray | None = None
    each: np.ndarray | None = None

    @classmethod
    def of(
        cls, model: LeftOutPoints, groups: Items | None = None, intervals: bool = True
    ) -> LeftOutSets:
        """Return sets for a fitted model, calibrated on its left-out predictions.

        Parameters
        ----------
        model
            The fitted model.
        groups
            A label for each training example; examples of a group count as one together. None for
            the groups that the model left out.
        intervals
            Whether intervals of single values are needed too. They keep a number for each value of
            each training output.
        """
        if not isinstance(model, LeftOutPoints):
            raise TypeError(
                f"{type(model).__name__} has no left-out predictions to calibrate sets on: fit "
                "ConformalSets around it."
            )
        points, y = model.loo_embed(), model.outputs_
        labels, known = _calibration_groups(points, groups), model._known_coordinates()
        if known is not None:  # filled-in values say nothing about errors
            rows = np.flatnonzero(known.all(axis=1))
            if not len(rows):
                raise ValueError(
                    "no training output has all of its values, on which sets are calibrated: fit "
                    "records, and use RecordSets for one set for each field."
                )
            points, y, labels = points[rows], take(y, rows), labels[rows]
        sets = cls.calibrated(model.output_kernel_, y, points, labels, intervals)
        return replace(sets, model=model)

    @classmethod
    def calibrated(
        cls, kernel: Kernel, y: Items, points: Embedding, labels: np.ndarray, intervals: bool = True
    ) -> LeftOutSets:
        """Return sets calibrated on left-out points of outputs y, with group `labels`.

        `intervals` is that of `of`.
        """
        weights = row_weights(labels, sample_weight=points.sample_weight)
        if not kernel.predicts_directly:
            score = CandidateScore(kernel, y, labels=_left_out_groups(points))
            return cls(None, score, score.scores(points, y), weights)
        band = BandScore.of(kernel, y)
        unit, each = band.typical_errors(points, y), band.errors(points, y)
        scores = (each / unit).max(axis=1)
        return cls(None, band, scores, weights, unit, each if intervals else None)

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
        return in_output_form(self.sets_of(self.model.embed(X), coverage, joint), self.model)

    def sets_of(self, points: Embedding, coverage: float, joint: bool) -> Sequence:
        """Return the sets around predicted points, for all values jointly or for each value."""
        level = checked_fraction(coverage, "coverage")
        require_groups(level, round(1.0 / (1.0 - self.weights.sum())) - 1)
        score, scores, unit = self.score, self.scores, self.unit
        if not joint and isinstance(score, BandScore):
            if self.each is None:
                raise ValueError("joint=False needs sets that were made with intervals=True.")
            score, scores, unit = replace(score, joint=False), self.each, None
        radius = column_quantiles(scores, self.weights, level) * (1.0 if unit is None else unit)
        return score.sets(points, np.broadcast_to(radius, (len(points), *radius.shape)))


def _calibration_groups(points: Embedding, groups: Items | None) -> np.ndarray:
    """Return the group number of each training example, whose group counts as one example.

    Without `groups`, these are the groups that the model left out together.
    """
    return _left_out_groups(points) if groups is None else group_labels(groups, len(points))


def _left_out_groups(points: Embedding) -> np.ndarray:
    """Return for each left-out point the number of the group that its model left out."""
    return np.unique(np.asarray(points.left_out), return_inverse=True)[1]


def _known_rows(model: LeftOutPoints, field: Field) -> np.ndarray:
    """Return the numbers of the training examples in which a field is known."""
    known = model._known_coordinates()
    if known is None or field.columns is None:
        return np.arange(count(model.outputs_))
    return np.flatnonzero(known[:, field.columns[0]])


@dataclass(frozen=True)
class RecordSets:
    """Prediction sets for each field of records, calibrated on left-out predictions.

    Attributes
    ----------
    model
        The fitted model of records.
    fields : dict
        The fields, by name.
    sets : dict
        The sets of each field, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF, Delta, Linear, On
    >>> from mercer.sets import RecordSets
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> y = {"height": X[:, 0] ** 2, "side": np.where(X[:, 0] < 0.5, "left", "right")}
    >>> kernel = On("height", Linear()) + On("side", Delta())
    >>> sets = RecordSets.of(KernelDependency(RBF(0.3), kernel, alpha=1e-3).fit(X, y))
    >>> sets.predict(X[:1], coverage=0.8)["side"] == [["left"]]
    True
    """

    model: Any
    fields: dict[Any, Field]
    sets: dict[Any, LeftOutSets]

    def check_loaded(self, limits: Limits) -> None:
        """Check loaded sets: each column of the features of records belongs to one field."""
        check_fields(self.fields)

    @classmethod
    def of(
        cls,
        model: LeftOutPoints,
        groups: Items | None = None,
        known: Mapping[Any, np.ndarray] | None = None,
    ) -> RecordSets:
        """Return sets for each field, calibrated on the left-out predictions of a fitted model.

        Parameters
        ----------
        model
            The fitted model.
        groups : array-like, default=None
            A label for each training example; examples of a group count as one together.
        known : dict, default=None
            The training examples in which each field is known; None for those that the model knows.
        """
        fields = fields_of(model.output_kernel_, model.outputs_)
        if not fields:
            raise TypeError(f"{model.output_kernel_} is not a sum of kernels on fields.")
        points = model.loo_embed()
        labels = _calibration_groups(points, groups)
        sets = {}
        for name, field in fields.items():
            rows = _known_rows(model, field) if known is None else known[name]
            y = field.values(take(model.outputs_, rows))
            own = field.points(points[rows])
            sets[name] = LeftOutSets.calibrated(field.kernel, y, own, labels[rows])
        return cls(model, fields, sets)

    def predict(self, X: Items, coverage: float = 0.9, joint: bool = True) -> dict[Any, Any]:
        """Return the prediction sets of new inputs as a dictionary by field name.

        Parameters
        ----------
        X : items
            Inputs, as the model takes them.
        coverage : float, default=0.9
            The probability that a set holds the truth.
        joint : bool, default=True
            Whether the sets of all fields hold the truth together with this probability, by
            Bonferroni's inequality. If False, the sets of each field do.
        """
        points, level = self.model.embed(X), checked_fraction(coverage, "coverage")
        level = 1.0 - (1.0 - level) / len(self.fields) if joint else level
        return {
            name: sets.sets_of(self.fields[name].points(points), level, joint)
            for name, sets in self.sets.items()
        }
