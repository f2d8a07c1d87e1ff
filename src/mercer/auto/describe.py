"""A short description of each column, and notes on decisions."""

from __future__ import annotations

import re

from .inputs import Inputs
from .kinds.classes import describe_values
from .kinds.guess import without_empty_cells
from .kinds.numbers import describe_range
from .tables.columns import Column
from .tables.table import Name, Table

DESCRIBED_COLUMNS = 200
"""The largest number of columns that are described."""
LONG_NUMBERS = re.compile(r"\d+\.\d{5,}(?:e[+-]?\d+)?")
"""Numbers with many digits."""


def round_numbers(text: str) -> str:
    """Return a text in which numbers with many digits are rounded to four significant digits."""
    return LONG_NUMBERS.sub(lambda m: f"{float(m[0]):.4g}", text)


def describe_inputs(table: Table, inputs: Inputs) -> dict[Name, str]:
    """Return a short description of the cells of each input column, such as their range."""
    return {
        name: _describe_input(table, name, kind, inputs) + _count_empty_cells(table, name)
        for name, kind in list(inputs.kinds_.items())[:DESCRIBED_COLUMNS]
    }


def input_notes(table: Table, inputs: Inputs) -> list[str]:
    """Return notes on columns that are not used, on empty cells and on dates."""
    notes = []
    left_out = [name for name, kind in inputs.kinds_.items() if kind == "nothing"]
    if left_out:
        shown = ", ".join(map(repr, left_out[:5]))
        notes.append(f"not used, because they are empty or count the rows: {shown}.")
    filled = [name for name, kind in inputs.kinds_.items() if kind in ("number", "category")]
    gaps = [name for name in filled[:DESCRIBED_COLUMNS] if table.empty(name)]
    if gaps:
        shown = ", ".join(map(repr, gaps[:5])) + (", …" if len(gaps) > 5 else "")
        notes.append(f"empty cells count as the mean, and as empty: {shown}.")
    return notes + _date_notes(inputs)


def _date_notes(inputs: Inputs) -> list[str]:
    """Return a note on the calendar features of each column of dates."""
    return [
        f"{name!r:.60} is used as a trend, and by the position in the {' and the '.join(periods)}."
        for name, periods in list(inputs.periods_.items())[:DESCRIBED_COLUMNS]
        if periods
    ]


def _describe_input(table: Table, name: Name, kind: str, inputs: Inputs) -> str:
    """Return a short description of the cells of one input column of the given kind."""
    if kind == "nothing":
        return ""
    if kind == "category":
        return describe_values(inputs.values_[name])
    if kind == "number":
        form = inputs.forms_[name]
        return describe_range(Column.of(table, name).values(form), form)
    full = without_empty_cells(table, name)
    if kind == "labels":
        return inputs.forms_[name].description(inputs.forms_[name].read(full))
    return "" if kind == "graph" else f"such as {str(full.columns[name][0]).strip()[:30]!r}"


def _count_empty_cells(table: Table, name: Name) -> str:
    """Return a text such as " (3 empty)" for a column with empty cells, else an empty text."""
    empty = len(table.empty(name))
    return f" ({empty} empty)" if empty else ""
