"""Frames and other tables from Python as a `Table`, and columns as frames of the given library."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from scipy.sparse import issparse

from .table import MISSING, BadTable, Table, check_names
from .values import is_numeric

Columns = dict[Hashable, Any]
"""Cells by column: an array of numbers, dates or durations, or a list."""


def as_table(frame: Any, name: str = "the table") -> Table:
    """Return any table from Python as a `Table`; one that was read from a file unchanged."""
    if isinstance(frame, Table):
        return frame
    columns = columns_of(frame, name)
    n = len(next(iter(columns.values())))
    return _with_gaps(Table(name, columns, range(n), unit="row"))


def columns_of(frame: Any, name: str = "the table") -> Columns:
    """Return the columns of a frame, a dictionary, a list of dictionaries or an array."""
    pairs = _named_cells(eager(frame))
    if pairs is None:
        columns = _of_array(frame)
    else:
        check_names([key for key, _ in pairs], name, file=False)
        columns = {key: _cells(values) for key, values in pairs}
    if not columns:
        raise BadTable(f"{name} has no columns.")
    lengths = {key: len(cells) for key, cells in columns.items()}
    if len(set(lengths.values())) != 1:
        raise BadTable(f"{name} must have columns of one length, got {str(lengths)[:200]}.")
    return columns


def eager(frame: Any) -> Any:
    """Return a frame in memory: lazy frames (polars, Dask, DuckDB) are collected."""
    if isinstance(frame, pd.DataFrame):
        return frame
    found = nw.from_native(frame, pass_through=True)
    return found.collect().to_native() if isinstance(found, nw.LazyFrame) else frame


def _named_cells(frame: Any) -> list[tuple[Hashable, Any]] | None:
    """Return pairs of a name and cells; None for a table without names."""
    if isinstance(frame, Mapping):
        return list(frame.items())
    if isinstance(frame, pd.DataFrame):  # by position: pandas allows a name twice
        return [(name, frame.iloc[:, j]) for j, name in enumerate(frame.columns)]
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        return [(name, frame[name]) for name in frame.dtype.names]
    if isinstance(frame, list | tuple) and frame and isinstance(frame[0], Mapping):
        names = dict.fromkeys(key for row in frame for key in row)
        return [(name, [row.get(name) for row in frame]) for name in names]
    found = nw.from_native(frame, pass_through=True)
    if isinstance(found, nw.DataFrame):
        return [(name, found[name].to_native()) for name in found.columns]
    return None


def is_named(frame: Any) -> bool:
    """Return whether a table has names for its columns."""
    if isinstance(frame, Table | pd.DataFrame):
        return True
    lazy = isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame)
    return lazy or _named_cells(frame) is not None


def _of_array(values: Any) -> Columns:
    """Return the columns of a two-dimensional array by number; anything else is column 0."""
    if np.isscalar(values) or values is None or isinstance(values, PathLike):
        raise TypeError(
            "a table must be a DataFrame, a dictionary of columns, a list of rows or an array, got "
            f"{values!r:.40}. Read a file by mercer.tables.read(path)."
        )
    if issparse(values):
        values = values.toarray()
    cells = _cells(values)
    if isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.dtype.kind != "O":
        return {j: cells[:, j] for j in range(cells.shape[1])}
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        return {j: _cells(cells[:, j].tolist()) for j in range(cells.shape[1])}
    return {0: cells}


_NUMBERS = (bool, int, float, np.number, np.bool_)


def _cells(values: Any) -> Any:
    """Return an array of numbers, dates or durations, else a list with None for missing cells."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        values = _plain(series)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufMm":
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        raise BadTable("columns must not hold complex numbers: use a real and an imaginary part.")
    cells = values if isinstance(values, np.ndarray) and values.ndim > 1 else list(values)
    if not isinstance(cells, list):
        return cells
    if all(isinstance(c, _NUMBERS) or c is None for c in cells):
        whole = all(isinstance(c, int | np.integer) for c in cells)
        return np.array(cells, dtype=None if whole and cells else float)
    if _are_arrays(cells):
        return np.array(cells, dtype=float)
    return [None if _is_missing(c) else _moment(c) for c in cells]


def _moment(cell: Any) -> Any:
    """Return the start of a period of pandas, and other cells unchanged."""
    return cell.start_time if isinstance(cell, pd.Period) else cell


