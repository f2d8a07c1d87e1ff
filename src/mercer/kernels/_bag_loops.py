"""Compiled loops over the features that two sparse rows share.

A is given by rows (CSR) and B by columns (CSC), so that only shared features are visited. The
result is dense.
"""

from .._base.loops import parallel


@parallel
def add_inner_products(start, stop, a_start, a_column, a_value, b_start, b_row, b_value, out):
    """Add the inner product of row i of A and row j of B to out[i, j], for start ≤ i < stop.

    (a_start, a_column, a_value) are the index pointer, the columns and the values of A in CSR form,
    and (b_start, b_row, b_value) the index pointer, the rows and the values of B in CSC form.
    """
    for i in range(start, stop):
        for p in range(a_start[i], a_start[i + 1]):
            feature, a = a_column[p], a_value[p]
            for q in range(b_start[feature], b_start[feature + 1]):
                out[i, b_row[q]] += a * b_value[q]


@parallel
def add_sums_of_minima(start, stop, a_start, a_column, a_value, b_start, b_row, b_value, out):
    """Add Σ_f min(a_f, b_f) of row i of A and row j of B to out[i, j], for start ≤ i < stop.

    The arguments are those of `add_inner_products`.
    """
    for i in range(start, stop):
        for p in range(a_start[i], a_start[i + 1]):
            feature, a = a_column[p], a_value[p]
            for q in range(b_start[feature], b_start[feature + 1]):
                b = b_value[q]
                out[i, b_row[q]] += a if a < b else b


@parallel
def add_sums_of_harmonic_means(
    start, stop, a_start, a_column, a_value, b_start, b_row, b_value, out
):
    """Add Σ_f 2 a_f b_f / (a_f + b_f) of rows i of A and j of B to out[i, j].

    The arguments are those of `add_inner_products`.
    """
    for i in range(start, stop):
        for p in range(a_start[i], a_start[i + 1]):
            feature, a = a_column[p], a_value[p]
            for q in range(b_start[feature], b_start[feature + 1]):
                b = b_value[q]
                out[i, b_row[q]] += 2.0 * a * (b / (a + b))
