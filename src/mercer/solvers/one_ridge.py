"""Any operator at one α, exact: the inputs in tridiagonal form, the spectrum of the operator."""

from __future__ import annotations

from functools import cached_property
from math import inf

import numpy as np
from scipy.linalg import blas, eigh_tridiagonal, lapack

from .._base.arrays import Array
from .._base.linalg import PositiveDefinite, product, ridged, solve_triangular, tridiagonalized
from .._base.plan import SPECTRAL_SQUARES
from .._base.symmetric import INDEFINITE, NotPositiveSemidefinite, eigh
from ..embedding import SpanFrame
from ..operators.separable import SpectralMoments
from ..problem import Problem, Want
from .factorization import Cache, Factorization, Outputs, Solution
from .inputs import InputGram, Reduction
from .spectral import REFINED, Spectral
from .weights import stands_out

Turned = tuple[np.ndarray, np.ndarray, np.ndarray | None, Outputs]
"""Eigenvalues of an operator, outputs along its eigenvectors, these (None for the identity), and
the frame that the outputs are written in."""


class OneRidge(Factorization):
    """The ridge equation at one α, by one eigendecomposition and one tridiagonal reduction.

    Notes
    -----
    With √w K √w = H T Hᵀ, T tridiagonal, and B = Q diag(b) Qᵀ the dual coefficients along direction
    j are H (b_j T + αI)⁻¹ Hᵀ (VQ)_j: O(n) operations for each direction once H is applied, where
    the eigenvectors of T would take as long as all the rest. Where α is so small that it would
    need refinement the spectrum is taken.
    """

    name, costs = "one ridge", "tridiagonal"

    def __init__(self, problem: Problem, want: Want, cache: Cache):
        problem.require_room(SPECTRAL_SQUARES)
        super().__init__(problem, want, cache)  # accuracy depends on α, for which the rest waits

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """In numpy."""
        return "it is for numpy" if problem.foreign else None

    @cached_property
    def spectral(self) -> Factorization:
        """The factorisation for every α."""
        return Spectral.factor(self.problem, self.want, self.cache)

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        p = self.problem
        gram = InputGram(p.inputs.kernel, p.inputs.items, p.weights, p.intercept)
        K = gram.reduced()
        if gram.width is not None and gram.width < p.n:
            return self.spectral.solve(alpha)  # which tells rounding from what the features reach
        reduction, epsilon = gram.reduction, p.kernel.operator.unexplained_at
        try:
            if epsilon is None or not p.spanned:
                b, T, Q, self.outputs = self._in_coordinates(K, reduction)
            else:
                b, T, Q, self.outputs = self._in_span(K, reduction, p.total * epsilon)
        except (np.linalg.LinAlgError, NotPositiveSemidefinite):
            return self.spectral.solve(alpha)  # a regulariser lost in rounding, or no kernel
        if alpha <= REFINED * float(b.max(initial=0.0)) * float(np.trace(K)):
            return self.spectral.solve(alpha)
        reflectors, tau, diagonal, off = tridiagonalized(K)
        if not positive_semidefinite(diagonal, off):
            return self.spectral.solve(alpha)  # which refuses it, or knows it for rounding
        C = np.array(T, order="C")
        reflect(C, reflectors, tau)
        shifted_solves(diagonal, off, b, alpha, C)
        reflect(C, reflectors, tau, back=True)
        C *= b
        dual = reduction.back(C if Q is None else product(C, Q.T))
        return self._solution(alpha, gram.map(dual), p.kernel)

    def _in_coordinates(self, K: np.ndarray, reduction: Reduction) -> Turned:
        """The directions of any operator, by coordinates of the outputs."""
        p, outputs = self.problem, self.cache.outputs(self.problem)
        V = reduction.inside(outputs.rows)
        b, Q = p.kernel.operator.eigh(FactoredMoments(p.total, V, gram=lambda: K))
        return b, V if Q is None else V @ Q, Q, outputs

    def _in_span(self, K: np.ndarray, reduction: Reduction, shift: float) -> Turned:
        """Those of the (conditional) covariance nB = VᵀFFᵀV, by the Gram matrix G = VVᵀ alone.

        FFᵀ = c(K + cI)⁻¹ with c = nε, or the identity. With FᵀGF = P diag(nb) Pᵀ the directions of
        B are VᵀFP and the outputs along them F⁻ᵀP, up to factors that cancel.
        """
        p = self.problem
        kernel, items = p.outputs.kernel, p.outputs.items
        whole = kernel.checked_gram(items)
        if p.intercept:  # without what is constant it may hide that it is indefinite
            PositiveDefinite.of(ridged(whole + 0.0, INDEFINITE * float(whole.diagonal().max())))
        G = reduction.reduced(whole)
        ours = G is not whole  # a kernel may keep what it returned
        L = None if shift == inf else np.asfortranarray(ridge_factor(K, shift))
        if L is not None:
            G, ours = lapack.dsygst(G.T, L, lower=1, overwrite_a=ours)[0], True
        b, P = eigh(G, "Gram matrix", drop=False, overwrite=ours)
        T: Array = P
        R: Array = P
        if L is not None:
            b = b * shift
            T, R = blas.dtrmm(1.0, L, P, lower=1), solve_triangular(L.T, P, lower=False)
        mean = None
        if p.intercept:
            mean = np.full(p.n, 1.0 / p.n) if p.weights is None else p.weights / p.total
        outputs = Outputs(None, mean, None, SpanFrame(kernel, items))
        return b / p.total, T, reduction.weighted(reduction.back(R)), outputs

    @property
    def scale(self) -> float:
        """(tr K_x / n) · tr(B S_vv) / tr S_vv."""
        return self.spectral.scale


