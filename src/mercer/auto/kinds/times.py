"""Dates and durations of predictions, in the form of the training cells."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
import pandas as pd

from ..tables.notation import CLOCK, days_since_1970

FIRST_DAY, LAST_DAY = -719_162, 2_932_895
"""The range of Python's dates, in days since 1970."""
NANOSECONDS = 106_000
"""The largest distance from 1970, in days, that an array of nanoseconds can represent."""
SECONDS_PER_DAY = 86_400
"""The number of seconds of a day."""


def date_form(cells: Any) -> str:
    """Return how dates or durations are written in cells, such as "datetime" or "clock".

    The values are listed under `NumberKind.forms_`.
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


def has_times(cells: Any, values: np.ndarray) -> bool:
    """Return whether some dates have a time of day other than midnight in their time zone."""
    if isinstance(cells, np.ndarray) or not isinstance(cells[0], datetime):
        return bool((values % 1.0).any())
    return any(cell.timetz().replace(tzinfo=None) != datetime.min.time() for cell in cells)


def write_dates(values: np.ndarray, form: str, with_times: bool) -> Any:
    """Convert days since 1970 to dates of type `form`, rounded to days unless `with_times`.

    `form` is a result of `date_form`.
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
    """Convert numbers of days to durations of type `form`, a result of `date_form`."""
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
