"""The min/max similarity of rows of counts; of sets (rows of 0 and 1) it is Tanimoto's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def tanimoto(A: Any, B: Any) -> np.ndarray:
    """Σ_f min(a_f, b_f) / Σ_f max(a_f, b_f) for all pairs of rows, dense or sparse.

    Entries must not be negative. Two rows of zeros are equal: 1.

    Examples
    --------
    >>> from mercer.kernels.tanimoto import tanimoto
    >>> tanimoto([[1, 1, 0], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]]).round(4)
    array([[0.3333, 0.    ],
           [0.    , 1.    ]])
    """
    from ._tanimoto import minimum_sums

    F, G = (sparse.csr_array(M, dtype=np.float64) for M in (A, B))
    if (F.data.size and F.data.min() < 0) or (G.data.size and G.data.min() < 0):
        raise ValueError("the min/max similarity is one of counts: entries must not be negative.")
    Gt = G.T.tocsr()
    S = minimum_sums(F.indptr, F.indices, F.data, Gt.indptr, Gt.indices, Gt.data, G.shape[0])
    D = np.asarray(F.sum(axis=1))[:, None] + np.asarray(G.sum(axis=1))[None, :] - S
    empty = D <= 0
    return np.where(empty, 1.0, S / np.where(empty, 1.0, D))
