"""How the cells of a column write numbers, dates, durations and truth values.

A notation is determined by the training cells and then fixed: the decimal mark, the marks between
thousands, the unit, the order of day and month, and whether times have a time zone. It reads the
cells of any later table in the same way, or does not read them. Dates become days since 1970, and
durations become days.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from ..._base.arrays import is_networkx
from .bad_table import Option

EXAMINED_CELLS = 200
"""The number of cells that are examined to find the notations that a column may have."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
ISO = "iso"
DATE_FORMATS = (
    ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d.%m.%y",
    "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y",
)  # fmt: skip
TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p")
THOUSANDS = {".": ",", ",": "."}
NARROW = "\u00a0\u2009\u202f'’"
"""Characters that separate thousands and have no other meaning in numbers."""
MONEY = "[$€£¥₹]"
MONEY_SIGN = re.compile(MONEY)
SIGNS = "%$€£¥₹"
ACCOUNTED = re.compile(rf"[{SIGNS}.,]")
"""Signs in a number whose brackets mean a minus, as in ($5); (2020) is a year, and (1) a note."""
CLOCK = re.compile(r"(-?)(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")
SPAN = re.compile(r"-?\d+ days?(,? \+?\d+:[0-5]\d:[0-5]\d(\.\d+)?)?|-?P(?=.)(\d+D)?(T[\dHMS.]+)?")
OFFSET = re.compile(r":\d\d(\.\d+)?\s?(Z|[+-]\d\d:?\d\d)$")
"""The end of a time with a time zone."""
TRUTH = {"true": 1.0, "false": 0.0}
PLAIN_TYPES = {str, int, float, bool, np.float64}
"""The types of cells that `float` can convert."""

Parsed = list[float] | None
"""The numbers in a cell; None if the notation does not read it."""


class Notation:
    """Base class of notations, which convert cells to numbers."""

    kind: ClassVar[str]
    """What the cells are, for messages: "number", "date", "duration" or "truth value"."""

    def parse(self, cell: Any) -> Parsed:
        """Return the numbers in a cell; None if this notation does not read it."""
        raise NotImplementedError

    def parse_all(self, cells: Sequence[Any]) -> list[Parsed] | np.ndarray:
        """Return `parse` of each cell, or a matrix with one column where that is faster."""
        return [self.parse(cell) for cell in cells]

    def fitted(self, cells: Sequence[Any]) -> Notation:
        """Return the notation with all that the training cells determine."""
        return self

    def stated(self, decimal: str | None, day_first: bool | None) -> Notation:
        """Return the notation for a file whose decimal mark or order of dates the user states."""
        return self

    def misfit(self, cell: Any) -> tuple[str, list[Option]]:
        """Return why a cell is not read, as the predicate of a sentence, and options that help."""
        return f"is not a {self.kind}", []


class Amount(NamedTuple):
    """A number in a text, its unit ("%", a currency sign or none), and if thousands are marked."""

    value: float
    unit: str
    grouped: bool


def _number_pattern(mark: str, blank: str) -> re.Pattern:
    """Return the regular expression of numbers with the decimal mark `mark`.

    `blank` is a further separator of thousands.
    """
    between = f"[{re.escape(THOUSANDS[mark])}{NARROW}{blank}]"
    mark = re.escape(mark)
    digits = rf"(?:[1-9]\d{{0,2}}(?:{between}\d{{3}})+|\d+)(?:{mark}\d*)?|{mark}\d+"
    return re.compile(
        rf"({MONEY}\s?)?([+\-−]?)({MONEY}\s?)?({digits})((?:[eE][+-]?\d+)?)\s?(%|{MONEY})?"
    )


PATTERNS = {
    (mark, blank): _number_pattern(mark, " " if blank else "")
    for blank in (False, True)
    for mark in (".", ",")
}
PLAIN_DIGITS = {
    mark: str.maketrans(mark, ".", f"{other}{NARROW} ") for mark, other in THOUSANDS.items()
}


