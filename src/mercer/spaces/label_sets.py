"""Sets of labels as cells: ``sea;sun``, lists, JSON lists, or columns of zeros and ones."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .._arrays import (
    Array,
    Items,
    canonical,
    count,
    host,
    is_foreign,
    like,
    object_array,
    refuse_empty,
    refuse_masked,
)
from ..cells import Table
from ..cells.table import Name
from ..cells.values import refused
from .base import Space

FEW = 10
"""Labels whose sets are written down, 1,024 at most."""


class LabelSets(Space):
    """Sets of labels: indicator rows, dense or sparse, or collections of any hashable labels.

    Examples
    --------
    >>> from mercer.spaces import LabelSets
    >>> LabelSets().keys([["sun", "sea"], ["sea", "sun"]])[0] == frozenset({"sea", "sun"})
    True
    """

    name = "label sets"
    KERNEL = "kernels.Labels"
    DECODER = "decoders.Threshold"
    METRIC = "metrics.sample_f1"

    def check(self, A: Items, name: str = "y") -> Items:
        """Indicator rows as they are, or an array that holds one collection of labels an item."""
        refuse_masked(A, name)
        A = A.to_numpy() if hasattr(A, "iloc") else A  # a pandas frame of indicators, or a series
        if issparse(A) or is_foreign(A) or (isinstance(A, np.ndarray) and A.dtype != object):
            return _checked_indicators(A, name)
        if isinstance(A, str | Mapping) or not isinstance(A, Iterable):
            raise TypeError(f"{name} must be a batch of label sets, got {A!r:.60}.")
        items = A if isinstance(A, np.ndarray) and A.ndim == 1 else object_array(list(A))
        refuse_empty(len(items), name)
        for i, item in enumerate(items):
            _check_set(item, i, name)
        return items

    def key(self, item: Any) -> Hashable:
        """The set of labels; a row of indicators as bytes."""
        indicators = isinstance(item, np.ndarray) and item.dtype.kind in "biuf"
        return super().key(item) if indicators else frozenset(item)

    def keys(self, items: Items) -> list[Hashable]:
        """The key of every set; arrays of numbers among objects hold labels, not indicators."""
        if isinstance(items, np.ndarray) and items.dtype == object:
            return [frozenset(item) for item in items]
        return super().keys(items)

    def every(self, sample: Items) -> Items | None:
        """All sets of few labels, as indicator rows or as lists."""
        rows = hasattr(sample, "shape") and len(sample.shape) == 2
        labels = range(sample.shape[1]) if rows else sorted({a for s in sample for a in s}, key=str)
        if len(labels) > FEW:
            return None
        chosen = np.array(list(product([0, 1], repeat=len(labels))))
        if not rows:
            return object_array(
                [[a for a, c in zip(labels, row, strict=True) if c] for row in chosen]
            )
        if issparse(sample):
            return csr_array(chosen.astype(sample.dtype))
        return (
            chosen.astype(sample.dtype) if isinstance(sample, np.ndarray) else like(chosen, sample)
        )

    def learn(self, table: Table, names: Sequence[Name]) -> Items:
        """The sets; whether columns are indicators, and what separates labels, is kept."""
        self.columns_ = list(names)
        cells = table.columns[names[0]]
        rows = isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.dtype.kind in "biuf"
        self.indicators_ = len(names) > 1 or rows
        texts = [] if rows else [cell for cell in cells if isinstance(cell, str)]
        self.separator_ = label_separator(texts, certain=True)
        self.text_ = len(texts) > 0 and not all(text.lstrip().startswith("[") for text in texts)
        return self.read(table)

    def read(self, table: Table) -> Items:
        """Rows of zeros and ones, or lists of labels; an empty cell is a set without labels."""
        names = table.names(self.columns_)
        if self.indicators_:
            return indicators(table, names)
        (name,) = names
        pairs = enumerate(table.columns[name])
        return object_array([label_set(table, i, name, c, self.separator_) for i, c in pairs])

    def write(self, items: Items) -> dict[Name, Any]:
        """Columns of zeros and ones, labels between separators, or lists."""
        if self.indicators_:
            rows = np.asarray(items).astype(int)
            one = len(self.columns_) == 1
            named = enumerate(self.columns_)
            return {self.columns_[0]: list(rows)} if one else {n: rows[:, j] for j, n in named}
        return {self.columns_[0]: [self._cell([str(label) for label in item]) for item in items]}

    def _cell(self, labels: list[str]) -> Any:
        between = self.separator_ or ";"
        joined = self.text_ and (self.separator_ is not None or len(labels) == 1)
        clear = not any(between in label for label in labels)
        return between.join(labels) if joined and clear else labels


def _check_set(item: Any, index: int, name: str) -> None:
    if isinstance(item, str | bytes | Mapping) or not isinstance(item, Iterable):
        raise ValueError(
            f"{name}[{index}] must be a collection of labels, got {item!r:.60}: write a single "
            "label as [label]."
        )
    if isinstance(item, Iterator):
        raise ValueError(
            f"{name}[{index}] is a {type(item).__name__}, which can be read only once: write it "
            "as a list."
        )
    for label in item:
        if not isinstance(label, Hashable) or (isinstance(label, float) and label != label):
            raise ValueError(f"{name}[{index}] has {label!r:.60}, which cannot be a label.")


def _checked_indicators(Y: Array, name: str) -> Array:
    if Y.ndim != 2:
        raise ValueError(
            f"{name} must hold label sets: an indicator matrix with a column for each label, or a "
            f"list of lists of labels; got an array of shape {tuple(Y.shape)}."
        )
    refuse_empty(count(Y), name)
    Y = canonical(Y) if issparse(Y) else Y
    values = Y.data if issparse(Y) else host(Y)
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row = _first_row(Y, wrong)
        raise ValueError(
            f"{name}[{row}] has {values[wrong][0]!s}, where an indicator is 0 or 1. Pass lists of "
            "labels as lists, not as an array."
        )
    return Y


def _first_row(Y: Array, wrong: np.ndarray) -> int:
    if issparse(Y):
        return int(np.searchsorted(Y.indptr, np.flatnonzero(wrong)[0], side="right")) - 1
    return int(np.argwhere(wrong)[0, 0])


SEPARATORS = {"|": 0.05, ";": 0.05, ",": 0.2}
"""What stands between labels, and the share of cells in which it does; commas do so elsewhere."""
MOVING = 0.2
"""The share of repeated labels that stand at several places where a comma separates labels."""
ON, OFF = ("1", "1.0", "true"), ("0", "0.0", "false")


def label_separator(texts: Sequence[str], certain: bool = False) -> str | None:
    """What separates labels in cells, if anything does: labels come again, and are short.

    `certain` says that the cells hold labels, of which "|" and ";" are no parts.

    A comma does so only if labels move about: in "New York, NY" the state always comes second.
    """
    for separator, share in SEPARATORS.items():
        having = sum(separator in text for text in texts)
        if having and certain and separator != ",":
            return separator
        if not having or having < share * len(texts):
            continue
        split = [[part.strip() for part in text.split(separator)] for text in texts]
        labels = [label for parts in split for label in parts]
        if len(set(labels)) > 0.5 * len(labels) or max(map(len, labels)) > 40:
            return None
        return separator if separator != "," or _move(split) else None
    return None


def _move(split: list[list[str]]) -> bool:
    places: dict[str, set[int]] = {}
    for parts in {tuple(parts) for parts in split}:
        for place, label in enumerate(parts):
            places.setdefault(label, set()).add(place)
    several = sum(len(found) > 1 for found in places.values())
    return several >= max(1.0, MOVING * len(places))


def label_set(table: Table, i: int, name: Name, cell: Any, separator: str | None) -> list[str]:
    """The labels of a cell in order; an empty cell holds none."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            raise refused(table, i, name, f"{cell!r:.40} is no list.") from None
    if not isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        if table.is_missing(cell):
            return []
        if isinstance(cell, dict):
            raise refused(table, i, name, f"{cell!r:.40} is no set of labels.")
        parts = str(cell).split(separator) if separator else [str(cell)]
        return sorted({part.strip() for part in parts if part.strip()})
    nested = any(label is None or isinstance(label, list | tuple | dict) for label in cell)
    if nested:
        raise refused(table, i, name, f"{cell!r:.40} is no set of labels, such as "
                      '["sea", "sun"].')  # fmt: skip
    return sorted({str(label) for label in cell})


def indicators(table: Table, names: Sequence[Name]) -> np.ndarray:
    """Columns of zeros and ones as rows of them."""
    return np.concatenate([_indicator(table, name) for name in names], axis=1)


def _indicator(table: Table, name: Name) -> np.ndarray:
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
        raise refused(table, i, name, f"{cells[i]!r:.40} is neither 0 nor 1.")
    return rows.astype(int)
