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

from .bad_table import BadTable
from .columns import is_numeric
from .table import MISSING, Table, check_unique_names

Columns = dict[Hashable, Any]
"""Cells by column: an array of numbers, dates or durations, or a list."""


def as_table(frame: Any, name: str = "the table") -> Table:
    """Convert a frame, dictionary, list or array to a `Table`; return a `Table` unchanged."""
    if isinstance(frame, Table):
        return frame
    columns = columns_of(frame, name)
    n = len(next(iter(columns.values())))
    return _mark_missing_cells(Table(name, columns, range(n), unit="row"))


def columns_of(frame: Any, name: str = "the table") -> Columns:
    """Return the columns of a frame, dictionary, list of dictionaries or array, by name."""
    pairs = _named_cells(in_memory(frame))
    if pairs is None:
        columns = _columns_of_array(frame)
    else:
        check_unique_names([key for key, _ in pairs], name, file=False)
        columns = {key: _convert_column(values) for key, values in pairs}
    if not columns:
        raise BadTable(f"{name} has no columns", "pass a table with named columns")
    lengths = {key: len(cells) for key, cells in columns.items()}
    if len(set(lengths.values())) != 1:
        raise BadTable(f"{name} must have columns of one length, got {str(lengths)[:200]}")
    return columns


def in_memory(frame: Any) -> Any:
    """Load a lazy frame (polars, Dask, DuckDB) into memory; return other tables unchanged."""
    if isinstance(frame, pd.DataFrame):
        return frame
    wrapped = nw.from_native(frame, pass_through=True)
    return wrapped.collect().to_native() if isinstance(wrapped, nw.LazyFrame) else frame


def _named_cells(frame: Any) -> list[tuple[Hashable, Any]] | None:
    """Return (name, cells) for each column; None for a table without column names."""
    if isinstance(frame, Mapping):
        for name, cells in frame.items():
            if isinstance(cells, str | int | float):
                raise BadTable(
                    f"a dictionary must hold columns, but {name!r} is {cells!r:.40}",
                    ["pass a list of values", "pass a row as a list with one dictionary"],
                )
        return list(frame.items())
    if isinstance(frame, pd.DataFrame):  # by position: pandas allows a name twice
        return [(name, frame.iloc[:, j]) for j, name in enumerate(frame.columns)]
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        return [(name, frame[name]) for name in frame.dtype.names]
    if isinstance(frame, list | tuple) and frame and isinstance(frame[0], Mapping):
        names = dict.fromkeys(key for row in frame for key in row)
        return [(name, [row.get(name) for row in frame]) for name in names]
    wrapped = nw.from_native(frame, pass_through=True)
    if isinstance(wrapped, nw.DataFrame):
        return [(name, wrapped[name].to_native()) for name in wrapped.columns]
    return None


def is_named(frame: Any) -> bool:
    """Return whether a table has names for its columns."""
    if isinstance(frame, Table | pd.DataFrame):
        return True
    lazy = isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame)
    return lazy or _named_cells(frame) is not None


def _columns_of_array(values: Any) -> Columns:
    """Return the columns of a matrix by their number; any other array or list is column 0."""
    if np.isscalar(values) or values is None or isinstance(values, PathLike):
        raise TypeError(
            "a table must be a DataFrame, a dictionary of columns, a list of rows or an array, got "
            f"{values!r:.40}. Read a file by mercer.tables.read(path)."
        )
    if issparse(values):
        values = values.toarray()
    if np.ma.is_masked(values) and values.ndim == 2:
        return {j: _convert_column(values[:, j]) for j in range(values.shape[1])}
    cells = _convert_column(values)
    if isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.dtype.kind != "O":
        return {j: cells[:, j] for j in range(cells.shape[1])}
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        return {j: _convert_column(cells[:, j].tolist()) for j in range(cells.shape[1])}
    return {0: cells}


_NUMBERS = (bool, int, float, np.number, np.bool_)


def _convert_column(values: Any) -> Any:
    """Convert a column to an array of numbers or dates, or to a list with None for missing."""
    if np.ma.is_masked(values):
        values = _without_mask(values)
    series = _as_series(values)
    if isinstance(series, nw.Series):
        values = _array_or_list(series)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufMm":
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        raise BadTable("columns must not hold complex numbers", "use a real and an imaginary part")
    if isinstance(values, np.ndarray) and values.ndim > 1:
        return values
    cells = [_as_image(cell) for cell in values]
    if all(isinstance(c, _NUMBERS) or _is_missing(c) for c in cells):
        return _array_of_numbers(cells)
    if _are_arrays(cells):
        return np.array(cells, dtype=float)
    return [None if _is_missing(c) else _period_start(c) for c in cells]


def _without_mask(values: Any) -> Any:
    """Convert a masked array to an array or a list in which masked entries are missing."""
    if values.dtype.kind in "mM":
        return values.filled(np.array("NaT", dtype=values.dtype))
    return values.tolist() if values.ndim == 1 else values.astype(float).filled(np.nan)


def _as_series(values: Any) -> Any:
    """Convert a Series of any library to one of narwhals; return other values unchanged."""
    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is not None and isinstance(values, pyarrow.Array):
        values = pyarrow.chunked_array([values])
    return nw.from_native(values, series_only=True, pass_through=True)


def _array_of_numbers(cells: list) -> Any:
    """Convert numbers to an array; integers and booleans with missing cells to a list.

    An array of these would be of floats, which are not read as classes.
    """
    known = [cell for cell in cells if not _is_missing(cell)]
    whole = bool(known) and all(isinstance(c, int | np.integer | np.bool_) for c in known)
    if whole and len(known) < len(cells):
        return [None if _is_missing(c) else np.asarray(c).item() for c in cells]
    return np.array([np.nan if c is pd.NA else c for c in cells], dtype=None if whole else float)


