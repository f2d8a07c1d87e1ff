"""Columns of cells as columns of numbers: the notation of a column, and its values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .bad_table import BadTable, Option
from .notation import (
    EXAMINED_CELLS,
    MONEY_SIGN,
    Dates,
    Durations,
    Notation,
    Numbers,
    Truths,
    number_notations,
    parse_amount,
    time_notations,
)
from .table import Name, Table

MOSTLY = 0.8
"""A column in which at least this fraction of cells are numbers should contain only numbers."""
LARGEST_VALUE = 1e60
"""The largest allowed value: fourth powers of larger values may overflow."""
MICROSECONDS = 86_400e6
"""The number of microseconds of a day."""
OF_ARRAYS: dict[str, Notation] = {"M": Dates(aware=False), "m": Durations(), "b": Truths()}
"""The notation of arrays of dates, durations and booleans."""


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
        self.is_array = isinstance(cells, np.ndarray) and cells.dtype.kind in "biufMm"
        self.cells: Any = cells[self.kept] if self.is_array else [cells[i] for i in self.kept]

    @classmethod
    def of(cls, table: Table, name: Name) -> Column:
        """Return the `Column` of a table by name; create it only once for each table."""
        if ("column", name) not in table.memo:
            table.memo["column", name] = cls(table, name)
        return table.memo["column", name]

    @cached_property
    def readings(self) -> list[tuple[Notation, Any]]:
        """The notations that read the most cells, and what they read; none for an array.

        All that read every cell are listed, else the best one. Notations that read few of some
        cells are not tried on the others.
        """
        if self.is_array or not self.cells:
            return []
        comma = self.table.separator != "," or self.table.decimal == ","
        some = self.cells[:EXAMINED_CELLS]
        tried = number_notations(some, comma)
        fits = [_count_misses(notation.parse_all(some)) for notation in tried]
        if min(fits):  # no date is a number
            times = time_notations(some)
            fits += [_count_misses(notation.parse_all(some)) for notation in times]
            tried += times
        best = [n for n, misses in zip(tried, fits, strict=True) if misses == min(fits)]
        full = [(notation, notation.parse_all(self.cells)) for notation in best]
        misses = [_count_misses(rows) for _, rows in full]
        complete = [one for one, missing in zip(full, misses, strict=True) if not missing]
        return complete or [full[misses.index(min(misses))]]

    @cached_property
    def misses(self) -> list[int]:
        """The indices of the cells that the best notation does not read."""
        rows = self.readings[0][1] if self.readings else ()
        return [i for i, values in enumerate(rows) if values is None]

    @cached_property
    def is_numeric(self) -> bool:
        """Whether all cells are numbers, dates, durations, or rows of numbers."""
        if self.is_array:
            return True
        if self.misses or not self.cells:
            return False
        rows = self.readings[0][1]
        lists = isinstance(self.cells[0], list | tuple)  # of several lengths they are labels
        return isinstance(rows, np.ndarray) or not lists or len(set(map(len, rows))) == 1

    @property
    def is_truth(self) -> bool:
        """Whether all cells are true or false."""
        if self.is_array:
            return self.cells.dtype.kind == "b"
        return self.is_numeric and isinstance(self.readings[0][0], Truths)

    def refuse_mixed(self) -> None:
        """Raise an error for the first cell that is not a number, if nearly all others are."""
        n = len(self.cells)
        if not 0 < len(self.misses) <= (1.0 - MOSTLY) * n:
            return
        i = self.misses[0]
        cell, kind = self.cells[i], self.readings[0][0].kind
        raise self.refused(
            i, f"{cell!r:.40} is not a {kind}, but {n - len(self.misses)} of {n} cells are",
            "fix the cell", Option("missing", [str(cell)[:20]]), Option("kind", "text"),
        )  # fmt: skip

    def refused(self, i: int, why: str, *remedy: str | Option) -> BadTable:
        """Return the error for the bad cell i: its row and column, why it is bad, and ways out."""
        return self.table.refused(int(self.kept[i]), self.name, why, *remedy)

    def notation(self) -> Notation:
        """Return the notation of training cells; raise an error if two read them differently."""
        if self.is_array:
            return OF_ARRAYS.get(self.cells.dtype.kind, Numbers(unit=""))
        if not self.readings:
            return Numbers(unit="")
        return self._chosen().fitted(self.cells)

    def _chosen(self) -> Notation:
        """Return the notation that reads the cells, where several do by what else is known."""
        first, *others = _with_even_rows(self.readings)
        differing = [(n, rows) for n, rows in others if repr(rows) != repr(first[1])]
        if not differing:
            return first[0]
        possible = [first[0], *(n for n, _ in others)]
        chosen = [n for n in possible if n.stated(self.table.decimal, self.table.day_first) == n]
        if len(chosen) < len(possible):
            return chosen[0] if chosen else first[0]
        for rule in (self._has_whole_amounts, self._has_plain_points, self._suits_separator):
            for notation in possible:
                if isinstance(notation, Numbers) and rule(notation):
                    return notation
        pairs = zip(first[1], differing[0][1], strict=True)
        i = next(i for i, (one, other) in enumerate(pairs) if repr(one) != repr(other))
        raise self.refused(i, *self._ambiguity(self.cells[i], isinstance(first[0], Dates)))

    def _ambiguity(self, cell: Any, dates: bool) -> tuple[Any, ...]:
        """Return why a cell is two different numbers or dates, and the ways out."""
        what = "days" if dates else "numbers"
        ways = ("day_first", (True, False)) if dates else ("decimal", (".", ","))
        options = [Option(ways[0], value) for value in ways[1]]
        column = f"use a column of {'datetimes' if dates else 'numbers'}"
        return f"{cell!r:.40} can mean two {what}", *([column] if self.table.is_frame else options)

    def _has_whole_amounts(self, notation: Numbers) -> bool:
        """Return whether all cells are whole amounts of money, of which 2.912 € is thousands.

        Three decimals are rare in money. $2.912 may also be the price of a unit, and is left open.
        """
        texts = [cell.strip() for cell in self.cells if isinstance(cell, str)]
        if len(texts) < len(self.cells) or not all(map(MONEY_SIGN.search, texts)):
            return False
        amounts = [parse_amount(text, notation.mark, notation.blank) for text in texts]
        whole = all(amount is not None and amount.value.is_integer() for amount in amounts)
        return whole and (notation.mark == "." or not any("$" in text for text in texts))

    def _has_plain_points(self, notation: Numbers) -> bool:
        """Return whether the cells are numbers as Python writes them."""
        amounts = [parse_amount(c.strip(), ".") for c in self.cells if isinstance(c, str)]
        plain = all(amount and not amount.unit and not amount.grouped for amount in amounts)
        return plain and notation.mark == "."

    def _suits_separator(self, notation: Numbers) -> bool:
        """Return whether files with this separator of cells usually have the decimal mark."""
        return notation.mark == {";": ",", ",": "."}.get(self.table.separator or "")

    def values(self, notation: Notation) -> np.ndarray:
        """Return the cells, read in a fixed notation, as a matrix of finite numbers."""
        notation = notation.stated(*self.table.stated)
        if self.is_array:
            rows = self._array_values(notation)
        else:
            parsed = notation.parse_all(self.cells)
            rows = parsed if isinstance(parsed, np.ndarray) else self._matrix(parsed, notation)
        bad = np.argwhere(~(np.abs(rows) <= LARGEST_VALUE))
        if bad.size:
            i, j = map(int, bad[0])
            why = f"is over {LARGEST_VALUE:g}" if np.isfinite(rows[i, j]) else "is not finite"
            raise self.refused(i, f"the value {why}", "fix the cell", "leave the row out")
        return rows

    def _array_values(self, notation: Notation) -> np.ndarray:
        """Return an array as a matrix of floats, with dates and durations in days."""
        rows = self.cells.reshape(len(self.cells), int(np.prod(self.cells.shape[1:])))
        own = OF_ARRAYS.get(rows.dtype.kind, Numbers())
        kinds = {own.kind, "number"} if isinstance(own, Truths) else {own.kind}
        kinds |= {"truth value"} if "number" in kinds else set()
        zones = isinstance(notation, Dates) and bool(notation.aware)
        percent = isinstance(notation, Numbers) and notation.unit == "%"
        if len(rows) and (notation.kind not in kinds or zones or percent):
            raise self._misfit(0, notation)
        if rows.dtype.kind in "Mm":
            return rows.astype(f"{rows.dtype.kind}8[us]").astype(float) / MICROSECONDS
        return rows.astype(float)

    def _matrix(self, parsed: Sequence[Any], notation: Notation) -> np.ndarray:
        """Return what was read as a matrix; raise an error for a cell that does not fit."""
        for i, values in enumerate(parsed):
            if values is None:
                raise self._misfit(i, notation)
            if len(values) != len(parsed[0]):
                raise self.refused(
                    i, f"{len(values)} numbers, but the rows before have {len(parsed[0])}"
                )
        return np.array(parsed, dtype=float)

    def _misfit(self, i: int, notation: Notation) -> BadTable:
        """Return the error for cell i, which the notation does not read."""
        cell = self.cells[i].item() if self.is_array else self.cells[i]
        tried = [*number_notations([cell]), *time_notations([cell])]
        kinds = sorted({n.kind for n in tried if n.parse(cell) is not None})
        if kinds and notation.kind not in (*kinds, Truths.kind):
            expected = notation.kind
            why = f"{cell!s:.40} is a {kinds[0]}, but the training rows have {expected}s here"
            return self.refused(i, why, f"convert the column to {expected}s")
        why, options = notation.misfit(cell)
        return self.refused(
            i, f"{cell!r:.40} {why}", "write it like the others", "leave the row out", *options
        )


def _count_misses(rows: Any) -> int:
    """Return the number of cells that a notation does not read."""
    return 0 if isinstance(rows, np.ndarray) else sum(values is None for values in rows)


def _with_even_rows(readings: list[tuple[Notation, Any]]) -> list[tuple[Notation, list]]:
    """Return the readings in which all cells have equally many numbers, if there are such."""
    lists = [(n, [None if v is None else list(v) for v in rows]) for n, rows in readings]
    even = [(n, rows) for n, rows in lists if len({v and len(v) for v in rows}) == 1]
    return even or lists


def is_numeric(table: Table, name: Name) -> bool:
    """Return whether all non-empty cells of a column are numbers, dates or rows of numbers."""
    return Column.of(table, name).is_numeric


def numbers(
    table: Table, names: Sequence[Name], notations: Sequence[Notation] | None = None
) -> np.ndarray:
    """Return the named columns side by side as one matrix of numbers.

    `notations` has the notation of each column in the training rows; None determines them from
    these rows.
    """
    columns = [Column.of(table.filled(names, drop=False), name) for name in names]
    fixed = notations or [column.notation() for column in columns]
    pairs = zip(columns, fixed, strict=True)
    return np.concatenate([column.values(notation) for column, notation in pairs], axis=1)


def numbers_with_gaps(table: Table, name: Name, notation: Notation, width: int = 1) -> np.ndarray:
    """Return a column as a matrix of numbers, with rows of NaN for empty cells.

    `notation` and `width` are the notation and the numbers in a cell of the training rows.
    """
    column = Column.of(table, name)
    read = column.values(notation) if len(column.kept) else np.zeros((0, width))
    rows = np.full((len(table), read.shape[1]), np.nan)
    rows[column.kept] = read
    return rows


def likely_mark(table: Table) -> str | None:
    """Return the decimal mark that some columns require; None if none or both are required."""
    required = set()
    marks = [mark for mark in (".", ",") if mark != table.separator]
    for cells in table.columns.values():
        texts = [
            cell.strip()
            for cell in cells[:EXAMINED_CELLS]
            if isinstance(cell, str) and not table.is_missing(cell)
        ]
        fits = {m for m in marks for blank in (False, True)
                if texts and all(parse_amount(text, m, blank) for text in texts)}  # fmt: skip
        if len(fits) == 1 and any(mark in text for mark in fits for text in texts):
            required |= fits
    return required.pop() if len(required) == 1 else None
