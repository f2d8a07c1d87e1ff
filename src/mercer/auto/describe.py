"""A short description of each column, and notes on decisions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..spaces.records import known_fields
from .inputs import Inputs
from .kinds.guess import without_empty_cells
from .kinds.labels import LabelCells
from .kinds.numbers import write_dates
from .outputs import ARRAYS, Outputs
from .records import RecordOutputs
from .tables.columns import Column
from .tables.notation import Dates, Durations, Notation, Numbers
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


def describe_outputs(table: Table, outputs: Outputs, y: Any) -> dict[Name, str]:
    """Return a short description of the cells of each output column, such as their range."""
    if isinstance(outputs, RecordOutputs):
        fields = outputs.fields_.items()
        descriptions = [
            describe_outputs(table, converter, outputs.known_values(y, name))
            for name, converter in fields
        ]
        return {name: description for one in descriptions for name, description in one.items()}
    if outputs.kind_ in ARRAYS and outputs.kind_ != "image":
        rows = np.asarray(y).reshape(len(y), -1)
        forms = outputs.cells_.notations_ or [Numbers()] * len(outputs.columns_)
        if len(outputs.columns_) == 1 < rows.shape[1]:
            description = f"rows of {rows.shape[1]} values, {_describe_range(rows, forms[0])}"
            return {outputs.columns_[0]: description}
        named = enumerate(outputs.columns_[:DESCRIBED_COLUMNS])
        return {name: _describe_range(rows[:, j], forms[j]) for j, name in named}
    descriptions_by_kind = {
        "image": lambda: f"arrays of {' × '.join(map(str, np.shape(y)[1:]))}",
        "labels": lambda: _describe_label_sets(y, outputs.cells_),
        "class": lambda: _describe_values(sorted({str(item) for item in y})),
        "ranking": lambda: f"orders of {np.shape(y)[1]} labels",
    }
    description = descriptions_by_kind.get(outputs.kind_, lambda: f"such as {str(y[0])[:30]!r}")()
    return dict.fromkeys(outputs.columns_[:DESCRIBED_COLUMNS], description)


def notes_on_columns(
    table: Table, known_outputs: Table, inputs: Inputs, outputs: Outputs, y: Any
) -> list[str]:
    """Return notes, for the user, on how input and output columns were interpreted."""
    return _output_notes(known_outputs, outputs, y) + _input_notes(table, inputs)


def _output_notes(known_outputs: Table, outputs: Outputs, y: Any) -> list[str]:
    """Return notes on empty cells and on incomplete rankings of the outputs."""
    if isinstance(outputs, RecordOutputs):
        fields = outputs.fields_.items()
        notes_by_field = [
            _output_notes(known_outputs, converter, outputs.known_values(y, name))
            for name, converter in fields
        ]
        return [note for notes in notes_by_field for note in notes] + _missing_target_notes(
            outputs, y
        )
    notes = []
    if outputs.kind_ == "labels" and len(outputs.columns_) == 1:
        name = outputs.columns_[0]
        cells = known_outputs.columns[name]
        empty = 0 if isinstance(cells, np.ndarray) else len(known_outputs.empty(name))
        if empty:
            notes.append(f"{empty} empty cells of {name!r} are read as sets without labels.")
    if outputs.kind_ == "ranking" and (partial := int((np.asarray(y) < 0).any(axis=1).sum())):
        notes.append(f"{partial} rankings leave out some labels; predictions rank all of them.")
    return notes


def _missing_target_notes(outputs: RecordOutputs, y: Any) -> list[str]:
    """Return a note on the output columns that have empty cells."""
    known_cells = known_fields(y, outputs.columns_)
    if known_cells.all():
        return []
    incomplete = [
        str(n) for n, known in zip(outputs.columns_, known_cells.T, strict=True) if not known.all()
    ]
    shown = ", ".join(map(repr, incomplete[:5])) + (", …" if len(incomplete) > 5 else "")
    return [
        f"{int((~known_cells).sum())} of {known_cells.size} output cells are empty ({shown}): a "
        "row counts for the outputs that it has."
    ]


def _input_notes(table: Table, inputs: Inputs) -> list[str]:
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
        return _describe_values(inputs.values_[name])
    if kind == "number":
        form = inputs.forms_[name]
        return _describe_range(Column.of(table, name).values(form), form)
    full = without_empty_cells(table, name)
    if kind == "labels":
        return _describe_label_sets(inputs.forms_[name].read(full), inputs.forms_[name])
    return "" if kind == "graph" else f"such as {str(full.columns[name][0]).strip()[:30]!r}"


def _count_empty_cells(table: Table, name: Name) -> str:
    """Return a text such as " (3 empty)" for a column with empty cells, else an empty text."""
    empty = len(table.empty(name))
    return f" ({empty} empty)" if empty else ""


def _describe_range(values: np.ndarray, notation: Notation) -> str:
    """Return the smallest and the largest value as text: numbers, dates or durations."""
    low, high = float(np.min(values)), float(np.max(values))
    if isinstance(notation, Dates):
        first, last = write_dates(np.array([low, high]), "text", with_times=False)
        return f"dates from {first} to {last}"
    unit = "days" if isinstance(notation, Durations) else ""
    unit = (notation.unit or "") if isinstance(notation, Numbers) else unit
    return f"{low:.4g} to {high:.4g}" + (f" {unit}" if unit else "")


def _describe_values(values: list[str]) -> str:
    """Return a text with the first four values, and the number of values if there are more."""
    shown = ", ".join(value[:20] for value in values[:4])
    return shown if len(values) <= 4 else f"{len(values)} values: {shown}, …"


def _describe_label_sets(sets: Any, cells: LabelCells) -> str:
    """Return a text with the number of labels, and the mean number of labels in a row."""
    if cells.indicators_:
        rows = np.asarray(sets)
        return f"{rows.shape[1]} labels, {rows.sum(axis=1).mean():.3g} a row"
    labels = {label for item in sets for label in item}
    between = f" between {cells.separator_!r}" if cells.separator_ else ""
    return f"{len(labels)} labels{between}, {sum(map(len, sets)) / len(sets):.3g} a row"
