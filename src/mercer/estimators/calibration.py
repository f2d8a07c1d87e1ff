"""Fit the model behind prediction sets, and settle how large the sets are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._arrays import Items
from ..embedding import Embedding
from ..solvers import Refused
from ..spaces import LabelSets
from .adaptive import LeftOutScales, Scales, left_out_errors, residual_scale
from .any_model import as_points, fit_parameters
from .guarantees import seen_before, stated_level, unproven, warn_if_few
from .list_summaries import as_loss, controlled_radius, risk_at, steps
from .pairs import rows_of
from .prediction_sets import (
    categories,
    fewest_groups,
    radii_at,
    row_weights,
    settled_radii,
    weighted_quantile,
)
from .probabilities import Probabilities
from .set_shapes import AroundShape, BandShape, CandidateShape, shape_of

# -- on pairs held out ----------------------------------------------------------------------------


def fit_split(sets: Any, X: Items, y: Items, labels: np.ndarray) -> None:
    """Fit on some of the groups, and calibrate on the others."""
    names = check_random_state(sets.random_state).permutation(labels.max() + 1)
    kept = sets._kept(len(names))
    if len(names) - kept < 2:
        raise ValueError(
            f"{len(names)} groups are too few to hold {kept} of them out: use "
            'calibration="jackknife+".'
        )
    out = np.isin(labels, names[:kept])
    held, rest = np.flatnonzero(out), np.flatnonzero(~out)
    X_rest, y_rest = rows_of(X, rest), rows_of(y, rest)
    _fit_model(sets, X_rest, y_rest, labels[rest])
    sets.jackknife_ = None
    sets.shape_ = shape_of(sets, sets.view_.embed(X_rest))
    sets.scaling_ = _scaling(sets, X_rest, y_rest, labels[rest])
    own = np.unique(labels[held], return_inverse=True)[1]
    _calibrate(sets, rows_of(X, held), sets._outputs(rows_of(y, held)), own)


def _fit_model(sets: Any, X: Items, y: Items, labels: np.ndarray, left_out: bool = False) -> None:
    grouped = labels if len(np.unique(labels)) < len(labels) else None
    model = clone(sets.model)
    if left_out:
        model._wants_left_out = True
    sets.model_ = model.fit(X, y, **fit_parameters(sets.model, grouped))
    if left_out:
        del model._wants_left_out
    sets.view_ = as_points(sets.model_, y)


def _scaling(sets: Any, X: Items, y: Items, labels: np.ndarray) -> Any:
    """A model of how hard inputs are; None where residuals are not asked."""
    band = sets.scale not in ("auto", "flat") and _is_band(sets)
    if sets.scale != "residual":
        return None
    own = np.unique(labels, return_inverse=True)[1]
    errors = left_out_errors(clone(sets.model), sets.view_, X, y, own, band)
    return residual_scale(sets.view_, errors, X, own, sets.level_, sets.shape_.scale)


def _is_band(sets: Any) -> bool:
    if not isinstance(sets.shape_, AroundShape):
        raise ValueError(f'scale="{sets.scale}" is for balls and bands, not for lists.')
    return isinstance(sets.shape_, BandShape)


def _calibrate(sets: Any, X: Items, y: Items, labels: np.ndarray) -> None:
    """Settle the radii on pairs that the model has not seen."""
    points = sets.view_.embed(X)
    sets.labels_ = _label_probabilities(sets, points, y)
    if sets.loss is not None:
        _control(sets, points, y, labels)
        return
    scores = sets.shape_.scores(points, y, sets._scale_at(X))
    names = _names(sets, X, y)
    sets.radii_ = settled_radii(sets, X, names, scores, labels)
    sets.radius_ = sets.radii_ if isinstance(sets.radii_, float) else float("nan")
    radii = radii_at(sets, X)
    if radii.ndim == 2:  # one for each candidate
        radii = radii[np.arange(len(scores)), np.array(names)]
    sets.empirical_coverage_ = float(np.mean((scores <= radii) & np.isfinite(scores)))
    warn_if_few(sets.coverage, fewest_groups(names, labels))
    level = float(sets.coverage)
    sets.proven_coverage_, sets.outside_ = stated_level(sets.shape_, level, scores, labels)


def _label_probabilities(sets: Any, points: Any, y: Items) -> Probabilities | None:
    """The probabilities of labels where lists hold label sets, else None."""
    kernel = sets.view_.output_kernel_
    labels = isinstance(kernel.space, LabelSets) and hasattr(kernel.multiple.kernel, "classes_")
    lists = isinstance(sets.shape_, CandidateShape)
    return Probabilities(kernel).fit(points, y) if labels and lists else None


def _names(sets: Any, X: Items, y: Items) -> list | None:
    """The category of each calibration pair; None where all are calibrated together."""
    if sets.by is None:
        return None
    if sets.by != "class":
        return categories(sets.by, X)
    if not isinstance(sets.shape_, CandidateShape):
        raise ValueError('by="class" is for lists out of one pool: use kind="candidates".')
    return sets.shape_.known(y, sets.view_.output_kernel_.space).tolist()


def _control(sets: Any, points: Any, y: Items, labels: np.ndarray) -> None:
    """Settle the radius by the expected loss of the best output in a list."""
    if isinstance(sets.shape_, AroundShape):
        raise ValueError('loss= is for lists of outputs: use kind="candidates".')
    found = steps(sets.shape_, points, y, as_loss(sets.loss))
    bound = 1.0 - float(sets.coverage)
    sets.radii_ = sets.radius_ = controlled_radius(found, row_weights(labels), bound)
    risk = float(np.mean(risk_at(found, sets.radius_)))
    sets.empirical_coverage_, sets.outside_ = 1.0 - risk, 0.0
    sets.proven_coverage_ = float(sets.coverage)
    if not np.isfinite(sets.radius_):
        sets.proven_coverage_ = unproven(
            f"the expected loss cannot be brought under {bound:.3g}, and proven_coverage_ is NaN: "
            f"lists of all candidates have {risk:.3g} on the calibration pairs. Give more "
            "candidates= or more pairs."
        )


# -- by jackknife+ --------------------------------------------------------------------------------


def fit_jackknife(sets: Any, X: Items, y: Items, labels: np.ndarray) -> None:
    """Fit on all pairs, and calibrate on left-out predictions."""
    _fit_model(sets, X, y, labels, left_out=True)
    # The model and the sets share one factorisation.
    sets.model_.fitted_ = sets.jackknife_ = sets.model_.fitted_.leaving_out(labels)
    points = _left_out_points(sets)
    sets.shape_ = shape_of(sets, points, labels)
    sets.labels_ = _label_probabilities(sets, points, sets.model_.outputs_)
    scale = _left_out_scale(sets, X, y, labels)
    sets.scores_ = sets.shape_.scores(points, sets.model_.outputs_, scale)
    sets.weights_ = row_weights(labels)
    radius = weighted_quantile(sets.scores_, sets.weights_, sets.coverage)
    met = (sets.scores_ <= radius) & np.isfinite(sets.scores_)
    sets.empirical_coverage_ = float(np.mean(met))
    warn_if_few(sets.coverage, int(labels.max()) + 1)
    level = max(0.0, 2.0 * sets.coverage - 1.0)
    level, sets.outside_ = stated_level(sets.shape_, level, sets.scores_, labels)
    reasons = seen_before(sets.model_, sets.shape_, sets.scale)
    if reasons:
        level = unproven(
            "jackknife+ proves no coverage here, and proven_coverage_ is NaN: "
            f'{"; ".join(reasons)}. Give these beforehand, or use calibration="split", which '
            "proves what is asked for."
        )
    sets.proven_coverage_ = level


def _left_out_points(sets: Any) -> Embedding:
    """Left-out points of the model, refused where left-out models have no closed form."""
    fitted = sets.jackknife_
    try:
        if fitted.want.judge != "closed":
            raise Refused(f"loss={sets.model_.loss_} is judged by refits")
        next(fitted.moves(fitted.problem.inputs.items))
        return fitted.left_out_points()
    except Refused as error:
        raise ValueError(
            f'calibration="jackknife+" has no closed form for {sets.model_.kernel_} with '
            f'loss={sets.model_.loss_}: use calibration="split".'
        ) from error


def _left_out_scale(sets: Any, X: Items, y: Items, labels: np.ndarray) -> np.ndarray | None:
    """The scale at every training input, by the model that leaves it out where it is proven."""
    sets.scaling_ = _scaling(sets, X, y, labels)
    if sets.scale != "posterior":
        return sets._scale_at(X)
    band = _is_band(sets)
    shape = sets.shape_.scale.shape if band else ()
    return LeftOutScales(sets.jackknife_, band).own(shape)


def jackknife_sets(sets: Any, X: Items) -> Any:
    """The sets of new inputs by the models that leave each group out."""
    fitted = sets.jackknife_
    checked = sets.model_._check_inputs(sets.model_.input_kernel_, X, reset=False)
    points, moves = fitted.embed(checked), fitted.moves(checked)
    calibration = (sets.scores_, sets.weights_, sets.level_)
    if not isinstance(sets.shape_, AroundShape):
        return sets.shape_.moved_sets(points, moves, *calibration)
    scales: Scales | None = None
    if sets.scale == "posterior":
        scales = LeftOutScales(fitted, _is_band(sets)).at(checked)
    elif sets.scaling_ is not None:
        same = sets._scale_at(X)[:, None]
        scales = same.__getitem__
    return sets.shape_.moved_sets(points, moves, *calibration, scales)
