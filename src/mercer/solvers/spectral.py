"""Scalar kernels times operators, by the spectra of the inputs and of the operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, namespace
from .._plan import SPECTRAL_SQUARES, Route, Sizes
from ..embedding import PointMap
from ..operators import Moments, Separable
from ..operators.moments import SpectralMoments
from ..problem import Problem, Want
from ..symmetric import SymMatrix
from .base import Cache, Solver, needs_no_coordinates
from .factorization import Factorization, Solution
from .inputs import ExactInputs, InputSpectrum
from .left_out import Part
from .low_rank_inputs import LowRankInputs, LowRankRows
from .outputs import Outputs
from .parts import Parts
from .weights import factored, weigher


class Spectral(Solver):
    """The ridge equation B W S_uu + αW = S_vu by two symmetric eigendecompositions, exactly.

    Notes
    -----
    With √w K √w = E diag(s) Eᵀ and B = Q diag(b) Qᵀ the equation is diagonal: the dual
    coefficients along direction j are E (b_j s + α)⁻¹ Eᵀ (VQ)_j, and g(x) = B Σ_i k(x, x_i) c_i.
    E is complete, so that small eigenvalues lose nothing at new inputs. Once factored, every
    further α costs a matrix product.

    References
    ----------
    Proposition 1 of Kadri et al. (2013) states the same solution by an n² × n² inverse.
    """

    name = "spectral"

    def accepts(self, problem: Problem, want: Want) -> str | None:
        """Any operator that is not learnt, exact inputs."""
        return None

    def cost(self, sizes: Sizes) -> Route:
        """Two eigendecompositions."""
        return sizes.spectral()

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor both sides."""
        problem.require_room(SPECTRAL_SQUARES)
        kernel, X = problem.inputs.kernel, problem.inputs.items
        parts = kernel, X, problem.weights, problem.intercept
        inputs, outputs = cache.inputs(kernel, ExactInputs, *parts), cache.outputs(problem)
        EV = namespace(outputs.rows).matrix_transpose(inputs.E) @ outputs.rows
        return separated(problem, inputs, outputs, SpectralMoments(inputs.total, inputs.s, EV), EV)


class LowRank(Solver):
    """The same in input coordinates of low rank: one eigendecomposition of their moment.

    Under the identity at one ridge a Cholesky factorisation does.
    """

    name = "low rank"

    def accepts(self, problem: Problem, want: Want) -> str | None:
        """Any operator that is not learnt, outputs in coordinates."""
        return "the outputs need none" if needs_no_coordinates(problem, want) else None

    def cost(self, sizes: Sizes) -> Route:
        """Moments of the rank."""
        return sizes.low_rank()

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor the moments, or their Cholesky factor where one solution is wanted."""
        outputs = cache.outputs(problem)
        at = cache.inputs(problem.inputs.kernel, low_rank_rows, problem)
        if want.single and problem.operator.uniform is not None:
            return OneLowRank(problem, at, outputs)
        return in_low_rank(problem, at, outputs)


def low_rank_rows(problem: Problem) -> LowRankRows:
    """The coordinates of the inputs, their map fitted."""
    map, U = problem.inputs.coordinates
    return LowRankRows.of(map, U, problem.weights, problem.intercept)


def in_low_rank(problem: Problem, at: LowRankRows, outputs: Outputs) -> Parts:
    """The factorisation for every α and left-out predictions."""
    inputs, V = LowRankInputs(at), outputs.rows
    xp = namespace(V)
    EV = xp.matrix_transpose(inputs.E) @ V
    vu = xp.matrix_transpose(EV * xp.sqrt(inputs.s)[:, None])
    moments = Moments(
        problem.total, SymMatrix(diagonal=inputs.s), vu, SymMatrix(xp.matrix_transpose(V) @ V)
    )
    return separated(problem, inputs, outputs, moments, EV)


class OneLowRank(Factorization):
    """The identity in coordinates of low rank, at one ridge: one Cholesky factorisation."""

    def __init__(self, problem: Problem, at: LowRankRows, outputs: Outputs):
        self.problem, self.at, self.outputs = problem, at, outputs

    def solve(self, alpha: float) -> Solution:
        """The map g at one α; by the spectrum where α is lost in rounding."""
        try:
            ridge = factored(self.at.moment + 0.0, alpha / (self.problem.operator.uniform or 1.0))
        except np.linalg.LinAlgError:
            return in_low_rank(self.problem, self.at, self.outputs).solve(alpha)
        map, explained = self.at.composed(ridge.solve(self.at.rows.T @ self.outputs.rows))
        offset = None if self.outputs.mean is None else self.outputs.mean - explained
        frame = self.outputs.frame
        points = PointMap(map, offset, frame, weigher(self.problem, frame, alpha))
        return Solution(points, Separable(self.problem.inputs.kernel, self.problem.operator))

    @property
    def scale(self) -> float:
        """Tr K_x / n, times the number that the operator is."""
        xp = namespace(self.at.moment)
        level = float(xp.sum(xp.linalg.diagonal(self.at.moment))) / self.at.total
        return level * (self.problem.operator.uniform or 1.0) or 1.0


def ridge(moments: Moments, B: Any, alpha: float) -> Array:
    """The coefficients of g(x) = u(x) @ coef from the moments of the data, (p, q).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Identity, Moments
    >>> from mercer.solvers import ridge
    >>> moments = Moments.of(np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]]))
    >>> ridge(moments, Identity().matrix(moments), alpha=5.0)
    array([[0.5]])
    """
    s, P = moments.uu.eigh("input moment")
    b, Q = SymMatrix.of(B).eigh("output operator")
    turn = namespace(moments.vu).matrix_transpose
    C = moments.vu if P is None else moments.vu @ P
    C = C if Q is None else turn(Q) @ C
    C = turn(b[:, None] * C / (b[:, None] * s[None, :] + alpha))
    C = C if P is None else P @ C
    return C if Q is None else C @ turn(Q)


def separated(
    problem: Problem,
    inputs: InputSpectrum,
    outputs: Outputs,
    moments: Moments,
    EV: Array,
    alpha: float | None = None,
) -> Parts:
    """The factorisation of a scalar kernel times an operator, inputs factored already.

    With `alpha` the operator is learnt at that ridge first.
    """
    operator = problem.operator
    operator = operator if alpha is None else operator.learn(moments, alpha)
    b, Q = SymMatrix.of(operator.matrix(moments)).eigh("output operator")
    rows, inside = outputs.rows, EV if Q is None else EV @ Q
    part = Part(inputs, b, rows if Q is None else lambda: rows @ Q, inside)
    return Parts(problem, Separable(problem.inputs.kernel, operator), outputs, [part], Q)
