"""Sets of labels as cells: ``sea;sun``, lists, JSON lists, or columns of zeros and ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._base.arrays import Items, object_array
from ...spaces import LabelSets
from ..tables.columns import Column
from ..tables.table import Name, Table
from .cells import Cells

LABEL_SEPARATORS = {"|": 0.05, ";": 0.05, ",": 0.2}
"""Separators of labels, and the smallest fraction of cells with one; commas are in other texts."""
MOVING = 0.2
"""A comma separates labels if at least this fraction of repeated labels changes its position."""
_COLLECTIONS = (list, tuple, dict, set, np.ndarray)
LIKE_LABELS = 'write a list such as ["sea", "sun"]'
ON, OFF = ("1", "1.0", "true"), ("0", "0.0", "false")


class LabelCells(Cells):
    """Converter of cells that hold sets of labels.

    Attributes
    ----------
    indicators_
        Whether the columns hold zeros and ones.
    dtype_
        The type of the zeros and ones in predictions: "bool" if all columns hold booleans.
    separator_, text_
        The separator of labels in text, if any, and whether cells are text.
    """

    space = LabelSets()

    @property
    def needs_parsing(self) -> bool:
        """Whether cells are texts or lists of labels, not zeros and ones."""
        return not self.indicators_

    def fit(self, table: Table, names: Sequence[Name]) -> Items:
        """Determine how the cells write label sets, and return the sets of the training rows."""
        self.columns_ = list(names)
        cells = table.columns[names[0]]
        rows = isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.dtype.kind in "biuf"
        self.indicators_ = len(names) > 1 or rows
        booleans = all(Column.of(table, name).is_truth for name in names)
        self.dtype_ = "bool" if booleans else "int"
        texts = [] if rows else [cell for cell in cells if isinstance(cell, str)]
        self.separator_ = label_separator(texts, certain=True)
        self.text_ = len(texts) > 0 and not all(text.lstrip().startswith("[") for text in texts)
        return self.read(table)

    def read(self, table: Table) -> Items:
        """Return 0/1 rows or lists of labels, as in training; an empty cell is an empty set."""
        names = table.names(self.columns_)
        if self.indicators_:
            return np.concatenate([_indicator_rows(table, name) for name in names], axis=1)
        (name,) = names
        pairs = enumerate(table.columns[name])
        return object_array([self._parse_cell(table, i, name, cell) for i, cell in pairs])

    def _parse_cell(self, table: Table, i: int, name: Name, cell: Any) -> list:
        """Return the labels in cell i of column `name`, in alphabetical order."""
        if isinstance(cell, str) and cell.lstrip().startswith("["):
            try:
                cell = json.loads(cell)
            except (ValueError, RecursionError):
                raise table.refused(i, name, f"{cell!r:.40} is not a list", LIKE_LABELS) from None
        if not isinstance(cell, list | tuple | set | frozenset | np.ndarray):
            if table.is_missing(cell):
                return []
            if isinstance(cell, dict):
                raise table.refused(i, name, f"{cell!r:.40} is not a set of labels", LIKE_LABELS)
            parts = str(cell).split(self.separator_) if self.separator_ else [str(cell)]
            return sorted({part.strip() for part in parts if part.strip()})
        if any(label is None or isinstance(label, _COLLECTIONS) for label in cell):
            raise table.refused(i, name, f"{cell!r:.40} is not a set of labels", LIKE_LABELS)
        plain = {label.item() if isinstance(label, np.generic) else label for label in cell}
        return sorted(plain, key=str)

    def write(self, items: Items) -> dict[Name, Any]:
        """Convert label sets to 0/1 columns, texts with separators or lists, as in training."""
        if self.indicators_:
            rows = np.asarray(items).astype(self.dtype_)
            if len(self.columns_) == 1:
                return {self.columns_[0]: list(rows)}
            return {name: rows[:, j] for j, name in enumerate(self.columns_)}
        return {self.columns_[0]: [self._write_cell(list(item)) for item in items]}

    def _write_cell(self, labels: list) -> Any:
        """Return one label set as a text with separators or as a list, as in training."""
        between, texts = self.separator_ or ";", [str(label) for label in labels]
        joined = self.text_ and (self.separator_ is not None or len(labels) == 1)
        clear = not any(between in text for text in texts)
        return between.join(texts) if joined and clear else labels

    def sets_of(self, items: Items) -> list[set]:
        """Return items as Python sets of labels; labels of 0/1 columns are the column names."""
        if not self.indicators_:
            return [set(item) for item in items]
        several = len(self.columns_) > 1
        names = self.columns_ if several else list(range(np.shape(items)[1]))
        return [{names[j] for j in np.flatnonzero(row)} for row in np.asarray(items)]


def label_separator(texts: Sequence[str], certain: bool = False) -> str | None:
    """Return the character that separates labels in texts, or None if there is none.

    Labels must be short, and must repeat. `certain` says that the cells are known to hold labels;
    then "|" and ";" are separators wherever they occur. A comma separates labels only if their
    order varies: the state in "New York, NY" is always last.
    """
    for separator, fraction in LABEL_SEPARATORS.items():
        count = sum(separator in text for text in texts)
        if count and certain and separator != ",":
            return separator
        if not count or count < fraction * len(texts):
            continue
        split = [[part.strip() for part in text.split(separator)] for text in texts]
        labels = [label for parts in split for label in parts]
        if len(set(labels)) > 0.5 * len(labels) or max(map(len, labels)) > 40:
            return None
        return separator if separator != "," or _labels_change_position(split) else None
    return None


def _labels_change_position(split: list[list[str]]) -> bool:
    """Return whether enough labels occur at several positions in the cells, split at commas."""
    positions: dict[str, set[int]] = {}
    for parts in {tuple(parts) for parts in split}:
        for position, label in enumerate(parts):
            positions.setdefault(label, set()).add(position)
    several = sum(len(found) > 1 for found in positions.values())
    return several >= max(1.0, MOVING * len(positions))


def _indicator_rows(table: Table, name: Name) -> np.ndarray:
    """Return a column of zeros and ones, or of lists of them, as a matrix of integers."""
    cells = table.columns[name]
    if len(cells) and isinstance(cells[0], np.ndarray) and len({np.shape(c) for c in cells}) == 1:
        cells = np.array(list(cells))
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        rows = cells.reshape(len(cells), -1)
        wrong = ~np.isin(rows, (0, 1)).all(axis=1)
    else:
        texts = [str(cell).strip().lower() for cell in cells]
        rows = np.array([[text in ON] for text in texts])
        wrong = np.array([text not in ON + OFF for text in texts])
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise table.refused(i, name, f"{cells[i]!r:.40} is neither 0 nor 1", "fix the cell")
    return rows.astype(int)
