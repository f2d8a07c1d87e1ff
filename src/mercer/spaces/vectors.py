from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from .._arrays import (
    Array,
    Items,
    canonical,
    foreign_vectors,
    is_foreign,
    namespace,
    refuse_masked,
    refuse_things,
)
from ..cells import BadTable, Table
from ..cells.notation import is_date, written_day
from ..cells.table import Name
from ..cells.values import notation_of, numbers
from .base import Space

NUMBERS = "fiub"
"""Kinds of numpy's plain numbers, of which an array needs no further look before scikit-learn's."""


class Vectors(Space):
    """Real vectors of one length, images and other arrays of one shape; a number is a vector.

    Examples
    --------
    >>> from mercer.spaces import Vectors
    >>> Vectors().check([1.0, 2.0])
    array([[1.],
           [2.]])
    """

    name = "vectors"
    KERNEL = "kernels.Linear"
    METRIC = "metrics.squared_error"
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
        """Finite numbers in an array of their own shape, plain numbers as vectors of length 1.

        With `rows` further axes are flattened, plain numbers refused, and a sparse matrix stays
        one, as a CSR array, where its kernel can work on it; with `fill` it becomes a dense one.
        """
        if type(A) is np.ndarray and A.ndim == 2 and A.dtype == np.float64 and A.size:
            with np.errstate(all="ignore"):  # a sum of finite numbers may overflow: look closely
                if np.isfinite(A.sum()):
                    return A  # the short way for a server, which checks single rows
        if type(A) is not np.ndarray or A.dtype.kind not in NUMBERS:
            refuse_masked(A, name)
            if (accept_sparse or fill) and issparse(A):
                A = check_array(A, accept_sparse="csr", dtype=np.float64, input_name=name)
                return A.toarray() if fill else canonical(A)
            if is_foreign(A):
                A = foreign_vectors(A if rows or A.ndim > 1 else A[:, None], name)
                return namespace(A).reshape(A, (A.shape[0], -1)) if rows else A
            refuse_things(A, name, owner)
        A = check_array(A, dtype=np.float64, allow_nd=True, ensure_2d=rows, input_name=name)
        return A.reshape(len(A), -1) if A.ndim == 1 or (rows and A.ndim > 2) else A

    def decoder(self, kernel: Any) -> Any:
        """The point itself where features can be undone, a fixed point where k is radial."""
        decoders, features = import_module("mercer.decoders"), kernel.features
        if features is not None:
            return decoders.Candidates() if features.inverse is None else decoders.Direct()
        return decoders.Candidates() if kernel.radial is None else decoders.FixedPoint()

    def learn(self, table: Table, names: Sequence[Name]) -> np.ndarray:
        """The numbers of training rows; how columns write them, and which hold dates, is kept."""
        self.columns_ = list(names)
        if _is_array(table, names):
            self.notations_: list[str] | None = None
            self.shape_ = table.columns[names[0]].shape[1:]
            return self.read(table)
        self.notations_ = [notation_of(table, name) for name in names]
        rows = self.read(table)
        dates = zip(self.notations_, rows.T, strict=False)
        self.moments_ = [is_date(n) and bool((cells % 1.0).any()) for n, cells in dates]
        return rows

    def read(self, table: Table) -> np.ndarray:
        """Finite numbers, one row a row; arrays of several axes keep their shape."""
        names = table.names(self.columns_)
        rows = numbers(table, names, self.notations_)
        width = int(np.prod(self.shape_)) if self.notations_ is None else rows.shape[1]
        if rows.shape[1] != width:
            raise BadTable(
                f"{table.source}: rows of {rows.shape[1]} numbers, where {width} were learnt from."
            )
        return rows if self.notations_ is None and len(self.shape_) < 2 else self._shaped(rows)

    def _shaped(self, rows: np.ndarray) -> np.ndarray:
        return rows if self.notations_ is not None else rows.reshape(len(rows), *self.shape_)

    def write(self, items: Items) -> dict[Name, Any]:
        """One column a number, dates as dates; arrays where the training cells held arrays."""
        rows = np.asarray(items).reshape(len(items), -1)
        if len(self.columns_) != rows.shape[1] or self.notations_ is None:
            arrays = self._shaped(rows) if rows.shape[1] > 1 else rows[:, 0]
            return {self.columns_[0]: list(arrays) if rows.shape[1] > 1 else arrays}
        return {name: self._cells(j, rows[:, j]) for j, name in enumerate(self.columns_)}

    def _cells(self, j: int, values: np.ndarray) -> Any:
        if self.notations_ is None or not is_date(self.notations_[j]):
            return values
        return [written_day(float(value), self.moments_[j]) for value in values]


def _is_array(table: Table, names: Sequence[Name]) -> bool:
    """Whether a single column holds arrays: rows of numbers, or images."""
    cells = table.columns[names[0]]
    return len(names) == 1 and isinstance(cells, np.ndarray) and cells.ndim > 1