def parse_amount(text: str, mark: str, blank: bool = False) -> Amount | None:
    """Parse a number such as "1,250.5", "10 %" or "($5)"; None if the text is not a number.

    Parameters
    ----------
    text : str
        The text without surrounding blanks.
    mark : str
        The decimal mark, "." or ",".
    blank : bool
        Whether a blank may separate thousands.
    """
    if mark == "." and "_" not in text:
        try:
            return Amount(float(text), "", False)
        except ValueError:
            pass
    owed = text[:1] == "(" and text[-1:] == ")" and bool(ACCOUNTED.search(text))
    match = PATTERNS[mark, blank].fullmatch(text[1:-1] if owed else text)
    if match is None:
        return None
    first, sign, second, digits, power, last = match.groups()
    units = {unit.strip() for unit in (first, second, last) if unit}
    if len(units) > 1:  # $5% is neither
        return None
    value = float(digits.translate(PLAIN_DIGITS[mark]) + power)
    value = -value if owed or sign in ("-", "−") else value
    return Amount(value, "".join(units), THOUSANDS[mark] in digits)


@dataclass(frozen=True)
class Numbers(Notation):
    """Notation of numbers, one or several in a cell.

    Attributes
    ----------
    mark
        The decimal mark.
    blank
        Whether a blank separates thousands, rather than the numbers of a cell.
    grouped
        Whether a comma (or a point, where the decimal mark is a comma) separates thousands.
    unit
        The unit of all cells: "%", a currency sign, which may be left out, or "" for none; None
        before the training cells are read.
    """

    kind: ClassVar[str] = "number"
    mark: str = "."
    blank: bool = False
    grouped: bool = True
    unit: str | None = None

    def parse(self, cell: Any) -> Parsed:
        """Return the numbers in a cell, in its unit: "10 %" is 10."""
        if isinstance(cell, str):
            return self._parse_text(cell.strip())
        if isinstance(cell, date | timedelta | time) or is_networkx(cell) or self.unit == "%":
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

    def _parse_text(self, text: str) -> Parsed:
        """Return the number, or the numbers between blanks or in a JSON list, in a text."""
        if text.startswith("["):
            try:
                return self.parse(json.loads(text))
            except (ValueError, RecursionError):
                return None
        value = self._value(text)
        if value is not None:
            return [value]
        values: list[float] = []
        for part in text.split():
            value = self._value(part)
            if value is None:
                return None  # at once: long texts have many words
            values.append(value)
        return values or None

    def _value(self, text: str) -> float | None:
        """Return the number in a text; None if it does not have the fixed unit and marks."""
        amount = parse_amount(text, self.mark, self.blank)
        if amount is None or not self._has_unit(amount.unit):
            return None
        return None if amount.grouped and self._is_ambiguous(text) else amount.value

    def _has_unit(self, unit: str) -> bool:
        """Return whether a number may have this unit; a currency sign may be left out."""
        return self.unit is None or unit == self.unit or (not unit and self.unit != "%")

    def _is_ambiguous(self, text: str) -> bool:
        """Return whether marks between thousands may be decimal marks, as in 1,500."""
        return not self.grouped and parse_amount(text, THOUSANDS[self.mark]) is not None

    def parse_all(self, cells: Sequence[Any]) -> list[Parsed] | np.ndarray:
        """Return `parse` of each cell, or a matrix with one column where that is faster."""
        if self.mark == "." and self.unit != "%" and set(map(type, cells)) <= PLAIN_TYPES:
            try:
                values = np.array(list(map(float, cells)))
            except (ValueError, OverflowError):
                pass
            else:
                if not any("_" in cell for cell in cells if type(cell) is str):
                    return values[:, None]
        return super().parse_all(cells)

    def fitted(self, cells: Sequence[Any]) -> Numbers:
        """Return the notation with the unit of the cells, and if they mark thousands.

        Where units differ, it is the most frequent one, so that other cells are not read.
        """
        texts = [cell.strip() for cell in cells if isinstance(cell, str)]
        parts = [text.split() if parse_amount(text, self.mark, self.blank) is None else [text]
                 for text in texts]  # fmt: skip
        amounts = [parse_amount(one, self.mark, self.blank) for several in parts for one in several]
        known = [amount for amount in amounts if amount is not None]
        units = [amount.unit for amount in known]
        bare = units.count("") + len(cells) - len(texts)
        signs = sorted({unit for unit in units if unit}, key=lambda unit: (units.count(unit), unit))
        unit = signs[-1] if signs else ""
        unit = "" if unit == "%" and bare > units.count("%") else unit
        return replace(self, unit=unit, grouped=any(amount.grouped for amount in known))

    def stated(self, decimal: str | None, day_first: bool | None) -> Numbers:
        """Return the notation with the decimal mark that the user states for a file."""
        return self if decimal is None else replace(self, mark=decimal, grouped=True)

    def misfit(self, cell: Any) -> tuple[str, list[Option]]:
        """Return why a cell is not read, as the predicate of a sentence, and options that help."""
        free = replace(self, unit=None, grouped=True)
        marks = [Option("decimal", mark) for mark in THOUSANDS]
        if free.parse(cell) is not None:
            if replace(self, unit=None).parse(cell) is None:
                return "can mean two numbers", marks
            return f"does not have the unit of the other cells ({self.unit or 'none'})", []
        if replace(free, mark=THOUSANDS[self.mark]).parse(cell) is not None:
            return f"is not a number with the decimal mark {self.mark!r} of the others", marks
        return super().misfit(cell)


