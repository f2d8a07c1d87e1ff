"""The short ways for the identity operator: one Cholesky for one α, one reduction for many."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, like, namespace, put, take
from .._plan import CHOLESKY_SQUARES, LEFT_OUT_SQUARES, require_exact
from ..embedding import Embedding, OrthonormalFrame, SpanFrame
from ..features import Coordinates, Explicit
from ..features.landmarks import Spanned
from ..operators import Identity, Operator
from ..solvers import Cholesky
from ..solvers.tridiagonal import Tridiagonal, TridiagonalLeaveOneOut
from .regression import DualWeights, Equation, PointMap, Sides

MANY = 1000
"""Fewer examples than this are factored before the compiled loop is even loaded."""


def solve_identity(sides: Sides, alpha: float) -> PointMap | None:
    """The short way for the identity operator; None where α is too small for it."""
    require_exact(sides.n, CHOLESKY_SQUARES, where=sides.where)
    dual = DualWeights(sides.kernel, sides.X, alpha, sides.intercept)
    try:
        factor, means = dual.factored
    except np.linalg.LinAlgError:
        return None
    if sides.spanned:
        return PointMap(dual, None, SpanFrame(sides.output_kernel, sides.y), dual)
    map = Explicit() if sides.output_features is None else clone(sides.output_features)
    V = map.fit_transform(sides.output_kernel, sides.y)
    mean = namespace(V).mean(V, axis=0) if sides.intercept else None
    coef = factor.solve(V if mean is None else V - mean)
    if mean is not None:
        coef = coef - namespace(coef).mean(coef, axis=0)  # zero but for rounding, which α magnifies
    del dual.__dict__["factored"]
    offset = None if mean is None else mean - means @ coef
    spanned = Spanned(sides.kernel, sides.X, coef)
    return PointMap(spanned, offset, OrthonormalFrame(map), dual)


def left_out_identity(
    sides: Sides, alpha: float, labels: np.ndarray, inputs: Items
) -> Embedding | None:
    """The left-out points of the identity operator; None where α is too small for it.

    With G = (K_x + αI)⁻¹ the points of a group g, left out, have the weights -G_gg⁻¹ G_gj on the
    outputs of the others and none on their own.
    """
    require_exact(sides.n, LEFT_OUT_SQUARES, where=sides.where)
    K = sides.kernel.checked_gram(sides.X)
    xp = namespace(K)
    eye = like(np.eye(sides.n), K)
    try:
        G = Cholesky().factor(K, alpha).solve(eye)
    except np.linalg.LinAlgError:
        return None
    if labels.max() + 1 == sides.n:
        C = eye - G / xp.linalg.diagonal(G)[:, None]
    else:
        C = eye + 0.0
        for group in range(labels.max() + 1):
            own = np.flatnonzero(labels == group)
            rows = take(G, own)
            square = xp.matrix_transpose(take(xp.matrix_transpose(rows), own))
            C = put(C, own, take(eye, own) - xp.linalg.solve(square, rows))
    frame = SpanFrame(sides.output_kernel, sides.y)
    return Embedding(C, frame, left_out=labels, inputs=inputs)


class IdentityEquation(Equation):
    """The ridge equation of the identity operator alone, reduced once for all α."""

    def __init__(self, sides: Sides, operator: Operator, K: Array, V: Coordinates):
        self.sides, self.operator, self.V = sides, operator, V
        self.frame = OrthonormalFrame(V.map)
        self.loo = TridiagonalLeaveOneOut(Tridiagonal().factor(K), V.rows)

    def solve(self, alpha: float) -> PointMap:
        """The map g at one α."""
        map = Spanned(self.sides.kernel, self.sides.X, self.loo.coefficients(alpha))
        return PointMap(map, None, self.frame, self._weigher(alpha))

    def leave_one_out(self, labels: np.ndarray) -> TridiagonalLeaveOneOut:
        """The left-out predictions of the training examples."""
        return self.loo


def reduces(sides: Sides, operators: list[Operator], labels: np.ndarray, alphas: list) -> bool:
    """Whether the tridiagonal form will do: the identity alone, no groups, α above rounding."""
    plain = sides.features is None and not sides.intercept and not sides.foreign
    single = labels.max() + 1 == sides.n >= MANY
    identity = all(type(operator) is Identity for operator in operators)
    if not (plain and identity and single):
        return False
    pairwise = sides.kernel.pairwise  # then X is the Gram matrix
    scale = float(np.max(np.diagonal(sides.X) if pairwise else sides.kernel.diag(sides.X)))
    return scale > 0 and Cholesky().accepts(sides.n, scale, min(alphas))
