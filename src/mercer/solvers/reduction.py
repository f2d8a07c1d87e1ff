"""The transformation of a Gram matrix that applies sample weights and removes an intercept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemv

from .._base.arrays import Array, is_foreign, like, namespace, take
from .._base.linalg import adjoint, eigh
from .._base.threads import THREADED_ENTRIES, run_in_cache_blocks


@dataclass(frozen=True)
class Reduction:
    """The transformation of a Gram matrix K that applies weights and removes constants.

    The reduced matrix is Mᵀ(√w K √w)M with sample weights w and an orthonormal basis M of the
    complement of the constants N: MMᵀ + NNᵀ = I.

    Column c of N has the square roots of the sample weights in the rows of output component c (in
    all rows, unless rows are slots), divided by their norm. The Householder reflection I - 2RRᵀ
    maps the columns of N to unit vectors, whose rows are then deleted, so that no null eigenvalue
    remains that would count as a direction of the kernel.

    Attributes
    ----------
    roots
        √w as a column; None for equal weights.
    R
        The vectors of the reflection, with disjoint supports like the columns of N; None without
        an intercept.
    kept
        The numbers of the rows that remain.
    order
        The rows by decreasing weight, the order in which the matrix is factored; None for equal
        weights. This order keeps the digits of rows with small weights, next to weights of 1e10.
    """

    roots: Array | None
    R: Array | None = None
    kept: Any = None
    order: np.ndarray | None = None
    lightest: float = 1.0
    """The smallest weight divided by the largest."""

    @classmethod
    def of(
        cls,
        weights: np.ndarray | None,
        intercept: bool,
        where: Array,
        places: np.ndarray | None = None,
    ) -> Reduction:
        """Return the reduction for rows with the given weights, with or without an intercept.

        The intercept has one constant for each output component; `places` has the component of each
        row, None for a single constant. `where` is an array with as many rows, whose library and
        device the results have.
        """
        xp, roots, order, lightest = namespace(where), None, None, 1.0
        if weights is not None:
            roots = like(np.sqrt(weights)[:, None], where)
            order = np.argsort(-weights, kind="stable")
            lightest = float(weights.min() / weights.max())
        if not intercept:
            return cls(roots, order=order, lightest=lightest)
        N, first = xp.ones_like(where[:, :1]) if roots is None else roots, np.zeros(1, np.intp)
        if places is not None:
            known, place = np.unique(places, return_inverse=True)
            first = np.unique(places if order is None else places[order], return_index=True)[1]
            N = N * like(place.reshape(-1, 1) == np.arange(len(known)), where)
        N = N / xp.sqrt(xp.sum(N * N, axis=0))
        R = (N if order is None else take(N, order)) + 0.0
        for column, row in enumerate(first):
            R[int(row), column] += 1.0  # N is positive there, so that no digits cancel
        R = R / xp.sqrt(xp.sum(R * R, axis=0))
        kept = np.delete(np.arange(N.shape[0]), first)  # without the first row of each component
        return cls(roots, R, kept, order, lightest)

    def weighted(self, A: Array) -> Array:
        """Return √w ∘ A, the rows of A times the square roots of their weights."""
        return A if self.roots is None else self.roots * A

    def reduce_gram(self, K: Array) -> Array:
        """Return Mᵀ(√w K √w)M, the Gram matrix with weights and without constants.

        Without weights and without an intercept this is K itself, not a copy.
        """
        if self.roots is not None:
            K = self.roots * K * namespace(K).matrix_transpose(self.roots)
        if self.order is not None:
            K = take(adjoint(take(K, self.order)), self.order)
        if self.R is None:
            return K
        if self.R.shape[1] == 1:  # one constant: subtract two outer products, delete the first row
            v = self.R[:, 0]
            p = K @ v if is_foreign(K) else dgemv(1.0, K.T, v)
            p = 2.0 * (p - (v @ p) * v)
            if not is_foreign(K) and K.size < THREADED_ENTRIES:
                return K[1:, 1:] - v[1:, None] * p[None, 1:] - p[1:, None] * v[None, 1:]
            return _minus_outer_products(K[1:, 1:], (v[1:], p[1:]), (p[1:], v[1:]))
        half = take(self._reflected(K), self.kept)
        return take(self._reflected(namespace(K).matrix_transpose(half)), self.kept)

    def _reflected(self, A: Array) -> Array:
        """Return (I - 2RRᵀ)A, the Householder reflection of A that isolates the constants."""
        return A - 2.0 * (self.R @ (namespace(A).matrix_transpose(self.R) @ A))

    def reduce_rows(self, V: Array) -> Array:
        """Return MᵀV: map rows V over all examples to rows of the reduced matrix."""
        V = V if self.order is None else take(V, self.order)
        if self.R is None:
            return V
        if self.R.shape[1] > 1:
            return take(self._reflected(V), self.kept)
        v = self.R[:, 0]
        return V[1:, :] - v[1:, None] * (2.0 * (v @ V))[None, :]

    def expand_rows(self, A: Array) -> Array:
        """Return M A: map rows A of the reduced matrix to rows over all examples."""
        if self.R is None:
            rows = A
        elif self.R.shape[1] == 1:
            v = self.R[:, 0]
            rows = v[:, None] * (-2.0 * (v[1:] @ A))[None, :]
            rows[1:, :] += A
        else:
            deleted = np.setdiff1d(np.arange(self.R.shape[0]), self.kept)
            zeros = like(np.zeros((len(deleted), int(A.shape[1]))), A)
            positions = np.argsort(np.concatenate([deleted, self.kept]))
            rows = self._reflected(take(namespace(A).concat([zeros, A]), positions))
        return rows if self.order is None else take(rows, np.argsort(self.order))

    def eigh(self, A: Array, what: str, largest: float) -> tuple[Array, Array]:
        """Return the eigenvalues of the reduced matrix A, and its eigenvectors over all examples.

        A is overwritten. `what` names it in errors, and `largest` is the largest entry of K, to
        which rounding errors are relative.
        """
        if self.roots is not None:
            largest *= float(namespace(self.roots).max(self.roots)) ** 2
        s, E = eigh(A, what, False, largest, True, self.lightest)
        return s, self.expand_rows(A if E is None else E)  # E is None only for an empty matrix


def _minus_outer_products(A: Array, *pairs: tuple[Array, Array]) -> Array:
    """Return A - Σ a bᵀ over the given pairs of vectors (a, b)."""
    if is_foreign(A):
        left, right = (namespace(A).stack(vectors) for vectors in zip(*pairs, strict=True))
        result = -namespace(A).matrix_transpose(left) @ right
        result += A
        return result
    result = np.empty(A.shape)

    def fill(rows: slice) -> None:
        """Compute the given rows of the result."""
        result[rows] = A[rows]
        for a, b in pairs:
            result[rows] -= a[rows, None] * b

    run_in_cache_blocks(fill, *A.shape)
    return result


def weighted_mean(A: Array, weights: np.ndarray | None) -> Array:
    """Return the weighted mean of the rows of A."""
    if weights is None:
        return namespace(A).mean(A, axis=0)
    return like(weights / weights.sum(), A) @ A
