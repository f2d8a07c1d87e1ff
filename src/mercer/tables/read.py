"""Tables from CSV, TSV, JSON Lines, Parquet and NPZ files."""

from __future__ import annotations

import codecs
import csv
import io
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from .._extras import require
from .table import BadTable, Table

SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".parquet": "parquet", ".npz": "npz",
}  # fmt: skip
LOOK = 100
"""Rows that are looked at to see whether the first one names the columns."""
FORMATS = sorted(set(SUFFIXES.values()))


def read(path: str | Path, format: str | None = None, encoding: str = "utf-8",
         header: bool | None = None) -> Table:  # fmt: skip
    """The table in a file, or "-" for standard input.

    Parameters
    ----------
    path
        The file.
    format
        "csv", "tsv", "jsonl", "parquet" or "npz"; None goes by the suffix, or for text by a look.
    encoding
        Of text files.
    header
        Whether the first row of a CSV or TSV file names the columns, which are 1, 2, … otherwise;
        None for a look: a first row that is numbers above numbers, or in a script other than
        Latin like those below, is data.
    """
    name = "standard input" if str(path) == "-" else str(path)
    data = _content(path, name)
    if not data.strip():
        raise BadTable(f"{name} is empty: a table with a header and at least two rows is wanted.")
    format = format or _format(path, data)
    if format in ("parquet", "npz"):
        table = _READERS[format](data, name)
    else:
        table = _READERS[format](_text(data, name, encoding), name, header)
    if not len(table):
        raise BadTable(
            f"{name} has a header and no rows: add rows, or say --no-header if that line is data."
        )
    return table


def _content(path: str | Path, name: str) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read()
    if Path(path).is_dir():
        raise BadTable(f"{name} is a folder: give a file.")
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise BadTable(f"{name} does not exist: check its path.") from None
    except OSError as problem:
        raise BadTable(f"{name} cannot be read: {problem.strerror}.") from None


def _format(path: str | Path, data: bytes) -> str:
    suffix = Path(path).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if data[:2] == b"PK":
        return "npz"
    if data[:4] == b"PAR1":
        return "parquet"
    first = data.lstrip().split(b"\n", 1)[0]
    return "jsonl" if first[:1] == b"{" else "tsv" if b"\t" in first else "csv"


def _text(data: bytes, name: str, encoding: str) -> str:
    plain = encoding.lower() in ("utf-8", "utf8")
    marked = plain and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if marked else "utf-8-sig" if plain else encoding)
    except LookupError:
        raise BadTable(
            f"{encoding!r} is no encoding that Python knows: try --encoding cp1252, iso8859-2 or "
            "utf-16."
        ) from None
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        raise BadTable(
            f"{name}, line {line}: this is not {encoding}. Say what it is, such as --encoding "
            "latin-1, iso8859-2 or utf-16."
        ) from None


def _is_data(rows: list[list[str]]) -> bool:
    """Whether the first row looks like those below, and not like names for them."""
    below = rows[1:LOOK]
    if not below or any(len(row) != len(rows[0]) for row in below):
        return False
    columns = list(zip(*below, strict=True))
    for first, cells in zip(rows[0], columns, strict=True):
        numeric = _is_number(first) and all(_is_number(cell) for cell in cells if cell.strip())
        script = not first.isascii() and not any(cell.isascii() for cell in cells if cell.strip())
        if numeric or script:
            return True
    return False


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _separated(text: str, name: str, header: bool | None, delimiter: str) -> Table:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as problem:
        raise BadTable(
            f"{name}, line {reader.line_num}: {problem}. A quote inside a cell is written twice."
        ) from None
    width = len(rows[0])
    header = not _is_data(rows) if header is None else header
    names = [cell.strip() for cell in rows[0]] if header else [str(i + 1) for i in range(width)]
    body, lines = (rows[1:], lines[1:]) if header else (rows, lines)
    _check_names(names, name)
    for row, line in zip(body, lines, strict=True):
        if len(row) != width:
            raise BadTable(
                f"{name}, line {line}: {len(row)} cells, where the first row has {width}. Quote "
                "cells that hold the separator."
            )
    return Table(name, {n: [row[i] for row in body] for i, n in enumerate(names)}, lines)


def _delimiter(text: str) -> str:
    """A comma, unless the first line has none and has what spreadsheets write elsewhere."""
    first = text.lstrip().split("\n", 1)[0]
    return next((d for d in ",;\t" if d in first), ",")


def _check_names(names: list[str], source: str) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        places = [f"column {i + 1}" for i, name in enumerate(names) if name == twice[0]]
        raise BadTable(
            f"{source} has the column {twice[0]!r} more than once ({' and '.join(places)}): give "
            "every column a name of its own, or say --no-header if the first row is data."
        )


def _json_lines(text: str, name: str, header: bool | None) -> Table:
    records, lines = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as problem:
            raise BadTable(f"{name}, line {number}: no JSON ({problem.msg}).") from None
        if not isinstance(record, dict):
            raise BadTable(f"{name}, line {number}: {line!r:.40} is no object with named values.")
        records.append(record)
        lines.append(number)
    names = list(dict.fromkeys(key for record in records for key in record))
    return Table(name, {key: [record.get(key) for record in records] for key in names}, lines)


def _parquet(data: bytes, name: str) -> Table:
    require("pyarrow", "parquet")
    from pyarrow import ArrowException
    from pyarrow.parquet import read_table

    try:
        table = read_table(io.BytesIO(data))
    except (ArrowException, OSError) as problem:
        raise BadTable(f"{name} is no Parquet file: {str(problem)[:80]}") from None
    _check_names(table.column_names, name)
    columns: dict[str, Any] = {n: table.column(n).to_pylist() for n in table.column_names}
    return Table(name, columns, range(1, table.num_rows + 1))


def _npz(data: bytes, name: str) -> Table:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except Exception as problem:  # zip, zlib and numpy each have their own
        raise BadTable(
            f"{name} is no NPZ file of plain arrays ({type(problem).__name__}): write it with "
            "numpy.savez, without objects."
        ) from None
    columns = {key: array for key, array in arrays.items() if array.ndim}
    lengths = Counter(len(array) for array in columns.values())
    if not lengths:
        raise BadTable(f"{name} holds no arrays.")
    if len(lengths) > 1:
        shapes = ", ".join(f"{key} {array.shape}" for key, array in columns.items())
        raise BadTable(f"{name}: the arrays have unequal lengths ({shapes}): one row an example.")
    (n,) = lengths
    return Table(name, columns, range(1, n + 1))


_READERS: dict[str, Any] = {
    "csv": lambda text, name, header: _separated(text, name, header, _delimiter(text)),
    "tsv": lambda text, name, header: _separated(text, name, header, "\t"),
    "jsonl": _json_lines,
    "parquet": _parquet,
    "npz": _npz,
}
