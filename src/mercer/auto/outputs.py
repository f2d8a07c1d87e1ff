"""Output columns of a table: their kind, as given or guessed, and the training outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._base.arrays import Items
from .kinds.base import Kind
from .kinds.guess import common_kind, output_kind, without_empty_cells
from .kinds.records import RecordKind
from .kinds.registry import kind_named
from .tables.bad_table import BadTable
from .tables.table import Name, Table

COMPLETE = 10
"""From this many complete rows on, a common kind of all output columns is guessed."""


def fit_outputs(
    kinds: Mapping[Name, str] | None, table: Table, names: Sequence[Name]
) -> tuple[Kind, Items]:
    """Return the kind of the output columns of a table, fitted to them, and their outputs.

    Parameters
    ----------
    kinds : dict or None
        The kinds of the columns as given; None for a guess.
    table : Table
        The training rows.
    names : sequence
        The output columns.
    """
    given = set((kinds or {}).values())
    if len(given) > 1:
        outputs: Kind = _record(table, names, _check_kinds(kinds or {}, table, names))
    else:
        common = given.pop() if given else _guess_kind(table, names)
        kind = None if common is None else kind_named(common)
        several = len(names) > 1 and (
            kind is None
            or kind.is_single
            or (kind.has_column_intervals and _have_empty_cells(table, names))
        )
        outputs = kind if kind and not several else _record(table, names, common)
    return outputs, outputs.fit(table, names)


def _record(
    table: Table, names: Sequence[Name], kinds: Mapping[Name, str] | str | None
) -> RecordKind:
    """Return the kind of records whose fields have the given kinds; None for a guess of each."""
    each = kinds if isinstance(kinds, Mapping) else dict.fromkeys(names, kinds)
    return RecordKind(
        {
            name: kind_named(each[name] or output_kind(without_empty_cells(table, name), name))
            for name in names
        }
    )


def rows_without_output(
    kinds: Mapping[Name, str] | None, table: Table, names: Sequence[Name]
) -> list[int]:
    """Return the indices of the rows in which a single output column is empty.

    A table without any output has no such rows: fitting it raises an error.
    """
    if len(names) != 1 or not 0 < len(table.empty(names[0])) < len(table):
        return []
    cells = table.columns[names[0]]
    if isinstance(cells, np.ndarray) and cells.ndim > 1:  # one value of an array may be missing
        return []
    kind = kind_named((kinds or {}).get(names[0]) or output_kind(table, names[0]))
    return [] if kind.has_empty_items else table.empty(names[0])


def _guess_kind(table: Table, names: Sequence[Name]) -> str | None:
    """Guess the common kind of output columns; None if kinds differ, or few rows are complete."""
    if len(names) == 1 or not _have_empty_cells(table, names):
        return common_kind(table, names)
    complete = len(table) - len({i for name in names for i in table.empty(name)})
    return None if complete < COMPLETE else common_kind(table, names)


def _have_empty_cells(table: Table, names: Sequence[Name]) -> bool:
    """Return whether any of the columns `names` has an empty cell."""
    return any(table.empty(name) for name in names)


def _check_kinds(kinds: Mapping[Name, str], table: Table, names: Sequence[Name]) -> dict[Name, str]:
    """Return `kinds` of the output columns `names`; raise an error if one has no kind."""
    absent = [name for name in names if name not in kinds]
    if absent:
        raise BadTable(
            f"{table.source}: output has no kind for the column {absent[0]!r:.60}",
            ["name the kind of each column", "name none"],
        )
    return {name: kinds[name] for name in names}
