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
from .base import Space, refused

SEPARATORS = ("|", ";", ",")


class LabelSets(Space):
    """Sets of labels: cells such as ``sea;sun``, JSON lists, or columns of zeros and ones."""

    name = "labels"

    def learn(self, table: Table, names: Sequence[str]) -> Items:
        """The sets, once it is known what separates labels."""
        cells = table.columns[names[0]]
        texts = [cell for cell in cells if isinstance(cell, str)]
        self.separator_ = next((s for s in SEPARATORS if any(s in t for t in texts)), None)
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
            except json.JSONDecodeError:
                raise refused(table, i, name, f"{cell!r:.40} is no list.") from None
        if isinstance(cell, list | tuple):
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
        joined = (
            (self.separator_ or ";").join(labels) if self.separator_ or self.single_ else labels
        )
        return {f"predicted {self.columns_[0]}": joined}

    def measures(self, truth: Items, predicted: Items) -> dict[str, float]:
        """F1 by example, and sets that are right as a whole."""
        if self.single_:
            return {"accuracy": float(subset_accuracy(list(truth), list(predicted)))}
        return {
            "F1": float(sample_f1(list(truth), list(predicted))),
            "exact match": float(subset_accuracy(list(truth), list(predicted))),
        }
