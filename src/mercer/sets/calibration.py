"""Calibrate prediction sets: on pairs held out, or by jackknife+ on left-out predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._base.arrays import Items
from .._base.errors import NotSupported
from ..embedding import Embedding
from ..estimators.fitted import Fitted
from ..estimators.ridge import RidgeEstimator
from .around import AroundScore
from .certificate import (
    Certificate,
    jackknife_certificate,
    loss_certificate,
    note_if_too_few_groups,
    pool_certificate,
)
from .lists import as_loss, controlled_radius, loss_steps, risk_at
from .radii import CategoryRadii, EqualRadii, Radii, ShiftedRadii, categories, radii_by_category
from .scales import LeftOutScales, Scale
from .scores import CandidateScore, LeftOutScores, ListScore, Score
from .views import View
from .weights import fewest_groups, row_weights, weighted_quantile


class HeldPairs(NamedTuple):
    """The calibration pairs: inputs, predicted points, outputs and group numbers."""

    X: Items
    points: Any
    y: Items
    labels: np.ndarray


class CalibrationResult(NamedTuple):
    """Calibrated sets with their certificate and their coverage of the calibration outputs.

    Attributes
    ----------
    sets, certificate
        The sets, and the level that they are proven to reach.
    coverage, outside
        The fraction of the calibration outputs that their sets hold, and that no set can hold.
    notes
        What the user is to be warned of.
    """

    sets: HeldOutSets | JackknifeSets
    certificate: Certificate
    coverage: float
    outside: float
    notes: tuple[str, ...] = ()


# -- on pairs held out ----------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldOutSets:
    """Prediction sets whose radii are calibrated on pairs that the model was not fitted on."""

    view: View
    score: Score
    scale: Scale | None
    radii: Radii

    @property
    def radius(self) -> float:
        """The radius if it is the same for all inputs, else NaN."""
        return self.radii.one

    def predict(self, X: Items, extras: dict[str, Any]) -> Sequence:
        """Return the set of outputs within the radius of each input; `extras` go to the model."""
        scale = None if self.scale is None else self.scale.at(X)
        return self.score.sets(self.view.embed(X, **extras), self.radii.at(X), scale)


def calibrate_by_miss(
    view: View,
    score: Score,
    scale: Scale | None,
    pairs: HeldPairs,
    level: float,
    by: Any,
    shift: Any,
) -> CalibrationResult:
    """Choose radii so that a set misses the true output with probability at most 1 - level."""
    X, points, y, labels = pairs
    scores = score.scores(points, y, None if scale is None else scale.at(X))
    names = _categories(score, by, X, y)
    radii = _calibrated_radii(score, by, shift, X, scores, names, labels, level)
    certificate = pool_certificate(score, level, scores, labels)
    notes = [note_if_too_few_groups(level, fewest_groups(names, labels))]
    notes += [certificate.reason] if np.isinf(scores).any() else []
    sets = HeldOutSets(view, score, scale, radii)
    return _calibration_result(sets, certificate, scores, score.own_radii(radii.at(X), y), notes)


def _calibration_result(
    sets: HeldOutSets | JackknifeSets,
    certificate: Certificate,
    scores: np.ndarray,
    radii: np.ndarray,
    notes: list[str],
) -> CalibrationResult:
    """Return calibrated sets with the fraction of calibration scores within their radii."""
    inside = float(np.mean((scores <= radii) & np.isfinite(scores)))
    outside = float(np.isinf(scores).mean())
    return CalibrationResult(sets, certificate, inside, outside, tuple(filter(None, notes)))


def _categories(score: Score, by: Any, X: Items, y: Items) -> list | None:
    """Return the category of each calibration pair by the function `by`; None without one."""
    if by is None:
        return None
    if by != "class":
        return categories(by, X)
    if not isinstance(score, CandidateScore):
        raise ValueError('by="class" is for lists out of one pool: use kind="candidates".')
    return score.numbers_of(y).tolist()


def _calibrated_radii(
    score: Score,
    by: Any,
    shift: Any,
    X: Items,
    scores: np.ndarray,
    names: list | None,
    labels: np.ndarray,
    level: float,
) -> Radii:
    """Return the radii: one for all, by category, by class, or for shifted inputs."""
    if (names is not None or shift is not None) and scores.ndim > 1:
        raise ValueError('by= and shift= are for one score an output: use kind="band".')
    if shift is not None:
        return ShiftedRadii.of(shift, X, scores, labels, level)
    if names is None:
        return EqualRadii.of(scores, labels, level)
    found = radii_by_category(scores, names, labels, level)
    if not isinstance(score, CandidateScore) or by != "class":
        return CategoryRadii(by, found)
    return EqualRadii(np.array([found.get(i, np.inf) for i in range(len(score.number))]))


def calibrate_by_loss(
    view: View, score: Score, pairs: HeldPairs, level: float, loss: Any
) -> CalibrationResult:
    """Choose the radius so that the best listed output has an expected loss ≤ 1 - level."""
    if not isinstance(score, ListScore):
        raise ValueError('loss= is for lists of outputs: use kind="candidates".')
    found = loss_steps(score, pairs.points, pairs.y, as_loss(loss))
    radius = controlled_radius(found, row_weights(pairs.labels), 1.0 - level)
    risk = float(np.mean(risk_at(found, radius)))
    sets = HeldOutSets(view, score, None, EqualRadii(radius))
    certificate = loss_certificate(1.0 - level, risk, radius)
    return CalibrationResult(
        sets, certificate, 1.0 - risk, 0.0, tuple(filter(None, [certificate.reason]))
    )


# -- by jackknife+ --------------------------------------------------------------------------------


@dataclass(frozen=True)
class JackknifeSets:
    """Prediction sets by jackknife+, from the models that leave out each group.

    Attributes
    ----------
    model, fitted
        The model, and its solution prepared for leaving groups out.
    score, scale
        The score, and a scale that is the same for all left-out models; None for none.
    posterior
        Whether scores are in posterior deviations of the left-out models.
    held
        The scores of the left-out training outputs.
    """

    model: Any
    fitted: Fitted
    score: Any
    scale: Scale | None
    posterior: bool
    held: LeftOutScores
    radius: ClassVar[float] = float("nan")

    def predict(self, X: Items, extras: dict[str, Any]) -> Sequence:
        """Return a set for each input that contains its jackknife+ set; `extras` are unused."""
        checked = self.model._check_inputs(self.model.input_kernel_, X, reset=False)
        points, moves = self.fitted.embed(checked), self.fitted.moves(checked)
        scales: Any = None
        if self.posterior:
            scales = LeftOutScales(self.fitted, self.score.by_location).at(checked)
        elif self.scale is not None:
            scales = self.scale.at(X)[:, None].__getitem__
        return self.score.moved_sets(points, moves, self.held, scales)


def left_out_points(model: RidgeEstimator) -> Embedding:
    """Return the left-out points of a model; refuse one without closed-form left-out models."""
    fitted = model.fitted_
    try:
        if fitted.want.judge != "closed":
            raise NotSupported(f"loss={model.loss_} is judged by refits")
        next(fitted.moves(fitted.problem.inputs.items))
        return fitted.left_out_points()
    except NotSupported as error:
        raise ValueError(
            f'calibration="jackknife+" has no closed form for {model.kernel_} with '
            f'loss={model.loss_}: use calibration="split".'
        ) from error


def calibrate_left_out(
    model: RidgeEstimator,
    score: Score,
    scale: Scale | None,
    posterior: bool,
    pairs: HeldPairs,
    level: float,
) -> CalibrationResult:
    """Calibrate jackknife+ sets on the left-out predictions of all training pairs.

    Parameters
    ----------
    model
        The fitted model.
    score, scale, posterior
        As in `JackknifeSets`.
    pairs
        All pairs, with left-out points.
    level
        The coverage.
    """
    X, points, y, labels = pairs
    unit = None if scale is None else scale.at(X)
    if posterior and isinstance(score, AroundScore):
        unit = LeftOutScales(model.fitted_, score.by_location).at_training_inputs(score.scale.shape)
    held = LeftOutScores(score.scores(points, y, unit), row_weights(labels), level)
    radius = weighted_quantile(np.moveaxis(held.scores, 0, -1), held.weights, level)
    stated = pool_certificate(score, max(0.0, 2.0 * level - 1.0), held.scores, labels)
    certificate = jackknife_certificate(model, score, scale, stated)
    notes = [note_if_too_few_groups(level, fewest_groups(None, labels))]
    notes += [stated.reason] if np.isinf(held.scores).any() else []
    notes += [certificate.reason] if certificate is not stated else []
    sets = JackknifeSets(model, model.fitted_, score, scale, posterior, held)
    return _calibration_result(sets, certificate, held.scores, radius, notes)
