"""Input columns of any kind as one batch that kernels take: numbers side by side, texts by name."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._arrays import object_array
from ..cells import BadTable, Table
from ..cells.table import Name
from ..cells.values import notation_of, numbers_with_gaps
from ..spaces import LabelSets, Molecules
from .guess import INPUTS, input_kind, known

BAG = 30
"""Columns of two values from which on, with nothing else, rows are compared as sets."""
NUMBERS = "numbers"
"""The name of the block of numbers among columns of text."""
OTHER = ("text", "labels", "smiles", "graph")
"""Kinds that are compared by kernels of their own."""


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
        What some columns hold, by name: one of `guess.INPUTS`.

    Attributes
    ----------
    kinds_
        What each column holds.
    """

    def __init__(self, columns: Sequence[Name] | None = None, kinds: dict[Name, str] | None = None):
        self.columns = columns
        self.kinds = kinds

    def fit(self, table: Table) -> Inputs:
        """Look at the cells of the training rows."""
        names = table.names(list(table.columns) if self.columns is None else self.columns)
        given = self.kinds or {}
        wrong = [kind for kind in given.values() if kind not in INPUTS]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no kind of column: use one of {', '.join(INPUTS)}.")
        self.kinds_ = {name: given.get(name) or input_kind(table, name) for name in names}
        self.values_ = {
            name: sorted({str(cell).strip() for cell in known(table, name).columns[name]})
            for name in names
            if self.kinds_[name] == "category"
        }
        self.forms_ = {name: self._form(table, name) for name in names}
        raw = self._raw(table)
        self.holes_ = np.isnan(raw).any(axis=0)
        with np.errstate(all="ignore"):
            self.mean_ = np.nan_to_num(np.nanmean(raw, axis=0))
            spread, largest = np.nanstd(raw, axis=0), np.nanmax(np.abs(raw), axis=0)
        self.varies_ = spread > 1e-12 * np.nan_to_num(largest)
        self.spread_ = np.where(self.varies_, spread, 1.0)
        self._settle_indicators(raw)
        if not self.width_ and not self.texts:
            raise BadTable(
                f"{table.source}: no input column varies: there is nothing to learn from."
            )
        return self

    def _form(self, table: Table, name: Name) -> Any:
        """How a column is written: a notation of numbers, or the space of its items."""
        kind = self.kinds_[name]
        if kind == "number":
            full = known(table, name)
            return notation_of(full, name) if len(full) else "."
        if kind not in ("labels", "smiles"):
            return None
        space = LabelSets() if kind == "labels" else Molecules()
        space.learn(known(table, name), [name])
        return space

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
        return [name for name, kind in self.kinds_.items() if kind in OTHER]

    @property
    def width_(self) -> int:
        """The number of columns of numbers."""
        return int(self.varies_.sum() + self.holes_.sum())

    def transform(self, table: Table) -> Any:
        """One row of numbers a row; with texts, one dictionary."""
        absent = [name for name in self.kinds_ if name not in table.columns]
        if absent:
            raise table.absent(absent[0])
        rows = self._numbers(table)
        if not self.texts:
            return rows
        parts = {name: self._items(table, name) for name in self.texts}
        return object_array(
            [
                {NUMBERS: rows[i], **{str(name): cells[i] for name, cells in parts.items()}}
                for i in range(len(rows))
            ]
        )

    def scaled_numbers(self, X: Any) -> np.ndarray:
        """The numbers of rows that `transform` made, in units of the columns."""
        return np.stack([row[NUMBERS] for row in X]) if self.texts else np.asarray(X)

    def numbers_of(self, X: Any) -> np.ndarray:
        """The numbers of rows that `transform` made, in their own units."""
        Z = self.scaled_numbers(X)
        n = int(self.varies_.sum())
        return np.hstack(
            [Z[:, :n] * self.spread_[self.varies_] + self.mean_[self.varies_], Z[:, n:]]
        )

    def feature_names(self) -> list[str]:
        """What the columns of `numbers_of` are called."""
        names: list[str] = []
        for name, kind in self.kinds_.items():
            if kind == "category":
                names += [f"{name} = {value}" for value in self.values_[name]]
            elif kind == "number":
                width = self.widths_[name]
                names += [str(name)] if width == 1 else [f"{name}[{j}]" for j in range(width)]
        varying = [name for name, varies in zip(names, self.varies_, strict=True) if varies]
        holes = [f"{name} is empty" for name, hole in zip(names, self.holes_, strict=True) if hole]
        return varying + holes

    def _items(self, table: Table, name: Name) -> Any:
        """Texts, sets or graphs; a missing one is empty."""
        if self.kinds_[name] == "labels":
            return self.forms_[name].read(table)
        cells = table.columns[name]
        if self.kinds_[name] == "graph":
            return cells
        texts = ["" if table.is_missing(cell) else str(cell).strip() for cell in cells]
        if self.kinds_[name] == "smiles":
            self.forms_[name].read(known(table, name))
        return texts

    def _numbers(self, table: Table) -> np.ndarray:
        raw = self._raw(table)
        if raw.shape[1] != len(self.mean_):
            raise BadTable(
                f"{table.source}: rows of {raw.shape[1]} numbers, where {len(self.mean_)} were "
                "learnt from."
            )
        empty = np.isnan(raw)
        Z = np.where(empty, 0.0, (raw - self.mean_) / self.spread_)
        return np.hstack([Z[:, self.varies_], empty[:, self.holes_].astype(float)])

    def _raw(self, table: Table) -> np.ndarray:
        parts, widths = [np.zeros((len(table), 0))], {}
        for name, kind in self.kinds_.items():
            if kind == "number":
                parts.append(numbers_with_gaps(table, name, self.forms_[name]))
                widths[name] = parts[-1].shape[1]
            elif kind == "category":
                cells = np.array([str(cell).strip() for cell in table.columns[name]], dtype=object)
                parts.append(np.column_stack([cells == v for v in self.values_[name]]) + 0.0)
        self.widths_ = getattr(self, "widths_", widths)
        return np.concatenate(parts, axis=1)
