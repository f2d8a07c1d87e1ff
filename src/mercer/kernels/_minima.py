"""The compiled loop of the min/max similarity."""

import numpy as np

from .._loops import parallel


def minima(ap, ai, ax, bp, bi, bx, m):
    """Σ_f min(a_f, b_f): A by rows, B by columns, so that only shared features are visited."""
    S = np.zeros((len(ap) - 1, m))
    _minima(ap, ai, ax, bp, bi, bx, S)
    return S


@parallel
def _minima(start, stop, ap, ai, ax, bp, bi, bx, S):
    for i in range(start, stop):
        for p in range(ap[i], ap[i + 1]):
            a = ax[p]
            for q in range(bp[ai[p]], bp[ai[p] + 1]):
                b = bx[q]
                S[i, bi[q]] += a if a < b else b
