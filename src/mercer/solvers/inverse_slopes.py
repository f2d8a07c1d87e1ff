"""Derivatives of evidence and left-out errors under the identity, by one Cholesky factorisation.

They are those of `gradient`, with P = (K + αI)⁻¹ in full in the place of its spectrum.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from .._arrays import Array, namespace, put, take
from ..operators import Identity
from ..problem import Problem
from .left_out import members_by_size
from .outputs import Outputs
from .parameter_slopes import ParameterSlopes
from .weights import RidgeFactor


def by_inverse(problem: Problem) -> bool:
    """Whether a problem is an exact one under the identity."""
    return isinstance(problem.operator, Identity) and problem.inputs.features is None


def inverse_slopes(
    problem: Problem, outputs: Outputs, alpha: float, criterion: str
) -> ParameterSlopes:
    """An objective and its derivatives; `numpy.linalg.LinAlgError` where the ridge is too small.

    Parameters
    ----------
    problem, outputs
        An exact problem under the identity, and its outputs in coordinates.
    alpha
        The ridge.
    criterion
        "loo" or "evidence", taken negative.
    """
    side = problem.inputs
    ridge = RidgeFactor(side.kernel, side.items, alpha, problem.weights, problem.intercept)
    P = ridge.factor.inverse()
    turn = namespace(P).matrix_transpose
    P = ridge.reduction.back(turn(ridge.reduction.back(P)))
    T = outputs.rows
    if criterion == "evidence":
        value, slope, A = _evidence(problem, ridge, P, T)
    else:
        value, slope, A = left_out_parts(problem, P, T)
    if ridge.roots is not None:
        A = ridge.roots * A * namespace(A).matrix_transpose(ridge.roots)
    X = side.kernel.check(side.items, "X")
    return ParameterSlopes(value, slope, side.kernel.parameter_gradient.vjp(X, X, A), {})


def _evidence(
    problem: Problem, ridge: RidgeFactor, P: Array, T: Array
) -> tuple[float, float, Array]:
    xp, (n, q) = namespace(P), T.shape
    z, number = P @ T, (n - problem.intercept) * q
    misfit = float(xp.sum(T * z))
    value = 0.5 * (number * log(misfit / number) + q * ridge.factor.log_determinant())
    if problem.weights is not None:
        value -= 0.5 * q * float(np.log(problem.weights).sum())
    share = 0.5 * number / misfit
    A = (0.5 * q) * P - share * (z @ xp.matrix_transpose(z))
    trace = float(xp.sum(xp.linalg.diagonal(P)))
    return value, 0.5 * q * trace - share * float(xp.sum(z * z)), A


def left_out_parts(problem: Problem, P: Array, T: Array) -> tuple[float, float, Array]:
    """The left-out error of outputs T, its slope in the ridge, and that in √w K √w."""
    xp, total = namespace(P), problem.total
    z = P @ T
    solved, spread = _blocks(problem, P)
    e = solved(z)
    a = (2.0 / total) * solved(e)
    y = P @ a
    TP = spread(a, e)
    half = y @ xp.matrix_transpose(z)
    A = P @ TP - 0.5 * (half + xp.matrix_transpose(half))
    slope = float(xp.sum(P * TP)) - float(xp.sum(y * z))
    return float(xp.sum(e * e)) / total, slope, A


def _blocks(problem: Problem, P: Array) -> tuple[Any, Any]:
    """Two functions of residuals: P_gg⁻¹R_g, and the blocks of a eᵀ, symmetric, times P."""
    xp = namespace(P)
    if problem.groups is None:
        d = xp.linalg.diagonal(P)
        d = xp.where(d > 0, d, xp.ones_like(d))[:, None]
        return lambda R: R / d, lambda a, e: xp.sum(a * e, axis=1)[:, None] * P
    members = [own for same in members_by_size(problem.groups) for own in same]

    def solved(R: Array) -> Array:
        out = R + 0.0
        for own in members:
            block = take(xp.matrix_transpose(take(P, own)), own)
            out = put(out, own, xp.linalg.solve(block, take(R, own)))
        return out

    def spread(a: Array, e: Array) -> Array:
        out = xp.zeros_like(P)
        for own in members:
            M = take(a, own) @ xp.matrix_transpose(take(e, own))
            out = put(out, own, 0.5 * (M + xp.matrix_transpose(M)) @ take(P, own))
        return out

    return solved, spread
