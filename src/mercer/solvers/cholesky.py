"""The identity operator, exact: one Cholesky factorisation for one α, one reduction for many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from scipy.linalg import lapack, solveh_banded

from .._base.arrays import Array, Items, blocks, count, namespace
from .._base.arrays import part as part_of
from .._base.linalg import PositiveDefinite, solve_triangular, tridiagonalized
from .._base.plan import CHOLESKY_SQUARES, SPECTRAL_SQUARES, Sizes
from ..embedding import Embedding, PointMap, SpanFrame
from ..problem import Problem, Want
from .factorization import Cache, Factorization, LeftOutModels, Outputs, Solution
from .inputs import InputGram, Reduction
from .left_out import BLOCK, LeaveOneOut, Smoother, unit_columns
from .spectral import Spectral
from .variances import HELD
from .weights import DualWeights, stands_out
from .without import reweighted

MANY = 1000
"""Fewer examples than this are factored before the compiled loop is even loaded."""


class Cholesky(Factorization):
    """A multiple of the identity at one α: (K_x + αI)⁻¹ by one Cholesky factorisation.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import Linear
    >>> model = KernelDependency(Linear(), alpha=1.0, solver="cholesky", fit_intercept=False)
    >>> model.fit([[1.0], [2.0]], [1.0, 2.0]).predict([[6.0]])
    array([5.])
    """

    name = "cholesky"

    def __init__(self, problem: Problem, want: Want, cache: Cache):
        problem.require_room(CHOLESKY_SQUARES)
        super().__init__(problem, want, cache)  # the factor depends on α
        self.known: dict[float, tuple[InputGram, PositiveDefinite]] = {}

    @classmethod
    def suits(cls, sizes: Sizes) -> bool:
        """Whether nothing is chosen."""
        return not sizes.choice

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """A multiple of the identity, one ridge, nothing left out."""
        return None if want.single else "several ridges or left-out predictions are wanted"

    @cached_property
    def outputs(self) -> Outputs:
        """The outputs in coordinates, where those are needed."""
        return self.cache.outputs(self.problem)

    def solve(self, alpha: float) -> Solution:
        """The map g at one α; by the spectrum where α is lost in rounding."""
        p, dual = self.problem, DualWeights.of(self.problem, alpha)
        try:
            dual.factored  # noqa: B018
        except np.linalg.LinAlgError:
            return Spectral.factor(p, self.want, self.cache).solve(alpha)
        if p.spanned:
            frame = SpanFrame(p.outputs.kernel, p.outputs.items)
            return Solution(PointMap(dual, None, frame, dual), p.kernel)
        return self._solution(alpha, dual.fit_to(self.outputs.rows), p.kernel)

    def without(self, alpha: float) -> LeftOutModels:
        """Points of new inputs by models that leave training examples out, each input its own."""
        p = self.problem
        frame = SpanFrame(p.outputs.kernel, p.outputs.items)
        dual = DualWeights.of(p, alpha)
        try:
            gram, factor = dual.factored
        except np.linalg.LinAlgError:
            return Spectral.factor(p, self.want, self.cache).without(alpha)

        def rest(rows: np.ndarray) -> Array:
            unit = unit_columns(p.n, rows, factor.factor)
            return namespace(unit).matrix_transpose(dual.solve(unit))

        def points(X: Items, sets: Sequence[np.ndarray]) -> Embedding:
            C = reweighted(dual.transform(X), rest, sets, gram.reduction.roots)
            return Embedding(C, frame)

        return points

    # -- the Gaussian-process view: variances by (√w K √w + αI)⁻¹ = L⁻ᵀL⁻¹, no spectrum of K -----

    def factored(self, alpha: float) -> tuple[InputGram, PositiveDefinite]:
        """L at one α; `numpy.linalg.LinAlgError` where that is lost in rounding."""
        if alpha not in self.known:
            self.known = {alpha: DualWeights.of(self.problem, alpha).factored}
        return self.known[alpha]

    def noise(self, alpha: float) -> float:
        """σ² that makes the outputs most likely; with an intercept of one row less (REML)."""
        gram, factor = self.factored(alpha)
        Z = solve_triangular(factor.factor, gram.reduction.inside(self.outputs.rows))
        squares = float(namespace(Z).sum(Z * Z))
        return alpha / self.problem.uniform * squares / (Z.shape[0] * Z.shape[1])

    def variance(self, X: Items, alpha: float) -> Array:
        """(b/α)(k(x, x) - ‖L⁻¹k_x‖²) of the operator b, and 1/Σw for an intercept."""
        (gram, factor), found, p = self.factored(alpha), [], self.problem
        for rows in blocks(count(X), max(1, HELD // p.n)):
            some = part_of(X, rows)
            K = gram.against(some)
            inside = gram.reduction.inside(
                gram.reduction.weighted(namespace(K).matrix_transpose(K))
            )
            Z = solve_triangular(factor.factor, inside)
            found.append(gram.prior(some, K) - namespace(Z).sum(Z * Z, axis=0))
        xp = namespace(*found)
        left = xp.concat(found)
        left = xp.where(left > 0, left, xp.zeros_like(left)) * (p.uniform / alpha)
        left = left + p.intercept / p.total
        return left[:, None] * xp.ones_like(self.outputs.rows[:1, :])

    @property
    def scale(self) -> float:
        """Tr K_x / n, times the number that the operator is."""
        p = self.problem
        gram = InputGram(p.inputs.kernel, p.inputs.items, p.weights, p.intercept)
        return self._uniform_scale(gram.reduced())


class Tridiagonal(Factorization):
    """A multiple of the identity at many α: K_x reduced to tridiagonal form, then O(n²) for each.

    A third cheaper than the spectrum, which takes the same reduction for its first step.
    """

    name = "tridiagonal"

    def __init__(self, problem: Problem, want: Want, cache: Cache):
        problem.require_room(SPECTRAL_SQUARES)
        self.problem, self.outputs, side = problem, cache.outputs(problem), problem.inputs
        self.gram = InputGram(side.kernel, side.items, problem.weights, problem.intercept)
        K = self.gram.reduced()
        self._scale = self._uniform_scale(K)
        self.smoother = TridiagonalSmoother(K, self.outputs.rows, self.gram.reduction)

    @classmethod
    def suits(cls, sizes: Sizes) -> bool:
        """Whether there are many examples."""
        return sizes.n >= MANY

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """A multiple of the identity, many examples, no groups, α above rounding."""
        if problem.n < MANY or problem.groups is not None or problem.foreign or want.moves:
            return f"it is for at least {MANY} examples, left out one by one, in numpy"
        kernel, X = problem.inputs.kernel, problem.inputs.items
        scale = float(np.max(np.diagonal(X) if kernel.pairwise else kernel.diag(X)))
        heavy = 1.0 if problem.weights is None else float(problem.weights.max())
        smallest = min(want.alphas, default=0.0) / problem.uniform
        smallest *= 0.5 * scale * heavy if want.relative else 1.0
        if not (scale > 0 and stands_out(smallest, problem.n, scale * heavy)):
            return "the smallest ridge is lost in rounding"
        return None

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        coef = next(self.smoother.solutions([alpha / self.problem.uniform]))
        return self._solution(alpha, self.gram.map(coef), self.problem.kernel)

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Outputs minus their left-out predictions for every α."""
        relative = [alpha / self.problem.uniform for alpha in alphas]
        path = LeaveOneOut(self.smoother).path(relative, averaged)
        return map(self.outputs.unweighted, path)

    @property
    def scale(self) -> float:
        """Tr K_x / n, times the number that the operator is."""
        return self._scale


