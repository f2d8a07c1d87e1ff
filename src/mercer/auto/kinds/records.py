"""Records as outputs: columns of different kinds, each of which is a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ..._base.arrays import Items, object_array
from ...decoders import PerField
from ...kernels import Kernel, On, as_output_kernel
from ...spaces import Records
from ...spaces.records import field_values, fill_missing_fields, known_fields, records_from_columns
from ..tables.table import Name, Table
from .base import Kind, Rows


class RecordKind(Kind):
    """Records with one field for each output column.

    Parameters
    ----------
    fields : dict
        The kind of each column, by name.
    """

    kind_ = "record"
    is_record = True

    def __init__(self, fields: Mapping[Name, Kind]):
        self.fields = fields

    @property
    def space(self) -> Records:  # type: ignore[override]
        """The space of records, with one field for each column."""
        return Records({name: kind.space for name, kind in self.fields.items()})

    @property
    def kinds_(self) -> dict[Name, str]:
        """The kind of each output column, by name."""
        return {name: kind.kind_ for name, kind in self.fields.items()}

    @property
    def has_quick_sets(self) -> bool:  # type: ignore[override]
        """Whether the sets of all columns are calibrated quickly."""
        return all(kind.has_quick_sets for kind in self.fields.values())

    # -- cells --------------------------------------------------------------------------------

    def fit(self, table: Table, names: Sequence[Name]) -> Items:
        """Determine the form of each column from the training rows, and return the records."""
        self.columns_ = list(names)
        for name, kind in self.fields.items():
            alone = replace(table, columns={name: table.columns[name]})
            kind.fit(alone.rows(_indices_with_value(table, name, kind)), [name])
        return self.read(table)

    def read(self, table: Table) -> np.ndarray:
        """Return one record for each row: a dictionary with None for empty cells."""
        return records_from_columns(
            {name: _values_or_none(kind, table, name) for name, kind in self.fields.items()}
        )

    def write(self, items: Items) -> dict[Name, Any]:
        """Convert records to the cells of all columns."""
        written = (kind.write(self.known_values(items, n)) for n, kind in self.fields.items())
        return {name: cells for columns in written for name, cells in columns.items()}

    def known_values(self, records: Items, name: Name) -> Items:
        """Return the values of field `name` that are not missing, as items of its space."""
        values = [value for value in field_values(records, name).tolist() if value is not None]
        return self.fields[name].space.check(values, str(name))

    # -- models -------------------------------------------------------------------------------

    def kernel(self, y: Items, weights: np.ndarray | None = None) -> Kernel:
        """Return the sum of the kernels of the columns, fitted once for all candidate models."""
        fields = []
        for name, kind in self.fields.items():
            known = None if weights is None else weights[_indices_of_known(y, name)]
            fields.append(On(name, kind.kernel(self.known_values(y, name), known)))
        complete = fill_missing_fields(y, self.columns_, known_fields(y, self.columns_))
        return as_output_kernel(reduce(add, fields)).fit(complete).frozen()

    def decoder(self) -> PerField:
        """Return the decoder that applies the decoder of each column to its field."""
        each = {name: kind.decoder() for name, kind in self.fields.items()}
        return PerField({name: decoder for name, decoder in each.items() if decoder is not None})

    # -- quality ------------------------------------------------------------------------------

    @property
    def metric_name(self) -> str:
        """The name of the mean of the metrics of all columns."""
        names = dict.fromkeys(k.metric_name.removeprefix("mean ") for k in self.fields.values())
        *first, last = names
        return f"mean of {', '.join(first)} and {last}" if first else f"mean {last}"

    def metric(self, truth: Items, predicted: Items, weights: np.ndarray | None = None) -> float:
        """Return the mean of the metrics of all columns, with sample weights."""
        return float(np.mean([*self.metrics_by_column(truth, predicted, weights).values()]))

    def metrics_by_column(
        self, truth: Items, predicted: Items, weights: np.ndarray | None = None
    ) -> dict[Name, float]:
        """Return the metric of each column by name, on the rows whose true value is not missing."""
        found = {}
        for name, kind in self.fields.items():
            rows = _indices_of_known(truth, name)
            found[name] = kind.metric(
                self.known_values(truth, name),
                self.known_values(predicted[rows], name),
                None if weights is None else weights[rows],
            )
        return found

    def label_scores(self, truth: Items, predicted: Items) -> Rows:
        """Return a table of the score of each output column."""
        scores, kinds = self.metrics_by_column(truth, predicted), self.kinds_
        return [{"column": str(n), "kind": kinds[n], "score": score} for n, score in scores.items()]

    def fill_missing(self, truth: Items, predicted: Items) -> Items:
        """Return the true records with missing values replaced by the predicted ones."""
        known = known_fields(truth, self.columns_)
        columns = {
            name: np.where(mask, field_values(truth, name), field_values(predicted, name))
            for name, mask in zip(self.columns_, known.T, strict=True)
        }
        return truth if known.all() else records_from_columns(columns)

    # -- descriptions -------------------------------------------------------------------------

    def describe(self, table: Table, y: Items) -> dict[Name, str]:
        """Return a short description of the cells of each column."""
        described: dict[Name, str] = {}
        for name, kind in self.fields.items():
            described |= kind.describe(table, self.known_values(y, name))
        return described

    def notes(self, table: Table, y: Items) -> list[str]:
        """Return the notes on all columns, and one on columns with empty cells."""
        each = [kind.notes(table, self.known_values(y, name)) for name, kind in self.fields.items()]
        return [note for notes in each for note in notes] + self._notes_on_missing(y)

    def _notes_on_missing(self, y: Items) -> list[str]:
        """Return a note on the output columns that have empty cells."""
        known = known_fields(y, self.columns_)
        if known.all():
            return []
        incomplete = [
            str(name) for name, column in zip(self.columns_, known.T, strict=True)
            if not column.all()
        ]  # fmt: skip
        shown = ", ".join(map(repr, incomplete[:5])) + (", …" if len(incomplete) > 5 else "")
        return [
            f"{int((~known).sum())} of {known.size} output cells are empty ({shown}): a "
            "row counts for the outputs that it has."
        ]

    # -- predictions --------------------------------------------------------------------------

    def columns_of_sets(self, sets: Mapping[Name, Any]) -> dict[str, Any]:
        """Convert the prediction sets of each field to columns of a table, by name."""
        columns: dict[str, Any] = {}
        for name, kind in self.fields.items():
            columns |= kind.columns_of_sets(sets[name])
        return columns

    def members(self, sets: dict[Any, Any], text_of: Any) -> list[str]:
        """Return the prediction set of each column of one row as texts."""
        return [f"{name}: {text_of(cell)}" for name, cell in sets.items()]

    def array_of(self, items: Items, flat: bool) -> np.ndarray:
        """Convert records to an array, (records, columns), of objects unless all are numbers."""
        columns = self.write(items).values()
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
            else kind.format_one(self.known_values([item], name)[0], True, flat)
            for name, kind in self.fields.items()
        }
        return cells if named else list(cells.values())


def _values_or_none(kind: Kind, table: Table, name: Name) -> list:
    """Return the outputs in column `name` of a table, with None for empty cells."""
    values: list[Any] = [None] * len(table)
    rows = _indices_with_value(table, name, kind)
    for i, value in zip(rows, _list_of_values(kind.read(table.rows(rows))), strict=True):
        values[i] = value
    return values


def _indices_with_value(table: Table, name: Name, kind: Kind) -> list[int]:
    """Return the indices of the rows in which column `name` has a value."""
    empty = set() if kind.has_empty_items else set(table.empty(name))
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