class FactoredMoments(SpectralMoments):
    """Moments of which the conditional covariance takes a Cholesky factor, not a spectrum."""

    def unexplained(self, epsilon: float) -> Array:
        """Nε Vᵀ(K + nεI)⁻¹V = XᵀX of X = √(nε) L⁻¹V with LLᵀ = K + nεI."""
        shift = self.n * epsilon
        assert self.gram is not None
        X = solve_triangular(ridge_factor(self.gram(), shift), self.EV)
        return (X.T @ X) * shift


def ridge_factor(K: np.ndarray, shift: float) -> np.ndarray:
    """L with LLᵀ = K + shift I; LinAlgError where the shift is lost in the rounding of K."""
    if not stands_out(shift, len(K), float(np.abs(K.diagonal()).max(initial=0.0))):
        raise np.linalg.LinAlgError("the regulariser is lost in the rounding of K")
    return PositiveDefinite.of(ridged(K + 0.0, shift)).factor


def reflect(A: np.ndarray, reflectors: np.ndarray, tau: np.ndarray, back: bool = False) -> None:
    """Put HᵀA, or H A, in the place of A, whose rows lie one after the other.

    `reflectors` and `tau` are those of `tridiagonalized`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._base.linalg import tridiagonalized
    >>> from mercer.solvers.one_ridge import reflect
    >>> K = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 2.0]])
    >>> reflectors, tau, diagonal, off = tridiagonalized(K.copy())
    >>> H = np.eye(3)
    >>> reflect(H, reflectors, tau, back=True)
    >>> T = np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)
    >>> bool(np.allclose(H @ T @ H.T, K))
    True
    """
    if not len(tau):
        return  # one row alone
    work = 64 * (A.shape[1] + 65)  # as much as LAPACK's blocks of reflectors need
    turned = A.T[:, 1:]  # in LAPACK's order: H is multiplied from the right
    lapack.dormqr("R", "T" if back else "N", reflectors, tau, turned, work, overwrite_c=1)


def positive_semidefinite(diagonal: np.ndarray, off: np.ndarray) -> bool:
    """Whether a tridiagonal matrix has no eigenvalue below zero but for rounding."""
    ends = [
        eigh_tridiagonal(diagonal, off, eigvals_only=True, select="i", select_range=(i, i))[0]
        for i in (0, len(diagonal) - 1)
    ]
    return bool(ends[0] >= -INDEFINITE * max(map(abs, ends)))


def shifted_solves(
    diagonal: np.ndarray, off: np.ndarray, b: np.ndarray, alpha: float, A: np.ndarray
) -> None:
    """Put what column j of A is, solved with b_j T + αI, in its place.

    All columns go through one elimination, a row of the matrix at a time.
    """
    steps = np.empty_like(A)
    pivot = b * diagonal[0] + alpha
    for i, beside in enumerate(off):
        steps[i] = b * beside / pivot
        A[i + 1] -= steps[i] * A[i]
        A[i] /= pivot
        pivot = b * diagonal[i + 1] + alpha - steps[i] * b * beside
    A[-1] /= pivot
    for i in range(len(off) - 1, -1, -1):
        A[i] -= steps[i] * A[i + 1]
