from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from .._base.arrays import Items, cells_of, has_columns, object_array, refuse_masked, table_columns
from .base import Space


class Rows(Space):
    """Rows of a table, each as a dictionary from column names to values.

    Tables are DataFrames of pandas or polars, tables of pyarrow, dictionaries of columns,
    structured arrays, or lists of dictionaries.

    Parameters
    ----------
    columns : sequence, default=()
        The columns that are used; others are ignored.

    Examples
    --------
    >>> from mercer.spaces import Rows
    >>> Rows(["price"]).check({"title": ["a", "b"], "price": [1.0, 2.5]})
    array([{'price': 1.0}, {'price': 2.5}], dtype=object)
    """

    name = "rows of a table"

    def __init__(self, columns: Sequence[Any] = ()):
        self.columns = columns

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """Return a table as an object array with a dictionary for each row."""
        if _are_rows(A):
            return self._check_dictionaries(A, name)
        columns = {column: _read_column(A, column, name) for column in self.columns}
        lengths = {column: len(values) for column, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of {name} have unequal lengths: {lengths}.")
        if not columns or not min(lengths.values()):
            raise ValueError(f"{name} is empty: found 0 sample(s), at least 1 is needed.")
        parts = zip(*columns.values(), strict=True)
        return object_array([dict(zip(columns, values, strict=True)) for values in parts])

    def _check_dictionaries(self, A: Items, name: str) -> np.ndarray:
        """Return dictionaries in an object array; raise an error if a column is missing."""
        for i, row in enumerate(A):
            for column in self.columns:
                if column not in row:
                    raise ValueError(_absent_message(f"{name}[{i}]", column, list(row)))
        return A if isinstance(A, np.ndarray) else object_array(list(A))

    def key(self, item: Any) -> Hashable:
        """Return a tuple of the keys of the values of a row, in the columns of this space."""
        return tuple(Space.key(self, item[column]) for column in self.columns or sorted(item))

    def join(self, other: Space) -> Space:
        """Return the space of rows with the columns of both spaces."""
        if isinstance(other, Rows):
            return Rows([*dict.fromkeys([*self.columns, *other.columns])])
        return super().join(other)


def _are_rows(A: Any) -> bool:
    """Return whether a batch is a sequence of dictionaries."""
    batch = isinstance(A, list | tuple) or (isinstance(A, np.ndarray) and A.dtype == object)
    return bool(batch and len(A)) and all(isinstance(row, Mapping) for row in A)


def _read_column(table: Any, column: Any, name: str) -> list[Any]:
    """Return a column of a table of any supported library as a list."""
    refuse_masked(table, name)
    names = _column_names(table)
    if names is None:
        raise ValueError(
            f"{name} must be a table with named columns (a DataFrame, a dictionary of columns, a "
            f"structured array) for a kernel on the column {column!r}; got {type(table).__name__}."
        )
    if column not in names:
        raise ValueError(_absent_message(name, column, names))
    return cells_of(table[column])


def _column_names(table: Any) -> list | None:
    """Return the column names of a table; None if its columns have no names."""
    if isinstance(table, Mapping):
        return list(table)
    if isinstance(table, np.ndarray):
        return list(table.dtype.names or ()) or None
    return table_columns(table) if has_columns(table) else None


def _absent_message(name: str, column: Any, names: list) -> str:
    """Return the error message for a column that a table does not have."""
    known = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    return f"{name} has no column {column!r}: its columns are {known}."
