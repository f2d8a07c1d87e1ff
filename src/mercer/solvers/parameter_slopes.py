r"""Derivatives of evidence and left-out error in the ridge and the kernel parameters.

They are computed from P = (K + αI)⁻¹, once for every scalar kernel: under the identity, all outputs
share one scalar kernel; a componentwise kernel has one for each output component.

Notes
-----
With targets T, z = PT and the blocks P_gg of left-out groups g (single examples, if there are no
groups), the left-out residuals are e_g = P_gg⁻¹ z_g. With a_g = 2 P_gg⁻¹ e_g / Σw, the derivative
of their weighted mean square is -⟨Pa, dK z⟩ + Σ_g ⟨a_g, [P dK P]_gg e_g⟩.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import log
from typing import Any

import numpy as np

from .._base.arrays import Array, namespace, put, take, take_columns
from .._base.linalg import factor_with_ridge
from .._base.symmetric import trace
from ..kernels.gradients import add_values
from ..problem import Problem
from .coupled import fitted_kernel
from .left_out import members_by_size, solve_diagonal_blocks
from .outputs import OutputRows
from .reduction import Reduction
from .weights import DualWeights

RIDGE = "alpha"
"""The name of the ridge among the parameters; no kernel has a parameter of this name."""


RidgeInverse = tuple[Array, Array, float, Callable[[Array], dict[str, Any]]]
"""Outputs T that share a scalar kernel, P = (√w K √w + αI)⁻¹ without constants, log det P⁻¹, and a
function that converts a derivative in √w K √w + αI to those in the kernel parameters and in α."""


def parameter_slopes(
    problem: Problem, output_rows: OutputRows, alpha: float, criterion: str
) -> tuple[float, dict[str, Any]]:
    """Return the evidence or left-out error, and its derivatives by parameter name.

    The names are `RIDGE` for the ridge, and those of `Kernel.parameter_gradient` for the kernel
    parameters. Raise LinAlgError if the ridge is lost in rounding.

    Parameters
    ----------
    problem, output_rows
        An exact problem under a multiple of the identity or with a componentwise kernel, and its
        outputs in coordinates.
    alpha
        The ridge parameter.
    criterion
        "loo" for the left-out error (of groups if the problem has groups), or "evidence" for the
        negative log evidence.
    """
    inverses = _ridge_inverses(problem, output_rows, alpha)
    if criterion == "evidence":
        return _evidence_slopes(problem, inverses, alpha)
    value = 0.0
    slopes: dict[str, Any] = {}
    for T, P, _, pull in inverses:
        error, A = left_out_error(P, T, problem.total, problem.groups)
        value, slopes = value + error, add_values(slopes, pull(A))
    return value, slopes


def _ridge_inverses(
    problem: Problem, output_rows: OutputRows, alpha: float
) -> Iterator[RidgeInverse]:
    """Yield for each scalar kernel its outputs, and the inverse of its K + αI."""
    side, weights, intercept = problem.inputs, problem.weights, problem.intercept
    if problem.kernel.separable:
        gram, factor = DualWeights.of(problem, alpha).factored
        X, vjp = side.kernel.check(side.items, "X"), side.kernel.parameter_gradient.vjp
        scale = problem.operator_scale
        rows, reduction = output_rows.rows, gram.reduction
        yield _ridge_inverse(rows, reduction, factor, lambda A: vjp(X, X, A), scale)
        return
    kernel: Any = fitted_kernel(problem, output_rows)
    gradient, X = kernel.component_gradient, kernel.inputs.check(side.items, "X")
    for label, (which, K) in enumerate(kernel.by_component(side.items).by_scalar()):
        reduction = Reduction.of(weights, intercept, K)
        factor = factor_with_ridge(reduction.reduce_gram(K), alpha)
        T = take_columns(output_rows.rows, which)
        yield _ridge_inverse(T, reduction, factor, lambda A, label=label: gradient.vjp(X, label, A))


def _ridge_inverse(
    T: Array, reduction: Reduction, factor: Any, vjp: Any, scale: float = 1.0
) -> RidgeInverse:
    """Return outputs T with the inverse, log determinant and derivatives of √w K √w + αI/scale.

    `factor` is its Cholesky factor, and `vjp` converts a derivative in the Gram matrix to
    derivatives in the kernel parameters.
    """
    roots = reduction.roots
    P = reduction.expand_rows(reduction.expand_rows(factor.inverse()).T)

    def pull(A: Array) -> dict[str, Any]:
        """Convert a derivative A in √w K √w + αI to those in kernel parameters and ridge."""
        in_gram = A if roots is None else roots * A * roots.T
        return vjp(in_gram) | {RIDGE: trace(A) / scale}

    return T, P, factor.log_determinant(), pull


def _evidence_slopes(
    problem: Problem, inverses: Iterator[RidgeInverse], alpha: float
) -> tuple[float, dict[str, Any]]:
    """Return the negative log evidence over all scalar kernels at α, and its derivatives.

    A pair counts as often as its sample weight says.
    """
    scale = problem.operator_scale if problem.kernel.separable else 1.0
    number = misfit = logs = 0.0
    of_misfit: dict[str, Any] = {}
    of_logs: dict[str, Any] = {}
    for T, P, determinant, pull in inverses:
        xp, q, z = namespace(P), int(T.shape[1]), P @ T
        number += (problem.total - problem.intercept) * q
        misfit += float(xp.sum(T * z))
        logs += q * determinant
        repeats = (problem.total - problem.n) * q  # values whose eigenvalues are α
        logs += repeats * log(alpha / scale)
        of_misfit = add_values(of_misfit, pull(z @ z.T))
        of_logs = add_values(of_logs, pull(P), 0.5 * q)
        of_logs[RIDGE] = of_logs[RIDGE] + 0.5 * repeats / alpha
    misfit = max(misfit, number * np.finfo(float).tiny)  # zero where outputs are constant
    value = 0.5 * (number * log(misfit / number) + logs)
    return value, add_values(of_logs, of_misfit, -0.5 * number / misfit)


def left_out_error(P: Array, T: Array, total: float, groups: Any = None) -> tuple[float, Array]:
    """Return the mean squared left-out error of outputs T, and its derivative in √w K √w + αI.

    P is (√w K √w + αI)⁻¹ and `total` the sum of the sample weights.
    """
    xp = namespace(P)
    z = P @ T
    e = solve_diagonal_blocks(P, z, groups)
    a = (2.0 / total) * solve_diagonal_blocks(P, e, groups)
    half = (P @ a) @ z.T
    A = P @ _outer_products_times(P, a, e, groups) - 0.5 * (half + half.T)
    return float(xp.sum(e * e)) / total, A


def _outer_products_times(P: Array, a: Array, e: Array, groups: Any) -> Array:
    """Return the symmetric part of a_g e_gᵀ within each group g of rows, times P."""
    xp = namespace(P)
    if groups is None:
        return xp.sum(a * e, axis=1)[:, None] * P
    out = xp.zeros_like(P)
    for own in (own for same in members_by_size(groups) for own in same):
        M = take(a, own) @ take(e, own).T
        out = put(out, own, 0.5 * (M + M.T) @ take(P, own))
    return out
