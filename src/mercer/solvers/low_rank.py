"""Scalar kernels times operators in input coordinates of low rank: rows, spectrum and solution."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse

from .._base.arrays import Array, Items, dense, like, namespace, part, take
from .._base.linalg import EPS, congruent, eigh, factor_with_ridge
from .._base.threads import one_thread_each, rows_at_once
from ..features import FeatureMap
from ..features.landmarks import CENTRING_ITEMS, split_last_matrix
from ..operators import Moments
from ..operators.moments import moments_of_rows
from ..problem import Problem, Want
from .exact import factor_projected, factor_spanned, factor_uniform
from .factorization import Factorization
from .input_spectrum import FittedMap, InputSpectrum, ProjectedInputs
from .outputs import Cache
from .reduction import Reduction, weighted_mean

SMALLEST_EIGENVALUE = float(np.finfo(np.float64).tiny)
"""What eigenvalues of coordinates that are all zero are set to."""
ONE_THREAD_RANK = 1024
"""Ranks up to which threads of products would only wait for each other."""


@dataclass(frozen=True)
class InputRows:
    """Training inputs in coordinates of a low-rank feature map u(x).

    Attributes
    ----------
    map
        The fitted feature map.
    rows
        Coordinates less the mean, times the roots of the weights; of a stream those of a sample.
        None where the moment is all that is needed.
    mean
        The weighted mean of the coordinates of all examples; None without an intercept.
    moment
        S_uu over all examples, about the mean.
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
    def of(cls, map: FeatureMap, U: Any, weights: np.ndarray | None, intercept: bool) -> InputRows:
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


@dataclass(frozen=True)
class SpectrumArrays:
    """Eigenvalues s and eigenvectors P of the moment S_uu, and arrays with a row per example.

    The arrays are the basis E, √w and the constants N of `InputSpectrum`.
    """

    s: Array
    P: Array
    E: Array
    roots: Array | None
    N: Array | None


