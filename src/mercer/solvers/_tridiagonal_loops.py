"""The loop of the tridiagonal solver, compiled; imported when it is first asked for."""

from __future__ import annotations

import numpy as np

from .._base.loops import compiled, parallel

ROWS = 64


def inverse_diagonals(rows, diagonal, off, alphas):
    """q_iᵀ (T + αI)⁻¹ q_i for every row q_i and every α.

    T + αI = L D Lᵀ, and z = L⁻¹q by one forward sweep, so that the value is Σ_j z_j² / D_j. Rows
    go through the sweep together, a few at a time: a single recurrence would wait for itself.
    """
    out = np.zeros((len(rows), len(alphas)))
    _swept(rows, *_pivots(diagonal, off, alphas), out)
    return out


@compiled
def _pivots(diagonal, off, alphas):
    """The entries below the diagonal of L, and 1 / D."""
    r, m = diagonal.shape[0], alphas.shape[0]
    lower, inverse = np.zeros((r, m)), np.empty((r, m))
    for a in range(m):
        pivot = diagonal[0] + alphas[a]
        inverse[0, a] = 1.0 / pivot
        for j in range(1, r):
            lower[j, a] = off[j - 1] / pivot
            pivot = diagonal[j] + alphas[a] - lower[j, a] * off[j - 1]
            inverse[j, a] = 1.0 / pivot
    return lower, inverse


@parallel
def _swept(start, stop, rows, lower, inverse, out):
    r, m = lower.shape
    for first in range(start, stop, ROWS):
        size = min(ROWS, stop - first)
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
