"""The loop of the tridiagonal solver, compiled; imported when it is first asked for."""

from __future__ import annotations

import numpy as np
from numba import prange

from .._loops import parallel

ROWS = 64


@parallel
def inverse_diagonals(rest, diagonal, off, alphas):
    """q_iᵀ (T + αI)⁻¹ q_i for every row of Q = diag(1, rest) and every α.

    T + αI = L D Lᵀ, and z = L⁻¹q by one forward sweep, so that the value is Σ_j z_j² / D_j. Rows
    go through the sweep together, a few at a time: a single recurrence would wait for itself.
    """
    n, m = diagonal.shape[0], alphas.shape[0]
    lower, inverse = np.zeros((n, m)), np.empty((n, m))
    out = np.zeros((n, m))
    for a in range(m):
        pivot, first_z = diagonal[0] + alphas[a], 1.0
        inverse[0, a] = 1.0 / pivot
        out[0, a] = 1.0 / pivot
        for j in range(1, n):
            lower[j, a] = off[j - 1] / pivot
            pivot = diagonal[j] + alphas[a] - lower[j, a] * off[j - 1]
            inverse[j, a] = 1.0 / pivot
            first_z = -lower[j, a] * first_z
            out[0, a] += first_z * first_z / pivot
    for block in prange((n - 1 + ROWS - 1) // ROWS):
        first = block * ROWS
        size = min(ROWS, n - 1 - first)
        z, total = np.zeros((m, ROWS)), np.zeros((m, ROWS))
        for j in range(1, n):
            for a in range(m):
                step, weight = lower[j, a], inverse[j, a]
                for i in range(size):
                    z[a, i] = rest[first + i, j - 1] - step * z[a, i]
                    total[a, i] += z[a, i] * z[a, i] * weight
        for i in range(size):
            for a in range(m):
                out[1 + first + i, a] = total[a, i]
    return out
