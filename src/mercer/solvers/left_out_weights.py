"""Weights of left-out predictions on the training outputs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._arrays import Array, like, namespace, put, take
from ..embedding import Embedding, SpanFrame
from ..problem import Problem
from .left_out import members_by_size
from .weights import LeastWeights, NoWeights, RidgeFactor


def weighed(points: Embedding, problem: Problem, alpha: float) -> Embedding:
    """Left-out points that tell their weights, made when somebody asks for them.

    Parameters
    ----------
    points
        The left-out points of a problem.
    problem, alpha
        The problem, and the ridge at which it was solved.
    """
    if isinstance(points.frame, SpanFrame):
        return points
    separable = problem.separable and problem.loss is None and problem.gathered is None
    uniform = problem.kernel.operator.uniform if separable else None
    if uniform and problem.inputs.features is None:
        return replace(points, weigh=partial(left_out_weights, problem, alpha / uniform))
    least: Any = LeastWeights(points.frame, problem.outputs.items)
    least = least if problem.gathered is None else NoWeights()
    return replace(points, weigh=partial(least.weights, None, points.coordinates))


def left_out_weights(problem: Problem, alpha: float) -> Array:
    """I - P_gg⁻¹P_g, with P = (K + αI)⁻¹ on what is not constant: zero on the own group, (n, n)."""
    side = problem.inputs
    ridge = RidgeFactor(side.kernel, side.items, alpha, problem.weights, problem.intercept)
    P = ridge.solve(like(np.eye(problem.n), ridge.factor.factor))
    xp = namespace(P)
    if problem.groups is None:
        R = P / xp.linalg.diagonal(P)[:, None]
    else:
        R = P + 0.0
        for own in (own for same in members_by_size(problem.groups) for own in same):
            rows = take(P, own)
            block = take(xp.matrix_transpose(rows), own)
            R = put(R, own, xp.linalg.solve(block, rows))
    if ridge.roots is not None:
        R = R * xp.matrix_transpose(ridge.roots) / ridge.roots
    return like(np.eye(problem.n), R) - R
