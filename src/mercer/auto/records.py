"""Output columns of different kinds: each column is a field of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .._base.arrays import Items, object_array
from ..decoders import PerField
from ..kernels import Kernel, On
from ..kernels.base import as_output_kernel
from ..spaces import Records
from ..spaces.records import field_values, fill_missing_fields, known_fields, records_from_columns
from .kinds.cells import Cells
from .kinds.guess import output_kind, without_empty_cells
from .outputs import Outputs
from .tables.bad_table import BadTable
from .tables.table import Name, Table

RECORD = "record"
"""The kind of several columns that differ in kind."""
COMPLETE = 10
"""From this many complete rows on, a common kind of all output columns is guessed."""
ALONE = ("class", "text", "smiles", "graph", "image")
"""Kinds of single columns: several output columns of such a kind are a record."""


def fit_outputs(
    kinds: Mapping[Name, str] | None, table: Table, names: Sequence[Name]
) -> tuple[Outputs, Items]:
    """Return a converter fitted to the output columns of a table, and the outputs of its rows.

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
        outputs: Outputs = RecordOutputs(_check_kinds(kinds or {}, table, names))
    else:
        kind = given.pop() if given else _guess_kind(table, names)
        several = len(names) > 1 and (
            kind in ALONE or (kind == "number" and _have_empty_cells(table, names))
        )
        record = RecordOutputs(dict.fromkeys(names, kind if several else None))
        outputs = record if several or kind == RECORD else Outputs(kind)
    return outputs, outputs.fit(table, names)


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
    kind = (kinds or {}).get(names[0]) or output_kind(table, names)
    return [] if kind == "labels" else table.empty(names[0])


def _guess_kind(table: Table, names: Sequence[Name]) -> str:
    """Guess the common kind of output columns; "record" if few rows are complete."""
    if len(names) == 1 or not _have_empty_cells(table, names):
        return output_kind(table, names)
    complete = len(table) - len({i for name in names for i in table.empty(name)})
    return RECORD if complete < COMPLETE else output_kind(table, names)


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


class RecordCells(Cells):
    """Converter between records and output columns of different kinds.

    Parameters
    ----------
    fields : dict
        The fitted converter of each column, by name.
    """

    def __init__(self, fields: Mapping[Name, Outputs]):
        self.fields = fields
        self.columns_ = list(fields)

    @property
    def space(self) -> Records:  # type: ignore[override]
        """The space of records, with one field for each column."""
        return Records({name: outputs.space_ for name, outputs in self.fields.items()})

    def read(self, table: Table) -> np.ndarray:
        """Return one record for each row: a dictionary with None for empty cells."""
        return records_from_columns(
            {name: _values_or_none(outputs, table, name) for name, outputs in self.fields.items()}
        )

    def known_values(self, records: Items, name: Name) -> Items:
        """Return the values of field `name` that are not missing, as items of its space."""
        values = [value for value in field_values(records, name).tolist() if value is not None]
        return self.fields[name].space_.check(values, str(name))

    def write(self, items: Items) -> dict[Name, Any]:
        """Convert records to the cells of all columns."""
        written = (
            outputs.cells_.write(self.known_values(items, n)) for n, outputs in self.fields.items()
        )
        return {name: cells for columns in written for name, cells in columns.items()}


