"""Scalar kernels times operators in input coordinates of low rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, namespace
from .._plan import Route, Sizes
from ..operators import Moments
from ..problem import Problem, Want
from ..symmetric import eigh
from .base import Cache, Solver, needs_no_coordinates
from .factorization import Factorization, Solution
from .low_rank_inputs import LowRankInputs, LowRankRows
from .outputs import Outputs
from .spectral import Parts, separated, spectral_moments
from .weights import factored


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
        if want.single and problem.kernel.operator.uniform is not None:
            return OneLowRank(problem, at, outputs)
        return in_low_rank(problem, at, outputs)


def low_rank_rows(problem: Problem) -> LowRankRows:
    """The coordinates of the inputs, their map fitted."""
    map, U = problem.inputs.coordinates
    return LowRankRows.of(map, U, problem.weights, problem.intercept)


def in_low_rank(problem: Problem, at: LowRankRows, outputs: Outputs) -> Parts:
    """The factorisation for every α and left-out predictions."""
    inputs, V = LowRankInputs(at), outputs.rows
    EV = namespace(V).matrix_transpose(inputs.E) @ V
    return separated(problem, inputs, outputs, spectral_moments(inputs, V, EV), EV)


class OneLowRank(Factorization):
    """The identity in coordinates of low rank, at one ridge: one Cholesky factorisation."""

    def __init__(self, problem: Problem, at: LowRankRows, outputs: Outputs):
        self.problem, self.at, self.outputs = problem, at, outputs

    def solve(self, alpha: float) -> Solution:
        """The map g at one α; by the spectrum where α is lost in rounding."""
        try:
            uniform = self.problem.kernel.operator.uniform or 1.0
            ridge = factored(self.at.moment + 0.0, alpha / uniform)
        except np.linalg.LinAlgError:
            return in_low_rank(self.problem, self.at, self.outputs).solve(alpha)
        fit = self.at.composed(ridge.solve(self.at.rows.T @ self.outputs.rows))
        return self.outputs.solution(self.problem, alpha, fit, self.problem.kernel)

    @property
    def scale(self) -> float:
        """Tr K_x / n, times the number that the operator is."""
        xp = namespace(self.at.moment)
        level = float(xp.sum(xp.linalg.diagonal(self.at.moment))) / self.at.total
        return level * (self.problem.kernel.operator.uniform or 1.0) or 1.0


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
    b, Q = eigh(B, "output operator", drop=False)
    turn = namespace(moments.vu).matrix_transpose
    C = moments.vu if P is None else moments.vu @ P
    C = C if Q is None else turn(Q) @ C
    C = turn(b[:, None] * C / (b[:, None] * s[None, :] + alpha))
    C = C if P is None else P @ C
    return C if Q is None else C @ turn(Q)
