"""Scalar kernels times operators in input coordinates of low rank: rows, spectrum and solution."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse

from .._base.arrays import Array, Items, dense, like, namespace, part, take
from .._base.linalg import EPS, congruent, eigh, factor_with_ridge
from .._base.threads import one_thread_each, rows_at_once
from ..embedding import PointMap
from ..features import FeatureMap
from ..features.landmarks import FEW, bare_map
from ..operators import Moments
from ..operators.moments import row_sums
from ..problem import Problem, Want
from .exact import factor_separable, factor_spanned, spectral_moments
from .factorization import Factorization, Method, Solution
from .inputs import FittedMap, InputSpectrum, Located
from .outputs import Cache, OutputRows
from .part import LazyParts, Part
from .reduction import Reduction, weighted_mean
from .weights import LeastWeights

TINY = float(np.finfo(np.float64).tiny)
"""What eigenvalues of coordinates that are all zero are set to."""
SMALL = 1024
"""Ranks up to which threads of products would only wait for each other."""
Sums = tuple[FeatureMap, Array, Array | None, Array]
"""The map of input coordinates u, S_uu about their mean, that mean (None without an intercept),
and S_uv."""


@dataclass(frozen=True)
class LowRankRows:
    """Training inputs in coordinates of a low-rank feature map u(x).

    Attributes
    ----------
    map
        The fitted feature map.
    rows
        Coordinates less the mean, times the roots of the weights; of a stream those of a sample.
    mean
        The weighted mean of the coordinates of all examples; None without an intercept.
    moment
        S_uu over all examples.
    weights, total
        Sample weights of the rows, and the sum of those of all examples.
    """

    map: FeatureMap
    rows: Any
    mean: Array | None
    moment: Any
    weights: np.ndarray | None
    total: float
    all_rows: bool = True
    """Whether the rows are those of all examples."""

    @classmethod
    def of(
        cls, map: FeatureMap, U: Any, weights: np.ndarray | None, intercept: bool
    ) -> LowRankRows:
        """Return the training inputs from their coordinates U, one row per example."""
        total = float(U.shape[0]) if weights is None else float(weights.sum())
        mean, rows = None, U
        if issparse(U):
            if intercept:
                raise ValueError(
                    "sparse features would become dense if their mean were subtracted: use "
                    "Explicit(sparse=False), or fit_intercept=False."
                )
            rows = U if weights is None else diags_array(np.sqrt(weights)) @ U
            return cls(map, rows, None, (rows.T @ rows).toarray(), weights, total)
        if intercept:  # twice: the first mean is rounded, and constants are to be left out of rows
            mean = weighted_mean(U, weights)
            rest = weighted_mean(U - mean, weights)
            mean, rows = mean + rest, (U - mean) - rest
        rows = rows if weights is None else like(np.sqrt(weights)[:, None], U) * rows
        moment = namespace(rows).matrix_transpose(rows) @ rows
        return cls(map, rows, mean, moment, weights, total)

    @property
    def coordinates(self) -> Any:
        """The training coordinates u(x_i), neither centred nor weighted."""
        U = self.rows
        if self.weights is not None:
            roots = np.sqrt(self.weights)
            U = diags_array(1.0 / roots) @ U if issparse(U) else U / like(roots[:, None], U)
        return U if self.mean is None else U + self.mean

    def linear_map(self, coef: Array) -> FittedMap:
        """Return the map x ↦ u(x) @ coef and its mean over the training inputs."""
        return self.map.compose(coef), 0.0 if self.mean is None else self.mean @ coef


class LowRankInputs(InputSpectrum):
    """Spectrum of inputs in low-rank coordinates u(x), from their second moment.

    S_uu = UᵀU = P diag(s) Pᵀ and E = U P diag(s)^{-1/2}, for centred and weighted coordinates U.
    """

    def __init__(self, at: LowRankRows):
        self.at, self.mean, self.total = at, at.mean, at.total
        fitted = at.rows is not None and at.rows.shape[0] - (at.mean is not None)
        if at.all_rows and not issparse(at.rows) and fitted and at.rows.shape[1]:
            self._factor_rows(at)
            return
        self._factor_moment(at)
        self._set_rows(at.rows, at.weights, at.all_rows, False)

    def _factor_moment(self, at: LowRankRows) -> None:
        """Set s and P, the eigenvalues and eigenvectors of the moment of the coordinates.

        Small eigenvalues of a stream are raised to the rounding error of the moment.

        New inputs may be long along directions that are short in the training inputs.
        """
        scale = self._rounding(at) ** 2 / EPS
        self.s, self.P = eigh(at.moment, "input moment", drop=at.all_rows, scale=scale)
        if self.P is None:  # no coordinate at all
            self.P = at.moment
        elif not at.all_rows:
            xp, p = namespace(self.s), int(self.s.shape[0])
            floor = p * EPS * max(float(self.s[-1]), scale, TINY / EPS)
            self.s = xp.where(self.s > floor, self.s, xp.full_like(self.s, floor))

    @staticmethod
    def _rounding(at: LowRankRows) -> float:
        """Return the rounding error that centring the coordinates leaves."""
        if at.mean is None:
            return 0.0
        return EPS * float(at.total * namespace(at.mean).sum(at.mean**2)) ** 0.5

    def _factor_rows(self, at: LowRankRows) -> None:
        """Set s, P and E from an SVD of the training rows, accurate also for small eigenvalues.

        Constants are reflected away as in exact fits: what rounding leaves of them in the centred
        rows would dominate the directions of small s.
        """
        reduction = Reduction.of(at.weights, at.mean is not None, at.rows)
        rows = reduction.reduce_rows(at.rows)
        xp, tall = namespace(rows), rows.shape[0] >= rows.shape[1]
        Q, R = xp.linalg.qr(rows if tall else xp.matrix_transpose(rows))
        left, sigma, Pt = xp.linalg.svd(R)
        E, P = Q @ left, xp.matrix_transpose(Pt)
        E, P = (E, P) if tall else (P, E)
        least = int(sigma.shape[0]) * max(EPS * float(xp.max(sigma)), self._rounding(at))
        kept = int(xp.sum(xp.astype(sigma > least, xp.int64)))
        self.s, self.P = sigma[:kept] ** 2, P[:, :kept]
        self._set_rows(at.rows, at.weights, True, True)
        self.E = reduction.expand_rows(E[:, :kept])

    def _set_rows(
        self, rows: Any, weights: np.ndarray | None, all_rows: bool, orthonormal: bool
    ) -> None:
        """Set E and the constants from centred and weighted coordinates `rows`."""
        self.E = dense(rows @ self.P) / namespace(self.s).sqrt(self.s)
        directions = int(self.s.shape[0]) + (self.mean is not None)
        self.all_rows, self.orthonormal = all_rows, orthonormal
        self.complete = orthonormal and directions == self.E.shape[0]
        self.roots = None if weights is None else like(np.sqrt(weights)[:, None], self.E)
        if self.mean is not None:
            ones = np.ones(self.E.shape[0]) if weights is None else np.sqrt(weights)
            # The rows may be some of all: the constant has its length over all examples.
            self.N = like(ones[:, None] * self.total**-0.5, self.E)

    def without_rows(self) -> LowRankInputs:
        """Return a copy without the training rows; predictions remain available."""
        other = copy(self)
        other.at = replace(self.at, rows=None, moment=None)
        other.E, other.roots = self.E[:0, :], None
        other.N = None if self.N is None else self.N[:0, :]
        return other

    def at_pairs(self, X: Items, weights: np.ndarray | None) -> LowRankInputs:
        """Return a copy of the spectrum whose training rows are the inputs X with these weights."""
        other = copy(self)
        U = dense(self.at.map.transform(X))
        U = U if self.mean is None else U - self.mean
        rows = U if weights is None else like(np.sqrt(weights)[:, None], U) * U
        other._set_rows(rows, weights, weights is None and U.shape[0] == self.total, False)
        return other

    def locate(self, X: Items, prior: bool = False) -> Located:
        """Project new inputs on the eigenvectors; prior variances are those of the full kernel."""
        U = dense(self.at.map.transform(X))
        xp, C, own = namespace(U), U if self.mean is None else U - self.mean, None
        if prior:
            own = self.at.map.kernel_.diag(X)
            if self.mean is not None:
                own = own - xp.sum(U * U, axis=1) + xp.sum(C * C, axis=1)
        return Located((C @ self.P) * xp.sqrt(self.s), own)

    def prior_covariance(self, X: Items) -> Array:
        """Return the kernel matrix of new inputs under the full kernel, centred if needed."""
        K = self.at.map.kernel_(X, X)
        if self.mean is None:
            return K
        r = dense(self.at.map.transform(X)) @ self.mean
        return K - r[:, None] - r[None, :] + self.mean @ self.mean

    def solve(self, smoother: Any, alpha: float, Q: Array | None = None) -> FittedMap:
        """Return the fitted map for the targets of `smoother` (a `Part`), and its training mean."""
        D = smoother.coefficients(alpha, Q)
        return self.at.linear_map(self.P @ (namespace(D).sqrt(self.s)[:, None] * D))


def needs_no_coordinates(problem: Problem, want: Want) -> bool:
    """Return whether a separable problem is solved without output coordinates."""
    return problem.kernel.operator.uniform is not None and problem.spanned and not want.moves


def low_rank_inputs(problem: Problem) -> LowRankInputs:
    """Fit the feature map of a problem and return its inputs, factored."""
    map, U = problem.inputs.coordinates
    return LowRankInputs(LowRankRows.of(map, U, problem.weights, problem.intercept))


def low_rank(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem with low-rank input features."""
    kernel = problem.inputs.kernel
    if needs_no_coordinates(problem, want):
        inputs = cache.inputs(kernel, low_rank_inputs, problem)
        return factor_spanned(problem, inputs)
    outputs = cache.outputs(problem)
    if not want.single or problem.kernel.operator.uniform is None:
        return factor_low_rank(problem, cache.inputs(kernel, low_rank_inputs, problem), outputs)

    def make() -> Part:
        return factor_low_rank(problem, low_rank_inputs(problem), outputs).parts[0]

    weights = LeastWeights(outputs.frame, problem.outputs.items)
    method = MomentSolution(problem, outputs, partial(moment_sums, problem, outputs), weights)
    return Factorization(problem, problem.kernel, outputs, LazyParts([make], True), method=method)


