"""Classes as outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._base.arrays import Items, object_array
from ...decoders import Candidates
from ...spaces import Classes
from ..pictures import Picture, confusion_matrix
from ..tables.columns import Column
from ..tables.notation import TRUTH
from ..tables.table import Name, Table
from .base import Comparison, Kind, Rows
from .label_scores import scores_of_labels

PLOTTED_CLASSES = 20
"""The largest number of classes of a confusion matrix."""
TYPES: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "str"}
TYPES_OF_ARRAYS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}
"""The names of the types of class labels, and of those in arrays by their kind."""


class ClassKind(Kind):
    """Class labels, one in each cell.

    Attributes
    ----------
    type_
        The type of the labels, to which later cells are converted: "bool", "int", "float" or
        "str"; "any" where the training labels have another type.
    """

    kind_ = "class"
    metric_name = "accuracy"
    caption = "Rows: true; columns: predicted."
    has_quick_sets = is_classification = has_labels = is_single = has_pictures = True
    space = Classes()

    def fit_cells(self, table: Table) -> Items:
        """Determine the type of the labels in the training rows, and return the labels."""
        name, cells = self.single_column(table)
        if Column.of(table, name).is_truth:
            self.type_ = "bool"
        elif isinstance(cells, np.ndarray):
            self.type_ = TYPES_OF_ARRAYS.get(cells.dtype.kind, "any")
        else:
            types = {type(c.item() if isinstance(c, np.generic) else c) for c in cells}
            self.type_ = TYPES.get(types.pop(), "any") if len(types) == 1 else "str"
        return self.read_cells(table)

    def read_cells(self, table: Table) -> np.ndarray:
        """Return the class labels, in the type of the training labels."""
        name, cells = self.single_column(table)
        kind = TYPES_OF_ARRAYS.get(cells.dtype.kind) if isinstance(cells, np.ndarray) else None
        if kind == self.type_:
            return self.check_items(cells, table)
        labels = [self._label(table, i, name, cell) for i, cell in enumerate(cells)]
        return self.check_items(object_array(labels), table)

    def _label(self, table: Table, i: int, name: Name, cell: Any) -> Any:
        """Return cell i of column `name` as a label of the training type."""
        if self.type_ == "any":
            return cell
        text = text_of(cell)
        try:
            if isinstance(cell, list | tuple | dict | set | np.ndarray):
                raise ValueError
            if self.type_ == "bool":
                return bool(int(TRUTH.get(text.lower(), text)))
            return {"int": int, "float": float, "str": str}[self.type_](text)
        except ValueError:
            raise table.refused(
                i, name, f"{cell!r:.40} is not of the type of the training labels ({self.type_})",
                "write it like them", "leave the row out",
            ) from None  # fmt: skip

    def write(self, items: Items) -> dict[Name, Any]:
        """Convert class labels to one column of cells, by name."""
        return {self.columns_[0]: np.asarray(items)}

    def decoder(self) -> Candidates:
        """Return the decoder that chooses among the training labels."""
        return Candidates()

    def label_scores(self, truth: Items, predicted: Items) -> Rows:
        """Return a table of frequency, precision, recall and F1 of each class."""
        return scores_of_labels(self.sets_of(map(str, truth)), self.sets_of(map(str, predicted)))

    def sets_of(self, items: Iterable[Any]) -> list[set]:
        """Return each class as a set of one label."""
        return [{item} for item in items]

    def description(self, y: Items) -> str:
        """Return the classes."""
        return describe_values(sorted({str(item) for item in y}))

    def pictures(self, shown: Comparison) -> list[Picture]:
        """Return the confusion matrix; no picture for many classes."""
        few = len({str(item) for item in shown.truth}) <= PLOTTED_CLASSES
        return [confusion_matrix("", shown.truth, shown.left_out)] if few else []


def describe_values(values: list[str]) -> str:
    """Return a text with the first four values, and the number of values if there are more."""
    shown = ", ".join(value[:20] for value in values[:4])
    return shown if len(values) <= 4 else f"{len(values)} values: {shown}, …"


def text_of(cell: Any) -> str:
    """Return a cell as stripped text, with 10.0 as "10".

    One empty cell converts a column of integers to floats.
    """
    if isinstance(cell, float | np.floating) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()
