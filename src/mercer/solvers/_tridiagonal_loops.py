"""The loop of the tridiagonal solver, compiled; imported when it is first asked for."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True)
def inverse_diagonals(Q, diagonal, off, alphas):
    """q_iᵀ (T + αI)⁻¹ q_i for every row of Q and every α, by one forward sweep of T = L D Lᵀ.

    The sweep runs over the α's innermost: they fill the processor's lanes, where a single
    recurrence would wait for itself.
    """
    n, m = Q.shape[0], alphas.shape[0]
    lower, inverse = np.zeros((n, m)), np.empty((n, m))
    for a in range(m):
        pivot = diagonal[0] + alphas[a]
        inverse[0, a] = 1.0 / pivot
        for j in range(1, n):
            lower[j, a] = off[j - 1] / pivot
            pivot = diagonal[j] + alphas[a] - lower[j, a] * off[j - 1]
            inverse[j, a] = 1.0 / pivot
    out = np.empty((n, m))
    for i in prange(n):
        z, total = np.zeros(m), np.zeros(m)
        for j in range(n):
            q = Q[i, j]
            for a in range(m):
                z[a] = q - lower[j, a] * z[a]
                total[a] += z[a] * z[a] * inverse[j, a]
        out[i] = total
    return out