def factor_low_rank(problem: Problem, inputs: LowRankInputs, outputs: OutputRows) -> Factorization:
    """Return the factorisation of a low-rank problem, given its factored inputs."""
    EV = inputs.project(outputs.rows)
    return factor_separable(
        problem, inputs, outputs, spectral_moments(inputs, outputs.rows, EV), EV
    )


@dataclass
class MomentSolution(Method):
    """Low-rank solutions for a multiple of the identity, by a Cholesky factor of the moment.

    Attributes
    ----------
    problem, outputs
        The problem, and its outputs in coordinates.
    sums
        A function that returns the moments, called on first use.
    weights
        The object that computes the weights of predictions on the training outputs.
    """

    problem: Problem
    outputs: OutputRows
    sums: Callable[[], Sums]
    weights: Any

    @cached_property
    def _sums(self) -> Sums:
        """The moments of inputs and outputs, computed once."""
        return self.sums()

    def solution(self, alpha: float) -> Solution | None:
        """Return the fitted map g for `alpha`; None where alpha is lost in rounding."""
        features = self.problem.inputs.features
        rank = None if features is None else features.rank
        with one_thread_each() if rank is not None and rank <= SMALL else nullcontext():
            return self._solution(alpha)

    def _solution(self, alpha: float) -> Solution | None:
        """Return the fitted map g for `alpha`, without changing the number of threads."""
        map, moment, mean, cross = self._sums
        try:
            coef = factor_with_ridge(moment + 0.0, alpha / self.problem.operator_scale).solve(cross)
        except np.linalg.LinAlgError:
            return None
        offset = None if mean is None else self.outputs.mean - mean @ coef
        points = PointMap(map.compose(coef), offset, self.outputs.frame, self.weights)
        return Solution(points, self.problem.kernel)


def moment_sums(problem: Problem, outputs: OutputRows) -> Sums:
    """Return the feature map, input moment, input mean and input-output moment of a problem."""
    side = problem.inputs
    if side.sample is not None and isinstance(side.items, np.ndarray):
        return moment_sums_in_blocks(problem, side.map, side.sample, outputs)
    map, U = side.coordinates
    at = LowRankRows.of(map, U, problem.weights, problem.intercept)
    return at.map, at.moment, at.mean, at.rows.T @ outputs.rows


def moment_sums_in_blocks(
    problem: Problem, map: FeatureMap, sample: np.ndarray, outputs: OutputRows
) -> Sums:
    """Return what `moment_sums` returns, with input coordinates computed in blocks."""
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
    """Return the ridge coefficients, shape (p, q), of g(x) = u(x) @ coef from moments.

    `B` is the matrix of the output operator.

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
