"""The compiled loop of the mass spectrum kernel."""

import numpy as np
from numba import njit, prange

from .._loops import parallel


@njit(cache=True)
def overlap(m, a, i, i_end, u, b, j, j_end, width, height, slope):
    """Σ a_p b_q (height - slope |m_p - u_q|) over two sorted lists of peaks nearer than width."""
    total = 0.0
    for p in range(i, i_end):
        while j < j_end and u[j] <= m[p] - width:
            j += 1
        q = j
        while q < j_end and u[q] < m[p] + width:
            total += a[p] * b[q] * (height - slope * abs(m[p] - u[q]))
            q += 1
    return total


@parallel
def overlaps(mp, m, a, up, u, b, width, height, slope, symmetric):
    """The overlap of all pairs of two batches, the lower half mirrored where they are one."""
    n, t = len(mp) - 1, len(up) - 1
    K = np.zeros((n, t))
    for i in prange(n):
        for j in range(i + 1 if symmetric else t):
            start, end = mp[i], mp[i + 1]
            K[i, j] = overlap(m, a, start, end, u, b, up[j], up[j + 1], width, height, slope)
            if symmetric:
                K[j, i] = K[i, j]
    return K


@njit(cache=True)
def self_overlaps(mp, m, a, b, width, height, slope):
    """The overlap of every spectrum with itself, its peaks weighted by a and by b."""
    d = np.zeros(len(mp) - 1)
    for i in range(len(d)):
        start, end = mp[i], mp[i + 1]
        d[i] = overlap(m, a, start, end, m, b, start, end, width, height, slope)
    return d
