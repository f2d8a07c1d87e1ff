"""Kernels on histograms and probabilities: vectors without negative entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import Array, Items, dense, host, is_foreign, like, namespace
from ._bags import sum_over_shared_features
from .base import VectorKernel
from .capabilities import Features


class HistogramKernel(VectorKernel):
    """Base class of kernels on vectors without negative entries: counts or probabilities."""

    def check(self, A: Items, name: str = "X") -> Array:
        """Check that items are finite vectors with entries ≥ 0; return float64 rows."""
        return _require_nonnegative(super().check(A, name), name, type(self).__name__)

    def as_outputs(self, Y: Items, name: str = "y") -> Array:
        """Check that outputs have entries ≥ 0; return them without a change of shape."""
        return _require_nonnegative(super().as_outputs(Y, name), name, type(self).__name__)


class Hellinger(HistogramKernel):
    r"""Hellinger kernel (Bhattacharyya's coefficient), :math:`k(a, b) = \sum_j \sqrt{a_j b_j}`.

    The distance in its feature space is Hellinger's. The features are the roots
    :math:`\sqrt{a_j}`; probability vectors have length one.

    Examples
    --------
    >>> from mercer.kernels import Hellinger
    >>> Hellinger()([[0.5, 0.5, 0.0]], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]).round(4)
    array([[1., 0.]])
    """

    @property
    def features(self) -> Features:
        """The square roots of the entries; the inverse is the square, 0 for negative features."""
        return Features(
            self._roots,
            inverse=lambda F: namespace(F).where(F > 0, F, namespace(F).zeros_like(F)) ** 2,
        )

    def _roots(self, A: Items) -> Array:
        """Check items and return the square roots of their entries."""
        A = self.check(A, "A")
        return namespace(A).sqrt(A)


class ChiSquare(HistogramKernel):
    r"""Chi-square kernel, :math:`k(a, b) = \sum_j 2 a_j b_j / (a_j + b_j)`.

    Its squared distance is :math:`\chi^2 = \sum_j (a_j - b_j)^2 / (a_j + b_j)`.
    ``Gaussian(ChiSquare())`` is the exponential chi-square kernel.

    Examples
    --------
    >>> from mercer.kernels import ChiSquare
    >>> ChiSquare()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(4)
    array([[1.    , 0.6667]])
    """

    accepts_sparse = True

    def _gram(self, A: Array, B: Array) -> Array:
        """Return Σ_j 2 a_j b_j / (a_j + b_j) for all rows a of A and b of B."""
        from ._bag_loops import add_sums_of_harmonic_means

        return _pairwise_sums(add_sums_of_harmonic_means, A, B)

    def _diag(self, A: Array) -> Array:
        """Return k(a, a), the sum of the entries of each histogram."""
        return _row_sums(A)


class Intersection(HistogramKernel):
    r"""Histogram intersection kernel, :math:`k(a, b) = \sum_j \min(a_j, b_j)`.

    Examples
    --------
    >>> from mercer.kernels import Intersection
    >>> Intersection()([[3.0, 1.0]], [[2.0, 2.0]])
    array([[3.]])
    """

    accepts_sparse = True

    def _gram(self, A: Array, B: Array) -> Array:
        """Return Σ_j min(a_j, b_j) for all rows a of A and b of B."""
        return _sums_of_minima(A, B)

    def _diag(self, A: Array) -> Array:
        """Return k(a, a), the sum of the entries of each histogram."""
        return _row_sums(A)


def _row_sums(A: Array) -> Array:
    """Return the sum of each row of A."""
    return A.sum(axis=1) if issparse(A) else namespace(A).sum(A, axis=1)


def _require_nonnegative(A: Array, name: str, owner: str) -> Array:
    """Return A; raise an error that names `name` and `owner` if an entry is negative."""
    values = A.data if issparse(A) else A
    if bool(namespace(values).any(values < 0)):
        rows = (A < 0).nonzero()[0] if issparse(A) else np.nonzero(host(A) < 0)[0]
        raise ValueError(
            f"{name}[{int(rows.min())}] has a negative entry: {owner} compares counts, "
            "probabilities or indicators. Use Linear() or RBF() for vectors of any sign."
        )
    return A


class Tanimoto(HistogramKernel):
    r"""Tanimoto similarity (min-max kernel) of vectors without negative entries.

    :math:`k(a, b) = \sum_j \min(a_j, b_j) / \sum_j \max(a_j, b_j)`. On indicators of sets this is
    Jaccard's similarity, on counts the min-max kernel. Two empty sets have similarity one.

    Examples
    --------
    >>> from mercer.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0]], [[0, 1, 1], [1, 1, 0]]).round(4)
    array([[0.3333, 1.    ]])
    """

    accepts_sparse = True

    def _gram(self, A: Array, B: Array) -> Array:
        """Return Σ_j min(a_j, b_j) / Σ_j max(a_j, b_j) for all pairs; 1 for two zero vectors."""
        least = dense(A @ B.T) if _is_binary(A) and _is_binary(B) else _sums_of_minima(A, B)
        total = A.sum(axis=1)[:, None] + B.sum(axis=1)[None, :]
        largest = total - least
        empty = largest <= 0
        largest[empty] = 1.0
        least[empty] = 1.0
        return least / largest

    def _diag(self, A: Array) -> Array:
        """Return 1 for every vector."""
        return A.sum(axis=1) * 0.0 + 1.0


def _is_binary(A: Array) -> bool:
    """Return whether all entries of A are 0 or 1."""
    values = A.data if issparse(A) else A
    return bool(((values == 0) | (values == 1)).all())


def _sums_of_minima(A: Array, B: Array) -> Array:
    """Return Σ_j min(a_j, b_j) for all rows a of A and b of B."""
    from ._bag_loops import add_sums_of_minima

    return _pairwise_sums(add_sums_of_minima, A, B)


def _pairwise_sums(loop: Any, A: Array, B: Array) -> Array:
    """Return the matrix of sums over entries that `loop` computes for rows of A and of B.

    `loop` is one of the compiled loops of `_bag_loops`.
    """
    sums = sum_over_shared_features(loop, host(A), host(B))
    return like(sums, A) if is_foreign(A) else sums
