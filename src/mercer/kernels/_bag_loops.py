"""Compiled loops over the features that two sparse rows share.

A is given by rows and B by columns, both as `Compressed`, so that only shared features are visited.
The result is dense.
"""

from .._base.loops import parallel


@parallel
def add_inner_products(start, stop, A, B, out):
    """Add the inner product of row i of A and row j of B to out[i, j], for start ≤ i < stop."""
    for i in range(start, stop):
        for p in range(A.indptr[i], A.indptr[i + 1]):
            feature, a = A.indices[p], A.data[p]
            for q in range(B.indptr[feature], B.indptr[feature + 1]):
                out[i, B.indices[q]] += a * B.data[q]


@parallel
def add_sums_of_minima(start, stop, A, B, out):
    """Add Σ_f min(a_f, b_f) for row a = A_i and row b = B_j to out[i, j], for start ≤ i < stop."""
    for i in range(start, stop):
        for p in range(A.indptr[i], A.indptr[i + 1]):
            feature, a = A.indices[p], A.data[p]
            for q in range(B.indptr[feature], B.indptr[feature + 1]):
                b = B.data[q]
                out[i, B.indices[q]] += a if a < b else b


@parallel
def add_sums_of_harmonic_means(start, stop, A, B, out):
    """Add Σ_f 2 a_f b_f / (a_f + b_f) for a = A_i and b = B_j to out[i, j], start ≤ i < stop."""
    for i in range(start, stop):
        for p in range(A.indptr[i], A.indptr[i + 1]):
            feature, a = A.indices[p], A.data[p]
            for q in range(B.indptr[feature], B.indptr[feature + 1]):
                b = B.data[q]
                out[i, B.indices[q]] += 2.0 * a * (b / (a + b))
