"""Scalar kernels times operators with low-rank input features u(x): rows, spectrum, solution."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import diags_array, issparse

from .._base.arrays import Array, Items, dense, like, namespace, sliced, take
from .._base.linalg import EPS, congruence, eigh, factor_with_ridge
from .._base.threads import one_thread_each, rows_at_once
from ..features import FeatureMap
from ..features.landmarks import CENTRING_ITEMS, split_last_matrix
from ..operators import Moments
from ..operators.moments import moments_of_rows
from ..operators.slots import Slots
from ..problem import Problem, Want
from .constants import Constants
from .exact import factor_separable, factor_spanned
from .factorization import Factorization
from .input_spectrum import FittedMap, InputSpectrum, ProjectedInputs
from .outputs import Cache
from .reduction import Reduction, weighted_mean

if TYPE_CHECKING:
    from .part import Part

SMALLEST_EIGENVALUE = float(np.finfo(np.float64).tiny)
"""The value that replaces eigenvalues of a moment of zero coordinates."""
ONE_THREAD_RANK = 1024
"""The largest rank for which products on one thread are faster."""


@dataclass(frozen=True)
class InputRows:
    """The training inputs in coordinates of a low-rank feature map u(x), centred and weighted.

    Attributes
    ----------
    map
        The fitted feature map.
    rows
        The coordinates minus their mean, times the roots of the weights; those of a sample for a
        stream. None if only the moment is needed.
    mean
        The weighted mean of the coordinates of all examples; None without an intercept.
    moment
        The moment S_uu = UᵀU of centred and weighted coordinates U of all examples.
    weights, total
        The sample weights of the rows, and the sum of the weights of all examples.
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
        """Return `InputRows` of the coordinates U of the training inputs, centred and weighted."""
        total = float(U.shape[0]) if weights is None else float(weights.sum())
        mean, rows = None, U
        if issparse(U) and intercept:
            raise ValueError(
                "sparse features would become dense if their mean were subtracted: use "
                "Explicit(sparse=False), or fit_intercept=False."
            )
        if intercept:  # twice, because the first mean is rounded
            mean = weighted_mean(U, weights)
            rest = weighted_mean(U - mean, weights)
            mean, rows = mean + rest, (U - mean) - rest
        if weights is not None:
            roots = np.sqrt(weights)
            rows = diags_array(roots) @ rows if issparse(U) else like(roots[:, None], U) * rows
        return cls(map, rows, mean, dense(rows.T @ rows), weights, total)

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
        return FittedMap(self.map.compose(coef), 0.0 if self.mean is None else self.mean @ coef)


