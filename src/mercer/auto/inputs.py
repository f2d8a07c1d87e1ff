"""Input columns of any kind as one batch for kernels: numbers in one vector, texts by name."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from .._base.arrays import object_array
from .calendar import calendar_features, calendar_names, periods_with_variation
from .kinds.classes import text_of
from .kinds.guess import input_kind, without_empty_cells
from .kinds.labels import LabelKind
from .kinds.texts import check_smiles
from .tables.bad_table import BadTable
from .tables.columns import Column, numbers_with_gaps
from .tables.notation import Dates
from .tables.table import Name, Table

BAG = 30
"""Rows of only two-valued columns, at least this many, are compared as sets."""
OTHER = ("text", "labels", "smiles", "graph")
"""The kinds of columns that have special kernels."""


class Inputs(BaseEstimator):
    """Converter of the input columns of a table to rows of numbers, texts, label sets and graphs.

    Numbers are in units of their standard deviation, so that units do not matter; columns of two
    values are 0 and 1; missing numbers are the mean, with a column that marks them; categories are
    columns of zeros and ones, all zero for one that is missing or was not seen in training. Dates
    are a trend, and sines and cosines of their position in the year, the week and the day.

    Parameters
    ----------
    columns
        The columns; None for all columns of the table.
    kinds
        The kind of some columns, by name: one of `guess.INPUT_KINDS`.

    Attributes
    ----------
    kinds_
        The kind of each column.
    values_
        The values of each column of categories.
    labels_
        The labels that were seen in each column of labels.
    periods_
        The periods of each column of dates: some of "year", "week" and "day".
    block_
        The name of the block of numbers among columns of text.
    """

    def __init__(self, columns: Sequence[Name] | None = None, kinds: dict[Name, str] | None = None):
        self.columns = columns
        self.kinds = kinds

    def fit(self, table: Table) -> Inputs:
        """Determine the kinds, values and scales of the columns from the training rows."""
        names = table.names(list(table.columns) if self.columns is None else self.columns)
        requested = self.kinds or {}
        self.kinds_ = {name: requested.get(name) or input_kind(table, name) for name in names}
        self.values_ = {
            name: sorted({text for text in _category_texts(table, name) if text is not None})
            for name in names
            if self.kinds_[name] == "category"
        }
        self.forms_ = {name: self._column_format(table, name) for name in names}
        self.labels_ = {
            name: sorted(
                {label for item in self.forms_[name].read(table) for label in item}, key=str
            )
            for name in names
            if self.kinds_[name] == "labels"
        }
        self.periods_ = {
            name: periods_with_variation(self._days(table, name))
            for name in names
            if self.kinds_[name] == "number" and self._has_dates(table, name)
        }
        if len(set(map(str, self.non_numeric))) < len(self.non_numeric):
            raise BadTable(
                f"{table.source} has columns whose names are the same text, such as 1 and '1'",
                "rename one",
            )
        self.block_ = "numbers"
        while self.block_ in map(str, self.non_numeric):
            self.block_ += "_"
        blocks = self._numeric_blocks(table)
        self.widths_ = {name: block.shape[1] for name, block in blocks.items()}
        raw = _concatenate_blocks(blocks, len(table))
        self.holes_ = np.isnan(raw).any(axis=0) & self._allows_indicator()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # columns without a single number
            self.mean_ = np.nan_to_num(np.nanmean(raw, axis=0))
            spread, largest = np.nanstd(raw, axis=0), np.nanmax(np.abs(raw), axis=0)
        self.varies_ = spread > 1e-12 * np.nan_to_num(largest)
        self.spread_, self.origin_ = np.where(self.varies_, spread, 1.0), self.mean_.copy()
        self._scale_indicators(raw)
        if not self.width_ and not self.non_numeric:
            raise BadTable(
                f"{table.source}: no input column varies: there is nothing to learn from"
            )
        return self

    def _column_format(self, table: Table, name: Name) -> Any:
        """Return what is needed to read a column: a notation, `LabelKind`, or None.

        A column of numbers, dates or durations has a `Notation`, and a column of labels has
        `LabelKind`.
        """
        if self.kinds_[name] == "number":
            return Column.of(table, name).notation()
        if self.kinds_[name] != "labels":
            return None
        cells = LabelKind()
        cells.fit(without_empty_cells(table, name), [name])
        return cells

    def _scale_indicators(self, raw: np.ndarray) -> None:
        """Scale two-valued numeric columns to 0 and 1, over one common standard deviation.

        If each column were divided by its own standard deviation, a rare word would have more
        weight than a frequent one.
        """
        two_valued = np.array([len(np.unique(c[~np.isnan(c)])) == 2 for c in raw.T], dtype=bool)
        self.bags_ = (
            bool(two_valued[self.varies_].all())
            and two_valued.sum() >= BAG
            and not self.holes_.any()
        )
        if not two_valued.any():
            return
        low, high = np.nanmin(raw[:, two_valued], axis=0), np.nanmax(raw[:, two_valued], axis=0)
        fraction = (self.mean_[two_valued] - low) / (high - low)
        common = float(np.sqrt(np.mean(fraction * (1.0 - fraction))))
        self.origin_[two_valued], self.spread_[two_valued] = low, (high - low) * common

    @property
    def non_numeric(self) -> list[Hashable]:
        """The names of the columns that are not numbers or categories, such as texts and graphs."""
        return [name for name, kind in self.kinds_.items() if kind in OTHER]

    @property
    def width_(self) -> int:
        """The number of numeric features of `transform`, with indicators of empty cells."""
        return int(self.varies_.sum() + self.holes_.sum())

    def transform(self, table: Table) -> np.ndarray:
        """Return rows of scaled numbers, or dictionaries if there are columns such as texts."""
        used = [name for name, kind in self.kinds_.items() if kind != "nothing"]
        absent = [name for name in used if name not in table.columns]
        if absent:
            raise table.absent(absent[0])
        rows = self._scaled_numbers(table)
        if not self.non_numeric:
            return rows
        parts = {name: self._non_numeric_cells(table, name) for name in self.non_numeric}
        return object_array(
            [
                {self.block_: rows[i], **{str(name): cells[i] for name, cells in parts.items()}}
                for i in range(len(rows))
            ]
        )

    def scaled_numbers(self, X: Any) -> np.ndarray:
        """Return the numeric features, (rows, features), of rows X that `transform` returned."""
        return np.stack([row[self.block_] for row in X]) if self.non_numeric else np.asarray(X)

    def shuffled(self, X: np.ndarray, name: Name, order: np.ndarray) -> np.ndarray:
        """Return rows X of `transform` with the cells of column `name` permuted by `order`."""
        if name in self.non_numeric:
            return object_array(
                [{**row, str(name): X[i][str(name)]} for row, i in zip(X, order, strict=True)]
            )
        Z = self.scaled_numbers(X).copy()
        mask = self._features_of(name)
        Z[:, mask] = Z[np.ix_(order, np.flatnonzero(mask))]
        if not self.non_numeric:
            return Z
        return object_array([{**row, self.block_: z} for row, z in zip(X, Z, strict=True)])

    def _features_of(self, name: Name) -> np.ndarray:
        """Return a mask of the features of `transform` that are computed from column `name`."""
        owners = np.repeat(np.arange(len(self.widths_)), list(self.widths_.values()))
        mask = owners == list(self.widths_).index(name)
        return np.concatenate([mask[self.varies_], mask[self.holes_]])

    def unscaled_numbers(self, X: Any) -> np.ndarray:
        """Return the numeric features of rows X of `transform` in the units of the table."""
        Z = self.scaled_numbers(X)
        n = int(self.varies_.sum())
        return np.hstack(
            [Z[:, :n] * self.spread_[self.varies_] + self.origin_[self.varies_], Z[:, n:]]
        )

    def feature_names(self) -> list[str]:
        """Return the name of each column of `unscaled_numbers`."""
        names: list[str] = []
        for name, kind in self.kinds_.items():
            if kind == "category":
                names += [f"{name} = {value}" for value in self.values_[name]]
            elif name in self.periods_:
                names += calendar_names(str(name), self.periods_[name])
            elif kind == "number":
                width = self.widths_[name]
                names += [str(name)] if width == 1 else [f"{name}[{j}]" for j in range(width)]
        varying = [name for name, varies in zip(names, self.varies_, strict=True) if varies]
        holes = [f"{name} is empty" for name, hole in zip(names, self.holes_, strict=True) if hole]
        return varying + holes

    def _non_numeric_cells(self, table: Table, name: Name) -> Any:
        """Return the texts, label sets or graphs in a column; an empty text for an empty cell."""
        kind, cells = self.kinds_[name], table.columns[name]
        if kind == "labels":
            return self._known_label_sets(table, name)
        if kind == "graph":
            return cells
        texts = ["" if table.is_missing(cell) else str(cell).strip() for cell in cells]
        if kind == "smiles":
            check_smiles(table, name, texts)
        return texts

    def _known_label_sets(self, table: Table, name: Name) -> list[list]:
        """Return the label sets in a column, without labels that training rows do not have."""
        sets, seen = self.forms_[name].read(table), set(self.labels_[name])
        _warn_of_unseen("labels", name, {label for item in sets for label in item} - seen)
        return [[label for label in item if label in seen] for item in sets]

    def _scaled_numbers(self, table: Table) -> np.ndarray:
        """Return the numeric features of a table, (rows, features), with means for empty cells.

        Further features mark the empty cells, in columns that had some in training.
        """
        raw = _concatenate_blocks(self._numeric_blocks(table), len(table))
        if raw.shape[1] != len(self.mean_):
            raise BadTable(
                f"{table.source}: rows of {raw.shape[1]} numbers, but training rows had "
                f"{len(self.mean_)}"
            )
        empty = np.isnan(raw)
        Z = (np.where(empty, self.mean_, raw) - self.origin_) / self.spread_
        return np.hstack([Z[:, self.varies_], empty[:, self.holes_].astype(float)])

    def _has_dates(self, table: Table, name: Name) -> bool:
        """Return whether a column of numbers has one date in each cell."""
        return isinstance(self.forms_[name], Dates)

    def _allows_indicator(self) -> np.ndarray:
        """Return a mask of the unscaled numeric features that may have an indicator of empty cells.

        Of the features of a date, only the first may have one.
        """
        first = [
            np.arange(width) < (1 if name in self.periods_ else width)
            for name, width in self.widths_.items()
        ]
        return np.concatenate([np.ones(0, dtype=bool), *first])

    def _days(self, table: Table, name: Name) -> np.ndarray:
        """Return a column of dates as days since 1970, NaN where a cell is empty."""
        return numbers_with_gaps(table, name, self.forms_[name])[:, 0]

    def _numeric_blocks(self, table: Table) -> dict[Name, np.ndarray]:
        """Return the unscaled numeric features of each column, by its name: NaN for empty cells."""
        blocks = {}
        for name, kind in self.kinds_.items():
            if name in self.periods_:
                blocks[name] = calendar_features(self._days(table, name), self.periods_[name])
            elif kind == "number":
                blocks[name] = numbers_with_gaps(table, name, self.forms_[name])
            elif kind == "category":
                blocks[name] = self._one_hot(table, name)
        return blocks

    def _one_hot(self, table: Table, name: Name) -> np.ndarray:
        """Return a column of zeros and ones for each category of training in a column."""
        texts = pd.Index(_category_texts(table, name), dtype=object)
        codes = pd.Index(self.values_[name], dtype=object).get_indexer(texts)
        _warn_of_unseen("categories", name, set(texts[codes < 0]) - {None})
        return (codes[:, None] == np.arange(len(self.values_[name]))) + 0.0


def _concatenate_blocks(blocks: dict[Name, np.ndarray], rows: int) -> np.ndarray:
    """Return blocks of columns side by side, as an array with `rows` rows."""
    return np.concatenate([np.zeros((rows, 0)), *blocks.values()], axis=1)


def _category_texts(table: Table, name: Name) -> list[str | None]:
    """Return the cells of a column of categories as text, None for an empty cell."""
    empty = set(table.empty(name))
    return [None if i in empty else text_of(c) for i, c in enumerate(table.columns[name])]


def _warn_of_unseen(what: str, name: Name, unseen: set) -> None:
    """Warn if `unseen` is not empty: values of column `name`, called `what`, that are ignored."""
    if not unseen:
        return
    new = sorted(unseen, key=str)
    shown = ", ".join(map(repr, new[:5])) + (", …" if len(new) > 5 else "")
    warnings.warn(
        f"{what} of column {name!r:.60} that were not seen in training are ignored: {shown:.200}.",
        stacklevel=8,
    )
