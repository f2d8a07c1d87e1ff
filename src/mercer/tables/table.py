from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np


class BadTable(ValueError):
    """A file that cannot be used as it is: the message names file, row or column and a way out."""


@dataclass(frozen=True)
class Table:
    """Named columns of equal length.

    Attributes
    ----------
    source
        What to call the file in messages.
    columns
        Cells by column name: text as a file has it, or numbers, lists and arrays.
    lines
        The line of the file (or the number of the record) that each row comes from.
    """

    source: str
    columns: dict[str, Sequence[Any]]
    lines: Sequence[int]

    def __len__(self) -> int:
        return len(self.lines)

    def names(self, wanted: Sequence[str]) -> list[str]:
        """Columns by name, or by number from 1."""
        return [name for one in wanted for name in self._named(one)]

    def _named(self, wanted: str) -> list[str]:
        known = list(self.columns)
        if wanted in self.columns:
            return [wanted]
        if wanted.isdecimal() and 1 <= int(wanted) <= len(known):
            return [known[int(wanted) - 1]]
        low, _, high = wanted.partition("-")
        if low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= len(known):
            return known[int(low) - 1 : int(high)]
        near = get_close_matches(wanted, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"its columns are {_listed(known)}."
        raise BadTable(f"{self.source} has no column {wanted!r}: {hint}")

    def filled(self, names: Sequence[str], drop: bool) -> Table:
        """The rows in which none of some columns is empty; without `drop`, an error names one."""
        empty = {i: name for name in names for i in missing(self.columns[name])}
        if not empty:
            return self
        if not drop:
            i = min(empty)
            others = f" (and {len(empty) - 1} other rows have empty cells)" * (len(empty) > 1)
            raise BadTable(
                f"{self.source}, line {self.lines[i]}: column {empty[i]!r} is empty{others}. Fill "
                "it in, or leave such rows out with --drop-missing."
            )
        kept = [i for i in range(len(self)) if i not in empty]
        if not kept:
            raise BadTable(f"{self.source}: every row has an empty cell in {_listed(names)}.")
        return self.rows(kept)

    def rows(self, index: Sequence[int]) -> Table:
        """Some of the rows."""
        columns: dict[str, Sequence[Any]] = {
            name: cells[np.asarray(index)]
            if isinstance(cells, np.ndarray)
            else [cells[i] for i in index]
            for name, cells in self.columns.items()
        }
        return replace(self, columns=columns, lines=[self.lines[i] for i in index])


def missing(cells: Sequence[Any]) -> list[int]:
    """The rows in which a column holds nothing."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fc":
        bad = np.isnan(cells)
        return np.flatnonzero(bad.reshape(len(cells), -1).any(axis=1)).tolist()
    return [i for i, cell in enumerate(cells) if _is_missing(cell)]


def _is_missing(cell: Any) -> bool:
    if cell is None:
        return True
    if isinstance(cell, str):
        return cell.strip().lower() in ("", "na", "nan", "null", "none", "n/a")
    return isinstance(cell, float) and cell != cell


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return shown if len(names) <= 12 else f"{shown}, … ({len(names)} in all)"
