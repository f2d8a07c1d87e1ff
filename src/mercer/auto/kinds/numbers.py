"""Columns of numbers, dates and durations, and columns of arrays, as outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

from ..._base.arrays import Items
from ...kernels import Kernel, Linear, Mapped
from ...spaces import Space, Vectors
from ..pictures import Picture, scatter
from ..tables.bad_table import BadTable
from ..tables.columns import Column, numbers
from ..tables.notation import Dates, Durations, Notation, Numbers
from ..tables.table import Name, Table
from .base import Comparison, Kind, Rows
from .times import date_form, has_times, write_dates, write_durations

PLOTTED_COLUMNS = 6
"""The largest number of output columns that have a separate plot."""


class NumberKind(Kind):
    """Numbers, dates, durations, or arrays of numbers.

    Attributes
    ----------
    notations_
        How each column writes its values, a `Notation`; None for a column of arrays.
    shape_
        The shape of one array, for a column of arrays.
    widths_
        How many numbers a cell of each column holds: 1, or the length of a list of numbers.
    forms_
        How dates and durations come back, by column: the type of an array, "text" with an offset
        from UTC (+02:00) if the training cells have one, "clock" (8:30),
        "date", "datetime", "time", "timedelta", or a unit and a time zone, such as "us Asia/Tokyo".
    has_times_
        Whether a column of dates has times of the day.
    """

    kind_ = "number"
    metric_name = "mean R²"
    is_array = has_column_intervals = has_quick_sets = has_pictures = True
    space: Space = Vectors()

    @property
    def has_dates(self) -> bool:
        """Whether some column holds dates or durations."""
        return any(isinstance(one, Dates | Durations) for one in self.notations_ or ())

    def fit_cells(self, table: Table) -> np.ndarray:
        """Determine the notation of each column; return the training numbers."""
        names = self.columns_
        cells = table.columns[names[0]]
        if len(names) == 1 and isinstance(cells, np.ndarray) and cells.ndim > 1:
            self.notations_: list[Notation] | None = None
            self.shape_ = cells.shape[1:]
            return self.read(table)
        self.notations_ = [Column.of(table, name).notation() for name in names]
        parts = [numbers(table, [n], [one]) for n, one in zip(names, self.notations_, strict=True)]
        self.widths_ = [part.shape[1] for part in parts]
        self.forms_ = [date_form(table.columns[name]) for name in names]
        self.has_times_ = [
            isinstance(notation, Dates) and has_times(table.columns[name], part[:, 0])
            for name, notation, part in zip(names, self.notations_, parts, strict=True)
        ]
        return np.hstack(parts)

    def read_cells(self, table: Table) -> np.ndarray:
        """Return the numbers in a table, (rows, numbers); images keep their shape."""
        rows = numbers(table, table.names(self.columns_), self.notations_)
        width = int(np.prod(self.shape_)) if self.notations_ is None else sum(self.widths_)
        if rows.shape[1] != width:
            raise BadTable(
                f"{table.source}: rows of {rows.shape[1]} numbers, but training rows had {width}"
            )
        if self.notations_ is not None or len(self.shape_) < 2:
            return rows
        return self._restore_shape(rows)

    def _restore_shape(self, rows: np.ndarray) -> np.ndarray:
        """Reshape rows of numbers to the shape of the training outputs."""
        return rows if self.notations_ is not None else rows.reshape(len(rows), *self.shape_)

    def write(self, items: Items) -> dict[Name, Any]:
        """Convert numbers to columns by name: numbers, dates, durations or arrays, as in fit."""
        rows = np.asarray(items).reshape(len(items), -1)
        if self.notations_ is None:
            arrays = self._restore_shape(rows) if rows.shape[1] > 1 else rows[:, 0]
            return {self.columns_[0]: list(arrays) if rows.shape[1] > 1 else arrays}
        parts = np.split(rows, np.cumsum(self.widths_)[:-1], axis=1)
        return {name: self._restore_column(j, parts[j]) for j, name in enumerate(self.columns_)}

    def _restore_column(self, j: int, part: np.ndarray) -> Any:
        """Return the numbers of column j as numbers, dates or lists, like the training cells."""
        if part.shape[1] > 1:
            return list(part)
        values = part[:, 0]
        notation = self.notations_[j] if self.notations_ else None
        if isinstance(notation, Durations):
            return write_durations(values, self.forms_[j])
        if isinstance(notation, Dates):
            return write_dates(values, self.forms_[j], self.has_times_[j])
        return values

    def kernel(self, y: Items, weights: np.ndarray | None = None) -> Kernel:
        """Return the linear kernel on standardised numbers.

        The scaler is fitted to all training outputs `y`, once, because models that scaled outputs
        by their own sample could not be blended.
        """
        scaler = StandardScaler().fit(y, sample_weight=weights)
        return Mapped(scaler, Linear(), Vectors(), inverse=True)

    @property
    def is_one_number(self) -> bool:
        """Whether an output is a single number, of which outputs have no covariance."""
        return sum(self.widths_) == 1 if self.notations_ else self.shape_ == (1,)

    # -- quality ------------------------------------------------------------------------------

    def metric(self, truth: Items, predicted: Items, weights: np.ndarray | None = None) -> float:
        """Return the mean R² of the columns that vary, with sample weights."""
        Y, G = rows_of(truth), rows_of(predicted)
        varies = Y.std(axis=0) > 0
        if not varies.any():
            return 0.0
        return float(r2_score(Y[:, varies], G[:, varies], sample_weight=weights))

    def other_metrics(self, truth: Items, predicted: Items) -> dict[str, float]:
        """Return the root mean squared error."""
        return {
            "root mean squared error": float(np.sqrt(np.mean(errors_of(truth, predicted) ** 2)))
        }

    def row_errors(self, truth: Items, predicted: Items) -> np.ndarray:
        """Return the root mean squared error of each row, in standard deviations of the columns."""
        spread = rows_of(truth).std(axis=0)
        E = errors_of(truth, predicted) / np.where(spread > 0, spread, 1.0)
        return np.sqrt((E**2).mean(axis=1))

    def label_scores(self, truth: Items, predicted: Items) -> Rows:
        """Return a table of R² and root mean squared error of each column."""
        Y, G = rows_of(truth), rows_of(predicted)
        explained = r2_score(Y, G, multioutput="raw_values")
        return [
            {
                "column": name,
                "R²": float(explained[j]) if np.ptp(Y[:, j]) > 0 else 0.0,
                "root mean squared error": float(np.sqrt(((Y - G)[:, j] ** 2).mean())),
            }
            for j, name in enumerate(self._value_names(Y.shape[1], ""))
        ]

    def _value_names(self, width: int, prefix: str) -> list[str]:
        """Return a name for each value: those of the columns, or else numbers."""
        named = len(self.columns_) == width
        return [str(name) if named else f"{prefix}{name}" for name in
                (self.columns_ if named else range(width))]  # fmt: skip

    # -- descriptions -------------------------------------------------------------------------

    def describe(self, table: Table, y: Items) -> dict[Name, str]:
        """Return the range of each column."""
        Y = rows_of(y)
        forms = self.notations_ or [Numbers()] * len(self.columns_)
        if len(self.columns_) == 1 < Y.shape[1]:
            return {self.columns_[0]: f"rows of {Y.shape[1]} values, {describe_range(Y, forms[0])}"}
        return {name: describe_range(Y[:, j], forms[j]) for j, name in enumerate(self.columns_)}

    def pictures(self, shown: Comparison) -> list[Picture]:
        """Return a scatter plot of predicted against true values for each output column."""
        Y, G = rows_of(shown.truth), rows_of(shown.left_out)
        names = self._value_names(Y.shape[1], "value ")[:PLOTTED_COLUMNS]
        return [scatter(name, Y[:, j], G[:, j]) for j, name in enumerate(names)]

    # -- predictions --------------------------------------------------------------------------

    def columns_of_sets(self, sets: Any) -> dict[str, Any]:
        """Convert the two ends of intervals to columns, such as "lower y" and "upper y"."""
        ends = sets if isinstance(sets, tuple) else (sets.lower, sets.upper)
        return self.columns_of_ends(("lower", "upper"), ends)

    def bands(self, sets: Any, rows: int) -> Any:
        """Return the two ends of the intervals as outputs of this kind."""
        return tuple(np.reshape(A, (rows, *self._item_shape)) for A in (sets.lower, sets.upper))

    @property
    def _item_shape(self) -> tuple[int, ...]:
        """The shape of one output."""
        return (-1,)

    def array_of(self, items: Items, flat: bool) -> Any:
        """Convert outputs to an array of numbers, dates or durations; if `flat`, to a vector."""
        rows = np.asarray(items)
        if self.has_dates:
            columns = self.write(rows).values()
            rows = np.column_stack([np.asarray(column) for column in columns])
        return rows[:, 0] if flat and rows.ndim == 2 and rows.shape[1] == 1 else rows


def describe_range(values: np.ndarray, notation: Notation) -> str:
    """Return the smallest and the largest value as text: numbers, dates or durations."""
    low, high = float(np.min(values)), float(np.max(values))
    if isinstance(notation, Dates):
        first, last = write_dates(np.array([low, high]), "text", with_times=False)
        return f"dates from {first} to {last}"
    unit = "days" if isinstance(notation, Durations) else ""
    unit = (notation.unit or "") if isinstance(notation, Numbers) else unit
    return f"{low:.4g} to {high:.4g}" + (f" {unit}" if unit else "")


def rows_of(items: Items) -> np.ndarray:
    """Return outputs as a matrix of floats, one row for each."""
    return np.asarray(items, dtype=float).reshape(len(items), -1)


def errors_of(truth: Items, predicted: Items) -> np.ndarray:
    """Return true minus predicted values, one row for each output."""
    return rows_of(truth) - rows_of(predicted)
