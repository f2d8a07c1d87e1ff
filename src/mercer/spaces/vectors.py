from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from .._base.arrays import (
    Array,
    Items,
    canonical_csr,
    cells_of,
    has_columns,
    is_array,
    is_foreign,
    is_table,
    namespace,
    refuse_empty,
    refuse_masked,
    refuse_scalar,
    table_columns,
)
from .base import Space
from .graphs import is_networkx

NUMERIC_KINDS = "fiub"
"""The kinds of numeric dtypes; arrays of other kinds get checks beyond those of scikit-learn."""
VECTOR_TYPES = (list, tuple, np.ndarray)
"""The types of a single vector in a list of vectors."""
DATE_TYPES = (date, timedelta, np.datetime64, np.timedelta64)
"""The types of dates and durations, of which pandas has subclasses."""


class Vectors(Space):
    """Real vectors of one length, or arrays of one shape; numbers are vectors of length one.

    Examples
    --------
    >>> from mercer.spaces import Vectors
    >>> Vectors().check([1.0, 2.0])
    array([[1.],
           [2.]])
    """

    name = "vectors"
    greater_is_better = False
    on_vectors = True

    def check(
        self,
        A: Items,
        name: str = "y",
        owner: str = "its kernel",
        rows: bool = False,
        accept_sparse: bool = False,
        fill: bool = False,
    ) -> Array:
        """Check arrays of finite numbers; return float64, with numbers as vectors of length 1.

        With `rows`, further axes are flattened, and a one-dimensional array is an error. A sparse
        matrix is returned as a CSR array with `accept_sparse`, and as a dense one with `fill`.
        `owner` is named in errors.
        """
        if type(A) is np.ndarray and A.ndim == 2 and A.dtype == np.float64 and A.size:
            with np.errstate(all="ignore"):  # a sum of finite numbers may overflow
                if np.isfinite(A.sum()):
                    return A  # fast for servers, which check single rows
        refuse_scalar(A, name)
        if type(A) is not np.ndarray or A.dtype.kind not in NUMERIC_KINDS:
            refuse_masked(A, name)
            if (accept_sparse or fill) and issparse(A):
                A = check_array(A, accept_sparse="csr", dtype=np.float64, input_name=name)
                return A.toarray() if fill else canonical_csr(A)
            if is_foreign(A):
                A = _foreign_vectors(A if rows or A.ndim > 1 else A[:, None], name)
                return namespace(A).reshape(A, (A.shape[0], -1)) if rows else A
            _refuse_objects(A, name, owner)
        try:
            A = check_array(A, dtype=np.float64, allow_nd=True, ensure_2d=rows, input_name=name)
        except ValueError as problem:
            _refuse_text(A, name, str(problem))
            raise
        return A.reshape(len(A), -1) if A.ndim == 1 or (rows and A.ndim > 2) else A


def _refuse_objects(A: Items, name: str, owner: str) -> None:
    """Raise an error if items are dictionaries, strings, graphs or ragged lists."""
    if issparse(A):
        return  # scikit-learn's own message names sparse input and the way out
    if isinstance(A, dict):
        raise ValueError(
            f"{name} must hold numeric vectors of one length for {owner}, got a dictionary. Use a "
            "kernel of columns such as On('price', RBF()), AutoDependency, or an array."
        )
    _refuse_dates(A, name)
    first = A[0] if isinstance(A, Sequence | np.ndarray) and len(A) else None
    ragged = (
        isinstance(A, list | tuple)
        and len({np.shape(a) for a in A if isinstance(a, VECTOR_TYPES)}) > 1
    )
    if isinstance(first, str | bytes | dict | set) or ragged or is_networkx(first):
        got = "rows of unequal length" if ragged else f"items of type {type(first).__name__}"
        raise ValueError(
            f"{name} must hold numeric vectors of one length for {owner}, got {got}. "
            "Use a kernel made for such items (as kernel= for X, as output_kernel= for y), such as "
            "Labels() for lists of labels, Spectrum() for strings or WeisfeilerLehman() for "
            "graphs, Precomputed(gram), or a function of two batches."
        )


def _refuse_dates(A: Items, name: str) -> None:
    """Raise an error for dates and durations, which numpy would convert to numbers silently."""
    row: Any
    if has_columns(A) and not is_table(A):  # numpy converts the dates of polars and pyarrow
        row = [cell for column in table_columns(A) for cell in cells_of(A[column][:1])]
    elif is_array(A) or hasattr(type(A), "dtype"):  # as a pandas Index has
        row = np.asarray(A.iloc[:1] if is_table(A) else A[:1]).ravel()
    else:
        row = list(A[:1]) if isinstance(A, Sequence) else []
        row = list(row[0]) if row and isinstance(row[0], list | tuple) else row
    for value in row:
        if isinstance(value, DATE_TYPES):
            raise ValueError(
                f"{name} must hold numbers, got dates or durations ({type(value).__name__}): pass "
                "numbers, such as the days since a date, or use AutoDependency."
            )


def _refuse_text(A: Items, name: str, problem: str) -> None:
    """Raise an error that names the first cell of a table with a text, if that is the problem."""
    if not (has_columns(A) and problem.startswith("could not convert string to float")):
        return
    for column in table_columns(A):
        for row, cell in enumerate(cells_of(A[column])):
            if isinstance(cell, str) and not _is_number(cell):
                raise ValueError(
                    f"{problem}. {name} must be numeric, but column {column!r} has {cell!r:.40} in "
                    f"row {row}. Encode the column, as with OneHotEncoder, or use AutoDependency."
                ) from None


def _is_number(text: str) -> bool:
    """Return whether a text can be converted to a float."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _foreign_vectors(A: Array, name: str) -> Array:
    """Check an array of another library than numpy; return it in float64."""
    xp = namespace(A)
    if A.ndim < 2:
        raise ValueError(f"Expected a 2-D {name}, got shape {tuple(A.shape)}. Reshape your data.")
    refuse_empty(int(A.shape[0]), name)
    if xp.isdtype(A.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: {name}.")
    A = xp.astype(A, xp.float64)
    if not bool(xp.all(xp.isfinite(A))):
        raise ValueError(f"Input {name} contains NaN or infinity. Remove or impute those rows.")
    return A
