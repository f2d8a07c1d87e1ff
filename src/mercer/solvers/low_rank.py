"""Scalar kernels times operators in input coordinates of low rank."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Array, namespace, part, take
from .._base.linalg import congruent, eigh, factor_with_ridge
from .._base.threads import one_thread_each, rows_at_once
from ..embedding import PointMap
from ..features import FeatureMap
from ..features.landmarks import FEW, bare_map
from ..operators import Moments
from ..operators.moments import row_sums
from ..problem import Problem, Want
from .direction_grams import LazyParts
from .exact import separated, spanned, spectral_moments
from .factorization import Factorization, Method, Solution
from .low_rank_inputs import LowRankInputs, LowRankRows
from .outputs import Cache, OutputRows
from .part import Part
from .weights import LeastWeights

SMALL = 1024
"""Ranks up to which threads of products would only wait for each other."""
Sums = tuple[FeatureMap, Array, Array | None, Array]
"""The map of input coordinates u, S_uu about their mean, that mean (None without an intercept),
and S_uv."""


def needs_no_coordinates(problem: Problem, want: Want) -> bool:
    """Return whether weights on the outputs are all that a separable problem needs."""
    return problem.kernel.operator.uniform is not None and problem.spanned and not want.moves


def low_rank_inputs(problem: Problem) -> LowRankInputs:
    """Return the spectrum of the coordinates of the inputs, their map fitted."""
    map, U = problem.inputs.coordinates
    return LowRankInputs(LowRankRows.of(map, U, problem.weights, problem.intercept))


def low_rank(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor the moments: one part, incomplete; one solution takes a Cholesky factor alone."""
    kernel = problem.inputs.kernel
    if needs_no_coordinates(problem, want):
        inputs = cache.inputs(kernel, low_rank_inputs, problem)
        return spanned(problem, inputs)
    outputs = cache.outputs(problem)
    if not want.single or problem.kernel.operator.uniform is None:
        return in_low_rank(problem, cache.inputs(kernel, low_rank_inputs, problem), outputs)

    def make() -> Part:
        return in_low_rank(problem, low_rank_inputs(problem), outputs).parts[0]

    method = MomentSolution(problem, outputs)
    return Factorization(problem, problem.kernel, outputs, LazyParts([make], True), method=method)


def in_low_rank(problem: Problem, inputs: LowRankInputs, outputs: OutputRows) -> Factorization:
    """Return the factorisation for every ridge, inputs factored already."""
    EV = inputs.inside(outputs.rows)
    return separated(problem, inputs, outputs, spectral_moments(inputs, outputs.rows, EV), EV)


class MomentSolution(Method):
    """A multiple of the identity at one ridge, by a Cholesky factor of the input moment."""

    def __init__(self, problem: Problem, outputs: OutputRows):
        self.problem, self.outputs = problem, outputs

    @cached_property
    def sums(self) -> Sums:
        """The moments, of coordinates that need not be in memory."""
        side = self.problem.inputs
        if side.sample is not None and isinstance(side.items, np.ndarray):
            return summed(self.problem, side.map, side.sample, self.outputs)
        map, U = side.coordinates
        at = LowRankRows.of(map, U, self.problem.weights, self.problem.intercept)
        return at.map, at.moment, at.mean, at.rows.T @ self.outputs.rows

    def solution(self, alpha: float) -> Solution | None:
        """Return the map g at one ridge; None where that is lost in rounding."""
        features = self.problem.inputs.features
        rank = None if features is None else features.rank
        with one_thread_each() if rank is not None and rank <= SMALL else nullcontext():
            return self._solution(alpha)

    def _solution(self, alpha: float) -> Solution | None:
        map, moment, mean, cross = self.sums
        try:
            coef = factor_with_ridge(moment + 0.0, alpha / self.problem.uniform).solve(cross)
        except np.linalg.LinAlgError:
            return None
        problem, frame = self.problem, self.outputs.frame
        offset = None if mean is None else self.outputs.mean - mean @ coef
        weights = LeastWeights(frame, problem.outputs.items)
        return Solution(PointMap(map.compose(coef), offset, frame, weights), problem.kernel)


def summed(problem: Problem, map: FeatureMap, sample: np.ndarray, outputs: OutputRows) -> Sums:
    """Return the moments of coordinates made block by block, of kernel values if that is enough."""
    X, n = problem.inputs.items, problem.n
    bare, W, some = bare_map(map, take(X, sample[:FEW]))
    origin = some.mean(axis=0)  # near the mean, so that little cancels when it is subtracted
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
    """Return the coefficients of g(x) = u(x) @ coef from the moments of the data, (p, q).

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
