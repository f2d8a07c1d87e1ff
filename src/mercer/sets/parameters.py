"""Checks of the parameters of `ConformalSets`, and the score for each kind of sets."""

from __future__ import annotations

from math import ceil
from numbers import Real
from typing import Any

import numpy as np

from .._base.arrays import Items
from .._base.parameters import one_of
from ..estimators.ridge import RidgeEstimator
from .lists import CandidateScore, RankedScore
from .scores import BallScore, BandScore, EllipsoidScore, QuantileScore, Score
from .views import RankedView, View

ALLOWED = {
    "calibration": ("split", "jackknife+"),
    "kind": ("auto", "candidates", "ball", "ellipsoid", "band", "intervals"),
    "scale": ("auto", "flat", "posterior", "quantile", "residual"),
}
"""The allowed values of the parameters of `ConformalSets`."""


def check_parameters(sets: Any) -> None:
    """Raise an error for invalid parameters of a `ConformalSets`."""
    _check_model(sets.model, sets.calibration)
    checked_fraction(sets.coverage, "coverage")
    if sets.held_out is not None:
        checked_fraction(sets.held_out, "held_out")
    parameters = sets.get_params(deep=False)
    for name, allowed in ALLOWED.items():
        one_of(parameters[name], name, allowed)
    by, shift = sets.by, sets.shift
    if not (by is None or callable(by) or (isinstance(by, str) and by == "class")):
        raise ValueError(f'by must be None, "class" or a function of inputs, got {by!r}.')
    if not (shift is None or callable(shift)):
        raise ValueError(f"shift must be None or a function of inputs, got {shift!r}.")
    given = [name for name in ("by", "shift", "loss") if parameters[name] is not None]
    if len(given) > 1:
        raise ValueError(f"{given[0]}= and {given[1]}= do not go together: give one of them.")
    if given and sets.calibration != "split":
        raise ValueError(f'{given[0]} needs calibration="split".')
    if sets.scale == "quantile" and sets.kind != "intervals":
        raise ValueError(f'scale="quantile" needs kind="intervals", got kind={sets.kind!r}.')
    if sets.scale == "quantile" and sets.calibration != "split":
        raise ValueError('scale="quantile" needs calibration="split".')
    if sets.kind == "ellipsoid" and sets.calibration != "split":
        raise ValueError('kind="ellipsoid" needs calibration="split".')


def _check_model(model: Any, calibration: str) -> None:
    """Raise an error if a model lacks `fit`, `predict` or, for jackknife+, a closed form."""
    if not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise TypeError(
            "ConformalSets is for models that fit and predict, such as KernelDependency; got "
            f"{model!r}."
        )
    if calibration == "jackknife+" and not isinstance(model, RidgeEstimator):
        raise TypeError(
            'calibration="jackknife+" needs the closed form of KernelDependency and '
            f'KernelDependencyCV, which {type(model).__name__} lacks: use "split".'
        )


def checked_fraction(value: Any, name: str) -> float:
    """Return a parameter's value; raise an error unless it is between 0 and 1."""
    if not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}.")
    return float(value)


def fewest_groups(coverage: float) -> int:
    """Return the smallest number of groups for finite sets of this coverage."""
    return ceil(coverage / (1.0 - coverage) - 1e-9)


def require_groups(coverage: float, groups: int) -> None:
    """Raise an error if there are too few groups for finite sets of this coverage."""
    needed = fewest_groups(coverage)
    if groups < needed:
        raise ValueError(
            f"{groups} rows or groups are too few for coverage {coverage}: need at least {needed}."
        )


def score_for_kind(
    view: View,
    kind: str,
    candidates: Items | None,
    labels: np.ndarray | None = None,
    scale: str = "auto",
) -> Score:
    """Return the score of a kind of sets, one of those that `ConformalSets` has.

    Parameters
    ----------
    view
        The fitted model, as one that predicts points or ranked lists.
    kind, candidates
        As in `ConformalSets`.
    labels
        The group of each training output if groups are left out one by one, else None.
    scale
        As in `ConformalSets`.
    """
    kernel = view.output_kernel_
    if isinstance(view, RankedView):
        if kind not in ("auto", "candidates"):
            raise ValueError(f'kind="{kind}" is not for lists of candidates.')
        return RankedScore(kernel.space)
    if kind == "auto":
        kind = "ball" if kernel.predicts_directly else "candidates"
    if kind == "candidates":
        return CandidateScore(kernel, view.outputs_, candidates, labels)
    if not kernel.predicts_directly:
        raise ValueError(
            f'kind="{kind}" is for vectors and curves under a linear output kernel, and '
            f'{kernel} is not linear: use kind="candidates".'
        )
    if kind == "ball":
        return BallScore.of(kernel, view.outputs_)
    if kind == "ellipsoid":
        return EllipsoidScore.of(kernel, view.outputs_)
    if scale == "quantile":
        return QuantileScore.of(kernel, view.outputs_, joint=False)
    return BandScore.of(kernel, view.outputs_, joint=kind == "band")
