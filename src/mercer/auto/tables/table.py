"""Tables of named columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from .bad_table import OF_FIT, BadTable, Option

MISSING = (
    "", "na", "n/a", "#n/a", "<na>", "nan", "null", "none",
    "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!",
)  # fmt: skip
"""Texts that mean an empty cell by default, in lower case, with error values of spreadsheets."""
Name = Hashable
"""The name of a column: a text, or a number where an array has no names."""


@dataclass(frozen=True)
class Table:
    """A table of named columns of equal length.

    Attributes
    ----------
    source
        The name of the file in messages.
    columns
        Cells by column name: text as in the file, or numbers, lists and arrays.
    lines
        The line of the file (or the number of the record) that each row comes from.
    missing
        Text that means an empty cell, in lower case; upper case means the same.
    decimal
        "." or "," where numbers in text have one decimal mark throughout, else None.
    decimal_is_stated
        Whether the user said `decimal`, which then overrides the notation of the training rows.
    separator
        The character between the cells of a line, for text files.
    day_first
        Whether the day comes before the month in dates such as 3/4/2024; None if not known.
    read_as
        What was found in the file: its format, separator, header and decimal mark.
    unit
        What messages call a row: "line", or "row" of a table that was not read from a file.

    Examples
    --------
    >>> from mercer.tables import Table
    >>> columns = {"text": ["sunny sea", "rainy hill"] * 6, "tag": ["sun", "rain"] * 6}
    >>> table = Table("a list", columns, lines=range(12))
    >>> len(table), table.names(["2"])
    (12, ['tag'])
    """

    source: str
    columns: Mapping[Any, Any]
    lines: Sequence[int]
    missing: Sequence[str] = MISSING
    decimal: str | None = None
    decimal_is_stated: bool = False
    separator: str | None = None
    day_first: bool | None = None
    read_as: str = ""
    unit: str = "line"
    memo: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Cached results of conversions of columns, so that every cell is read only once."""

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def is_frame(self) -> bool:
        """Whether the table was not read from a file, so that no options of `read` apply."""
        return self.unit == "row"

    @property
    def stated(self) -> tuple[str | None, bool | None]:
        """The decimal mark, and whether days come before months, as far as the user said so."""
        return (self.decimal if self.decimal_is_stated else None), self.day_first

    def names(self, requested: Sequence[Name]) -> list[Name]:
        """Return the names of the requested columns; those of a file also by number or range.

        Numbers count from 1; ranges are written 2-9 or first..last, and lists a,b.

        Parameters
        ----------
        requested : sequence
            Names, and for a file also numbers and ranges.
        """
        return [name for one in requested for name in self._resolve_names(one)]

    def _resolve_names(self, requested: Name) -> list[Name]:
        """Return the names of the columns meant by a name, a number, a range or a list "a,b"."""
        known = list(self.columns)
        if requested in self.columns:
            return [requested]
        if not isinstance(requested, str) or self.is_frame:
            raise self.absent(requested)
        if "," in requested:
            return [
                name for part in requested.split(",") for name in self._resolve_names(part.strip())
            ]
        start, dots, end = requested.partition("..")
        if dots and start and end:
            first, last = (known.index(self._resolve_names(name)[0]) for name in (start, end))
            return known[first : last + 1]
        low, dash, high = requested.partition("-")
        first, last = _parse_integer(low), _parse_integer(high) if dash else _parse_integer(low)
        if 1 <= first <= last <= len(known):
            return known[first - 1 : last]
        raise self.absent(requested)

    def absent(self, requested: Name) -> BadTable:
        """Return the error for a missing column, which names a similar column that exists."""
        known = list(self.columns)
        near = get_close_matches(str(requested), list(map(str, known)), 1)
        hint = f"did you mean {near[0]!r}?" if near else f"its columns are {_join_names(known)}"
        return BadTable(f"{self.source} has no column {requested!r:.60}: {hint}")

    def at(self, i: int) -> str:
        """Return the file and the line of row i as text, for messages."""
        return f"{self.source}, {self.unit} {self.lines[i]}"

    def refused(self, i: int, column: Name, why: str, *remedy: str | Option) -> BadTable:
        """Return the error for a bad cell: its file, line and column, why it is bad, and ways out.

        Options of `read` are left out for a table that was not read from a file.
        """
        ways = [
            way for way in remedy if isinstance(way, str) or way.name in OF_FIT or not self.is_frame
        ]
        return BadTable(f"{self.at(i)}, column {column!r:.60}: {why}", ways)

    def filled(self, names: Sequence[Name], drop: bool) -> Table:
        """Return the table without rows with an empty cell in named columns, or refuse such rows.

        Parameters
        ----------
        names : sequence
            The columns.
        drop : bool
            Whether to leave such rows out; if False, raise an error for them.
        """
        empty = {i: name for name in names for i in self.empty(name)}
        if not empty:
            return self
        if not drop:
            raise self._empty_cell_error(empty)
        kept = [i for i in range(len(self)) if i not in empty]
        if not kept:
            raise BadTable(
                f"{self.source}: every row has an empty cell in {_join_names(names)}",
                "fill in some rows",
            )
        return self.rows(kept)

    def _empty_cell_error(self, empty: dict[int, Name]) -> BadTable:
        """Return the error for rows with empty cells; `empty` maps row indices to column names."""
        i = min(empty)
        others = f" (and {len(empty) - 1} other rows have empty cells)" * (len(empty) > 1)
        cell = self.columns[empty[i]][i]
        ways: list[str | Option] = ["fill it in", Option("drop_missing", True)]
        if isinstance(cell, str) and cell.strip():
            ways.append(Option("missing", [""]))  # the text may be a value
        return BadTable(f"{self.at(i)}: column {empty[i]!r} is empty{others}", ways)

    def empty(self, name: Name) -> list[int]:
        """Return the indices of the rows in which column `name` is empty."""
        if ("empty", name) not in self.memo:
            self.memo["empty", name] = self._indices_of_empty(self.columns[name])
        return self.memo["empty", name]

    def _indices_of_empty(self, cells: Any) -> list[int]:
        """Return the indices of the cells that are empty."""
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "fcmM":
            bad = np.isnan(cells) if cells.dtype.kind in "fc" else np.isnat(cells)
            return np.flatnonzero(bad.any(axis=tuple(range(1, bad.ndim)))).tolist()
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "biu":
            return []
        texts = frozenset(self.missing)
        return [
            i
            for i, cell in enumerate(cells)
            if (cell.strip().lower() in texts if type(cell) is str else self.is_missing(cell))
        ]

    def is_missing(self, cell: Any) -> bool:
        """Return whether a cell is None, NaN or a text that means an empty cell."""
        if isinstance(cell, str):
            return cell.strip().lower() in self.missing
        return cell is None or (isinstance(cell, float) and cell != cell)

    def rows(self, index: Sequence[int] | np.ndarray) -> Table:
        """Return the table of the rows with the given indices."""
        columns: dict[Name, Any] = {
            name: cells[np.asarray(index, dtype=int)]
            if isinstance(cells, np.ndarray)
            else [cells[i] for i in index]
            for name, cells in self.columns.items()
        }
        return replace(self, columns=columns, lines=[self.lines[i] for i in index])


def check_unique_names(names: Sequence[Name], source: str, file: bool = True) -> None:
    """Raise an error if a column name occurs more than once.

    `source` is the name of the table in messages, and `file` says whether it is a file.
    """
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        places = [f"column {i + 1}" for i, name in enumerate(names) if name == twice[0]][:2]
        where = f"({' and '.join(places)})"
        raise BadTable(
            f"{source} has the column {twice[0]!r:.60} more than once {where}",
            ["give every column its own name", *([Option("header", False)] if file else [])],
        )


def _parse_integer(text: str) -> int:
    """Return the positive integer in a text; 0 if there is none."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _join_names(names: Sequence[Name]) -> str:
    """Return at most twelve column names as one text, separated by commas."""
    shown = ", ".join(f"{name!r:.60}" for name in names[:12])
    return shown if len(names) <= 12 else f"{shown}, … ({len(names)} in all)"
