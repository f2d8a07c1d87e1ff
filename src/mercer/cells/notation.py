"""Numbers and dates as people write them: decimal commas, thousands, per cent, money, days.

A notation is how a column writes its values: ``"."`` or ``","`` for numbers with that decimal mark,
the same with a blank (``". "``) where a blank stands between thousands, ``"iso"`` or a format of
`datetime.strptime` for dates, which become days since 1970.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

LOOK = 200
"""Cells that are looked at to see how a column writes numbers."""
ISO = "iso"
DATES = (
    ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d.%m.%y",
    "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y",
)  # fmt: skip
TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_DAY, LAST_DAY = -719_162, 2_932_895
"""The range of Python's dates, in days since 1970."""
NARROW = "\u00a0\u2009\u202f'’"
"""What stands between thousands in no other meaning."""
THOUSANDS = {".": ",", ",": "."}
MONEY, UNITS = "[$€£¥₹]", "%$€£¥₹"
MONEY_SIGN = re.compile(MONEY)
ACCOUNTED = re.compile(r"[$€£¥₹%.,]")
"""What a number in brackets has if they stand for a minus: (2020) is a year, and (1) a note."""


def _pattern(mark: str, blank: str) -> re.Pattern:
    between = f"[{re.escape(THOUSANDS[mark])}{NARROW}{blank}]"
    grouped = rf"[1-9]\d{{0,2}}(?:{between}\d{{3}})+"
    mark = re.escape(mark)
    digits = rf"(?:{grouped}|\d+)(?:{mark}\d*)?|{mark}\d+"
    power = r"((?:[eE][+-]?\d+)?)"
    return re.compile(rf"(?:{MONEY}\s?)?([+\-−]?)(?:{MONEY}\s?)?({digits}){power}\s?(%|{MONEY})?")


NUMBERS = {mark + blank: _pattern(mark, blank) for blank in ("", " ") for mark in (".", ",")}


def number(text: str, notation: str) -> float | None:
    """Return the number that a text writes, or None. Ten per cent are 0.1, and ($5) is -5."""
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
    mark = notation[0]
    plain = "".join(c if c != mark else "." for c in digits if c.isdigit() or c == mark)
    value = float(("-" if owed or sign in ("-", "−") else "") + plain + power)
    return value / 100.0 if unit == "%" else value


def day(text: str, notation: str) -> float | None:
    """Return the days from 1970 to the date that a text writes, perhaps with a time, or None."""
    if notation == ISO:
        forms = [ISO] if text[4:5] == "-" else []
    else:
        timed = ":" in text and " " not in notation
        forms = [f"{notation} {clock}" for clock in TIMES] if timed else [notation]
    for form in forms:
        try:
            iso = form == ISO
            return days(datetime.fromisoformat(text) if iso else datetime.strptime(text, form))
        except ValueError:
            continue
    return None


def days(when: date) -> float:
    """Return the days from 1970 to a date or a moment; without a time zone, of Greenwich."""
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (aware - EPOCH) / timedelta(days=1)


def written_day(value: float, moment: bool) -> str:
    """Return days since 1970 as an ISO date, or as a date with its time."""
    whole = min(max(value, FIRST_DAY), LAST_DAY)
    if moment:
        when = EPOCH + timedelta(days=whole)
        return when.replace(tzinfo=None).isoformat(timespec="seconds")
    return (EPOCH + timedelta(days=round(whole))).date().isoformat()


def row(cell: Any, notation: str) -> list[float] | None:
    """Return a number, a date or a list of numbers as a list of floats; None for other cells."""
    if isinstance(cell, str):
        return _of_text(cell.strip(), notation)
    if isinstance(cell, date):  # a datetime is one too
        return [days(cell)] if is_date(notation) else None
    if is_date(notation):
        return None
    try:
        if isinstance(cell, bool | int | float | np.number):
            return [float(cell)]
        values = np.ravel(np.asarray(cell, dtype=float))
        return values.tolist() if len(values) else None
    except OverflowError:  # a whole number of more than 308 digits
        return [np.inf]
    except (ValueError, TypeError, RecursionError):
        return None


def _of_text(text: str, notation: str) -> list[float] | None:
    if is_date(notation):
        value = day(text, notation)
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


def is_date(notation: str) -> bool:
    """Whether a notation writes dates."""
    return notation not in NUMBERS


def misses_of(cells: Sequence[Any], comma: bool = True) -> dict[str, int]:
    """Return, for every notation, how many of the first cells it cannot read; best first.

    `comma` says whether decimal commas are to be expected.
    """
    cells = list(cells[:LOOK])
    marks = (".", ",") if comma else (".",)
    misses: dict[str, int] = {}
    for notation in (*_grouped(cells, marks), *marks, *(DATES if _has_dates(cells) else ())):
        misses.setdefault(notation, sum(row(cell, notation) is None for cell in cells))
    return dict(sorted(misses.items(), key=lambda item: item[1]))


def _grouped(cells: list[Any], marks: Sequence[str]) -> list[str]:
    """The notations with blanks between thousands, where blanks cannot separate list entries.

    Lists of numbers have one length throughout; numbers have one, two or three groups.
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    if len({text.count(" ") for text in texts if text[-1:] not in UNITS}) < 2:
        return []
    return [f"{mark} " for mark in marks]


def _has_dates(cells: list[Any]) -> bool:
    """Whether the cells can hold dates at all: trying all formats is slow."""
    return any(
        isinstance(cell, date)
        or (isinstance(cell, str) and len(cell) < 40 and bool(re.search(r"\d[-./ ,]+\w", cell)))
        for cell in cells[:3]
    )
