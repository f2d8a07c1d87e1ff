"""Compiled loops over the features that two sparse rows share.

A is given by rows (CSR) and B by columns (CSC), so that only shared features are visited. The
result is dense.
"""

from .._base.loops import parallel


@parallel
def add_products(start, stop, ap, ai, ax, bp, bi, bx, S):
    """Add the inner product of row i of A and row j of B to S[i, j], for start ≤ i < stop.

    (ap, ai, ax) are the index pointer, the columns and the values of A in CSR form, and (bp, bi,
    bx) the index pointer, the rows and the values of B in CSC form.
    """
    for i in range(start, stop):
        for p in range(ap[i], ap[i + 1]):
            feature, a = ai[p], ax[p]
            for q in range(bp[feature], bp[feature + 1]):
                S[i, bi[q]] += a * bx[q]


@parallel
def add_minima(start, stop, ap, ai, ax, bp, bi, bx, S):
    """Add Σ_f min(a_f, b_f) of row i of A and row j of B to S[i, j], for start ≤ i < stop.

    The arguments are those of `add_products`.
    """
    for i in range(start, stop):
        for p in range(ap[i], ap[i + 1]):
            feature, a = ai[p], ax[p]
            for q in range(bp[feature], bp[feature + 1]):
                b = bx[q]
                S[i, bi[q]] += a if a < b else b


@parallel
def add_harmonic_means(start, stop, ap, ai, ax, bp, bi, bx, S):
    """Add Σ_f 2 a_f b_f / (a_f + b_f) of row i of A and row j of B to S[i, j], start ≤ i < stop.

    The arguments are those of `add_products`.
    """
    for i in range(start, stop):
        for p in range(ap[i], ap[i + 1]):
            feature, a = ai[p], ax[p]
            for q in range(bp[feature], bp[feature + 1]):
                b = bx[q]
                S[i, bi[q]] += 2.0 * a * (b / (a + b))
