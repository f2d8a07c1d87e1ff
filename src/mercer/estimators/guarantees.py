"""What may be asked of prediction sets, what level is proven then, and why it may be less."""

from __future__ import annotations

import math
import warnings
from numbers import Real
from typing import Any

import numpy as np

from .prediction_sets import largest_share
from .ridge import RidgeEstimator
from .set_shapes import BandShape, CandidateShape, RankedShape

CALIBRATIONS = ("split", "jackknife+")
KINDS = ("auto", "candidates", "ball", "band")
SCALES = ("auto", "flat", "posterior", "residual")
CALLER = 6
"""How far below the call of `fit` warnings are raised."""


def stated_level(
    shape: Any, level: float, scores: np.ndarray, labels: np.ndarray
) -> tuple[float, float]:
    """The level that is left where the pool may lack the truth, and the share that it lacks."""
    outside = np.isinf(scores)
    share = float(outside.mean())
    if not isinstance(shape, CandidateShape | RankedShape):
        return level, 0.0
    if shape.complete and share == 0:
        return level, share
    left = max(0.0, level - largest_share(outside, labels))
    if share > 0:
        warnings.warn(
            f"{outside.sum()} of {len(outside)} calibration outputs ({share:.0%}) are not in the "
            "pool of candidates, so that no set can hold them: the level that can be stated is "
            f"{left:.3g}, not {level:.3g}. Give candidates= that hold every output.",
            stacklevel=CALLER,
        )
    return left, share


def seen_before(model: RidgeEstimator, shape: Any, scale: str) -> list[str]:
    """Why jackknife+ proves nothing: what left-out models have seen of what they leave out."""
    reasons = made_of_data(model)
    if scale == "residual":
        reasons.append("the scale of the sets is made of left-out residuals")
    elif isinstance(shape, BandShape) and not shape.flat:
        reasons.append("the shape of the bands is made of left-out residuals")
    if isinstance(shape, CandidateShape) and shape.owned:
        reasons.append("the pool of candidates is the training outputs")
    return reasons


def unproven(why: str) -> float:
    """NaN, the level of sets of which nothing is proven, with a warning."""
    warnings.warn(why, stacklevel=CALLER)
    return float("nan")


def warn_if_few(coverage: float, groups: float) -> None:
    """Say so where the sets must hold everything to be sure."""
    if groups < coverage * (groups + 1) - 1e-9:
        wanted = math.ceil(coverage / (1.0 - coverage) - 1e-9)
        warnings.warn(
            f"{groups:.3g} groups to calibrate on cannot tell {coverage:g} from 1: every set holds "
            f"every output. At least {wanted} are needed, or a lower coverage.",
            stacklevel=CALLER,
        )


def check(sets: Any) -> None:
    """Refuse parameters that make no sense, alone or together."""
    model = sets.model
    if not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise TypeError(
            "ConformalSets is for models that fit and predict, such as KernelDependency; got "
            f"{model!r}."
        )
    if sets.calibration == "jackknife+" and not isinstance(model, RidgeEstimator):
        raise TypeError(
            'calibration="jackknife+" needs the closed form of KernelDependency and '
            f'KernelDependencyCV, which {type(model).__name__} lacks: use "split".'
        )
    if not isinstance(sets.coverage, Real) or not 0 < float(sets.coverage) < 1:
        raise ValueError(f"coverage must be between 0 and 1, got {sets.coverage!r}.")
    share = 0.25 if sets.held_out is None else sets.held_out
    if not isinstance(share, Real) or not 0 < float(share) < 1:
        raise ValueError(f"held_out must be between 0 and 1 or None, got {sets.held_out!r}.")
    choices = (("calibration", CALIBRATIONS), ("kind", KINDS), ("scale", SCALES))
    for name, allowed in choices:
        if getattr(sets, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {getattr(sets, name)!r}.")
    functions = {"by": (sets.by, ("class",)), "shift": (sets.shift, ())}
    for name, (value, names) in functions.items():
        if not (value is None or callable(value) or value in names):
            known = "".join(f', "{one}"' for one in names)
            raise ValueError(f"{name} must be None{known} or a function, got {value!r}.")
    _check_together(sets)


def _check_together(sets: Any) -> None:
    named = [name for name in ("by", "shift", "loss") if getattr(sets, name) is not None]
    if len(named) > 1:
        raise ValueError(f"{named[0]}= and {named[1]}= do not go together: give one of them.")
    if named and sets.calibration != "split":
        raise ValueError(f'{named[-1]} needs calibration="split".')


def made_of_data(model: RidgeEstimator) -> list[str]:
    """Reasons, in words, why a fitted model was not given before the data were seen.

    Left-out models hold kernels, operator, ridge and landmarks fixed. The theorem of jackknife+
    asks that they have not seen the example either.
    """
    problem = model.fitted_.problem
    kernel = problem.kernel
    reasons = [] if model.selected is None else [model.selected]
    parts = {
        "the input kernel was fitted on the data": kernel.separable
        and problem.inputs.kernel.depends_on_data,
        "the output kernel was fitted on the data": problem.outputs.kernel.depends_on_data,
        "the operator is made of the outputs": kernel.separable and kernel.operator.depends_on_data,
        "the operator-valued kernel was fitted on the data": not kernel.separable
        and kernel.depends_on_data,
        "landmarks or coordinates are drawn from the data": any(
            map is not None and map.depends_on_data
            for map in (model.features, model.output_features)
        ),
    }
    return reasons + [reason for reason, holds in parts.items() if holds]
