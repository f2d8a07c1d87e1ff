"""The compiled loop of the mass spectrum kernel."""

import numpy as np

from .._loops import compiled, parallel


@compiled
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


def overlaps(mp, m, a, up, u, b, width, height, slope, symmetric):
    """The overlap of all pairs of two batches, the lower half mirrored where they are one."""
    K = np.zeros((len(mp) - 1, len(up) - 1))
    _overlaps(mp, m, a, up, u, b, width, height, slope, symmetric, K)
    return K


@parallel
def _overlaps(start, stop, mp, m, a, up, u, b, width, height, slope, symmetric, K):
    for i in range(start, stop):
        for j in range(i + 1 if symmetric else K.shape[1]):
            K[i, j] = overlap(m, a, mp[i], mp[i + 1], u, b, up[j], up[j + 1], width, height, slope)
            if symmetric:
                K[j, i] = K[i, j]


@compiled
def self_overlaps(mp, m, a, b, width, height, slope):
    """The overlap of every spectrum with itself, its peaks weighted by a and by b."""
    d = np.zeros(len(mp) - 1)
    for i in range(len(d)):
        start, end = mp[i], mp[i + 1]
        d[i] = overlap(m, a, start, end, m, b, start, end, width, height, slope)
    return d
