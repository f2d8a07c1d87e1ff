from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, issparse

from .._arrays import Array, dense, host, is_foreign, like
from .histograms import HistogramKernel


class Tanimoto(HistogramKernel):
    """k(a, b) = Σ_j min(a_j, b_j) / Σ_j max(a_j, b_j), of vectors without negative entries.

    On indicators of sets this is Jaccard's |a ∩ b| / |a ∪ b|; on counts the min-max kernel. The
    empty set is like itself alone: k(∅, ∅) = 1.

    Examples
    --------
    >>> from mercer.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0]], [[0, 1, 1], [1, 1, 0]]).round(4)
    array([[0.3333, 1.    ]])
    """

    accepts_sparse = True

    def _gram(self, A: Array, B: Array) -> Array:
        least = dense(A @ B.T) if _binary(A) and _binary(B) else _minima(A, B)
        total = A.sum(axis=1)[:, None] + B.sum(axis=1)[None, :]
        largest = total - least
        empty = largest <= 0
        largest[empty] = 1.0
        least[empty] = 1.0
        return least / largest

    def _diag(self, A: Array) -> Array:
        return A.sum(axis=1) * 0.0 + 1.0


def _binary(A: Array) -> bool:
    values = A.data if issparse(A) else A
    return bool(((values == 0) | (values == 1)).all())


def _minima(A: Array, B: Array) -> Array:
    """Σ_j min(a_j, b_j) for all pairs, over the entries that are not zero."""
    from ._minima import minima

    rows, columns = csr_array(host(A)), csr_array(host(B).T)
    for M in (rows, columns):
        M.sum_duplicates()
    left, right = ((M.indptr, M.indices, M.data) for M in (rows, columns))
    M = minima(*left, *right, B.shape[0])
    return like(M, A) if is_foreign(A) else np.asarray(M)
