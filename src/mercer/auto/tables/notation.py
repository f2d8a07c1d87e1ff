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

from ..._base.arrays import is_networkx

EXAMINED_CELLS = 200
"""The number of cells that are examined to find the notation of a column."""
ISO = "iso"
DURATION = "duration"
DATE_FORMATS = (
    ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d.%m.%y",
    "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y",
)  # fmt: skip
TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
FEW_TEXTS = 200
"""The number of texts up to which `datetime.strptime` is faster than pandas."""
NARROW = "\u00a0\u2009\u202f'’"
"""Characters that separate thousands and have no other meaning in numbers."""
THOUSANDS = {".": ",", ",": "."}
MONEY, UNIT_SIGNS = "[$€£¥₹]", "%$€£¥₹"
MONEY_SIGN = re.compile(MONEY)
ACCOUNTED = re.compile(r"[$€£¥₹%.,]")
"""Signs in a number whose brackets mean a minus, as in ($5); (2020) is a year, and (1) a note."""
SPAN = re.compile(
    r"(?:(?P<days>-?\d+) days?(?:,? \+?(?P<rest>\d.*))?|(?P<sign>-?)(?P<clock>\d+:[0-5]\d.*)"
    r"|(?P<iso>-?P(?=.)(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?))"
)
CLOCK = re.compile(r"(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")
PLAIN_TYPES = {str, int, float, bool, np.float64}
"""The types of cells that `float` can convert."""


