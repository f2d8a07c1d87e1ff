"""The identity operator in input coordinates of low rank: nothing of the outputs is factored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device

from .._arrays import Array, Items, namespace
from .._linalg import eigh
from .._plan import LEFT_OUT_SQUARES, require_exact
from ..embedding import Deferred, Embedding, OrthonormalFrame, SpanFrame
from ..features import Coordinates, FeatureMap
from ..operators import Identity, Operator
from ..solvers import Cholesky, LeftOut
from ..solvers.spanned import OutputGram, SpannedLeaveOneOut, members, shrunk
from .regression import Equation, LeastWeights, PointMap, Sides


class LowRankWeights(FeatureMap):
    """U (UᵀU + αI)⁻¹ u(x): the weights of the identity operator on the training outputs.

    Parameters
    ----------
    at
        The training inputs in coordinates U, centred where there is an intercept.
    inverse
        (UᵀU + αI)⁻¹.
    """

    def __init__(self, at: Coordinates, inverse: Array):
        self.at = at
        self.inverse = inverse

    def transform(self, A: Items) -> Array:
        """The weights of g(a), one row an input."""
        u, mean, U = self.at.map.transform(A), self.at.mean, self.at.rows
        xp = namespace(u)
        C = ((u if mean is None else u - mean) @ self.inverse) @ U.T
        return C if mean is None else C - xp.mean(C, axis=1)[:, None] + 1.0 / C.shape[1]

    @property
    def coefficients(self) -> Array:
        """The matrix that follows the kernel's values, in full."""
        U = self.at.rows
        return self.at.map.compose(self.inverse @ U.T).coefficients

    def weights(self, X: Items, C: Array) -> Array:
        """As a weigher: the coordinates are the weights."""
        return C

    def lean(self, map: FeatureMap) -> LowRankWeights:
        """Kept: it is the map itself."""
        return self


def solve_low_rank(sides: Sides, alpha: float) -> PointMap | None:
    """The identity operator at one α by one Cholesky factorisation; None where α is too small."""
    at = sides.input_coordinates()
    xp = namespace(at.moment)
    if at.moment.ndim == 1:
        return None
    try:
        factor = Cholesky().factor(at.moment + 0.0, alpha)
    except np.linalg.LinAlgError:
        return None
    if sides.spanned:
        eye = xp.eye(at.moment.shape[0], dtype=at.moment.dtype, device=device(at.moment))
        dual = LowRankWeights(at, factor.solve(eye))
        return PointMap(dual, None, SpanFrame(sides.output_kernel, sides.y), dual)
    V = sides.output_coordinates(Identity())
    coef = factor.solve(at.rows.T @ V.rows)
    offset = None if V.mean is None else V.mean - at.mean @ coef
    frame = OrthonormalFrame(V.map)
    return PointMap(at.map.compose(coef), offset, frame, LeastWeights(frame, sides.y))


class SpannedEquation(Equation):
    """The ridge equation of the identity operator for every α, its points weights on the outputs.

    One eigendecomposition, of the rank of the inputs.
    """

    def __init__(self, sides: Sides, operator: Operator, at: Coordinates):
        self.sides, self.operator, self.at = sides, operator, at
        self.s, self.P = eigh(at.moment + 0.0, "input moment")
        self.frame = SpanFrame(sides.output_kernel, sides.y)

    def solve(self, alpha: float) -> PointMap:
        """The map g at one α."""
        dual = LowRankWeights(self.at, shrunk(self.s, self.P, alpha))
        return PointMap(dual, None, self.frame, dual)

    def leave_one_out(self, labels: np.ndarray) -> SpannedLeaveOneOut:
        """The left-out predictions of the training examples, by group label."""
        s = self.sides
        gram = OutputGram(s.output_kernel, s.y, s.intercept)
        rows = self.at.rows
        return SpannedLeaveOneOut(self.s, self.P, rows, gram, s.intercept, members(labels))

    def left_out_points(
        self, loo: LeftOut, residuals: Any, labels: np.ndarray, inputs: Items
    ) -> Embedding:
        """The same as points that a decoder takes: n² weights, made when one asks for them."""
        make = LeftOutWeights(loo, self.sides.n, residuals)
        return Deferred(make, self.frame, left_out=labels, inputs=inputs)


@dataclass(frozen=True)
class LeftOutWeights:
    """The weights of all left-out points, once somebody calls for them: n² numbers."""

    loo: LeftOut
    n: int
    residuals: Any

    def __call__(self) -> Array:
        """All of them, where they have room."""
        require_exact(self.n, LEFT_OUT_SQUARES)
        return self.loo.points(self.residuals)


def spans(sides: Sides, operators: list[Operator]) -> bool:
    """Whether weights on the outputs are all that is needed: inputs of low rank, the identity."""
    identity = all(type(operator) is Identity for operator in operators)
    return sides.features is not None and identity and sides.spanned
