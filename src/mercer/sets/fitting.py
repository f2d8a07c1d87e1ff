"""The parts of prediction sets: a fitted model, a score of outputs, a scale of inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._base.arrays import Items, count
from ..estimators.probabilities import Probabilities, names_classes
from ..estimators.ridge import RidgeEstimator
from ..kernels import Kernel
from ..spaces import LabelSets
from .around import AroundScore, BallScore, BandScore, IntervalScore
from .scales import PosteriorScale, Scale, left_out_errors, residual_scale
from .scores import CandidateScore, RankedScore, Score
from .views import ModelView, RankedView, SupportsSets, View, fit_parameters


def extra_arguments(context: Items | None, candidates: Items | None, n: int) -> dict[str, Any]:
    """Return context and candidates as a dictionary without None; check their length n."""
    named = {"context": context, "candidates": candidates}
    found = {name: value for name, value in named.items() if value is not None}
    for name, value in found.items():
        if count(value) != n:
            raise ValueError(
                f"{name} must have one entry for each of the {n} inputs, got {count(value)}."
            )
    return found


def rows_of_extras(extras: dict[str, Any], index: np.ndarray) -> dict[str, Any]:
    """Return the extra arguments of the inputs at the positions `index`."""
    return {name: [value[i] for i in index] for name, value in extras.items()}


def held_out_rows(
    labels: np.ndarray, kept: int, random_state: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Draw `kept` groups at random; return the rows of these groups, and the other rows."""
    names = check_random_state(random_state).permutation(labels.max() + 1)
    if len(names) - kept < 2:
        raise ValueError(
            f"{len(names)} groups are too few to hold {kept} of them out: use "
            'calibration="jackknife+".'
        )
    out = np.isin(labels, names[:kept])
    return np.flatnonzero(out), np.flatnonzero(~out)


def fit_model(
    model: Any, X: Items, y: Items, labels: np.ndarray, context: Any, left_out: bool
) -> Any:
    """Fit a clone of the model; if `left_out`, prepare it for left-out predictions.

    A model that calibrates itself on folds says how to do without: it is then fitted once.
    """
    grouped = labels if len(np.unique(labels)) < len(labels) else None
    fresh, given = clone(model), fit_parameters(model, grouped, context)
    if isinstance(model, SupportsSets):
        fresh.set_params(**model.parameters_for_sets)
    if not left_out:
        return fresh.fit(X, y, **given)
    fresh._needs_left_out = True
    fresh.fit(X, y, **given)
    del fresh._needs_left_out
    return fresh


def score_of(
    view: View,
    kind: str,
    candidates: Items | None,
    flat: bool,
    points: Callable[[], Any],
    labels: np.ndarray | None = None,
) -> Score:
    """Return the score object for a kind of sets: "candidates", "ball", "band" or "intervals".

    Parameters
    ----------
    view
        The fitted model, as one that predicts points or lists.
    kind, candidates
        As in `ConformalSets`.
    flat
        Whether bands have the same width at every location.
    points
        A function that returns the training points; their residuals give bands their shape.
    labels
        The group of each training output if groups are left out one by one, else None.
    """
    kernel = view.output_kernel_
    if isinstance(view, RankedView):
        if kind not in ("auto", "candidates"):
            raise ValueError(f'kind="{kind}" is not for lists of candidates.')
        return RankedScore(kernel.space)
    if kind == "auto":
        kind = "ball" if kernel.predicts_directly else "candidates"
    if kind == "candidates":
        return CandidateScore(view, candidates, labels)
    if not kernel.predicts_directly:
        raise ValueError(
            f'kind="{kind}" is for vectors and curves under a linear output kernel, and '
            f'{kernel} is not linear: use kind="candidates".'
        )
    if kind == "ball":
        return BallScore(view)
    if kind == "intervals":
        return IntervalScore(view, points(), view.outputs_)
    return BandScore(view, points(), view.outputs_, flat)


def scale_of(
    name: str,
    score: Score,
    model: Any,
    view: View,
    X: Items,
    y: Items,
    labels: np.ndarray,
    level: float,
) -> Scale | None:
    """Return the function of inputs that scales radii; None if all inputs have one radius.

    Parameters
    ----------
    name
        As `scale` of `ConformalSets`.
    score
        The score that is scaled.
    model, view
        The model as given, and as fitted.
    X, y, labels
        The pairs that it was fitted on, and their groups.
    level
        The coverage.
    """
    if name not in ("posterior", "residual"):
        return None
    if not (isinstance(score, AroundScore) and isinstance(view, ModelView)):
        raise ValueError(f'scale="{name}" is for balls and bands, not for lists.')
    if name == "posterior":
        if isinstance(view.predictor, RidgeEstimator):
            view.predictor.keep_posterior()  # or sets of loaded models would lack the variance
        return PosteriorScale(view, score.by_location)
    own = np.unique(labels, return_inverse=True)[1]
    errors = left_out_errors(clone(model), view, X, y, own, score.by_location)
    return residual_scale(view, errors, X, own, level, score.scale)


def label_probabilities(
    kernel: Kernel, score: Score, points: Any, y: Items
) -> Probabilities | None:
    """Calibrate probabilities of labels on points and label sets y; None for other outputs."""
    lists = isinstance(score, CandidateScore) and isinstance(kernel.space, LabelSets)
    return Probabilities(kernel).fit(points, y) if lists and names_classes(kernel) else None
