"""Numbers, dates and durations as people write them: decimal commas, thousands, per cent, money.

A notation is how a column writes its values: ``"."`` or ``","`` for numbers with that decimal mark,
the same with a blank (``". "``) where a blank separates thousands, ``"duration"`` for spans of
time, ``"iso"`` or a format of `datetime.strptime` for dates. Dates become days since 1970, and
durations become days.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
import pandas as pd

from ...spaces.graphs import is_networkx

LOOK = 200
"""The number of cells that are examined to find the notation of a column."""
ISO = "iso"
DURATION = "duration"
DATES = (
    ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d.%m.%y",
    "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y",
)  # fmt: skip
TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
NARROW = "\u00a0\u2009\u202f'’"
"""Characters that separate thousands and have no other meaning in numbers."""
THOUSANDS = {".": ",", ",": "."}
MONEY, UNITS = "[$€£¥₹]", "%$€£¥₹"
MONEY_SIGN = re.compile(MONEY)
ACCOUNTED = re.compile(r"[$€£¥₹%.,]")
"""Signs in a number whose brackets mean a minus, as in ($5); (2020) is a year, and (1) a note."""
SPAN = re.compile(
    r"(?:(?P<days>-?\d+) days?(?:,? \+?(?P<rest>\d.*))?|(?P<sign>-?)(?P<clock>\d+:[0-5]\d.*)"
    r"|(?P<iso>-?P(?=.)(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?))"
)
CLOCK = re.compile(r"(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")
PLAIN = {str, int, float, bool, np.float64}
"""The types of cells that `float` can convert."""


def _pattern(mark: str, blank: str) -> re.Pattern:
    """Return the regular expression of numbers with decimal mark `mark`.

    `blank` is a further separator of thousands.
    """
    between = f"[{re.escape(THOUSANDS[mark])}{NARROW}{blank}]"
    grouped = rf"[1-9]\d{{0,2}}(?:{between}\d{{3}})+"
    mark = re.escape(mark)
    digits = rf"(?:{grouped}|\d+)(?:{mark}\d*)?|{mark}\d+"
    power = r"((?:[eE][+-]?\d+)?)"
    return re.compile(rf"(?:{MONEY}\s?)?([+\-−]?)(?:{MONEY}\s?)?({digits}){power}\s?(%|{MONEY})?")


PLAIN_DIGITS = {
    mark + blank: str.maketrans(mark, ".", THOUSANDS[mark] + NARROW + " ")
    for blank in ("", " ")
    for mark in (".", ",")
}
NUMBERS = {mark + blank: _pattern(mark, blank) for blank in ("", " ") for mark in (".", ",")}


def is_date(notation: str) -> bool:
    """Return whether a notation is one of dates, not of numbers or durations."""
    return notation not in NUMBERS and notation != DURATION


def number(text: str, notation: str) -> float | None:
    """Parse a number; None if the text is not one. "10 %" is 0.1, and "($5)" is -5."""
    if notation == "." and "_" not in text:
        try:
            return float(text)
        except ValueError:
            pass
    owed = text[:1] == "(" and text[-1:] == ")" and bool(ACCOUNTED.search(text))
    match = NUMBERS[notation].fullmatch(text[1:-1] if owed else text)
    if match is None or (text[-1:] == "%" and MONEY_SIGN.search(text)):  # $5% is neither
        return None
    sign, digits, power, unit = match.groups()
    value = float(digits.translate(PLAIN_DIGITS[notation]) + power)
    value = -value if owed or sign in ("-", "−") else value
    return value / 100.0 if unit == "%" else value


def day(text: str, notation: str) -> float | None:
    """Parse a date, perhaps with a time, to days since 1970; None if the text is not a date."""
    for form in _forms(text, notation):
        try:
            iso = form == ISO
            return days(datetime.fromisoformat(text) if iso else datetime.strptime(text, form))
        except ValueError:
            continue
    return None


def _forms(text: str, notation: str) -> list[str]:
    """Return the `strptime` formats to try on a text, for one notation of dates."""
    if notation == ISO:
        return [ISO] if text[4:5] == "-" else []
    timed = ":" in text and " " not in notation
    return [f"{notation} {clock}" for clock in TIMES] if timed else [notation]


def days(when: date) -> float:
    """Convert a date or datetime to days since 1970; without a time zone, in UTC."""
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (aware - EPOCH) / DAY


def duration(text: str) -> float | None:
    """Parse a duration such as ``8:30``, ``2 days 03:00:00`` or ``PT5M`` to days, or None."""
    match = SPAN.fullmatch(text)
    if match is None:
        return None
    if match["iso"]:
        return pd.Timedelta(match["iso"]) / DAY
    rest = match["clock"] or match["rest"]
    clock = CLOCK.fullmatch(rest) if rest else None
    if rest and clock is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in clock.groups()) if clock else (0, 0, 0)
    part = (hours + minutes / 60 + seconds / 3600) / 24
    return float(match["days"] or 0) + (-part if match["sign"] else part)


def _span(cell: timedelta | time) -> timedelta:
    """Return a duration unchanged, and convert a time of day to the duration since midnight."""
    if isinstance(cell, timedelta):
        return cell
    return datetime.combine(date.min, cell) - datetime.combine(date.min, time(tzinfo=cell.tzinfo))


def row(cell: Any, notation: str) -> list[float] | None:
    """Convert a cell to a list of floats, with dates in days since 1970; None if not numeric."""
    if isinstance(cell, str):
        return _of_text(cell.strip(), notation)
    if isinstance(cell, date):  # a datetime is one too
        return [days(cell)] if is_date(notation) else None
    if isinstance(cell, timedelta | time):
        return [_span(cell) / DAY] if notation == DURATION else None
    if notation not in NUMBERS or is_networkx(cell):  # numpy would make an array of nodes
        return None
    try:
        if isinstance(cell, bool | int | float | np.number):
            return [float(cell)]
        values = np.ravel(np.asarray(cell, dtype=float))
        return values.tolist() if len(values) else None
    except OverflowError:  # an integer of more than 308 digits
        return [np.inf]
    except (ValueError, TypeError, RecursionError):
        return None


def _of_text(text: str, notation: str) -> list[float] | None:
    """Parse the number, date, duration or list of numbers in a text; None if there is none."""
    if notation not in NUMBERS:
        value = duration(text) if notation == DURATION else day(text, notation)
        return None if value is None else [value]
    if text.startswith("["):
        try:
            return row(json.loads(text), notation)
        except (ValueError, RecursionError):
            return None
    value = number(text, notation)
    if value is not None:
        return [value]
    parts = [number(part, notation) for part in text.split()]
    known = [part for part in parts if part is not None]
    return known if known and len(known) == len(parts) else None


def read_cells(cells: Sequence[Any], notation: str) -> list[list[float] | None] | np.ndarray:
    """Convert each cell by `row`; to a matrix of one column if that is faster and no cell fails."""
    types = set(map(type, cells))
    if notation == "." and types <= PLAIN:
        try:
            values = np.array(list(map(float, cells)))
        except (ValueError, OverflowError):
            pass
        else:
            if not any("_" in cell for cell in cells if type(cell) is str):
                return values[:, None]
    if types == {str} and is_date(notation) and notation != ISO:
        found = _days_of([cell.strip() for cell in cells], notation)
        if not np.isnan(found).any():
            return found[:, None]
        return [None if value != value else [value] for value in found.tolist()]
    return [row(cell, notation) for cell in cells]


def _days_of(texts: list[str], notation: str) -> np.ndarray:
    """Parse dates to days since 1970 with pandas, as `day` does; NaN for other texts."""
    found = np.full(len(texts), np.nan)
    with_digits = {text for text in texts if not text.isalpha()}  # pandas reads "today" and "now"
    forms = {text: tuple(_forms(text, notation)) for text in with_digits}
    for form in dict.fromkeys(form for several in forms.values() for form in several):
        rest = [i for i, t in enumerate(texts) if np.isnan(found[i]) and form in forms.get(t, ())]
        read = pd.to_datetime([texts[i] for i in rest], format=form, errors="coerce", utc=True)
        found[rest] = (read - pd.Timestamp(EPOCH)) / pd.Timedelta(DAY)
    for i in np.flatnonzero(np.isnan(found)):  # years that nanoseconds do not reach
        found[i] = np.nan if (value := day(texts[i], notation)) is None else value
    return found


def misses_of(cells: Sequence[Any], comma: bool = True) -> dict[str, int]:
    """Return the number of cells that each notation cannot read, smallest number first.

    Only the first `LOOK` cells are tried.

    `comma` says whether decimal commas are to be expected.
    """
    cells = list(cells[:LOOK])
    marks = (".", ",") if comma else (".",)
    others = (*(DATES if _has_dates(cells) else ()), *((DURATION,) if _has_spans(cells) else ()))
    misses: dict[str, int] = {}
    for notation in (*_grouped(cells, marks), *marks, *others):
        if notation not in misses:
            misses[notation] = sum(values is None for values in read_cells(cells, notation))
    return dict(sorted(misses.items(), key=lambda item: item[1]))


def _grouped(cells: list[Any], marks: Sequence[str]) -> list[str]:
    """Return the notations with blanks between thousands; none if blanks separate list entries.

    Lists of numbers have one length throughout; numbers have one, two or three groups.
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    if len({text.count(" ") for text in texts if text[-1:] not in UNITS}) < 2:
        return []
    return [f"{mark} " for mark in marks]


def _has_dates(cells: list[Any]) -> bool:
    """Return whether one of the first three cells may be a date."""
    return any(
        isinstance(cell, date)
        or (isinstance(cell, str) and len(cell) < 40 and bool(re.search(r"\d[-./ ,]+\w", cell)))
        for cell in cells[:3]
    )


def _has_spans(cells: list[Any]) -> bool:
    """Return whether one of the first three cells is a duration."""
    return any(
        isinstance(cell, timedelta | time)
        or (isinstance(cell, str) and len(cell) < 40 and duration(cell.strip()) is not None)
        for cell in cells[:3]
    )
