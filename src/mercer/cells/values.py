"""Columns of cells as columns of numbers: which notation a column has, and what it says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .notation import DATES, LOOK, NUMBERS, is_date, misses_of, number, row
from .table import BadTable, Name, Table

MOSTLY = 0.8
"""A column of which this share are numbers is meant to be one of numbers."""
LARGEST = 1e60
"""Squares of squares of larger values leave floating point."""


def refused(table: Table, i: int, column: Name, why: str) -> BadTable:
    """An error that names file, line and column."""
    return BadTable(f"{table.at(i)}, column {column!r:.60}: {why}")


def is_numeric(table: Table, name: Name) -> bool:
    """Whether a column holds numbers, dates, or rows of numbers throughout."""
    cells = table.columns[name]
    if isinstance(cells, np.ndarray):
        return cells.dtype.kind in "biufM"
    notation, misses = _best(table, name)[0]
    return not misses and all(row(cell, notation) is not None for cell in cells[LOOK:])


def refuse_mixed(table: Table, names: Sequence[Name]) -> None:
    """Name the first cell that is no number in a column of which nearly all cells are."""
    for name in names:
        cells = table.columns[name]
        if isinstance(cells, np.ndarray):
            continue
        notation, misses = _best(table, name)[0]
        if misses > (1.0 - MOSTLY) * min(len(cells), LOOK):
            continue
        text = [i for i, cell in enumerate(cells) if row(cell, notation) is None]
        if 0 < len(text) <= (1.0 - MOSTLY) * len(cells):
            what = "date" if is_date(notation) else "number"
            raise refused(
                table, text[0], name, f"{cells[text[0]]!r:.40} is no {what}, though "
                f"{len(cells) - len(text)} of {len(cells)} cells are. Mend it, say --missing "
                f"{cells[text[0]]!r:.20} if it means an empty cell, or that the column is text."
            )  # fmt: skip


def notation_of(table: Table, name: Name, learnt: str | None = None) -> str:
    """Return how a column writes numbers; `learnt` decides where several readings are possible."""
    cells = table.columns[name]
    if isinstance(cells, np.ndarray):
        return "iso" if cells.dtype.kind == "M" else "."
    best = _best(table, name)
    if best[0][1]:
        return best[0][0]  # some cells are no numbers: reading them names the first
    readings = {n: [row(cell, n) for cell in cells[:LOOK]] for n, misses in best if not misses}
    even = {n: rows for n, rows in readings.items() if len({len(r or ()) for r in rows}) == 1}
    readings = even or readings
    first, *others = readings
    differing = [n for n in others if repr(readings[n]) != repr(readings[first])]
    if not differing:
        return first
    chosen = next((n for n in _preferred(table, learnt, cells) if n in readings), None)
    if chosen is not None:
        return chosen
    pairs = zip(readings[first], readings[differing[0]], strict=True)
    i = next(i for i, (one, other) in enumerate(pairs) if repr(one) != repr(other))
    what, how = "numbers", "--decimal . or --decimal ,"
    if is_date(first):
        what, how = "days", "--day-first or --month-first."
    raise refused(table, i, name, f"{cells[i]!r:.40} is one of two {what}: say {how}")


def _preferred(table: Table, learnt: str | None, cells: Sequence) -> list[str]:
    """Notations in the order in which they are believed, where a column can be read in several."""
    marks = [] if table.decimal is None else [table.decimal, f"{table.decimal} "]
    dates = []
    if table.day_first is not None:
        early = "d" if table.day_first else "m"
        dates = [n for n in DATES if n.startswith(f"%{early}")]
    plain = all(not isinstance(cell, str) or number(cell, ".") == _float(cell) for cell in cells)
    usual = ["."] if plain else {";": [",", ", "], ",": [".", ". "]}.get(table.separator or "", [])
    return [*marks, *dates, *([learnt] if learnt else []), *usual]


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _best(table: Table, name: Name) -> list[tuple[str, int]]:
    comma = table.separator != "," or table.decimal == ","
    return list(misses_of(table.columns[name], comma).items())


def numbers(table: Table, names: Sequence[Name], learnt: Sequence[str] | None = None) -> np.ndarray:
    """Columns of numbers, dates, lists of numbers, or arrays, side by side as one row a row."""
    hints: Sequence[str | None] = learnt or [None] * len(names)
    columns = [
        _column(table, name, notation_of(table, name, hint))
        for name, hint in zip(names, hints, strict=True)
    ]
    return np.concatenate(columns, axis=1)


def numbers_with_gaps(table: Table, name: Name, learnt: str) -> np.ndarray:
    """A column as rows of numbers, NaN where a cell is empty."""
    kept = np.setdiff1d(np.arange(len(table)), table.empty(name))
    if not len(kept):
        return np.full((len(table), 1), np.nan)
    read = numbers(table if len(kept) == len(table) else table.rows(kept), [name], [learnt])
    rows = np.full((len(table), read.shape[1]), np.nan)
    rows[kept] = read
    return rows


def _column(table: Table, name: Name, notation: str) -> np.ndarray:
    cells = table.columns[name]
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        rows = cells.astype("datetime64[us]").astype(float).reshape(len(cells), -1) / 86_400e6
    elif isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        rows = cells.reshape(len(cells), -1).astype(float)
    else:
        rows = _parsed(table, name, cells, notation)
    bad = np.argwhere(~(np.abs(rows) <= LARGEST))
    if bad.size:
        i, j = map(int, bad[0])
        why = f"is over {LARGEST:g}" if np.isfinite(rows[i, j]) else "is not finite"
        raise refused(table, i, name, f"the value {why}. Mend it, or leave the row out.")
    return rows


def _parsed(table: Table, name: Name, cells: Sequence, notation: str) -> np.ndarray:
    rows: list[list[float]] = []
    for i, cell in enumerate(cells):
        values = row(cell, notation)
        if values is None:
            what = "date like the others" if is_date(notation) else "number"
            raise refused(table, i, name, f"{cell!r:.40} is no {what}. Mend it, or leave the row "
                          "out.")  # fmt: skip
        if rows and len(values) != len(rows[0]):
            raise refused(table, i, name, f"{len(values)} numbers, where the rows before have "
                          f"{len(rows[0])}.")  # fmt: skip
        rows.append(values)
    return np.array(rows, dtype=float)


def decimal_mark(table: Table) -> str | None:
    """Return the decimal mark that some columns can only be read with, if it is one throughout."""
    found = set()
    known = [m for m in NUMBERS if m[0] != table.separator]  # no decimal commas between commas
    for cells in table.columns.values():
        texts = [
            cell.strip()
            for cell in cells[:LOOK]
            if isinstance(cell, str) and not table.is_missing(cell)
        ]
        marks = [m for m in known if texts and all(number(t, m) is not None for t in texts)]
        first = {mark[0] for mark in marks}
        if len(first) == 1 and any(mark in text for mark in first for text in texts):
            found |= first
    return found.pop() if len(found) == 1 else None
