"""Derivatives of evidence and left-out errors where every output component has its own kernel."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any

import numpy as np

from .._arrays import Array, namespace, take
from ..kernels.gradients import added
from ..problem import Problem
from .coupled import fitted_kernel
from .inputs import Reduction
from .inverse_slopes import left_out_parts
from .outputs import Outputs
from .parameter_slopes import ParameterSlopes
from .weights import factored


def component_slopes(
    problem: Problem, outputs: Outputs, alpha: float, criterion: str
) -> ParameterSlopes:
    """An objective and its derivatives; `numpy.linalg.LinAlgError` where the ridge is too small.

    Parameters
    ----------
    problem, outputs
        A problem whose kernel is diagonal in the components of the outputs, and the outputs.
    alpha
        The ridge.
    criterion
        "loo" or "evidence", taken negative.
    """
    kernel: Any = fitted_kernel(problem, outputs)
    gradient, X = kernel.component_gradient, kernel.inputs.check(problem.inputs.items, "X")
    terms = list(_terms(problem, kernel, outputs, alpha, criterion))
    number = (problem.n - problem.intercept) * int(outputs.rows.shape[1])
    misfit, logs = (sum(term[k] for term in terms) for k in (0, 1))
    share = 0.5 * number / misfit if criterion == "evidence" else 0.0
    slope, found = 0.0, dict[str, Any]()
    for label, (own, P, roots, _) in enumerate(_inverses(problem, kernel, alpha)):
        T = _columns(outputs.rows, own)
        xp = namespace(P)
        if criterion == "evidence":
            z = P @ T
            A = (0.5 * len(own)) * P - share * (z @ xp.matrix_transpose(z))
            trace = float(xp.sum(xp.linalg.diagonal(P)))
            slope += 0.5 * len(own) * trace - share * float(xp.sum(z * z))
        else:
            _, own_slope, A = left_out_parts(problem, P, T)
            slope += own_slope
        A = A if roots is None else roots * A * xp.matrix_transpose(roots)
        found = added(found, gradient.vjp(X, label, A))
    if criterion != "evidence":
        return ParameterSlopes(misfit, slope, found, {})
    value = 0.5 * (number * log(misfit / number) + logs)
    if problem.weights is not None:
        value -= 0.5 * outputs.rows.shape[1] * float(np.log(problem.weights).sum())
    return ParameterSlopes(value, slope, found, {})


def _terms(
    problem: Problem, kernel: Any, outputs: Outputs, alpha: float, criterion: str
) -> Iterator[tuple[float, float]]:
    """The misfit and log determinant of each set of components; or its left-out error."""
    for own, P, _, determinant in _inverses(problem, kernel, alpha):
        T = _columns(outputs.rows, own)
        if criterion == "evidence":
            yield float(namespace(P).sum(T * (P @ T))), len(own) * determinant
        else:
            yield left_out_parts(problem, P, T)[0], 0.0


def _inverses(
    problem: Problem, kernel: Any, alpha: float
) -> Iterator[tuple[np.ndarray, Array, Array | None, float]]:
    """For each scalar kernel its components, (√w K √w + αI)⁻¹ off the constants, √w, log det."""
    for own, K in kernel.by_component(problem.inputs.items).by_scalar():
        reduction = Reduction.of(problem.weights, problem.intercept, K)
        factor = factored(reduction.reduced(K + 0.0), alpha)
        P = reduction.back(factor.inverse())
        P = reduction.back(namespace(P).matrix_transpose(P))
        yield own, P, reduction.roots, factor.log_determinant()


def _columns(V: Array, own: np.ndarray) -> Array:
    turn = namespace(V).matrix_transpose
    return turn(take(turn(V), own))
