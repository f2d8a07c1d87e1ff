"""What may be asked of prediction sets, what level is proven then, and why it may be less."""

from __future__ import annotations

import math
import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Items, count, host, take
from ..features import Explicit, FeatureMap, RandomFourier, RandomOperatorFourier
from ..kernels import Kernel
from ..kernels.base import as_output_kernel
from ..operators import Operator, as_operator_kernel
from .posterior import matrix_at
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


def warn_if_few(coverage: float, groups: int) -> None:
    """Say so where the sets must hold everything to be sure."""
    if groups < coverage * (groups + 1) - 1e-9:
        wanted = math.ceil(coverage / (1.0 - coverage) - 1e-9)
        warnings.warn(
            f"{groups} groups to calibrate on cannot tell {coverage:g} from 1: every set holds "
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
    _check_together(sets)


def _check_together(sets: Any) -> None:
    named = [name for name in ("by", "shift", "loss") if getattr(sets, name) is not None]
    if len(named) > 1:
        raise ValueError(f"{named[0]}= and {named[1]}= do not go together: give one of them.")
    if named and sets.calibration != "split":
        raise ValueError(f'{named[-1]} needs calibration="split".')


SOME = 40
"""Items on which two kernels are compared."""


def made_of_data(model: RidgeEstimator) -> list[str]:
    """Reasons, in words, why a fitted model was not given before the data were seen.

    Left-out models hold kernels, operator, ridge and landmarks fixed. The theorem of jackknife+
    asks that they have not seen the example either.
    """
    problem = model.fitted_.problem
    reasons = []
    choices = model._most_steps()
    if choices > 1:
        reasons.append(f"kernel, operator or ridge was chosen among {choices}")
    sides = (problem.inputs, "input"), (problem.outputs, "output")
    for side, name in sides:
        if _names_median(_as_given(model, name)) or _settled_on(side.kernel, side.items):
            reasons.append(f"the {name} kernel was fitted on the data")
    width = problem.outputs.width
    if any(_depends(operator, width) for operator in _operators(problem.kernel)):
        reasons.append("the operator is made of the outputs")
    if not (_is_given(model.features) and _is_given(model.output_features)):
        reasons.append("landmarks or coordinates are drawn from the data")
    return reasons


def _as_given(model: RidgeEstimator, name: str) -> list[Any]:
    """The kernels of one side, unfitted."""
    given = model.get_params(deep=False)["kernel" if name == "input" else "output_kernel"]
    kernels = given if isinstance(given, list | tuple) else [given]
    if name == "output":
        return [as_output_kernel(kernel) for kernel in kernels]
    return [as_operator_kernel(kernel) for kernel in kernels]


def _names_median(kernels: list[Any]) -> bool:
    values = [value for kernel in kernels for value in kernel.get_params().values()]
    return any(isinstance(value, str) and value == "median" for value in values)


def _settled_on(kernel: Kernel, items: Items) -> bool:
    """Whether kernel values change where the kernel is fitted on half of the items."""
    if kernel.pairwise or count(items) < 4:
        return False
    half, some = np.arange(0, count(items), 2), np.arange(min(SOME, count(items)))
    try:
        again = clone(kernel).fit(take(items, half))
        A, B = (host(k(take(items, some))) for k in (kernel, again))
    except (TypeError, ValueError):
        return True
    return not np.allclose(A, B, rtol=1e-9, atol=1e-12 * np.abs(A).max())


def _operators(kernel: Any) -> list[Operator]:
    parts = kernel.get_params(deep=True).values()
    return [part for part in parts if isinstance(part, Operator)]


def _depends(operator: Operator, width: int | None) -> bool:
    """Whether the matrix of an operator changes with the moments of the data."""
    if operator.uniform is not None:
        return False
    q = width if operator.own_coordinates and width is not None else 3
    draw = np.random.default_rng(0).normal
    A, B = (matrix_at(operator, draw(size=(8, 3)), draw(size=(8, q))) for _ in range(2))
    return A is None or B is None or not np.allclose(A, B, rtol=1e-9)


def _is_given(map: FeatureMap | None) -> bool:
    """Whether coordinates are the same whatever the data."""
    if map is None or isinstance(map, Explicit | RandomFourier | RandomOperatorFourier):
        return True
    return getattr(map, "landmarks", None) is not None
