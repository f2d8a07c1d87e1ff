from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._arrays import Items
from ...decoders import Decoder
from ...kernels import Kendall, Kernel
from ...metrics import kendall_tau
from ..table import Table
from ..values import numbers, refused
from .base import Space


class Rankings(Space):
    """Rankings: one column of ranks a label, or cells such as ``pear > fig > plum``."""

    name = "ranking"

    def learn(self, table: Table, names: Sequence[str]) -> Items:
        """The ranks, once the labels are known."""
        self.labels_: list[str] | None = None
        cells = table.columns[names[0]]
        if len(names) == 1 and not isinstance(cells, np.ndarray):
            self.labels_ = sorted(_order(table, 0, names[0]))
        items = super().learn(table, names)
        return items

    def parse(self, table: Table) -> np.ndarray:
        """Ranks from 0, the best; one column a label."""
        names = table.names(self.columns_)
        if self.labels_ is None:
            ranks = numbers(table, names)
            self.first_ = float(getattr(self, "first_", ranks.min()))
            return ranks - self.first_
        (name,) = names
        place = {label: j for j, label in enumerate(self.labels_)}
        ranks = np.empty((len(table), len(place)))
        for i in range(len(table)):
            order = _order(table, i, name)
            if sorted(order) != self.labels_:
                cell, labels = table.columns[name][i], ", ".join(self.labels_)
                raise refused(table, i, name, f"{cell!r:.60} does not rank {labels:.60}.")
            ranks[i, [place[label] for label in order]] = np.arange(len(order))
        return ranks

    def kernels(self, items: Items) -> list[Kernel]:
        """Pairs in the same order."""
        return [Kendall()]

    def output(self, items: Items) -> tuple[Kernel, Decoder | None]:
        """Any ranking."""
        return Kendall(), None

    def cells(self, item: Any) -> dict[str, Any]:
        """As the file has them."""
        if self.labels_ is None:
            names = self.columns_
            ranks = [int(r + self.first_) for r in item]
            if len(names) == 1:
                return {f"predicted {names[0]}": ranks}
            return {f"predicted {name}": rank for name, rank in zip(names, ranks, strict=True)}
        order = [self.labels_[j] for j in np.argsort(item)]
        return {f"predicted {self.columns_[0]}": " > ".join(order)}

    def measures(self, truth: Items, predicted: Items) -> dict[str, float]:
        """Kendall's tau."""
        return {"Kendall tau": float(kendall_tau(truth, predicted))}


def _order(table: Table, i: int, name: str) -> list[str]:
    """The labels that a cell ranks, best first."""
    cell = table.columns[name][i]
    parts = cell.split(">") if isinstance(cell, str) else cell
    labels = [str(part).strip() for part in parts] if isinstance(parts, list | tuple) else []
    if len(set(labels)) < max(len(labels), 2):
        raise refused(table, i, name, f"{cell!r:.60} is no ranking: write it as pear > fig > plum.")
    return labels
