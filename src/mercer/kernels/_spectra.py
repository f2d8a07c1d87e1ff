"""The compiled loop of the mass spectrum kernel."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from .._loops import parallel


@njit(cache=True)
def overlap(m, a, i, i_end, u, b, j, j_end, width):
    """Σ a_p b_q max(0, 1 - |m_p - u_q| / width) over two sorted lists of peaks."""
    total = 0.0
    for p in range(i, i_end):
        while j < j_end and u[j] <= m[p] - width:
            j += 1
        q = j
        while q < j_end and u[q] < m[p] + width:
            total += a[p] * b[q] * (1.0 - abs(m[p] - u[q]) / width)
            q += 1
    return total


@parallel
def overlaps(mp, m, a, up, u, b, width, symmetric):
    """The overlap of all pairs of two batches, the lower half mirrored where they are one."""
    n, t = len(mp) - 1, len(up) - 1
    K = np.zeros((n, t))
    for i in prange(n):
        for j in range(i + 1 if symmetric else t):
            K[i, j] = overlap(m, a, mp[i], mp[i + 1], u, b, up[j], up[j + 1], width)
            if symmetric:
                K[j, i] = K[i, j]
    return K


@njit(cache=True)
def self_overlaps(mp, m, a, width):
    """The overlap of every spectrum with itself."""
    d = np.zeros(len(mp) - 1)
    for i in range(len(d)):
        d[i] = overlap(m, a, mp[i], mp[i + 1], m, a, mp[i], mp[i + 1], width)
    return d
