"""The loop of the tridiagonal solver, compiled; imported when it is first asked for."""

from __future__ import annotations

import numpy as np
from numba import prange

from .._loops import parallel

ROWS = 64


@parallel
def inverse_diagonals(rows, diagonal, off, alphas):
    """q_iᵀ (T + αI)⁻¹ q_i for every row q_i and every α.

    T + αI = L D Lᵀ, and z = L⁻¹q by one forward sweep, so that the value is Σ_j z_j² / D_j. Rows
    go through the sweep together, a few at a time: a single recurrence would wait for itself.
    """
    n, r, m = rows.shape[0], diagonal.shape[0], alphas.shape[0]
    lower, inverse = np.zeros((r, m)), np.empty((r, m))
    out = np.zeros((n, m))
    for a in range(m):
        pivot = diagonal[0] + alphas[a]
        inverse[0, a] = 1.0 / pivot
        for j in range(1, r):
            lower[j, a] = off[j - 1] / pivot
            pivot = diagonal[j] + alphas[a] - lower[j, a] * off[j - 1]
            inverse[j, a] = 1.0 / pivot
    for block in prange((n + ROWS - 1) // ROWS):
        first = block * ROWS
        size = min(ROWS, n - first)
        z, total = np.zeros((m, ROWS)), np.zeros((m, ROWS))
        for j in range(r):
            for a in range(m):
                step, weight = lower[j, a], inverse[j, a]
                for i in range(size):
                    z[a, i] = rows[first + i, j] - step * z[a, i]
                    total[a, i] += z[a, i] * z[a, i] * weight
        for i in range(size):
            for a in range(m):
                out[first + i, a] = total[a, i]
    return out
