"""Calendar features of dates: the trend, and the position in the year, the week and the day."""

from __future__ import annotations

import numpy as np

PERIODS = ("year", "week", "day")
HALF_YEAR = 180.0
"""The position in the year is used if dates span more days than this; else it is a trend."""
WAVES = {1: "", 2: "half "}
"""Waves per period, with the prefix of their names; the second fits weekends and rush hours."""


def periods_with_variation(days: np.ndarray) -> list[str]:
    """Return the periods ("year", "week", "day") whose position varies among the dates.

    The weekday varies unless all dates have the same one, and the time of day likewise. The
    position in the year counts if the dates span more than `HALF_YEAR` days. `days` are days since
    1970, NaN for empty cells.
    """
    known = days[~np.isnan(days)]
    long = known.size > 0 and np.ptp(known) > HALF_YEAR
    weekdays, times = np.unique(np.floor(known) % 7.0), np.unique(known % 1.0)
    several = (long, len(weekdays) > 1, len(times) > 1)
    return [period for period, varies in zip(PERIODS, several, strict=True) if varies]


def calendar_features(days: np.ndarray, periods: list[str]) -> np.ndarray:
    """Return the dates, and the sine and cosine of their position in each period, as columns.

    Parameters
    ----------
    days : array of shape (n,)
        Days since 1970; NaN for an empty cell.
    periods : list of str
        Some of "year", "week" and "day".
    """
    passed = {"year": days / 365.2425, "week": np.floor(days) / 7.0, "day": days}
    turns = [passed[period] for period in PERIODS if period in periods]
    angles = [2.0 * np.pi * wave * turn for turn in turns for wave in WAVES]
    return np.column_stack([days] + [f(angle) for angle in angles for f in (np.sin, np.cos)])


def calendar_names(name: str, periods: list[str]) -> list[str]:
    """Return the names of the columns of `calendar_features` for the date column `name`."""
    waves = [f"{called}{period}" for period in periods for called in WAVES.values()]
    return [name] + [f"{name}, {f} of the {wave}" for wave in waves for f in ("sine", "cosine")]
