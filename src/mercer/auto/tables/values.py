"""Columns of cells as columns of numbers: the notation of a column, and its values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .notation import (
    DATE_FORMATS,
    DURATION,
    EXAMINED_CELLS,
    ISO,
    MONEY_SIGN,
    NUMBER_PATTERNS,
    count_misses,
    is_date,
    parse_number,
    read_cells,
)
from .table import Name, Table

MOSTLY = 0.8
"""A column in which at least this fraction of cells are numbers should contain only numbers."""
LARGEST_VALUE = 1e60
"""The largest allowed value: fourth powers of larger values may overflow."""
MICROSECONDS = 86_400e6
"""The number of microseconds of a day."""


class Column:
    """The cells of a column that are not empty, with methods that convert them to numbers.

    Parameters
    ----------
    table
        The table.
    name
        The name of the column.
    """

    def __init__(self, table: Table, name: Name):
        self.table, self.name = table, name
        self.kept = np.setdiff1d(np.arange(len(table)), table.empty(name))
        cells = table.columns[name]
        self.array = isinstance(cells, np.ndarray) and cells.dtype.kind in "biufMm"
        if self.array:
            self.cells: Any = cells[self.kept]
        else:
            self.cells = [cells[i] for i in self.kept]
        self.readings: dict[str, Any] = {}

    @classmethod
    def of(cls, table: Table, name: Name) -> Column:
        """Return the `Column` of a table by name; create it only once for each table."""
        if ("column", name) not in table.memo:
            table.memo["column", name] = cls(table, name)
        return table.memo["column", name]

    @cached_property
    def misses(self) -> list[tuple[str, int]]:
        """Pairs of a decimal mark or date format and the number of cells that it cannot read."""
        comma = self.table.separator != "," or self.table.decimal == ","
        return list(count_misses(self.cells, comma).items())

    def parsed_cells(self, notation: str) -> Any:
        """Return one row of numbers for each cell, or None for a cell that cannot be read.

        `notation` is a decimal mark, a date format or `DURATION`. The rows are a list, or a matrix
        with one column.
        """
        if notation not in self.readings:
            self.readings[notation] = read_cells(self.cells, notation)
        return self.readings[notation]

    @cached_property
    def is_numeric(self) -> bool:
        """Whether all cells are numbers, dates, durations, or rows of numbers."""
        if self.array:
            return True
        notation, misses = self.misses[0]
        if misses or not self.cells:
            return False
        rows = self.parsed_cells(notation)
        if isinstance(rows, np.ndarray):
            return True
        lists = isinstance(self.cells[0], list | tuple)  # of several lengths they are labels
        widths = {None if values is None else len(values) for values in rows}
        return None not in widths and (len(widths) == 1 or not lists)

    def refuse_mixed(self) -> None:
        """Raise an error for the first cell that is not a number, if nearly all others are."""
        notation, misses = (".", 0) if self.array else self.misses[0]
        if self.array or misses > (1.0 - MOSTLY) * min(len(self.cells), EXAMINED_CELLS):
            return
        bad = [i for i, values in enumerate(self.parsed_cells(notation)) if values is None]
        if not 0 < len(bad) <= (1.0 - MOSTLY) * len(self.cells):
            return
        cell, n = self.cells[bad[0]], len(self.cells)
        file = self.table.unit != "row"
        empty = f"pass missing=[{cell!r:.20}] if it means an empty cell, " if file else ""
        raise self.refused(
            bad[0], f"{cell!r:.40} is not a {_value_kind(notation)}, but {n - len(bad)} of {n} "
            f"cells are. Fix the cell, {empty}or say that the column holds text."
        )  # fmt: skip

    def refused(self, i: int, why: str) -> Exception:
        """Return the error for the bad cell i: its row and column, and the message `why`."""
        return self.table.refused(int(self.kept[i]), self.name, why)

    def notation(self, learnt: str | None = None) -> str:
        """Return the notation that reads all cells: a decimal mark, a date format or "duration".

        `learnt` is the notation of the training rows (None for the training rows themselves). It is
        preferred if several notations read all cells but give different values, unless the table
        says the decimal mark or the order of day and month.
        """
        if self.array:
            return {"M": ISO, "m": DURATION}.get(self.cells.dtype.kind, ".")
        if self.misses[0][1] or not self.cells:
            return self._nearest_notation(learnt)  # reading the cells names the first bad one
        possible = [n for n, misses in self.misses if not misses]
        readings = {
            n: [
                list(values)
                for values in read_cells(self.cells[:EXAMINED_CELLS], n)
                if values is not None
            ]
            for n in possible
        }
        even = {n: rows for n, rows in readings.items() if len({len(r) for r in rows}) == 1}
        readings = even or readings
        first, *others = readings
        differing = [n for n in others if repr(readings[n]) != repr(readings[first])]
        if not differing:
            return first
        chosen = next((n for n in self._preferred_notations(learnt) if n in readings), None)
        if chosen is not None:
            return chosen
        pairs = zip(readings[first], readings[differing[0]], strict=True)
        i = next(i for i, (one, other) in enumerate(pairs) if repr(one) != repr(other))
        raise self.refused(i, self._ambiguity_message(self.cells[i], is_date(first)))

    def _nearest_notation(self, learnt: str | None) -> str:
        """Return the notation that can read the most cells.

        If only `learnt`, the notation of the training rows, is a date format, return that.
        """
        nearest = self.misses[0][0]
        return learnt if learnt and is_date(learnt) and not is_date(nearest) else nearest

    def _ambiguity_message(self, cell: Any, dates: bool) -> str:
        """Return the error message for a cell that is two different numbers or dates."""
        what, how = "numbers", "decimal='.' or decimal=','"
        if dates:
            what, how = "days", "day_first=True or day_first=False"
        if self.table.unit == "row":
            how = "a column of datetimes" if dates else "a column of numbers"
        return f"{cell!r:.40} can mean two {what}: use {how}."

    def _preferred_notations(self, learnt: str | None) -> list[str]:
        """Return the notations that are preferred if several can read all cells, best first."""
        table = self.table
        marks = [] if table.decimal is None else [table.decimal, f"{table.decimal} "]
        dates = []
        if table.day_first is not None:
            early = "d" if table.day_first else "m"
            dates = [n for n in DATE_FORMATS if n.startswith(f"%{early}")]
        plain = all(
            not isinstance(c, str) or parse_number(c, ".") == _float_or_none(c) for c in self.cells
        )
        by_separator = {";": [",", ", "], ",": [".", ". "]}
        default = ["."] if plain else by_separator.get(table.separator or "", [])
        return [
            *marks,
            *dates,
            *([learnt] if learnt else []),
            *self._marks_of_whole_amounts(),
            *default,
        ]

    def _marks_of_whole_amounts(self) -> list[str]:
        """Return the decimal marks with which all amounts of money in the column are integers.

        Three decimals are rare in money: $2,912 and 2.912 € have a mark between thousands. $2.912
        may also be the price of a unit, and is left open.
        """
        texts = [cell for cell in self.cells[:EXAMINED_CELLS] if isinstance(cell, str)]
        if len(texts) < len(self.cells[:EXAMINED_CELLS]) or not all(map(MONEY_SIGN.search, texts)):
            return []
        amounts = {
            n: [parse_number(text.strip(), n) or 0.0 for text in texts] for n in NUMBER_PATTERNS
        }
        commas = not any("$" in text for text in texts)
        return [
            notation
            for notation, found in amounts.items()
            if all(map(float.is_integer, found)) and (commas or notation[0] == ".")
        ]

    def values(self, notation: str) -> np.ndarray:
        """Return the cells as a matrix of finite numbers, one row per cell."""
        rows = _float_matrix(self.cells) if self.array else self._numeric_matrix(notation)
        bad = np.argwhere(~(np.abs(rows) <= LARGEST_VALUE))
        if bad.size:
            i, j = map(int, bad[0])
            why = f"is over {LARGEST_VALUE:g}" if np.isfinite(rows[i, j]) else "is not finite"
            raise self.refused(i, f"the value {why}. Fix the cell, or leave the row out.")
        return rows

    def values_as_learnt(self, learnt: str | None) -> np.ndarray:
        """Return the cells as a matrix of numbers, of the same kind as the training rows.

        `learnt` is the notation of the training rows, None for the training rows themselves. Dates
        are not accepted in a column of numbers, where they would count as days since 1970.
        """
        notation = self.notation(learnt)
        kind, expected = (_value_kind(n) for n in (notation, learnt or notation))
        if kind != expected:
            why = f"{self.cells[0]!s:.40} is a {kind}, but the training rows have {expected}s here"
            raise self.refused(0, f"{why}. Convert the column to {expected}s.")
        return self.values(notation)

    def _numeric_matrix(self, notation: str) -> np.ndarray:
        """Return the cells as a matrix; raise an error for a cell that does not fit the others."""
        rows = self.parsed_cells(notation)
        if isinstance(rows, np.ndarray):
            return rows
        for i, values in enumerate(rows):
            if values is None:
                like = " like the others" if is_date(notation) else ""
                what = f"{self.cells[i]!r:.40} is not a {_value_kind(notation)}{like}"
                raise self.refused(i, f"{what}. Fix the cell, or leave the row out.")
            if len(values) != len(rows[0]):
                raise self.refused(i, f"{len(values)} numbers, but the rows before have "
                                   f"{len(rows[0])}.")  # fmt: skip
        return np.array(rows, dtype=float)


def _value_kind(notation: str) -> str:
    """Return "number", "date" or "duration", the kind of value that a notation is for."""
    return DURATION if notation == DURATION else "date" if is_date(notation) else "number"


def _float_or_none(text: str) -> float | None:
    """Convert a text to a float; None if that fails."""
    try:
        return float(text)
    except ValueError:
        return None


def _float_matrix(cells: np.ndarray) -> np.ndarray:
    """Convert an array to a matrix of floats, with dates and durations in days."""
    rows = cells.reshape(len(cells), int(np.prod(cells.shape[1:])))
    if rows.dtype.kind in "Mm":
        return rows.astype(f"{rows.dtype.kind}8[us]").astype(float) / MICROSECONDS
    return rows.astype(float)


def is_numeric(table: Table, name: Name) -> bool:
    """Return whether all non-empty cells of a column are numbers, dates or rows of numbers."""
    return Column.of(table, name).is_numeric


def numbers(
    table: Table, names: Sequence[Name], notations: Sequence[str] | None = None
) -> np.ndarray:
    """Return the named columns side by side as one matrix of numbers.

    `notations` has the notation of each column in the training rows, such as "," for decimal
    commas; None determines them from these rows.
    """
    hints: Sequence[str | None] = notations or [None] * len(names)
    columns = [Column.of(table.filled(names, drop=False), name) for name in names]
    pairs = zip(columns, hints, strict=True)
    return np.concatenate([column.values_as_learnt(hint) for column, hint in pairs], axis=1)


def numbers_with_gaps(table: Table, name: Name, learnt: str) -> np.ndarray:
    """Return a column as a matrix of numbers, with rows of NaN for empty cells.

    `learnt` is the notation of the column in the training rows.
    """
    column = Column.of(table, name)
    if not len(column.kept):
        return np.full((len(table), 1), np.nan)
    read = column.values_as_learnt(learnt)
    rows = np.full((len(table), read.shape[1]), np.nan)
    rows[column.kept] = read
    return rows


def decimal_mark(table: Table) -> str | None:
    """Return the decimal mark that some columns require; None if none or both are required."""
    required = set()
    known = [
        m for m in NUMBER_PATTERNS if m[0] != table.separator
    ]  # no decimal commas between commas
    for cells in table.columns.values():
        texts = [
            cell.strip()
            for cell in cells[:EXAMINED_CELLS]
            if isinstance(cell, str) and not table.is_missing(cell)
        ]
        marks = [m for m in known if texts and all(parse_number(t, m) is not None for t in texts)]
        first = {mark[0] for mark in marks}
        if len(first) == 1 and any(mark in text for mark in first for text in texts):
            required |= first
    return required.pop() if len(required) == 1 else None
