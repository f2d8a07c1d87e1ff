"""What of a fitted model was made of its training data: jackknife+ proves nothing about that."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Items, count, host, take
from ..features import Explicit, FeatureMap, RandomFourier, RandomOperatorFourier
from ..kernels import Kernel
from ..kernels.base import as_output_kernel
from ..operators import Moments, Operator, as_operator_kernel
from ..symmetric import SymMatrix
from .ridge import RidgeEstimator

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
    try:
        A, B = (SymMatrix.of(operator.matrix(_moments(seed, q))).full for seed in (0, 1))
    except (TypeError, ValueError):
        return True
    return not np.allclose(host(A), host(B), rtol=1e-9)


def _moments(seed: int, q: int) -> Moments:
    rng = np.random.default_rng(seed)
    return Moments.of(rng.normal(size=(8, 3)), rng.normal(size=(8, q)))


def _is_given(map: FeatureMap | None) -> bool:
    """Whether coordinates are the same whatever the data."""
    if map is None or isinstance(map, Explicit | RandomFourier | RandomOperatorFourier):
        return True
    return getattr(map, "landmarks", None) is not None