def _as_image(cell: Any) -> Any:
    """Convert rows of numbers in one cell, as parquet files hold images, to a matrix.

    Other cells, also rows of unequal lengths, are returned unchanged.
    """
    objects = isinstance(cell, np.ndarray) and cell.dtype.kind == "O" and cell.ndim == 1
    if not (isinstance(cell, list) or objects) or not len(cell):
        return cell
    if not all(isinstance(row, list | np.ndarray) for row in cell):
        return cell
    try:
        return np.array([_as_image(row) for row in cell], dtype=float)
    except (TypeError, ValueError):
        return cell


def _period_start(cell: Any) -> Any:
    """Convert a pandas Period to its start; return other cells unchanged."""
    return cell.start_time if isinstance(cell, pd.Period) else cell


def _array_or_list(series: nw.Series) -> Any:
    """Convert a Series to an array of numbers, dates or durations, or to a list."""
    kind = series.dtype
    if kind.is_numeric() or kind == nw.Boolean:
        holes = series.is_null().any()
        if holes and (kind.is_integer() or kind == nw.Boolean):
            return series.to_list()
        wide = holes or kind in (nw.Int128, nw.UInt128)
        return (series.cast(nw.Float64) if wide else series).to_numpy()
    if isinstance(kind, nw.Duration) or (isinstance(kind, nw.Datetime) and not kind.time_zone):
        return series.to_numpy()
    if isinstance(kind, nw.Unknown) and series.to_numpy().dtype.kind == "c":
        return series.to_numpy()  # complex numbers, which are refused
    return series.to_list()  # with a time zone, as datetimes that know it


def _are_arrays(cells: list) -> bool:
    """Return whether all cells are numeric NumPy arrays of one shape."""
    arrays = cells and all(isinstance(c, np.ndarray) and c.dtype.kind in "biuf" for c in cells)
    return bool(arrays) and len({c.shape for c in cells}) == 1


def _is_missing(cell: Any) -> bool:
    """Return whether a cell is None, NaN, NaT or pandas' NA."""
    if isinstance(cell, np.ndarray):
        return False
    return cell is None or cell is pd.NA or cell is pd.NaT or (cell != cell) is True


def _mark_missing_cells(table: Table) -> Table:
    """Return the table with None for texts such as "NA" in columns of numbers.

    Text in a table from Python may be a name, such as that of Namibia; in a file `Table.missing`
    says what it means.
    """
    columns = {name: _replace_missing_texts(cells) for name, cells in table.columns.items()}
    return replace(table, columns=columns, missing=("",))


def _replace_missing_texts(cells: Any) -> Any:
    """Return a column of numbers with None for texts such as "NA"; other columns unchanged."""
    if isinstance(cells, np.ndarray):
        return cells
    holes = [isinstance(c, str) and c.strip().lower() in MISSING for c in cells]
    if not any(holes):
        return cells
    kept = [c for c, hole in zip(cells, holes, strict=True) if not hole and c is not None]
    if not kept or not is_numeric(Table("", {0: kept}, range(len(kept))), 0):
        return cells
    return [None if hole else c for c, hole in zip(cells, holes, strict=True)]


def frame_like(columns: Columns, like: Any) -> Any:
    """Convert columns to a frame of the library of `like`, with its index if it is of pandas.

    If `like` is not a frame, such as a dictionary or a `Table`, return the columns.
    """
    like = in_memory(like)
    if isinstance(like, pd.DataFrame):
        cells = {key: _pandas_column(values) for key, values in columns.items()}
        return pd.DataFrame(cells, index=like.index)
    wrapped = nw.from_native(like, pass_through=True)
    if not isinstance(wrapped, nw.DataFrame):
        return columns
    named = {str(key): _arrow_column(cells) for key, cells in columns.items()}
    return nw.from_dict(named, backend=wrapped.implementation).to_native()


def _pandas_column(cells: Sequence) -> Any:
    """Return cells as a column for pandas: a list of arrays if they are an array of arrays."""
    return list(cells) if isinstance(cells, np.ndarray) and cells.ndim > 1 else cells


def _arrow_column(cells: Sequence) -> Any:
    """Return cells as a column for polars and pyarrow: a list unless they are numbers."""
    if isinstance(cells, np.ndarray) and cells.ndim == 1 and cells.dtype.kind in "biufMm":
        return cells
    return [cell.tolist() if isinstance(cell, np.ndarray) else cell for cell in cells]


def empty_like(frame: Any, kept: Any = None) -> Any:
    """Return a frame without columns of the library of `frame`; None for other tables.

    A pandas frame keeps the index, of the rows `kept` only (None for all rows).
    """
    frame = in_memory(frame)
    if isinstance(frame, pd.DataFrame):
        return frame.iloc[:, :0] if kept is None else frame.iloc[kept, :0]
    wrapped = nw.from_native(frame, pass_through=True)
    return wrapped.head(0).to_native() if isinstance(wrapped, nw.DataFrame) else None


def outputs_table(y: Any) -> Table:
    """Convert outputs to a table: a Series under its name, an array as columns "y 0", "y 1"."""
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
    """Return whether outputs have one value per row: a Series, a list, or a vector."""
    if y is None or is_named(y):
        return False
    if isinstance(_as_series(y), nw.Series):
        return True
    first = y[0] if isinstance(y, Sequence) and len(y) else y
    return getattr(y, "ndim", 1 if np.isscalar(first) else 2) == 1
