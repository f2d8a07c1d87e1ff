"""Exact coordinates by a Cholesky factorisation of the Gram matrix."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from .._base.arrays import Array, Items, count, host, is_foreign, like, namespace, put, take
from .._base.linalg import (
    EPS,
    INDEFINITE,
    PositiveDefinite,
    eigh,
    solve_triangular,
    triangular_inverse,
)
from ..kernels import Kernel
from .base import FeatureMap
from .landmarks import KernelExpansion, LandmarkMap

TRUSTED = 1e3
"""Factor by which squared pivots of an unpivoted factor must exceed rounding errors."""
PROBED = 16
"""Number of columns in which a rank-deficient factor is compared with the Gram matrix."""


class Triangular(LandmarkMap):
    """Exact coordinates V of the training items by a (pivoted) Cholesky factor K = VVᵀ.

    Several times cheaper than eigenvectors, and more accurate at new items. Items that are
    linear combinations of other items in feature space are not landmarks.

    Attributes
    ----------
    landmarks_, pivots_
        The r items that span all others, and their positions.
    factor_
        Their Cholesky factor L, lower triangular, (r, r).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features.triangular import Triangular
    >>> from mercer.kernels import RBF
    >>> A = [[0.0], [1.0], [1.0], [3.0]]
    >>> V = Triangular().fit_transform(RBF(1.0), A)
    >>> V.shape, bool(np.allclose(V @ V.T, RBF(1.0)(A)))
    ((4, 3), True)
    """

    trace_error_ = 0.0
    factor_: Array
    items_: Items
    pivots_: np.ndarray

    def fit_transform(self, kernel: Kernel, A: Items) -> Array:
        """Factor the Gram matrix K = VVᵀ, and return V, one row for each item."""
        V, pivots = cholesky_or_pivoted(kernel.checked_gram(A))
        self.kernel_, self.items_, self.pivots_ = kernel, kernel.check(A, "A"), pivots
        self.landmarks_ = take(self.items_, pivots)
        self.factor_ = take(V, pivots)
        if not len(pivots):  # the kernel is zero on all items: use the first as landmark
            self.landmarks_, self.pivots_ = take(self.items_, [0]), np.arange(1)
            V = like(np.zeros((count(self.items_), 1)), V)
            self.factor_ = like(np.eye(1), V)
        return V

    def transform(self, A: Items) -> Array:
        """Return L⁻¹ k(landmarks, a) of each item a, with L the Cholesky factor at landmarks."""
        K = self.kernel_(A, self.landmarks_)
        return solve_triangular(self.factor_, K.T).T

    @property
    def weights_(self) -> Array:
        """The weights L⁻ᵀ of coordinates on the landmarks, with L the factor at landmarks."""
        return triangular_inverse(self.factor_).T

    def compose(self, M: Array) -> FeatureMap:
        """Return the map A ↦ transform(A) @ M, with the weights L⁻ᵀM on the landmarks."""
        weights = solve_triangular(self.factor_.T, M, lower=False)
        return KernelExpansion(self.kernel_, self.landmarks_, weights)

    def expansion(self, C: Array) -> tuple[Array, Items]:
        """Express points with coordinates C by training items; return (weights, items).

        The weights are C L⁻¹ on the landmarks and zero on other items.
        """
        weights = solve_triangular(self.factor_.T, C.T, lower=False)
        every = like(np.zeros((count(self.items_), int(C.shape[0]))), C)
        return put(every, self.pivots_, weights).T, self.items_


def cholesky_or_pivoted(K: Array) -> tuple[Array, np.ndarray]:
    """Return a Cholesky factor V of K = VVᵀ, and the rows in which it is triangular."""
    n = int(K.shape[0])
    try:
        V = PositiveDefinite.of(K + 0.0).factor
        smallest = float(namespace(V).min(namespace(V).linalg.diagonal(V))) ** 2
        if smallest > TRUSTED * n * EPS * float(namespace(K).max(namespace(K).abs(K))):
            return (V if is_foreign(V) else np.tril(V)), np.arange(n)
    except np.linalg.LinAlgError:
        pass  # rank-deficient: a pivoted factor is computed below
    dense = np.array(host(K), order="F")
    factor, order, rank, _ = lapack.dpstrf(dense, lower=1)
    pivots = order[:rank] - 1
    V = np.empty((n, rank))
    V[order - 1] = np.tril(factor)[:, :rank]
    _refuse_indefinite(host(K), V)
    return like(V, K), pivots


def _refuse_indefinite(K: np.ndarray, V: np.ndarray) -> None:
    """Raise an error if VVᵀ differs from K in sampled columns, as for an indefinite K."""
    sampled = np.unique(np.linspace(0, len(K) - 1, PROBED).astype(int))
    scale = float(np.abs(K).max())
    column_error = np.abs(K[:, sampled] - V @ V[sampled].T).max()
    diagonal_error = np.abs(K.diagonal() - np.einsum("ij,ij->i", V, V)).max()
    if max(column_error, diagonal_error) > INDEFINITE * scale * len(K):
        eigh(K, "Gram matrix")  # raises, with the eigenvalues in its message
