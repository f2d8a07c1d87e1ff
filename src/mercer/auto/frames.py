"""Tables of every make as columns, and columns as tables of the make that was given."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._arrays import Items
from ..cells import BadTable, Table
from .guess import with_numbers
from .inputs import Inputs
from .outputs import Outputs

Columns = dict[Hashable, Any]
"""Cells by column: an array of numbers or dates, or a list."""


def as_table(frame: Any, name: str = "the table") -> Table:
    """Any table as one of cells; one that was read from a file as it is."""
    if isinstance(frame, Table):
        return frame
    columns = columns_of(frame, name)
    n = len(next(iter(columns.values())))
    return with_numbers(Table(name, columns, range(n), unit="row"))


def columns_of(frame: Any, name: str = "the table") -> Columns:
    """The columns of a DataFrame, a pyarrow table, a dictionary, a list of rows or an array."""
    known = _named_columns(frame)
    if known is None:
        columns = _of_array(frame)
    else:
        names, cells_of = known
        columns = {key: _cells(cells_of(key)) for key in names}
    lengths = {key: len(cells) for key, cells in columns.items()}
    if not columns or len(set(lengths.values())) != 1:
        raise BadTable(f"{name} must have columns of one length, got {str(lengths)[:200]}.")
    return columns


def _named_columns(frame: Any) -> tuple[Iterable[Hashable], Callable[[Any], Any]] | None:
    """The names of a table's columns, and what gives the cells of one; None without names."""
    if isinstance(frame, Mapping):
        return frame, frame.__getitem__
    if hasattr(frame, "column_names"):  # pyarrow
        return frame.column_names, lambda key: frame[key].to_pylist()
    if hasattr(frame, "columns"):  # pandas, polars
        return frame.columns, frame.__getitem__
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        return frame.dtype.names, frame.__getitem__
    if isinstance(frame, list | tuple) and frame and isinstance(frame[0], Mapping):
        names = dict.fromkeys(key for row in frame for key in row)
        return names, lambda key: [row.get(key) for row in frame]
    return None


def _of_array(values: Any) -> Columns:
    """The columns of a two-dimensional array, by number; anything else is one column, 0."""
    if issparse(values):
        values = values.toarray()
    cells = _cells(values)
    if isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.dtype.kind != "O":
        return {j: cells[:, j] for j in range(cells.shape[1])}
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        return {j: _cells(cells[:, j].tolist()) for j in range(cells.shape[1])}
    return {0: cells}


def _cells(values: Any) -> Any:
    """An array where cells are numbers or dates, else a list, missing cells as None."""
    if hasattr(values, "to_numpy"):
        values = _plain(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufM":
        return values
    cells = values if isinstance(values, np.ndarray) and values.ndim > 1 else list(values)
    if isinstance(cells, list) and all(isinstance(c, _NUMBERS) or c is None for c in cells):
        whole = all(isinstance(c, int | np.integer) for c in cells)
        return np.array(cells, dtype=None if whole and cells else float)
    if isinstance(cells, list) and _even(cells):
        return np.array(cells, dtype=float)
    return [None if _is_missing(c) else c for c in cells] if isinstance(cells, list) else cells


_NUMBERS = (bool, int, float, np.number, np.bool_)


def _plain(series: Any) -> Any:
    """A column of pandas or polars as an array of numbers, or a list."""
    kind = getattr(getattr(series, "dtype", None), "kind", None)
    if kind in ("b", "i", "u", "f") and getattr(series, "isna", None) is not None:
        return series.to_numpy(dtype=float if series.isna().any() else None)
    if kind == "M":
        return np.asarray(series.to_numpy(), dtype="datetime64[us]")
    return series.to_list() if hasattr(series, "to_list") else series.tolist()


def _even(cells: list) -> bool:
    """Whether cells are rows of numbers of one length, as numpy arrays: lists may be labels."""
    arrays = cells and all(isinstance(c, np.ndarray) and c.dtype.kind in "biuf" for c in cells)
    return bool(arrays) and len({c.shape for c in cells}) == 1


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell) or str(cell) == "<NA>"


def named(frame: Any) -> bool:
    """Whether a table has names for its columns."""
    return isinstance(frame, Table) or _named_columns(frame) is not None


def in_kind(columns: Columns, like: Any) -> Any:
    """Columns as a table of the make of `like`; of pandas with its index."""
    module = type(like).__module__.partition(".")[0]
    if module == "pandas":
        import pandas

        return pandas.DataFrame(
            {key: _series(cells) for key, cells in columns.items()}, index=like.index
        )
    if module in ("polars", "pyarrow"):
        library = __import__(module)
        make = library.DataFrame if module == "polars" else library.table
        return make({str(key): list(cells) for key, cells in columns.items()})
    return columns


def _series(cells: Sequence) -> Any:
    return cells if isinstance(cells, np.ndarray) and cells.ndim == 1 else list(cells)


@dataclass(frozen=True)
class TableReader:
    """Reads rows as they were read in training."""

    inputs: Inputs
    outputs: Outputs

    def transform(self, X: Any) -> Items:
        """The inputs of some rows."""
        return self.inputs.transform(as_table(X))

    def read(self, y: Any) -> Items:
        """The outputs of some rows; columns without the names of training go by their order."""
        table = as_table(y, "y")
        if not set(self.outputs.columns_) <= set(table.columns):
            cells = dict(zip(self.outputs.columns_, table.columns.values(), strict=True))
            table = replace(table, columns=cells)
        return self.outputs.read(table)


def outputs_table(y: Any) -> Table:
    """The outputs as a table: a Series under its name, columns of an array as y, y 0 or y 1."""
    table = as_table(y, "y")
    if named(y):
        return table
    name = getattr(y, "name", None)
    alone = len(table.columns) == 1
    called = "y" if name is None else name
    cells = table.columns.values()
    columns = {called if alone else f"{called} {j}": column for j, column in enumerate(cells)}
    return replace(table, columns=columns)