def _plain(series: nw.Series) -> Any:
    """Return a Series as an array of numbers, dates or durations, or as a list."""
    kind = series.dtype
    if kind.is_numeric() or kind == nw.Boolean:
        wide = kind in (nw.Int128, nw.UInt128) or series.is_null().any()
        return (series.cast(nw.Float64) if wide else series).to_numpy()
    if isinstance(kind, nw.Duration) or (isinstance(kind, nw.Datetime) and not kind.time_zone):
        return series.to_numpy()
    if isinstance(kind, nw.Unknown) and series.to_numpy().dtype.kind == "c":
        return series.to_numpy()  # complex numbers, which are refused
    return series.to_list()  # with a time zone, as datetimes that know it


def _are_arrays(cells: list) -> bool:
    """Return whether cells are numpy arrays of numbers of one shape: lists may be labels."""
    arrays = cells and all(isinstance(c, np.ndarray) and c.dtype.kind in "biuf" for c in cells)
    return bool(arrays) and len({c.shape for c in cells}) == 1


def _is_missing(cell: Any) -> bool:
    """Return whether a cell of a frame is missing."""
    return cell is None or cell is pd.NA or cell is pd.NaT or (cell != cell) is True


def _with_gaps(table: Table) -> Table:
    """Return the table with cells such as "NA" empty in columns of numbers.

    Text in a table from Python may be a name, such as that of Namibia; in a file `Table.missing`
    says what it means.
    """
    columns = {name: _gaps(cells) for name, cells in table.columns.items()}
    return replace(table, columns=columns, missing=("",))


def _gaps(cells: Any) -> Any:
    """Return a column with texts such as "NA" as None, if the other cells are numbers."""
    if isinstance(cells, np.ndarray):
        return cells
    holes = [isinstance(c, str) and c.strip().lower() in MISSING for c in cells]
    if not any(holes):
        return cells
    kept = [c for c, hole in zip(cells, holes, strict=True) if not hole and c is not None]
    if not kept or not is_numeric(Table("", {0: kept}, range(len(kept))), 0):
        return cells
    return [None if hole else c for c, hole in zip(cells, holes, strict=True)]


def in_kind(columns: Columns, like: Any) -> Any:
    """Return columns as a frame of the library of `like`, with its index if that is pandas.

    Dictionaries, lists and files become a dictionary.
    """
    like = eager(like)
    if isinstance(like, pd.DataFrame):
        cells = {key: _series(values) for key, values in columns.items()}
        return pd.DataFrame(cells, index=like.index)
    found = nw.from_native(like, pass_through=True)
    if not isinstance(found, nw.DataFrame):
        return columns
    named = {str(key): _listed(cells) for key, cells in columns.items()}
    return nw.from_dict(named, backend=found.implementation).to_native()


def _series(cells: Sequence) -> Any:
    """Return cells as a column for pandas: arrays of several axes one by one."""
    return list(cells) if isinstance(cells, np.ndarray) and cells.ndim > 1 else cells


def _listed(cells: Sequence) -> Any:
    """Return cells as a column for polars and pyarrow, which take no arrays of objects."""
    if isinstance(cells, np.ndarray) and cells.ndim == 1 and cells.dtype.kind in "biufMm":
        return cells
    return [cell.tolist() if isinstance(cell, np.ndarray) else cell for cell in cells]


def empty_like(frame: Any, kept: Any = None) -> Any:
    """Return a frame of the same library without columns, with the index of the rows `kept`."""
    frame = eager(frame)
    if isinstance(frame, pd.DataFrame):
        return frame.iloc[:, :0] if kept is None else frame.iloc[kept, :0]
    found = nw.from_native(frame, pass_through=True)
    return found.head(0).to_native() if isinstance(found, nw.DataFrame) else None


def outputs_table(y: Any) -> Table:
    """Return the outputs as a table: a Series under its name, columns of an array as y 0, y 1."""
    table = as_table(y, "y")
    if is_named(y):
        return table
    name = getattr(y, "name", None)
    alone = len(table.columns) == 1
    called = "y" if name is None else name
    cells = table.columns.values()
    columns = {called if alone else f"{called} {j}": column for j, column in enumerate(cells)}
    return replace(table, columns=columns)


def is_flat(y: Any) -> bool:
    """Return whether outputs are one value for each row: a Series, a list, or one axis."""
    if y is None or is_named(y):
        return False
    if isinstance(nw.from_native(y, series_only=True, pass_through=True), nw.Series):
        return True
    first = y[0] if isinstance(y, Sequence) and len(y) else y
    return getattr(y, "ndim", 1 if np.isscalar(first) else 2) == 1
