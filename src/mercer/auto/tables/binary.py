"""NPZ and Parquet files, and spreadsheets (.xlsx)."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..._base.errors import require
from ..._base.zipped import check_members, read_member, read_npy
from .bad_table import BadTable, Option
from .content import check_unpacked
from .separated import table_of_rows
from .table import Table, check_unique_names


def read_npz(data: bytes, name: str) -> Table:
    """Return the table in an NPZ file: each array is a column, and all have the same length."""
    try:
        _check_zip(data, name, "write it with numpy.savez, not savez_compressed")
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            members = [key for key in file.namelist() if key.endswith(".npy")]
            arrays = {key[:-4]: read_npy(read_member(file, key), key) for key in members}
    except BadTable:
        raise
    except Exception as problem:  # zip, zlib and numpy each have their own
        raise BadTable(
            f"{name} is not an NPZ file of plain arrays ({type(problem).__name__})",
            "write it with numpy.savez, without objects",
        ) from None
    columns = {key: array for key, array in arrays.items() if getattr(array, "ndim", 0)}
    lengths = {len(array) for array in columns.values()}
    if not lengths:
        raise BadTable(f"{name} contains no arrays", "write it with numpy.savez")
    if len(lengths) > 1:
        shapes = ", ".join(f"{key} {array.shape}" for key, array in columns.items())
        raise BadTable(
            f"{name}: the arrays have unequal lengths ({shapes})", "write one row for each example"
        )
    for key, array in columns.items():
        if array.dtype.kind not in "biufUMm":
            raise BadTable(
                f"{name}: the array {key!r} holds {array.dtype}", "write numbers, dates or text"
            )
        if array.dtype.kind == "U" and not _is_valid_text(array):
            raise BadTable(
                f"{name}: the array {key!r} holds numbers that are not characters", "write it again"
            )
    (n,) = lengths
    return Table(name, columns, range(1, n + 1), read_as="NPZ")


def _check_zip(data: bytes, name: str, way_out: str) -> None:
    """Raise an error for a zip file that claims to unpack to far more than its size.

    `way_out` is the advice in the message.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        size = sum(member.file_size for member in file.infolist())
    check_unpacked(name, size, len(data), way_out)


def _is_valid_text(array: np.ndarray) -> bool:
    """Return whether an array of text has only valid Unicode characters."""
    if not array.size or not array.dtype.itemsize:
        return True
    order = array.dtype.newbyteorder("=")
    codes = np.ascontiguousarray(array.astype(order)).view(np.uint32)
    return bool(((codes < 0xD800) | ((codes > 0xDFFF) & (codes < 0x110000))).all())


def read_parquet(data: bytes, name: str) -> Table:
    """Return the table in the bytes of a Parquet file."""
    require("pyarrow", "parquet")
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(io.BytesIO(data))
        check_unpacked(name, _estimate_bytes(file.metadata), len(data), "write it as CSV")
        table = file.read()
        check_unique_names(table.column_names, name)
        names = _index_first(table.column_names, table.schema.pandas_metadata)
        columns: dict[str, Any] = {n: table.column(n).to_pylist() for n in names}
    except BadTable:
        raise
    except (ArrowException, OSError, ValueError, TypeError, OverflowError) as problem:
        raise BadTable(f"{name} is not a Parquet file ({str(problem)[:80]})") from None
    return Table(name, columns, range(1, table.num_rows + 1), read_as="Parquet")


def _index_first(names: list[str], metadata: Any) -> list[str]:
    """Return column names with the columns of the pandas index first, as in CSV files.

    pandas writes them last, and names them in `metadata`. An index without a name, such as row
    numbers, is left out.
    """
    described = metadata.get("index_columns") if isinstance(metadata, dict) else None
    index = [name for name in names if name in (described or ())]
    named = [name for name in index if not re.fullmatch(r"__index_level_\d+__", name)]
    return named + [name for name in names if name not in index]