class RecordOutputs(Outputs):
    """Converter of output columns of different kinds to records, with kernel and metric.

    Parameters
    ----------
    kind : dict
        The kind of each column; None for a guess.

    Attributes
    ----------
    fields_ : dict
        The fitted converter of each column, by name.
    """

    fields_: dict[Name, Outputs]

    def __init__(self, kind: Any):
        self.kind: Any = kind

    def fit(self, table: Table, names: Sequence[Name]) -> Items:
        """Determine the kind of each column from the training rows, and return the records."""
        self.kind_, self.fields_ = RECORD, {name: Outputs(self.kind[name]) for name in names}
        for name, outputs in self.fields_.items():
            outputs.fit(_rows_with_value(table, name, outputs), [name])
        self.cells_ = RecordCells(self.fields_)
        return self.cells_.read(table)

    @property
    def kinds_(self) -> dict[Name, str]:
        """The kind of each output column, by name."""
        return {name: outputs.kind_ for name, outputs in self.fields_.items()}

    def _refuse_empty_cells(self, table: Table, names: Sequence[Name]) -> Table:
        """Return the table unchanged: a record may have missing values."""
        return table  # each column refuses its own empty cells

    def kernel(self, y: Items, weights: np.ndarray | None = None) -> Kernel:
        """Return the sum of the kernels of the columns, fitted once for all candidate models."""
        each = self.fields_.items()
        known = {name: _indices_of_known(y, name) for name in self.fields_}
        fields = [
            On(
                name,
                outputs.kernel(
                    self.known_values(y, name), None if weights is None else weights[rows]
                ),
            )
            for (name, outputs), rows in zip(each, known.values(), strict=True)
        ]
        complete = fill_missing_fields(y, self.columns_, known_fields(y, self.columns_))
        return as_output_kernel(reduce(add, fields)).fit(complete).frozen()

    def known_values(self, records: Items, name: Name) -> Items:
        """Return the values of field `name` that are not missing, as items of its space."""
        return self.cells_.known_values(records, name)

    def decoder(self) -> PerField:
        """Return the decoder that applies the decoder of each column to its field."""
        each = {name: outputs.decoder() for name, outputs in self.fields_.items()}
        return PerField({name: decoder for name, decoder in each.items() if decoder is not None})

    @property
    def metric_name(self) -> str:
        """The name of the mean of the metrics of all columns."""
        names = dict.fromkeys(o.metric_name.removeprefix("mean ") for o in self.fields_.values())
        *first, last = names
        return f"mean of {', '.join(first)} and {last}" if first else f"mean {last}"

    def metric(self, truth: Items, predicted: Items) -> float:
        """Return the mean of the metrics of all columns."""
        return float(np.mean([*self.metrics_by_column(truth, predicted).values()]))

    def metrics_by_column(self, truth: Items, predicted: Items) -> dict[Name, float]:
        """Return the metric of each column by name, on the rows whose true value is not missing."""
        return {
            name: outputs.metric(
                self.known_values(truth, name),
                self.known_values(predicted[_indices_of_known(truth, name)], name),
            )
            for name, outputs in self.fields_.items()
        }

    def fill_missing(self, truth: Items, predicted: Items) -> Items:
        """Return the true records with missing values replaced by the predicted ones."""
        known = known_fields(truth, self.columns_)
        columns = {
            name: np.where(mask, field_values(truth, name), field_values(predicted, name))
            for name, mask in zip(self.columns_, known.T, strict=True)
        }
        return truth if known.all() else records_from_columns(columns)

    def array_of(self, items: Items, flat: bool) -> np.ndarray:
        """Convert records to an array, (records, columns), of objects unless all are numbers."""
        columns = self.cells_.write(items).values()
        if all(np.asarray(cells).dtype.kind == "f" for cells in columns):
            return np.column_stack([*columns])
        rows = np.empty((len(items), len(columns)), dtype=object)
        for j, cells in enumerate(columns):
            rows[:, j] = object_array(list(cells))
        return rows

    def format_one(self, item: Any, named: bool, flat: bool) -> Any:
        """Convert one record to a dictionary of cells, or to a list of cells if not `named`."""
        cells = {
            name: None
            if item[name] is None
            else outputs.format_one(self.known_values([item], name)[0], True, flat)
            for name, outputs in self.fields_.items()
        }
        return cells if named else list(cells.values())

    def columns_of_sets(self, sets: Mapping[Name, Any]) -> dict[str, Any]:
        """Convert the prediction sets of each field to columns of a table, by name."""
        columns: dict[str, Any] = {}
        for name, outputs in self.fields_.items():
            columns |= outputs.columns_of_sets(_ends_of_bands(sets[name]))
        return columns


def _values_or_none(outputs: Outputs, table: Table, name: Name) -> list:
    """Return the outputs in column `name` of a table, with None for empty cells."""
    values: list[Any] = [None] * len(table)
    rows = _indices_with_value(table, name, outputs)
    for i, value in zip(rows, _list_of_values(outputs.read(table.rows(rows))), strict=True):
        values[i] = value
    return values


def _rows_with_value(table: Table, name: Name, outputs: Outputs) -> Table:
    """Return a table of column `name` alone, without the rows in which it has no value."""
    return replace(table, columns={name: table.columns[name]}).rows(
        _indices_with_value(table, name, outputs)
    )


def _indices_with_value(table: Table, name: Name, outputs: Outputs) -> list[int]:
    """Return the indices of the rows in which column `name` has a value.

    An empty cell of a column of label sets is the empty set, which is a value.
    """
    kind = (
        vars(outputs).get("kind_")
        or outputs.kind
        or output_kind(without_empty_cells(table, name), [name])
    )
    empty = set() if kind == "labels" else set(table.empty(name))
    return [i for i in range(len(table)) if i not in empty]


def _indices_of_known(records: Items, name: Name) -> np.ndarray:
    """Return the indices of the records in which field `name` is not None."""
    return np.flatnonzero([record[name] is not None for record in records])


def _list_of_values(items: Items) -> list:
    """Return items as a list, with Python numbers if each item is one number."""
    if isinstance(items, np.ndarray) and items.dtype != object:
        flat = items[:, 0] if items.ndim == 2 and items.shape[1] == 1 else items
        return flat.tolist() if flat.ndim == 1 else list(flat)
    return list(items)


def _ends_of_bands(sets: Any) -> Any:
    """Return the (lower, upper) ends of prediction bands; return lists of outputs unchanged."""
    return sets if isinstance(sets, list) else (sets.lower, sets.upper)