class LowRankSpectrum(InputSpectrum):
    """Eigenvalues and eigenvectors of the input Gram matrix UUᵀ of low-rank coordinates U.

    U holds the centred and weighted coordinates u(x). From UᵀU = P diag(s) Pᵀ follow the
    eigenvectors E = U P diag(s)^{-1/2} of UUᵀ.

    Coordinates and spectrum are computed on first use. One solution under a multiple of the
    identity uses a Cholesky factor of UᵀU instead, without all coordinates in memory.

    Parameters
    ----------
    make
        A function that returns the training inputs in coordinates.
    moments
        A function of the targets T that returns the inputs with their moment, and the moment UᵀT of
        inputs and targets; None to solve by the spectrum only.
    """

    cached_rows: InputRows | None = None
    """The value of `input_rows` once it is computed."""
    cached: Any = None
    """The value of `factored` once it is computed."""

    def __init__(
        self,
        make: Callable[[], InputRows] | None,
        moments: Callable[[Array], tuple[InputRows, Array]] | None = None,
    ):
        self.make, self.moments = make, moments

    @property
    def input_rows(self) -> InputRows:
        """The training inputs in coordinates, computed on first use."""
        if self.cached_rows is None:
            assert self.make is not None
            self.cached_rows = self.make()
        return self.cached_rows

    @property
    def factored(self) -> tuple[Array, Array, Array]:
        """The eigenvalues s, the eigenvectors P and the basis E, computed on first use."""
        if self.cached is None:
            self.cached = self._factor_rows() if self.orthonormal else self._factor_moment()
        return self.cached

    @property
    def nbytes(self) -> float:
        """The size of the coordinates in bytes; zero until they are computed."""
        rows = None if self.cached_rows is None else self.cached_rows.rows
        return 0.0 if rows is None else 8.0 * int(rows.shape[0]) * int(rows.shape[1])

    s = property(lambda self: self.factored[0])
    P = property(lambda self: self.factored[1])
    E = property(lambda self: self.factored[2])
    mean = property(lambda self: self.input_rows.mean)
    total = property(lambda self: self.input_rows.total)

    @property
    def roots(self) -> Array | None:  # type: ignore[override]
        """The square roots of the sample weights as a column; None for equal weights."""
        weights = self.input_rows.weights
        return None if weights is None else like(np.sqrt(weights)[:, None], self.s)

    @property
    def constants(self) -> Constants:  # type: ignore[override]
        """The unit vector that the intercept fits, of norm 1 over all examples; or zero."""
        inputs = self.input_rows
        total = np.array([0.0 if inputs.mean is None else inputs.total])
        roots = None if inputs.weights is None else np.sqrt(inputs.weights)
        return Constants(self.slots, total, roots, self.all_rows)

    @property
    def slots(self) -> Slots:  # type: ignore[override]
        """One row per training input."""
        return Slots(int(self.input_rows.rows.shape[0]), 1)

    @property
    def orthonormal(self) -> bool:  # type: ignore[override]
        """Whether the basis E is computed from the rows of all examples, not from their moment."""
        inputs = self.input_rows
        if not inputs.all_rows or issparse(inputs.rows):
            return False
        return inputs.rows.shape[0] > (inputs.mean is not None) and inputs.rows.shape[1] > 0

    @property
    def all_rows(self) -> bool:
        """Whether there is a row for each training example, not only for a sample."""
        inputs = self.input_rows
        return inputs.all_rows or (inputs.weights is None and inputs.rows.shape[0] == inputs.total)

    @property
    def complete(self) -> bool:  # type: ignore[override]
        """Whether the columns of E and the constants are a complete basis of the rows."""
        return self.orthonormal and self.s.shape[0] + self.constants.count == self.size

    def _factor_moment(self) -> tuple[Array, Array, Array]:
        """Return the spectrum by an eigendecomposition of the moment of the coordinates.

        Small eigenvalues of a stream are raised to the rounding error of the moment, because new
        inputs may be long along directions that are short in the sample.
        """
        inputs = self.input_rows
        scale = self._rounding() ** 2 / EPS
        s, P = eigh(inputs.moment, "input moment", drop=inputs.all_rows, scale=scale)
        if P is None:  # there are no coordinates
            P = inputs.moment
        elif not inputs.all_rows:
            xp, p = namespace(s), int(s.shape[0])
            floor = p * EPS * max(float(s[-1]), scale, SMALLEST_EIGENVALUE / EPS)
            s = xp.where(s > floor, s, xp.full_like(s, floor))
        return s, P, self._basis(s, P, inputs)

    def _rounding(self) -> float:
        """Return the norm of the rounding error of centred coordinates."""
        inputs = self.input_rows
        if inputs.mean is None:
            return 0.0
        return EPS * float(inputs.total * namespace(inputs.mean).sum(inputs.mean**2)) ** 0.5

    def _factor_rows(self) -> tuple[Array, Array, Array]:
        """Return the spectrum by an SVD of the rows, accurate also for small eigenvalues.

        Constants are removed by a reflection as in exact fits: rounding errors of centred rows
        would dominate the directions of small eigenvalues.
        """
        inputs = self.input_rows
        reduction = Reduction.of(inputs.weights, inputs.mean is not None, inputs.rows)
        rows = reduction.reduce_rows(inputs.rows)
        xp, tall = namespace(rows), rows.shape[0] >= rows.shape[1]
        Q, R = xp.linalg.qr(rows if tall else rows.T)
        left, sigma, Pt = xp.linalg.svd(R)
        E, P = (Q @ left, Pt.T) if tall else (Pt.T, Q @ left)
        least = int(sigma.shape[0]) * max(EPS * float(xp.max(sigma)), self._rounding())
        kept = int(xp.sum(xp.astype(sigma > least, xp.int64)))
        return sigma[:kept] ** 2, P[:, :kept], reduction.expand_rows(E[:, :kept])

    @staticmethod
    def _basis(s: Array, P: Array, inputs: InputRows) -> Array:
        """Return the basis E of `inputs`, given eigenvalues s and eigenvectors P of the moment."""
        return dense(inputs.rows @ P) / namespace(s).sqrt(s)

    def without_training_rows(self) -> LowRankSpectrum:
        """Return a copy without the training rows; predictions remain available."""
        other, E = LowRankSpectrum(None), self.E[:0, :]
        other.cached_rows = replace(self.input_rows, rows=E, moment=None, weights=None)
        other.cached = self.s, self.P, E
        return other

    def at_inputs(self, X: Items, weights: np.ndarray | None) -> LowRankSpectrum:
        """Return a copy whose rows are those of the inputs X, with the given sample weights."""
        other = LowRankSpectrum(None)
        rows = centred_rows(self.input_rows.map, X, weights, self.mean)
        other.cached_rows = replace(self.input_rows, rows=rows, weights=weights, all_rows=False)
        other.cached = self.s, self.P, self._basis(self.s, self.P, other.cached_rows)
        return other

    def project_inputs(self, X: Items, prior: bool = False) -> ProjectedInputs:
        """Project new inputs on the eigenvectors; `prior` adds variances of the full kernel."""
        U = dense(self.input_rows.map.transform(X))
        xp, C, own = namespace(U), U if self.mean is None else U - self.mean, None
        if prior:
            own = self.input_rows.map.kernel_.diag(X)
            if self.mean is not None:
                own = own - xp.sum(U * U, axis=1) + xp.sum(C * C, axis=1)
        return ProjectedInputs((C @ self.P) * xp.sqrt(self.s), own, Slots(int(U.shape[0]), 1))

    def prior_covariance(self, X: Items) -> Array:
        """Return the matrix of the full kernel between new inputs, centred with an intercept."""
        K = self.input_rows.map.kernel_(X, X)
        if self.mean is None:
            return K
        r = dense(self.input_rows.map.transform(X)) @ self.mean
        return K - r[:, None] - r[None, :] + self.mean @ self.mean

    def solve(self, part: Part, alpha: float, Q: Array | None = None) -> FittedMap:
        """Return the fitted map of a `Part`, and its mean over the training inputs."""
        if self.cached is None and self.moments is not None and part.positive_multiple:
            inputs, cross = self.moments(part.T)
            try:
                with few_threads(int(inputs.moment.shape[0])):
                    coef = factor_with_ridge(inputs.moment, alpha / float(part.b[0])).solve(cross)
                return inputs.linear_map(coef)
            except np.linalg.LinAlgError:
                pass  # α is lost in rounding
        return self.input_rows.linear_map(self.on_features(part.coefficients(alpha, Q)))

    def on_features(self, D: Array) -> Array:
        """Convert coefficients D of projected inputs to coefficients of the features u(x)."""
        return self.P @ (namespace(D).sqrt(self.s)[:, None] * D)


