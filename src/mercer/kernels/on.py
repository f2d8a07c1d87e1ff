from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from .._arrays import Items, object_array
from ..spaces import Rows
from .base import Kernel
from .mapped import After, Mapped


class On(After):
    """A kernel on one column of a table: sums and products of such kernels compare rows.

    Tables are DataFrames of pandas or polars, tables of pyarrow, dictionaries of columns,
    structured arrays, or lists of dictionaries.

    Parameters
    ----------
    column
        The name of the column.
    kernel
        The kernel on its values; a column of numbers counts as vectors of length one, for
        `Mapped` too.

    Examples
    --------
    >>> from mercer.kernels import RBF, On, Words
    >>> kernel = On("title", Words()) + On("price", RBF(1.0))
    >>> table = {"title": ["the sea", "the sun"], "price": [1.0, 2.0]}
    >>> kernel.fit(table)(table).round(4)
    array([[3.    , 1.6065],
           [1.6065, 3.    ]])
    """

    def __init__(self, column: Any, kernel: Kernel):
        self.column = column
        self.kernel = kernel

    def __str__(self) -> str:
        return f"On({self.column!r}, {self.kernel})"

    space = property(lambda self: Rows([self.column]))

    def _called(self) -> str:
        return f"column {self.column!r}"

    def _apply(self, A: Items) -> Items:
        values, inner = [row[self.column] for row in A], self.inner
        if inner.on_vectors or isinstance(inner.multiple.kernel, Mapped):
            if all(isinstance(value, Real) for value in values):
                return np.array(values, dtype=float)[:, None]
        return values if inner.on_vectors else object_array(values)
