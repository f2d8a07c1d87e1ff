"""Compiled merges of sparse rows."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True)
def minima(a_data, a_indices, a_indptr, b_data, b_indices, b_indptr) -> np.ndarray:
    """Σ_j min(a_j, b_j) for all pairs of rows of two CSR matrices with sorted indices."""
    n, m = len(a_indptr) - 1, len(b_indptr) - 1
    out = np.zeros((n, m))
    for i in prange(n):
        for j in range(m):
            p, q, total = a_indptr[i], b_indptr[j], 0.0
            while p < a_indptr[i + 1] and q < b_indptr[j + 1]:
                if a_indices[p] == b_indices[q]:
                    total += min(a_data[p], b_data[q])
                    p += 1
                    q += 1
                elif a_indices[p] < b_indices[q]:
                    p += 1
                else:
                    q += 1
            out[i, j] = total
    return out
