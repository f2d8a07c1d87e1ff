"""Columns of numbers, dates and durations, and columns of arrays, as rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
import pandas as pd

from ..._base.arrays import Items
from ...spaces import Curves, Space, Vectors
from ..tables.bad_table import BadTable
from ..tables.columns import Column, numbers
from ..tables.notation import CLOCK, Dates, Durations, Notation, days_since_1970
from ..tables.table import Name, Table
from .cells import Cells

FIRST_DAY, LAST_DAY = -719_162, 2_932_895
"""The range of Python's dates, in days since 1970."""
NANOSECONDS = 106_000
"""The largest distance from 1970, in days, that an array of nanoseconds can represent."""
SECONDS_PER_DAY = 86_400
"""The number of seconds of a day."""


class NumberCells(Cells):
    """Converter of cells that hold numbers, dates, durations or arrays of numbers.

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

    space: Space = Vectors()

    @property
    def has_dates(self) -> bool:
        """Whether some column holds dates or durations."""
        return any(isinstance(one, Dates | Durations) for one in self.notations_ or ())

    def fit(self, table: Table, names: Sequence[Name]) -> np.ndarray:
        """Determine the decimal mark or date format of each column; return the training numbers."""
        self.columns_ = list(names)
        cells = table.columns[names[0]]
        if len(names) == 1 and isinstance(cells, np.ndarray) and cells.ndim > 1:
            self.notations_: list[Notation] | None = None
            self.shape_ = cells.shape[1:]
            return self.read(table)
        self.notations_ = [Column.of(table, name).notation() for name in names]
        parts = [numbers(table, [n], [one]) for n, one in zip(names, self.notations_, strict=True)]
        self.widths_ = [part.shape[1] for part in parts]
        self.forms_ = [_date_form(table.columns[name]) for name in names]
        self.has_times_ = [
            isinstance(notation, Dates) and _has_times(table.columns[name], part[:, 0])
            for name, notation, part in zip(names, self.notations_, parts, strict=True)
        ]
        return np.hstack(parts)

    def read(self, table: Table) -> np.ndarray:
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


class CurveCells(NumberCells):
    """Converter of cells that hold the values of a curve, one per cell or all in one cell."""

    space = Curves()


def _date_form(cells: Any) -> str:
    """Return how dates or durations are written in cells, such as "datetime" or "clock".

    The values are listed under `NumberCells.forms_`.
    """
    if isinstance(cells, np.ndarray):
        return cells.dtype.str if cells.dtype.kind in "Mm" else "text"
    first = cells[0]
    if isinstance(first, datetime):
        unit = first.unit if isinstance(first, pd.Timestamp) else "us"
        return "datetime" if first.tzinfo is None else f"{unit} {first.tzinfo}"
    if isinstance(first, date):
        return "date"
    if isinstance(first, timedelta | time):
        return "time" if isinstance(first, time) else "timedelta"
    clock = all(isinstance(cell, str) and CLOCK.fullmatch(cell.strip()) for cell in cells)
    return "clock" if clock else f"text{_utc_offset(str(first).strip())}"


def _utc_offset(text: str) -> str:
    """Return the offset from UTC in a date and time such as "+02:00", or an empty text."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return when.isoformat().removeprefix(when.replace(tzinfo=None).isoformat())


def _has_times(cells: Any, values: np.ndarray) -> bool:
    """Return whether some dates have a time of day other than midnight in their time zone."""
    if isinstance(cells, np.ndarray) or not isinstance(cells[0], datetime):
        return bool((values % 1.0).any())
    return any(cell.timetz().replace(tzinfo=None) != datetime.min.time() for cell in cells)


def write_dates(values: np.ndarray, form: str, with_times: bool) -> Any:
    """Convert days since 1970 to dates of type `form`, rounded to days unless `with_times`.

    `form` is a result of `_date_form`.
    """
    bounded = np.clip(np.nan_to_num(values), FIRST_DAY, LAST_DAY)
    if form.startswith(("<M8", ">M8")):
        near = np.clip(bounded, -NANOSECONDS, NANOSECONDS) if "ns" in form else bounded
        return _round_to_seconds(near, with_times).astype("M8[s]").astype(form)
    if form.startswith("text"):
        offset = form.removeprefix("text")
        local = bounded - days_since_1970(datetime.fromisoformat(f"1970-01-01T00:00:00{offset}"))
        rounded = _round_to_seconds(local, with_times).astype("M8[s]")
        return [f"{when}{offset}" if with_times else f"{when:.10}" for when in rounded.astype(str)]
    if form in ("date", "datetime"):
        rounded = _round_to_seconds(bounded, with_times).astype("M8[s]").tolist()
        return [when.date() for when in rounded] if form == "date" else rounded
    unit, _, zone = form.partition(" ")
    rounded = pd.DatetimeIndex(_round_to_seconds(bounded, True).astype("M8[s]"), tz=UTC).as_unit(
        unit
    )
    local = rounded.tz_convert(zone)
    return list(local if with_times else (local + pd.Timedelta(hours=12)).normalize().as_unit(unit))


def _round_to_seconds(days: np.ndarray, with_times: bool) -> np.ndarray:
    """Convert days to whole seconds; round them to whole days first unless `with_times`."""
    whole = np.round(days * SECONDS_PER_DAY) if with_times else np.round(days) * SECONDS_PER_DAY
    return whole.astype("int64")


def write_durations(values: np.ndarray, form: str) -> Any:
    """Convert numbers of days to durations of type `form`, a result of `_date_form`."""
    spans = np.round(np.nan_to_num(values) * SECONDS_PER_DAY).astype("int64").astype("m8[s]")
    if form.startswith(("<m8", ">m8")):
        return spans.astype(form)
    if form == "timedelta":
        return spans.tolist()
    if form == "time":
        return [(datetime.min + span % timedelta(days=1)).time() for span in spans.tolist()]
    if form == "clock":
        return [_clock_time(int(span)) for span in spans.astype("int64")]
    return [str(pd.Timedelta(span)) for span in spans]


def _clock_time(seconds: int) -> str:
    """Return seconds as a clock time such as "01:30" or "01:30:05"."""
    minutes, rest = divmod(abs(seconds), 60)
    shown = f"{minutes // 60:02d}:{minutes % 60:02d}" + (f":{rest:02d}" if rest else "")
    return f"-{shown}" if seconds < 0 else shown