def few_threads(rank: int | None) -> Any:
    """Return a context manager that limits products of a small rank to one thread."""
    return one_thread_each() if rank is not None and rank <= ONE_THREAD_RANK else nullcontext()


def centred_rows(
    map: FeatureMap, X: Items, weights: np.ndarray | None, mean: Array | None
) -> Array:
    """Return the coordinates of inputs X minus `mean`, times the roots of the weights."""
    U = dense(map.transform(X))
    U = U if mean is None else U - mean
    return U if weights is None else like(np.sqrt(weights)[:, None], U) * U


def needs_no_coordinates(problem: Problem, want: Want) -> bool:
    """Return whether a separable problem can be solved without output coordinates."""
    return problem.kernel.operator.uniform is not None and problem.spanned and not want.moves


def low_rank_input_rows(problem: Problem) -> InputRows:
    """Fit the input feature map of a problem, and return the training inputs in coordinates."""
    map, U = problem.inputs.coordinates
    return InputRows.of(map, U, problem.weights, problem.intercept)


def low_rank_spectrum(problem: Problem) -> LowRankSpectrum:
    """Return the low-rank input spectrum of a problem, computed on first use."""
    return LowRankSpectrum(partial(low_rank_input_rows, problem), partial(moments_for, problem))


def low_rank(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem with low-rank input features, by the spectrum of their moment."""
    spectrum = cache.spectrum(problem.inputs.kernel, low_rank_spectrum, problem)
    if needs_no_coordinates(problem, want):
        return factor_spanned(problem, spectrum)
    return factor_separable(problem, spectrum, cache.output_rows(problem))


def moments_for(problem: Problem, T: Array) -> tuple[InputRows, Array]:
    """Return the moments UᵀU (in `InputRows`) and UᵀT of input coordinates U and targets T."""
    side = problem.inputs
    if side.sample is not None and isinstance(side.items, np.ndarray):
        assert side.features is not None
        with few_threads(side.features.rank):
            return moments_in_blocks(problem, side.map, side.sample, T)
    inputs = low_rank_input_rows(problem)
    return inputs, inputs.rows.T @ T


def moments_in_blocks(
    problem: Problem, map: FeatureMap, sample: np.ndarray, T: Array
) -> tuple[InputRows, Array]:
    """Return the moments UᵀU (in `InputRows`) and UᵀT, with U computed in blocks of examples.

    `sample` has the numbers of examples, whose mean is near that of all.
    """
    X, n = problem.inputs.items, problem.n
    unprojected, W, some = split_last_matrix(map, take(X, sample[:CENTRING_ITEMS]))
    origin = some.mean(axis=0)  # near the mean, so that little cancels when it is subtracted
    all_roots = None if problem.weights is None else np.sqrt(problem.weights)[:, None]

    def rows(block: slice) -> tuple[Array, Array, Array]:
        """Return weighted input coordinates, targets and roots of the weights of some rows."""
        U, V = unprojected.transform(sliced(X, block)) - origin, T[block]
        roots: Any = 1.0 if all_roots is None else all_roots[block]
        return (U if all_roots is None else roots * U), V, roots

    step = rows_at_once(some.shape[1] + T.shape[1])
    found = moments_of_rows(rows, n, step, problem.inputs.kernel.on_vectors)
    uu, uv, u = found.uu, found.vu.T, found.u
    if W is not None:
        uu, uv, u, origin = congruence(uu, W), W.T @ uv, u @ W, origin @ W
    about = u / problem.total if problem.intercept else -origin
    uu = uu - np.outer(u, about) - np.outer(about, u - problem.total * about)
    mean = origin + about if problem.intercept else None
    inputs = InputRows(map, None, mean, uu, problem.weights, problem.total)
    return inputs, uv - np.outer(about, found.v)


def ridge(moments: Moments, B: Array, alpha: float) -> Array:
    """Return the ridge coefficients (p, q) of g(x) = u(x) @ coef, from moments.

    Parameters
    ----------
    moments : Moments
        The second moments of input coordinates u(x) and output coordinates.
    B : array of shape (q, q)
        The matrix of the output operator.
    alpha : float
        The ridge parameter.

    Returns
    -------
    array of shape (p, q)
        The coefficients.

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
    C = moments.vu if P is None else moments.vu @ P
    C = C if Q is None else Q.T @ C
    C = (b[:, None] * C / (b[:, None] * s[None, :] + alpha)).T
    C = C if P is None else P @ C
    return C if Q is None else C @ Q.T