class LowRankSpectrum(InputSpectrum):
    """Inputs in low-rank coordinates u(x), by the spectrum of their second moment.

    S_uu = UᵀU = P diag(s) Pᵀ and E = U P diag(s)^{-1/2}, for centred and weighted coordinates U.

    Coordinates and spectrum are computed when they are first needed. One solution under a multiple
    of the identity takes a Cholesky factor of the moment instead, and no coordinates in memory.

    Parameters
    ----------
    make
        A function that returns the training inputs in coordinates.
    moments
        A function of the targets T that returns the inputs without rows, and the moment S_uT; None
        to solve by the spectrum only.
    """

    cached_rows: InputRows | None = None
    """The training inputs in coordinates once they are computed."""
    cached: SpectrumArrays | None = None
    """The spectrum once it is computed."""

    def __init__(
        self,
        make: Callable[[], InputRows] | None,
        moments: Callable[[Array], tuple[InputRows, Array]] | None = None,
    ):
        self.make, self.moments = make, moments

    @property
    def input_rows(self) -> InputRows:
        """The training inputs in coordinates."""
        if self.cached_rows is None:
            assert self.make is not None
            self.cached_rows = self.make()
        return self.cached_rows

    @property
    def factored(self) -> SpectrumArrays:
        """The spectrum of the moment, and the basis that follows from it."""
        if self.cached is None:
            self.cached = self._factor_rows() if self.orthonormal else self._factor_moment()
        return self.cached

    s = property(lambda self: self.factored.s)
    P = property(lambda self: self.factored.P)
    E = property(lambda self: self.factored.E)
    roots = property(lambda self: self.factored.roots)
    N = property(lambda self: self.factored.N)
    mean = property(lambda self: self.input_rows.mean)
    total = property(lambda self: self.input_rows.total)

    @property
    def orthonormal(self) -> bool:  # type: ignore[override]
        """Whether the basis comes from the rows of all examples, not from their moment."""
        at = self.input_rows
        if not at.all_rows or issparse(at.rows):
            return False
        return at.rows.shape[0] > (at.mean is not None) and at.rows.shape[1] > 0

    @property
    def all_rows(self) -> bool:  # type: ignore[override]
        """Whether the rows are those of all training examples."""
        at = self.input_rows
        return at.all_rows or (at.weights is None and at.rows.shape[0] == at.total)

    @property
    def complete(self) -> bool:  # type: ignore[override]
        """Whether basis and constants span all rows."""
        return self.orthonormal and self.s.shape[0] + self.constant_count == self.size

    def _factor_moment(self) -> SpectrumArrays:
        """Return the spectrum from the moment of the coordinates.

        Small eigenvalues of a stream are raised to the rounding error of the moment.

        New inputs may be long along directions that are short in the training inputs.
        """
        at = self.input_rows
        scale = self._rounding() ** 2 / EPS
        s, P = eigh(at.moment, "input moment", drop=at.all_rows, scale=scale)
        if P is None:  # no coordinate at all
            P = at.moment
        elif not at.all_rows:
            xp, p = namespace(s), int(s.shape[0])
            floor = p * EPS * max(float(s[-1]), scale, SMALLEST_EIGENVALUE / EPS)
            s = xp.where(s > floor, s, xp.full_like(s, floor))
        return self._with_basis(s, P, at)

    def _rounding(self) -> float:
        """Return the rounding error that centring the coordinates leaves."""
        at = self.input_rows
        if at.mean is None:
            return 0.0
        return EPS * float(at.total * namespace(at.mean).sum(at.mean**2)) ** 0.5

    def _factor_rows(self) -> SpectrumArrays:
        """Return the spectrum from an SVD of the rows, accurate also for small eigenvalues.

        Constants are reflected away as in exact fits: what rounding leaves of them in the centred
        rows would dominate the directions of small s.
        """
        at = self.input_rows
        reduction = Reduction.of(at.weights, at.mean is not None, at.rows)
        rows = reduction.reduce_rows(at.rows)
        xp, tall = namespace(rows), rows.shape[0] >= rows.shape[1]
        Q, R = xp.linalg.qr(rows if tall else xp.matrix_transpose(rows))
        left, sigma, Pt = xp.linalg.svd(R)
        E, P = Q @ left, xp.matrix_transpose(Pt)
        E, P = (E, P) if tall else (P, E)
        least = int(sigma.shape[0]) * max(EPS * float(xp.max(sigma)), self._rounding())
        kept = int(xp.sum(xp.astype(sigma > least, xp.int64)))
        E = reduction.expand_rows(E[:, :kept])
        return SpectrumArrays(sigma[:kept] ** 2, P[:, :kept], E, reduction.roots, reduction.N)

    @staticmethod
    def _with_basis(s: Array, P: Array, at: InputRows) -> SpectrumArrays:
        """Return the spectrum (s, P) with the basis of the rows of `at`."""
        E, N = dense(at.rows @ P) / namespace(s).sqrt(s), None
        roots = None if at.weights is None else like(np.sqrt(at.weights)[:, None], E)
        if at.mean is not None:
            ones = like(np.ones((E.shape[0], 1)), E) if roots is None else roots
            # The rows may be some of all: the constant has its length over all examples.
            N = ones * at.total**-0.5
        return SpectrumArrays(s, P, E, roots, N)

    def without_training_rows(self) -> LowRankSpectrum:
        """Return a copy without the training rows; predictions remain available."""
        other, N = LowRankSpectrum(None), self.N
        other.cached_rows = replace(self.input_rows, rows=None, moment=None)
        none = None if N is None else N[:0, :]
        other.cached = replace(self.factored, E=self.E[:0, :], roots=None, N=none)
        return other

    def at_pairs(self, X: Items, weights: np.ndarray | None) -> LowRankSpectrum:
        """Return a copy of the spectrum whose training rows are the inputs X with these weights."""
        other = LowRankSpectrum(None)
        rows = centred_rows(self.input_rows.map, X, weights, self.mean)
        other.cached_rows = replace(self.input_rows, rows=rows, weights=weights, all_rows=False)
        other.cached = self._with_basis(self.s, self.P, other.cached_rows)
        return other

    def project_inputs(self, X: Items, prior: bool = False) -> ProjectedInputs:
        """Project new inputs on the eigenvectors; prior variances are those of the full kernel."""
        U = dense(self.input_rows.map.transform(X))
        xp, C, own = namespace(U), U if self.mean is None else U - self.mean, None
        if prior:
            own = self.input_rows.map.kernel_.diag(X)
            if self.mean is not None:
                own = own - xp.sum(U * U, axis=1) + xp.sum(C * C, axis=1)
        return ProjectedInputs((C @ self.P) * xp.sqrt(self.s), own)

    def prior_covariance(self, X: Items) -> Array:
        """Return the kernel matrix of new inputs under the full kernel, centred if needed."""
        K = self.input_rows.map.kernel_(X, X)
        if self.mean is None:
            return K
        r = dense(self.input_rows.map.transform(X)) @ self.mean
        return K - r[:, None] - r[None, :] + self.mean @ self.mean

    def solve(self, smoother: Any, alpha: float, Q: Array | None = None) -> FittedMap:
        """Return the fitted map for the targets of `smoother` (a `Part`), and its training mean."""
        if self.cached is None and self.moments is not None and smoother.positive_multiple:
            at, cross = self.moments(smoother.T)
            try:
                with few_threads(int(at.moment.shape[0])):
                    coef = factor_with_ridge(at.moment, alpha / float(smoother.b[0])).solve(cross)
                return at.linear_map(coef)
            except np.linalg.LinAlgError:
                pass  # α is lost in rounding
        D = smoother.coefficients(alpha, Q)
        return self.input_rows.linear_map(self.P @ (namespace(D).sqrt(self.s)[:, None] * D))