class TridiagonalSmoother(Smoother):
    """I - H = α M Q (T + αI)⁻¹ Qᵀ Mᵀ with MᵀKM = QTQᵀ and M the complement of the constants.

    Attributes
    ----------
    rows
        M Q, (n, r).
    diagonal, off
        The diagonal of T and what is beside it.
    """

    def __init__(self, K: np.ndarray, T: np.ndarray, reduction: Reduction | None = None):
        Q, self.diagonal, self.off = tridiagonal(K)
        self.rows = Q if reduction is None else reduction.back(Q)
        self.targets = T
        self.inside = self.rows.T @ T

    def solutions(self, alphas: Sequence[float]) -> Iterator[np.ndarray]:
        """M Q (T + αI)⁻¹ Qᵀ Mᵀ times the outputs for every α, several in one product."""
        n, q = self.targets.shape
        for some in blocks(len(alphas), max(1, BLOCK // max(1, n * q))):
            solved = [self._solved(alpha) for alpha in alphas[some]]
            yield from np.split(self.rows @ np.concatenate(solved, axis=1), len(solved), axis=1)

    def _solved(self, alpha: float) -> np.ndarray:
        bands = np.stack([self.diagonal + alpha, np.append(self.off, 0.0)])
        return solveh_banded(bands, self.inside, lower=True, check_finite=False)

    def path(self, alphas: Sequence[float]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Residuals and 1 - H, both over α: their ratio is what counts."""
        from ._tridiagonal_loops import inverse_diagonals

        rest = inverse_diagonals(self.rows, self.diagonal, self.off, np.array(alphas))
        for i, R in enumerate(self.solutions(alphas)):
            yield alphas[i] * R, alphas[i] * rest[:, i : i + 1]


def tridiagonal(K: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, diagonal and off-diagonal of T with K = Q T Qᵀ; `K` is destroyed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.cholesky import tridiagonal
    >>> K = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 2.0]])
    >>> Q, diagonal, off = tridiagonal(K.copy())
    >>> T = np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)
    >>> bool(np.allclose(Q @ T @ Q.T, K))
    True
    """
    n = len(K)
    reflectors, tau, diagonal, off = tridiagonalized(K)
    Q = np.zeros((n, n))
    Q[0, 0] = 1.0
    Q[1:, 1:] = lapack.dorgqr(reflectors, tau, lwork=64 * n, overwrite_a=1)[0]
    return Q, diagonal, off