def _number_pattern(mark: str, blank: str) -> re.Pattern:
    """Return the regular expression of numbers with the decimal mark `mark`.

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
NUMBER_PATTERNS = {
    mark + blank: _number_pattern(mark, blank) for blank in ("", " ") for mark in (".", ",")
}


def is_date(notation: str) -> bool:
    """Return whether a notation is a date format, rather than a decimal mark or "duration"."""
    return notation not in NUMBER_PATTERNS and notation != DURATION


def parse_number(text: str, notation: str) -> float | None:
    """Parse a number such as "10 %" (0.1) or "($5)" (-5); None if the text is not a number."""
    if notation == "." and "_" not in text:
        try:
            return float(text)
        except ValueError:
            pass
    owed = text[:1] == "(" and text[-1:] == ")" and bool(ACCOUNTED.search(text))
    match = NUMBER_PATTERNS[notation].fullmatch(text[1:-1] if owed else text)
    if match is None or (text[-1:] == "%" and MONEY_SIGN.search(text)):  # $5% is neither
        return None
    sign, digits, power, unit = match.groups()
    value = float(digits.translate(PLAIN_DIGITS[notation]) + power)
    value = -value if owed or sign in ("-", "−") else value
    return value / 100.0 if unit == "%" else value


def parse_date(text: str, notation: str) -> float | None:
    """Parse a date, perhaps with a time, to days since 1970; None if the text is not a date.

    `notation` is "iso" or the `strptime` format of the date.
    """
    for form in _date_formats(text, notation):
        try:
            iso = form == ISO
            return days_since_1970(
                datetime.fromisoformat(text) if iso else datetime.strptime(text, form)
            )
        except ValueError:
            continue
    return None


def _date_formats(text: str, notation: str) -> list[str]:
    """Return the `strptime` formats, with and without a time, to try on a text."""
    if notation == ISO:
        return [ISO] if text[4:5] == "-" else []
    timed = ":" in text and " " not in notation
    return [f"{notation} {clock}" for clock in TIMES] if timed else [notation]


def days_since_1970(when: date) -> float:
    """Convert a date or datetime to days since 1970; without a time zone, in UTC."""
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (aware - EPOCH) / DAY


def parse_duration(text: str) -> float | None:
    """Parse a duration such as ``8:30`` to days; None if the text is not a duration."""
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


def _as_timedelta(cell: timedelta | time) -> timedelta:
    """Return a duration unchanged, and a time of day as the duration since midnight."""
    if isinstance(cell, timedelta):
        return cell
    return datetime.combine(date.min, cell) - datetime.combine(date.min, time(tzinfo=cell.tzinfo))


def parse_cell(cell: Any, notation: str) -> list[float] | None:
    """Convert a cell to a list of floats, with dates in days since 1970; None if not numeric."""
    if isinstance(cell, str):
        return _parse_text(cell.strip(), notation)
    if isinstance(cell, date):  # a datetime is one too
        return [days_since_1970(cell)] if is_date(notation) else None
    if isinstance(cell, timedelta | time):
        return [_as_timedelta(cell) / DAY] if notation == DURATION else None
    if notation not in NUMBER_PATTERNS or is_networkx(cell):  # numpy would make an array of nodes
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


def _parse_text(text: str, notation: str) -> list[float] | None:
    """Parse the number, date, duration or list of numbers in a text; None if there is none."""
    if notation not in NUMBER_PATTERNS:
        value = parse_duration(text) if notation == DURATION else parse_date(text, notation)
        return None if value is None else [value]
    if text.startswith("["):
        try:
            return parse_cell(json.loads(text), notation)
        except (ValueError, RecursionError):
            return None
    value = parse_number(text, notation)
    if value is not None:
        return [value]
    values = []
    for part in text.split():
        value = parse_number(part, notation)
        if value is None:
            return None  # at once: long texts have many words
        values.append(value)
    return values or None


def read_cells(cells: Sequence[Any], notation: str) -> list[list[float] | None] | np.ndarray:
    """Convert each cell by `parse_cell`; to a one-column matrix where that is faster."""
    types = set(map(type, cells))
    if notation == "." and types <= PLAIN_TYPES:
        try:
            values = np.array(list(map(float, cells)))
        except (ValueError, OverflowError):
            pass
        else:
            if not any("_" in cell for cell in cells if type(cell) is str):
                return values[:, None]
    if types == {str} and is_date(notation) and notation != ISO:
        days = _parse_dates([cell.strip() for cell in cells], notation)
        if not np.isnan(days).any():
            return days[:, None]
        return [None if value != value else [value] for value in days.tolist()]
    return [parse_cell(cell, notation) for cell in cells]


def _parse_dates(texts: list[str], notation: str) -> np.ndarray:
    """Parse texts by `parse_date`, many with pandas; NaN for texts that are not dates."""
    if len(texts) <= FEW_TEXTS:
        return np.array([parse_date(text, notation) for text in texts], dtype=float)
    days = np.full(len(texts), np.nan)
    with_digits = {text for text in texts if not text.isalpha()}  # pandas reads "today" and "now"
    forms = {text: tuple(_date_formats(text, notation)) for text in with_digits}
    for form in dict.fromkeys(form for several in forms.values() for form in several):
        rest = [i for i, t in enumerate(texts) if np.isnan(days[i]) and form in forms.get(t, ())]
        read = pd.to_datetime([texts[i] for i in rest], format=form, errors="coerce", utc=True)
        days[rest] = (read - pd.Timestamp(EPOCH)) / pd.Timedelta(DAY)
    for i in np.flatnonzero(np.isnan(days)):  # years that nanoseconds do not reach
        days[i] = np.nan if (value := parse_date(texts[i], notation)) is None else value
    return days


def count_misses(cells: Sequence[Any], comma: bool = True) -> dict[str, int]:
    """Return for each notation the number of cells that it cannot read, smallest first.

    Notations are decimal marks, date formats and "duration". Only the first `EXAMINED_CELLS` cells
    are tried. `comma` says whether to try decimal commas.
    """
    cells = list(cells[:EXAMINED_CELLS])
    marks = (".", ",") if comma else (".",)
    others = (
        *(DATE_FORMATS if _has_dates(cells) else ()),
        *((DURATION,) if _has_durations(cells) else ()),
    )
    misses: dict[str, int] = {}
    for notation in (*_notations_with_blanks(cells, marks), *marks, *others):
        if notation not in misses:
            misses[notation] = sum(values is None for values in read_cells(cells, notation))
    return dict(sorted(misses.items(), key=lambda item: item[1]))


def _notations_with_blanks(cells: list[Any], marks: Sequence[str]) -> list[str]:
    """Return the notations with blanks between thousands that texts may have; none for lists.

    Lists of numbers have one length throughout; numbers have one, two or three groups.
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    if len({text.count(" ") for text in texts if text[-1:] not in UNIT_SIGNS}) < 2:
        return []
    return [f"{mark} " for mark in marks]


def _has_dates(cells: list[Any]) -> bool:
    """Return whether one of the first three cells may be a date."""
    return any(
        isinstance(cell, date)
        or (isinstance(cell, str) and len(cell) < 40 and bool(re.search(r"\d[-./ ,]+\w", cell)))
        for cell in cells[:3]
    )


def _has_durations(cells: list[Any]) -> bool:
    """Return whether one of the first three cells is a duration."""
    return any(
        isinstance(cell, timedelta | time)
        or (isinstance(cell, str) and len(cell) < 40 and parse_duration(cell.strip()) is not None)
        for cell in cells[:3]
    )
