"""Input columns of any kind as one batch that kernels take: numbers side by side, texts by name."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._arrays import object_array
from ..tables.table import MISSING, Table
from ..tables.values import is_numeric, numbers
from .frames import Columns

CATEGORIES = 50
"""A column of text with at most this many values, each of them several times, is a category."""
BAG = 30
"""Columns of two values from which on, with nothing else, rows are compared as sets."""
NUMBERS = "numbers"
"""The name of the block of numbers among columns of text."""
KINDS = ("number", "category", "text", "labels", "nothing")


class Inputs(BaseEstimator):
    """How input columns are read: what each holds, and how numbers are scaled.

    Numbers are in units of their spread, so that units never matter; columns of two values are 0
    and 1; missing numbers are the mean, with a column that says so; categories are columns of
    zeros and ones, all zero for one that was not seen.

    Parameters
    ----------
    columns
        The columns; None for all that are there.
    kinds
        What some columns hold, by name: "number", "category", "text", "labels" or "nothing".

    Attributes
    ----------
    kinds_
        What each column holds.
    """

    def __init__(
        self, columns: Sequence[Hashable] | None = None, kinds: dict[Hashable, str] | None = None
    ):
        self.columns = columns
        self.kinds = kinds

    def fit(self, columns: Columns) -> Inputs:
        """Look at the cells of the training rows."""
        names = list(columns) if self.columns is None else list(self.columns)
        absent = [name for name in names if name not in columns]
        if absent:
            raise ValueError(
                f"there is no column {absent[0]!r}: the columns are {list(columns)[:12]}."
            )
        given = self.kinds or {}
        wrong = [kind for kind in given.values() if kind not in KINDS]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no kind of column: use one of {', '.join(KINDS)}.")
        self.kinds_ = {name: given.get(name) or kind_of(columns[name]) for name in names}
        self.values_ = {
            name: sorted({str(cell) for cell in columns[name] if cell is not None})
            for name in names
            if self.kinds_[name] == "category"
        }
        raw = self._raw(columns)
        self.holes_ = np.isnan(raw).any(axis=0)
        with np.errstate(all="ignore"):
            self.mean_ = np.nan_to_num(np.nanmean(raw, axis=0)) if len(raw.T) else np.zeros(0)
            spread = np.nanstd(raw, axis=0) if len(raw.T) else np.zeros(0)
            largest = np.nanmax(np.abs(raw), axis=0) if len(raw.T) else np.zeros(0)
        self.varies_ = spread > 1e-12 * np.nan_to_num(largest)
        self.spread_ = np.where(self.varies_, spread, 1.0)
        self._settle_indicators(raw)
        if not self.width_ and not self.texts:
            raise ValueError("no input column varies: there is nothing to learn from.")
        return self

    def _settle_indicators(self, raw: np.ndarray) -> None:
        """Make 0 and 1 of columns of two values, all in one unit: their common spread.

        A rare word is then not worth more than a common one.
        """
        two = np.array([len(np.unique(c[~np.isnan(c)])) == 2 for c in raw.T], dtype=bool)
        self.bags_ = bool(two[self.varies_].all()) and two.sum() >= BAG and not self.holes_.any()
        if not two.any():
            return
        low, high = np.nanmin(raw[:, two], axis=0), np.nanmax(raw[:, two], axis=0)
        share = (self.mean_[two] - low) / (high - low)
        common = float(np.sqrt(np.mean(share * (1.0 - share))))
        self.mean_[two], self.spread_[two] = low, (high - low) * common

    @property
    def texts(self) -> list[Hashable]:
        """The columns that are no numbers."""
        return [name for name, kind in self.kinds_.items() if kind in ("text", "labels")]

    @property
    def width_(self) -> int:
        """The number of columns of numbers."""
        return int(self.varies_.sum() + self.holes_.sum())

    def transform(self, columns: Columns) -> Any:
        """One row of numbers a row; with texts, one dictionary."""
        absent = [name for name in self.kinds_ if name not in columns]
        if absent:
            raise ValueError(f"the column {absent[0]!r} is missing, which the model was fitted on.")
        rows = self._numbers(columns)
        if not self.texts:
            return rows
        parts = {name: self._texts(columns[name], self.kinds_[name]) for name in self.texts}
        return object_array(
            [
                {NUMBERS: rows[i], **{str(name): cells[i] for name, cells in parts.items()}}
                for i in range(len(rows))
            ]
        )

    def _texts(self, cells: Any, kind: str) -> list:
        if kind == "labels":
            return [[] if cell is None else sorted({str(c) for c in cell}) for cell in cells]
        return ["" if cell is None else str(cell) for cell in cells]

    def _numbers(self, columns: Columns) -> np.ndarray:
        raw = self._raw(columns)
        empty = np.isnan(raw)
        Z = np.where(empty, 0.0, (raw - self.mean_) / self.spread_)
        return np.hstack([Z[:, self.varies_], empty[:, self.holes_].astype(float)])

    def _raw(self, columns: Columns) -> np.ndarray:
        n = len(next(iter(columns.values())))
        parts = [np.zeros((n, 0))]
        for name, kind in self.kinds_.items():
            if kind == "number":
                parts.append(numbers_of(columns[name], name))
            elif kind == "category":
                cells = np.array([str(cell) for cell in columns[name]], dtype=object)
                parts.append(np.column_stack([cells == v for v in self.values_[name]]) + 0.0)
        return np.concatenate(parts, axis=1)


def kind_of(cells: Any) -> str:
    """What a column of inputs holds."""
    if isinstance(cells, np.ndarray):
        return "number"
    known = [cell for cell in cells if cell is not None]
    if not known:
        return "nothing"
    if all(isinstance(cell, list | tuple | set | frozenset) for cell in known):
        return "labels"
    if _reads_as_numbers(known):
        return "number"
    texts = [str(cell) for cell in known]
    distinct = len(set(texts))
    return "category" if distinct <= max(2, min(CATEGORIES, len(texts) // 5)) else "text"


def _reads_as_numbers(cells: list) -> bool:
    kept = [cell for cell in cells if str(cell).strip().lower() not in MISSING]
    return bool(kept) and is_numeric(_table("x", kept), "x")


def numbers_of(cells: Any, name: Hashable) -> np.ndarray:
    """A column as rows of numbers, NaN where a cell is missing; dates count days."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        days = cells.astype("datetime64[us]")
        return np.where(np.isnat(days), np.nan, days.astype(float) / 86_400e6)[:, None]
    if isinstance(cells, np.ndarray):
        rows = cells.reshape(len(cells), -1).astype(float)
        if np.isinf(rows).any():
            raise ValueError(f"the column {name!r} has infinite values: mend or remove them.")
        return rows
    kept = [
        i for i, c in enumerate(cells) if c is not None and str(c).strip().lower() not in MISSING
    ]
    read = numbers(_table(str(name), [cells[i] for i in kept], kept), [str(name)])
    rows = np.full((len(cells), read.shape[1]), np.nan)
    rows[kept] = read
    return rows


def _table(name: str, cells: list, rows: list[int] | None = None) -> Table:
    lines = list(range(len(cells))) if rows is None else rows
    return Table("the table", {name: cells}, lines)