def few_threads(rank: int | None) -> Any:
    """Return a context in which products of rank `rank` run on one thread each if it is small."""
    return one_thread_each() if rank is not None and rank <= ONE_THREAD_RANK else nullcontext()


def centred_rows(
    map: FeatureMap, X: Items, weights: np.ndarray | None, mean: Array | None
) -> Array:
    """Return the coordinates of inputs X less the mean, times the roots of the weights."""
    U = dense(map.transform(X))
    U = U if mean is None else U - mean
    return U if weights is None else like(np.sqrt(weights)[:, None], U) * U


def needs_no_coordinates(problem: Problem, want: Want) -> bool:
    """Return whether a separable problem is solved without output coordinates."""
    return problem.kernel.operator.uniform is not None and problem.spanned and not want.moves


def low_rank_input_rows(problem: Problem) -> InputRows:
    """Fit the feature map of a problem and return its inputs in coordinates."""
    map, U = problem.inputs.coordinates
    return InputRows.of(map, U, problem.weights, problem.intercept)


def low_rank_spectrum(problem: Problem) -> LowRankSpectrum:
    """Return the low-rank inputs of a problem, whose coordinates are computed on first use."""
    return LowRankSpectrum(partial(low_rank_input_rows, problem), partial(moments_with, problem))


def low_rank(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem with low-rank input features."""
    spectrum = cache.spectrum(problem.inputs.kernel, low_rank_spectrum, problem)
    if needs_no_coordinates(problem, want):
        return factor_spanned(problem, spectrum)
    output_rows = cache.output_rows(problem)
    if problem.kernel.operator.uniform is not None:
        return factor_uniform(problem, spectrum, output_rows)
    return factor_projected(problem, spectrum, output_rows)


def moments_with(problem: Problem, T: Array) -> tuple[InputRows, Array]:
    """Return the inputs of a problem by their moment, and their moment with the targets T."""
    side = problem.inputs
    if side.sample is not None and isinstance(side.items, np.ndarray):
        assert side.features is not None
        with few_threads(side.features.rank):
            return moments_in_blocks(problem, side.map, side.sample, T)
    at = low_rank_input_rows(problem)
    return at, at.rows.T @ T


def moments_in_blocks(
    problem: Problem, map: FeatureMap, sample: np.ndarray, T: Array
) -> tuple[InputRows, Array]:
    """Return what `moments_with` returns, with input coordinates computed in blocks."""
    X, n = problem.inputs.items, problem.n
    bare, W, some = split_last_matrix(map, take(X, sample[:CENTRING_ITEMS]))
    origin = some.mean(axis=0)  # near the mean, so that little cancels when it is subtracted
    weigh = None if problem.weights is None else np.sqrt(problem.weights)[:, None]

    def rows(block: slice) -> tuple[Array, Array, Array]:
        U, V = bare.transform(part(X, block)) - origin, T[block]
        roots: Any = 1.0 if weigh is None else weigh[block]
        return (U if weigh is None else roots * U), V, roots

    step = rows_at_once(some.shape[1] + T.shape[1])
    found = moments_of_rows(rows, n, step, problem.inputs.kernel.on_vectors)
    uu, uv, u = found.uu, found.vu.T, found.u
    if W is not None:
        uu, uv, u, origin = congruent(uu, W), W.T @ uv, u @ W, origin @ W
    about = u / problem.total if problem.intercept else -origin
    uu = uu - np.outer(u, about) - np.outer(about, u - problem.total * about)
    mean = origin + about if problem.intercept else None
    at = InputRows(map, None, mean, uu, problem.weights, problem.total)
    return at, uv - np.outer(about, found.v)


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
