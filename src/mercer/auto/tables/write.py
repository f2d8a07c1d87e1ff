"""Predictions as CSV, TSV, JSON, JSON Lines, Parquet, NPZ or a spreadsheet."""

from __future__ import annotations

import csv
import gzip
import io
import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._base.errors import require
from ..._base.files import replacing
from .binary import write_sheet
from .content import SUFFIXES, TEXT_FORMATS, format_by_suffix

Rows = list[dict[str, Any]]
EXTRAS = {"parquet": ("pyarrow", "parquet"), "xlsx": ("openpyxl", "excel")}


def write(rows: Rows, path: str | Path | None, format: str | None = None) -> str | None:
    r"""Write rows to a file in the format of its suffix; without a path, return them as text.

    Parameters
    ----------
    rows : list of dict
        One dictionary per row, all with the same keys.
    path : str or Path
        The file, which is replaced when the new one is complete; or None.
    format : str, default=None
        The format, which overrides the suffix; CSV if there is neither.

    Examples
    --------
    >>> from mercer.tables import write
    >>> write([{"word": "sea", "score": 0.1}], None)
    'word,score\nsea,0.1\n'
    """
    format, packed = (format or "csv", False) if path is None else output_format(path, format)
    if format in TEXT_FORMATS:
        text = _TEXTS[format](rows)
        if path is None:
            return text
        data = text.encode()
        with replacing(path) as draft:  # no date in the header: equal predictions, equal files
            draft.write_bytes(gzip.compress(data, mtime=0) if packed else data)
        return None
    if path is None:
        raise ValueError(f"{format} is not text: name a file with -o.")
    with replacing(path) as draft:
        {"parquet": _write_parquet, "npz": _write_npz, "xlsx": _write_xlsx}[format](rows, draft)
    return None


def output_format(path: str | Path, format: str | None = None) -> tuple[str, bool]:
    """Return the format that a path means, and whether to gzip; refuse an unknown suffix.

    A name without an ending, or with .txt, is CSV.
    """
    named, packed = format_by_suffix(path)
    ending = Path(path).suffix.lower()
    if named is None and format is None and ending not in ("", ".txt"):
        raise ValueError(
            f"{path} has the ending {ending}, which is not a format that can be written: "
            f"use one of {', '.join(SUFFIXES)}."
        )
    format = format or named or "csv"
    if packed and format not in TEXT_FORMATS:
        raise ValueError(f"{path}: {format} is packed already: leave out .gz.")
    if format in EXTRAS:
        require(*EXTRAS[format])
    return format, packed


def _csv_text(rows: Rows, delimiter: str) -> str:
    """Return rows as CSV text with the given delimiter."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([_csv_cell(value) for value in row.values()] for row in rows)
    return out.getvalue()


def _csv_cell(value: Any) -> str:
    """Return a value as the text of a CSV cell from which the same value is read."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(float(value))
    return "" if value is None else _json_text(value).strip('"')


def _json_text(value: Any, **options: Any) -> str:
    """Return a value as JSON text; `options` are arguments of `json.dumps`."""
    return json.dumps(value, ensure_ascii=False, default=_to_json_type, **options)


def _to_json_type(value: Any) -> Any:
    """Convert a NumPy value, date or duration to a type that JSON supports."""
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    if isinstance(value, np.timedelta64 | timedelta):
        return str(pd.Timedelta(value))
    return value.isoformat() if isinstance(value, date) else value.tolist()


def _write_parquet(rows: Rows, path: Path) -> None:
    """Write rows to a Parquet file."""
    from pyarrow import ArrowException, Table
    from pyarrow.parquet import write_table

    try:
        table = Table.from_pylist(json.loads(_json_text(rows)))
    except ArrowException as problem:
        raise ValueError(
            f"a column has values of several kinds, which Parquet cannot hold ({problem}): "
            "write .jsonl."
        ) from None
    write_table(table, path)


def _write_npz(rows: Rows, path: Path) -> None:
    """Write rows to an NPZ file, one array per column."""
    arrays: dict[str, Any] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        plain = all(isinstance(v, bool | int | float | np.number | np.ndarray) for v in values)
        arrays[name] = np.stack(values) if plain else np.array([_csv_cell(v) for v in values])
    with open(path, "wb") as file:  # numpy would add .npz to the name
        np.savez(file, **arrays)


def _write_xlsx(rows: Rows, path: Path) -> None:
    """Write rows to a spreadsheet file."""
    simple = (str, bool, int, float, date, type(None))
    cells = [
        {n: v if isinstance(v, simple) else _csv_cell(v) for n, v in row.items()} for row in rows
    ]
    write_sheet(cells, path)


_TEXTS: dict[str, Any] = {
    "csv": lambda rows: _csv_text(rows, ","),
    "tsv": lambda rows: _csv_text(rows, "\t"),
    "jsonl": lambda rows: "".join(_json_text(row) + "\n" for row in rows),
    "json": lambda rows: _json_text(rows, indent=1) + "\n",
}
