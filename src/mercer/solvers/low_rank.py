"""Scalar kernels times operators in input coordinates of low rank."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Array, namespace, part, take
from .._base.linalg import congruent
from .._base.symmetric import eigh
from .._base.threads import one_thread_each, rows_at_once
from ..features import FeatureMap
from ..features.landmarks import FEW, bare_map
from ..operators import Moments
from ..operators.moments import row_sums
from ..problem import Problem, Want
from .factorization import Cache, Factorization, Outputs, Solution
from .low_rank_inputs import LowRankInputs, LowRankRows
from .spectral import Spectral, separated, spectral_moments
from .weights import factored

SMALL = 1024
"""Ranks up to which threads of products would only wait for each other."""
Sums = tuple[FeatureMap, Array, Array | None, Array]
"""The map of input coordinates u, S_uu about their mean, that mean (None without an intercept),
and S_uv."""


def needs_no_coordinates(problem: Problem, want: Want) -> bool:
    """Whether weights on the outputs are all that a separable problem at low rank needs."""
    return problem.kernel.operator.uniform is not None and problem.spanned and not want.moves


def low_rank_rows(problem: Problem) -> LowRankRows:
    """The coordinates of the inputs, their map fitted."""
    map, U = problem.inputs.coordinates
    return LowRankRows.of(map, U, problem.weights, problem.intercept)


def in_low_rank(problem: Problem, at: LowRankRows, outputs: Outputs) -> Spectral:
    """The factorisation for every α and left-out predictions."""
    inputs, V = LowRankInputs(at), outputs.rows
    EV = namespace(V).matrix_transpose(inputs.E) @ V
    return separated(problem, inputs, outputs, spectral_moments(inputs, V, EV), EV)


class LowRank(Factorization):
    """The ridge equation in input coordinates of low rank: one eigendecomposition of their moment.

    Under the identity at one ridge a Cholesky factorisation does, which this is.
    """

    name = "low rank"

    def __init__(self, problem: Problem, outputs: Outputs):
        self.problem, self.outputs = problem, outputs

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """Any operator that is not learnt, outputs in coordinates."""
        return "the outputs need none" if needs_no_coordinates(problem, want) else None

    @classmethod
    def factor(cls, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor the moments, or their Cholesky factor where one solution is wanted."""
        outputs = cache.outputs(problem)
        if want.single and problem.kernel.operator.uniform is not None:
            return cls(problem, outputs)
        rows = cache.inputs(problem.inputs.kernel, low_rank_rows, problem)
        return in_low_rank(problem, rows, outputs)

    @cached_property
    def sums(self) -> Sums:
        """The moments, of coordinates that need not be held."""
        side = self.problem.inputs
        if side.sample is not None and isinstance(side.items, np.ndarray):
            return summed(self.problem, side.map, side.sample, self.outputs)
        at = low_rank_rows(self.problem)
        return at.map, at.moment, at.mean, at.rows.T @ self.outputs.rows

    def solve(self, alpha: float) -> Solution:
        """The map g at one α; by the spectrum where α is lost in rounding."""
        rank = getattr(self.problem.inputs.features, "rank", None)
        with one_thread_each() if rank is not None and rank <= SMALL else nullcontext():
            return self._solve(alpha)

    def _solve(self, alpha: float) -> Solution:
        map, moment, mean, cross = self.sums
        try:
            ridge = factored(moment + 0.0, alpha / self.problem.uniform)
        except np.linalg.LinAlgError:
            rows = low_rank_rows(self.problem)
            return in_low_rank(self.problem, rows, self.outputs).solve(alpha)
        coef = ridge.solve(cross)
        fit = map.compose(coef), 0.0 if mean is None else mean @ coef
        return self._solution(alpha, fit, self.problem.kernel)

    @property
    def scale(self) -> float:
        """Tr K_x / n, times the number that the operator is."""
        return self._uniform_scale(self.sums[1])


def summed(problem: Problem, map: FeatureMap, sample: np.ndarray, outputs: Outputs) -> Sums:
    """The moments of coordinates that are made block by block, of kernel values where that does."""
    X, n = problem.inputs.items, problem.n
    bare, W, some = bare_map(map, take(X, sample[:FEW]))
    origin = some.mean(axis=0)  # near the mean, so that little cancels when that is taken off
    weigh = None if problem.weights is None else np.sqrt(problem.weights)[:, None]

    def rows(block: slice) -> tuple[Array, Array, Array]:
        U, V = bare.transform(part(X, block)) - origin, outputs.rows[block]
        roots: Any = 1.0 if weigh is None else weigh[block]
        return (U if weigh is None else roots * U), V, roots

    step = rows_at_once(some.shape[1] + outputs.rows.shape[1])
    found = row_sums(rows, n, step, problem.inputs.kernel.on_vectors)
    uu, uv, u = found.uu, found.vu.T, found.u
    if W is not None:
        uu, uv, u, origin = congruent(uu, W), W.T @ uv, u @ W, origin @ W
    about = u / problem.total if problem.intercept else -origin
    uu = uu - np.outer(u, about) - np.outer(about, u - problem.total * about)
    mean = origin + about if problem.intercept else None
    return map, uu, mean, uv - np.outer(about, found.v)


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
    s, P = eigh(moments.uu, "input moment", drop=False)
    b, Q = eigh(B, "output operator", drop=False)
    turn = namespace(moments.vu).matrix_transpose
    C = moments.vu if P is None else moments.vu @ P
    C = C if Q is None else turn(Q) @ C
    C = turn(b[:, None] * C / (b[:, None] * s[None, :] + alpha))
    C = C if P is None else P @ C
    return C if Q is None else C @ turn(Q)