@dataclass(frozen=True)
class Truths(Notation):
    """Notation of the truth values "true" and "false", and of numbers between 0 and 1."""

    kind: ClassVar[str] = "truth value"

    def parse(self, cell: Any) -> Parsed:
        """Return 1 for true and 0 for false, and numbers unchanged."""
        value = TRUTH.get(cell.strip().lower()) if isinstance(cell, str) else None
        return Numbers(unit="").parse(cell) if value is None else [value]


@dataclass(frozen=True)
class Durations(Notation):
    """Notation of durations such as ``8:30``, ``2 days 03:00:00`` and ``PT5M``, in days."""

    kind: ClassVar[str] = "duration"

    def parse(self, cell: Any) -> Parsed:
        """Return the number of days; a time of day counts from midnight."""
        if isinstance(cell, time):
            cell = datetime.combine(date.min, cell.replace(tzinfo=None)) - datetime.min
        if isinstance(cell, timedelta):
            return [cell / DAY]
        text = cell.strip() if isinstance(cell, str) else ""
        clock = CLOCK.fullmatch(text)
        if clock:
            sign, hours, minutes, seconds = clock.groups()
            days = (float(hours) + float(minutes) / 60 + float(seconds or 0) / 3600) / 24
            return [-days if sign else days]
        try:
            return [pd.Timedelta(text) / DAY] if SPAN.fullmatch(text) else None
        except ValueError:
            return None


