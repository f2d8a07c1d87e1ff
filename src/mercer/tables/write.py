"""Predictions as CSV, TSV, JSON Lines, Parquet or NPZ."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from .._extras import require
from .read import SUFFIXES

Rows = list[dict[str, Any]]


def write(rows: Rows, path: str | Path | None, format: str | None = None) -> str | None:
    """Write rows to a file by its suffix; without a file, return them as text.

    Parameters
    ----------
    rows
        One dictionary a row, all with the same keys.
    path
        The file, or None.
    format
        As the suffix would say; TSV where neither does.
    """
    suffix = "" if path is None else Path(path).suffix.lower()
    format = format or SUFFIXES.get(suffix, "tsv")
    if format in ("csv", "tsv", "jsonl"):
        text = _lines(rows) if format == "jsonl" else _cells(rows, "," if format == "csv" else "\t")
        if path is None:
            return text
        Path(path).write_text(text, encoding="utf-8", newline="")
        return None
    if path is None:
        raise ValueError(f"{format} is no text: give a file with -o.")
    (_parquet if format == "parquet" else _npz)(rows, Path(path))
    return None


def _cells(rows: Rows, delimiter: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.6g}"
    return json.dumps(_plain(value), ensure_ascii=False)


def _lines(rows: Rows) -> str:
    return "".join(json.dumps(_plain(row), ensure_ascii=False) + "\n" for row in rows)


def _parquet(rows: Rows, path: Path) -> None:
    require("pyarrow", "parquet")
    from pyarrow import Table
    from pyarrow.parquet import write_table

    write_table(Table.from_pylist(_plain(rows)), path)


def _npz(rows: Rows, path: Path) -> None:
    arrays: dict[str, Any] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        text = any(isinstance(value, str | list | tuple) for value in values)
        arrays[name] = np.array([_cell(value) for value in values]) if text else np.stack(values)
    np.savez(path, **arrays)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value