def _estimate_bytes(metadata: Any) -> int:
    """Return an estimate of the memory of a Parquet file in bytes, from its metadata."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    values = sum(g.column(j).num_values for g in groups for j in range(g.num_columns))
    return 8 * values + sum(group.total_byte_size for group in groups)


LONGEST = 32_767
"""The largest number of characters of a cell; openpyxl would drop the others."""
MOST_TABLE_ROWS = 2**20
MOST_CELLS = 2**26


def read_sheet(data: bytes, name: str, header: bool | None, sheet: str | None) -> Table:
    """Return the table in a spreadsheet: in the sheet `sheet`, or the only sheet with cells."""
    require("openpyxl", "excel")
    try:
        _check_zip(data, name, "save it as CSV")
        check_members(zipfile.ZipFile(io.BytesIO(data)))  # openpyxl reads them to their end
        sheets = _read_sheets(data, sheet, name)
    except (BadTable, MemoryError):
        raise
    except Exception as problem:  # zip, XML and openpyxl each have their own
        raise BadTable(
            f"{name} is not a spreadsheet that can be read ({type(problem).__name__})",
            ["save it again as .xlsx", "save it as CSV"],
        ) from None
    if sheet is not None and sheet not in sheets:
        raise BadTable(f"{name} has no sheet {sheet!r}: its sheets are {', '.join(sheets)}")
    full = [title for title in ([sheet] if sheet else sheets) if sheets[title]]
    if len(full) != 1:
        ways = [Option("sheet", title) for title in full]
        raise BadTable(f"{name} has {'several sheets' if full else 'no cells'}", ways)
    return table_of_rows(_pad_rows(sheets[full[0]]), name, header, f"sheet {full[0]!r}")


def _read_sheets(data: bytes, wanted: str | None, name: str) -> dict[str, dict[int, tuple]]:
    """Return the non-empty rows of each sheet, by row number.

    If `wanted` is the name of a sheet, only that sheet is read; the others have no rows.
    """
    from openpyxl import load_workbook

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and validations that are not kept
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheets: dict[str, dict[int, tuple]] = {}
        cells = 0
        for page in book.worksheets:
            sheets[page.title] = rows = {}
            if wanted not in (None, page.title):
                continue
            page.reset_dimensions()  # a file may claim more columns than it has
            for i, row in enumerate(page.iter_rows(values_only=True), 1):
                cells += len(row)
                if cells > MOST_CELLS:
                    raise BadTable(f"{name} has over {MOST_CELLS} cells", "save it as CSV")
                if any(_is_filled(cell) for cell in row):
                    rows[i] = row
        book.close()
    return sheets


def _is_filled(cell: Any) -> bool:
    """Return whether a cell is neither None nor blank."""
    return cell is not None and str(cell).strip() != ""


def _pad_rows(rows: dict[int, tuple]) -> dict[int, list]:
    """Return rows of equal length, without columns at the end that are empty in all rows."""
    width = (
        max(max(j for j, cell in enumerate(row) if _is_filled(cell)) for row in rows.values()) + 1
    )
    return {i: [*row[:width], *[None] * (width - len(row))] for i, row in rows.items()}


def write_sheet(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write rows as a spreadsheet with one sheet; text that begins with = stays text."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    if len(rows) >= MOST_TABLE_ROWS:
        raise ValueError(f"a spreadsheet holds {MOST_TABLE_ROWS} rows: write .csv or .parquet.")
    book = Workbook(write_only=True)
    sheet = book.create_sheet("predictions")
    lines = []  # all are made before the first is written: openpyxl cannot stop halfway
    for i, cells in enumerate([list(rows[0]), *(list(row.values()) for row in rows)], 1):
        longest = max((len(cell) for cell in cells if isinstance(cell, str)), default=0)
        if longest > LONGEST:
            raise ValueError(
                f"row {i} has a text of {longest} letters, and a cell of a spreadsheet holds "
                f"{LONGEST}: write .csv."
            )
        try:
            lines.append([WriteOnlyCell(sheet, cell) for cell in cells])
        except IllegalCharacterError:
            raise ValueError(
                f"row {i} has control characters, which a spreadsheet cannot hold: write .csv."
            ) from None
    for line in lines:
        for cell in line:
            cell.data_type = "s" if isinstance(cell.value, str) else cell.data_type
        sheet.append(line)
    book.save(path)
