"""Sets of labels as cells: ``sea;sun``, lists, JSON lists, or columns of zeros and ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import MultiLabelBinarizer

from ..._base.arrays import Items, object_array
from ...decoders import Decoder, ExpectedF1, Threshold
from ...metrics import subset_accuracy
from ...spaces import LabelSets
from ..tables.columns import Column
from ..tables.table import Name, Table
from .base import Comparison, Kind, Rows
from .label_scores import scores_of_labels

LABEL_SEPARATORS = {"|": 0.05, ";": 0.05, ",": 0.2}
"""Separators of labels, and the smallest fraction of cells with one; commas are in other texts."""
MOVING = 0.2
"""A comma separates labels if at least this fraction of repeated labels changes its position."""
_COLLECTIONS = (list, tuple, dict, set, np.ndarray)
F1_STEPS = 4e9
"""Label sets are decoded by expected F1 if rows · labels³ is at most this."""
SHOWN_LABELS = 20
"""The largest number of labels of a row that a report shows."""
LIKE_LABELS = 'write a list such as ["sea", "sun"]'
ON, OFF = ("1", "1.0", "true"), ("0", "0.0", "false")


class LabelKind(Kind):
    """Sets of labels, in one cell or as columns of zeros and ones.

    Attributes
    ----------
    indicators_
        Whether the columns hold zeros and ones.
    dtype_
        The type of the zeros and ones in predictions: "bool" if all columns hold booleans.
    separator_, text_
        The separator of labels in text, if any, and whether cells are text.
    """

    kind_ = "labels"
    metric_name = "F1"
    caption = "Right (green), missed (dashed) and wrong (red), from a small to a large error."
    has_labels = has_empty_items = needs_exact_folds = True
    scoring = "auto"
    space = LabelSets()

    @property
    def needs_parsing(self) -> bool:
        """Whether cells are texts or lists of labels, not zeros and ones."""
        return not self.indicators_

    def fit_cells(self, table: Table) -> Items:
        """Determine how the cells write label sets, and return the sets of the training rows."""
        names = self.columns_
        cells = table.columns[names[0]]
        rows = isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.dtype.kind in "biuf"
        self.indicators_ = len(names) > 1 or rows
        booleans = all(Column.of(table, name).is_truth for name in names)
        self.dtype_ = "bool" if booleans else "int"
        texts = [] if rows else [cell for cell in cells if isinstance(cell, str)]
        self.separator_ = label_separator(texts, certain=True)
        self.text_ = len(texts) > 0 and not all(text.lstrip().startswith("[") for text in texts)
        return self.read_cells(table)

    def read_cells(self, table: Table) -> Items:
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

    def unparsed(self, items: Items) -> Items:
        """Return zeros and ones in the type of the training outputs."""
        return np.asarray(items).astype(self.dtype_)

    # -- models and quality -------------------------------------------------------------------

    def decoder(self) -> Threshold:
        """Return the decoder by a threshold for each label."""
        return Threshold()

    def other_decoder(self, rows: int, labels: int) -> tuple[str, Decoder] | None:
        """Return the decoder by expected F1, if that is fast."""
        return ("expected F1", ExpectedF1()) if rows * float(labels) ** 3 <= F1_STEPS else None

    def other_metrics(self, truth: Items, predicted: Items) -> dict[str, float]:
        """Return the fraction of sets that are predicted exactly."""
        return {"exact match": float(subset_accuracy(truth, predicted))}

    def label_scores(self, truth: Items, predicted: Items) -> Rows:
        """Return a table of frequency, precision, recall and F1 of each label."""
        return scores_of_labels(self.sets_of(truth), self.sets_of(predicted))

    def for_scorers(self, truth: Items, predicted: Items) -> tuple[Items, Items]:
        """Return label sets as columns of zeros and ones."""
        if np.asarray(truth).dtype.kind != "O":
            return truth, predicted
        labels = dict.fromkeys(label for item in (*truth, *predicted) for label in item)
        binarizer = MultiLabelBinarizer(classes=[*labels])
        return binarizer.fit_transform(truth), binarizer.fit_transform(predicted)

    # -- descriptions -------------------------------------------------------------------------

    def description(self, y: Items) -> str:
        """Return the number of labels, and the mean number of labels in a row."""
        if self.indicators_:
            rows = np.asarray(y)
            return f"{rows.shape[1]} labels, {rows.sum(axis=1).mean():.3g} a row"
        labels = {label for item in y for label in item}
        between = f" between {self.separator_!r}" if self.separator_ else ""
        return f"{len(labels)} labels{between}, {sum(map(len, y)) / len(y):.3g} a row"

    def notes(self, table: Table, y: Items) -> list[str]:
        """Return a note on cells that are read as sets without labels."""
        (name, *others) = self.columns_
        if others or isinstance(table.columns[name], np.ndarray) or not table.empty(name):
            return []
        return [
            f"{len(table.empty(name))} empty cells of {name!r} are read as sets without labels."
        ]

    def compared_rows(self, shown: Comparison) -> Rows:
        """Return the right, missed and wrong labels of some rows."""
        each = []
        for number, i in shown.numbered:
            pair = (self.sets_of([items[i]])[0] for items in (shown.truth, shown.left_out))
            each.append({"row": number, "labels": LabelComparison.of(*pair)})
        return each

    # -- prediction sets ----------------------------------------------------------------------

    def columns_of_sets(self, sets: Any) -> dict[str, Any]:
        """Return the labels that all sets in the list contain, and those that some contain."""
        ends = [_labels_in_all(some) for some in sets], [_labels_in_any(some) for some in sets]
        return self.columns_of_ends(("surely", "possibly"), ends)

    def members(self, sets: dict[Any, Any], text_of: Any) -> list[str]:
        """Return the certain and the possible labels of one row as texts."""
        return [f"{name.partition(' ')[0]}: {text_of(cell)}" for name, cell in sets.items()]


@dataclass(frozen=True)
class LabelComparison:
    """Labels of one row: correctly predicted, missed, and wrongly predicted."""

    right: list[str]
    missed: list[str]
    wrong: list[str]

    @classmethod
    def of(cls, true: set, predicted: set) -> LabelComparison:
        """Return the right, missed and wrong labels of a predicted label set."""
        parts = true & predicted, true - predicted, predicted - true
        return cls(*([str(label) for label in sorted(p, key=str)[:SHOWN_LABELS]] for p in parts))


def _labels_in_all(sets: list) -> Any:
    """Return the labels that all label sets of a list contain."""
    if isinstance(sets[0], np.ndarray):
        return np.min(sets, axis=0)
    return [label for label in sets[0] if all(label in other for other in sets)]


def _labels_in_any(sets: list) -> Any:
    """Return the labels that at least one label set of a list contains."""
    if isinstance(sets[0], np.ndarray):
        return np.max(sets, axis=0)
    return sorted({label for some in sets for label in some}, key=str)


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
