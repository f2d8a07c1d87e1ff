from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._arrays import Items, object_array
from ...decoders import Candidates, Decoder
from ...kernels import Kernel, Labels, Normalized, Tanimoto
from ...metrics import sample_f1, subset_accuracy
from ..table import Table
from ..values import refused
from .base import Space

SEPARATORS = {"|": 0.05, ";": 0.05, ",": 0.2}
"""What stands between labels, and the share of cells in which it does; commas do so elsewhere."""
MOVING = 0.2
"""The share of repeated labels that stand at several places where a comma separates labels."""


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


class LabelSets(Space):
    """Sets of labels: cells such as ``sea;sun``, JSON lists, or columns of zeros and ones."""

    name = "labels"

    def learn(self, table: Table, names: Sequence[str]) -> Items:
        """The sets, once it is known what separates labels."""
        cells = table.columns[names[0]]
        texts = [cell for cell in cells if isinstance(cell, str)]
        self.separator_ = label_separator(texts, certain=True)
        items = super().learn(table, names)
        self.single_ = all(len(item) == 1 for item in items)
        return items

    def parse(self, table: Table) -> np.ndarray:
        """One list of labels a row."""
        names = table.names(self.columns_)
        if len(names) > 1:
            return self._indicators(table, names)
        (name,) = names
        cells = table.columns[name]
        if isinstance(cells, np.ndarray) and cells.ndim == 2:
            return object_array([[str(j) for j in np.flatnonzero(row)] for row in cells])
        return object_array([self._set(table, i, name, cell) for i, cell in enumerate(cells)])

    def _set(self, table: Table, i: int, name: str, cell: Any) -> list[str]:
        if isinstance(cell, str) and cell.lstrip().startswith("["):
            try:
                cell = json.loads(cell)
            except (ValueError, RecursionError):
                raise refused(table, i, name, f"{cell!r:.40} is no list.") from None
        labels = cell if isinstance(cell, list | tuple) else [cell]
        if any(label is None or isinstance(label, list | tuple | dict) for label in labels):
            raise refused(table, i, name, f"{cell!r:.40} is no set of labels, such as "
                          '["sea", "sun"].')  # fmt: skip
        if labels is cell:
            return sorted({str(label) for label in cell})
        separator = self.separator_
        parts = str(cell).split(separator) if separator else [str(cell)]
        return sorted({part.strip() for part in parts if part.strip()})

    def _indicators(self, table: Table, names: list[str]) -> np.ndarray:
        sets: list[list[str]] = [[] for _ in range(len(table))]
        for name in names:
            for i, cell in enumerate(table.columns[name]):
                if str(cell).strip() not in ("0", "1", "0.0", "1.0", "True", "False"):
                    raise refused(table, i, name, f"{cell!r:.40} is neither 0 nor 1.")
                if str(cell).strip() in ("1", "1.0", "True"):
                    sets[i].append(name)
        return object_array(sets)

    def kernels(self, items: Items) -> list[Kernel]:
        """Shared labels, as a share of all."""
        return [Labels(Tanimoto()), Normalized(Labels())]

    def output(self, items: Items) -> tuple[Kernel, Decoder | None]:
        """Any set, or one of the labels where each row has one."""
        return Labels(), Candidates() if self.single_ else None

    def cells(self, item: Any) -> dict[str, Any]:
        """As the file has them."""
        labels = [str(label) for label in item]
        if len(self.columns_) > 1:
            return {f"predicted {name}": int(name in labels) for name in self.columns_}
        plain = self.separator_ or (";" if self.single_ and len(labels) == 1 else None)
        clear = plain is not None and not any(plain in label for label in labels[1:])
        joined = plain.join(labels) if plain and clear else labels
        return {f"predicted {self.columns_[0]}": joined}

    def measures(self, truth: Items, predicted: Items) -> dict[str, float]:
        """F1 by example, and sets that are right as a whole."""
        if self.single_:
            return {"accuracy": float(subset_accuracy(list(truth), list(predicted)))}
        return {
            "F1": float(sample_f1(list(truth), list(predicted))),
            "exact match": float(subset_accuracy(list(truth), list(predicted))),
        }