@dataclass(frozen=True)
class Dates(Notation):
    """Notation of dates, perhaps with times, as days since 1970.

    Attributes
    ----------
    form
        "iso", or the `strptime` format of the date.
    aware
        Whether times have a time zone; None before the training cells are read. Times without a
        time zone count as UTC.
    """

    kind: ClassVar[str] = "date"
    form: str = ISO
    aware: bool | None = None

    def parse(self, cell: Any) -> Parsed:
        """Return the days since 1970 of a date; None if it is not written in this way."""
        (value,) = self.parse_all([cell])
        return None if value is None else list(value)

    def parse_all(self, cells: Sequence[Any]) -> list[Parsed] | np.ndarray:
        """Return the days since 1970 of each cell; None for cells that are not such dates."""
        days = np.full(len(cells), np.nan)
        for i, cell in enumerate(cells):
            if isinstance(cell, date) and self._has_zone(is_aware(cell)):
                days[i] = days_since_1970(cell)
        texts = {i: cell.strip() for i, cell in enumerate(cells) if isinstance(cell, str)}
        kept = {i: text for i, text in texts.items() if self._has_zone(is_aware(text))}
        days[[*kept]] = self._days(list(kept.values()))
        if not np.isnan(days).any():
            return days[:, None]
        return [None if value != value else [value] for value in days.tolist()]

    def _has_zone(self, aware: bool) -> bool:
        """Return whether a cell with or without a time zone is like the training cells."""
        return self.aware is None or aware == self.aware

    def _days(self, texts: list[str]) -> np.ndarray:
        """Return the days since 1970 of texts; NaN for texts that are not such dates."""
        iso = self.form == ISO
        forms = ["ISO8601"] if iso else [self.form, *(f"{self.form} {clock}" for clock in TIMES)]
        numeric = [text if _has_date_shape(text, iso) else None for text in texts]
        left = pd.Series(numeric, dtype=object)
        days = pd.Series(np.nan, index=left.index, dtype=float)
        for form in forms:
            some = left[days.isna() & left.notna()]
            if len(some):
                read = pd.to_datetime(some, format=form, errors="coerce", utc=True)
                days[some.index] = (read - pd.Timestamp(EPOCH)) / pd.Timedelta(DAY)
        for i, text in left[days.isna() & left.notna()].items():
            days[i] = self._far_day(text)
        return days.to_numpy()

    def _far_day(self, text: str) -> float:
        """Return the days since 1970 of a date beyond the range of pandas; NaN for other texts."""
        try:
            iso = self.form == ISO
            when = datetime.fromisoformat(text) if iso else datetime.strptime(text, self.form)
        except ValueError:
            return np.nan
        return days_since_1970(when)

    def fitted(self, cells: Sequence[Any]) -> Dates:
        """Return the notation with the presence of a time zone in most cells."""
        return replace(self, aware=2 * sum(map(is_aware, cells)) > len(cells))

    def stated(self, decimal: str | None, day_first: bool | None) -> Dates:
        """Return the notation with the order of day and month that the user states for a file."""
        if day_first is None or self.form[:2] not in ("%d", "%m") or self.form[3:5] not in (
            "%d", "%m",
        ):  # fmt: skip
            return self
        mark = self.form[2]
        order = f"%d{mark}%m" if day_first else f"%m{mark}%d"
        return replace(self, form=f"{order}{self.form[5:]}")

    def misfit(self, cell: Any) -> tuple[str, list[Option]]:
        """Return why a cell is not read, as the predicate of a sentence, and options that help."""
        if replace(self, aware=None).parse(cell) is not None:
            return f"has {'no' if self.aware else 'a'} time zone, unlike the other cells", []
        other = self.stated(None, not self.form.startswith("%d"))
        if other != self and other.parse(cell) is not None:
            first = "day" if self.form.startswith("%d") else "month"
            orders = [Option("day_first", True), Option("day_first", False)]
            return f"is not a date with the {first} first, like the others", orders
        return "is not a date like the others", []


def _has_date_shape(text: str, iso: bool) -> bool:
    """Return whether a text may be a date: pandas also reads "now", and years as ISO dates."""
    return not text.isalpha() and (not iso or (len(text) > 9 and text[4] == text[7] == "-"))


def is_aware(cell: Any) -> bool:
    """Return whether a date, or a text of one, has a time zone."""
    if isinstance(cell, datetime):
        return cell.tzinfo is not None
    return isinstance(cell, str) and OFFSET.search(cell.strip()) is not None


def days_since_1970(when: date) -> float:
    """Convert a date or datetime to days since 1970; without a time zone, in UTC."""
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (aware - EPOCH) / DAY


def number_notations(cells: Sequence[Any], comma: bool = True) -> list[Notation]:
    """Return the notations of numbers and truth values that some cells may have, best first.

    `comma` says whether the decimal mark may be a comma.
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    if texts and all(text.lower() in TRUTH for text in texts):
        return [Truths()]
    marks = (".", ",") if comma else (".",)
    # a list of numbers has as many blanks in all cells, a number has one for each three digits
    blanks = len({text.count(" ") for text in texts if text[-1:] not in SIGNS}) > 1
    orders = [(mark, blank) for blank in (True, False) if blanks or not blank for mark in marks]
    return [Numbers(mark, blank) for mark, blank in orders]


def time_notations(cells: Sequence[Any]) -> list[Notation]:
    """Return the notations of dates and durations that some cells may have, best first."""
    few = cells[:3]
    dates = any(
        isinstance(cell, date)
        or (isinstance(cell, str) and len(cell) < 40 and bool(re.search(r"\d[-./ ,]+\w", cell)))
        for cell in few
    )
    spans: list[Notation] = [Durations()] * any(Durations().parse(c) is not None for c in few)
    return [Dates(form) for form in DATE_FORMATS if dates] + spans


def is_number_or_date(cell: str) -> bool:
    """Return whether a cell is a number or a date, in any common notation."""
    text = cell.strip()
    if any(parse_amount(text, mark) is not None for mark in THOUSANDS):
        return True
    forms = (ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
    return text[:1].isdigit() and any(Dates(form).parse(text) is not None for form in forms)
