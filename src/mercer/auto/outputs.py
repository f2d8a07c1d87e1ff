"""Output columns: what they hold, the kernel, decoder and metric that suit it, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from .._arrays import Items
from ..cells import Table
from ..cells.table import Name
from ..decoders import Candidates, Decoder, Threshold
from ..kernels import Kernel, Linear, Mapped
from ..spaces import (
    Classes,
    Curves,
    Graphs,
    LabelSets,
    Molecules,
    Rankings,
    Sequences,
    Space,
    Vectors,
)
from .guess import OUTPUTS, output_kind

SPACES: dict[str, type[Space]] = {
    "number": Vectors,
    "curve": Curves,
    "image": Vectors,
    "labels": LabelSets,
    "class": Classes,
    "ranking": Rankings,
    "text": Sequences,
    "smiles": Molecules,
    "graph": Graphs,
}
METRICS = {
    "number": "mean R²", "curve": "R²", "image": "R²", "labels": "F1", "ranking": "Kendall tau",
    "class": "accuracy",
}  # fmt: skip
ARRAYS = ("number", "curve", "image")
"""Kinds whose outputs are rows of numbers."""


class Outputs(BaseEstimator):
    """How output columns are read, compared, scored and written.

    Parameters
    ----------
    kind
        What the columns hold: one of `guess.OUTPUTS`; None for a guess.

    Attributes
    ----------
    kind_
        What they hold.
    space_
        How they are read and written.
    """

    def __init__(self, kind: str | None = None):
        self.kind = kind

    def fit(self, table: Table, names: Sequence[Name]) -> Items:
        """Look at the cells of the training rows, and read them."""
        if self.kind is not None and self.kind not in OUTPUTS:
            known = ", ".join(OUTPUTS)
            raise ValueError(f"{self.kind!r} is no kind of output: use one of {known}.")
        self.kind_ = self.kind or output_kind(table, names)
        self.space_ = SPACES[self.kind_]()
        return self.space_.learn(self._filled(table, names), names)

    @property
    def columns_(self) -> list[Name]:
        """The names of the columns."""
        return self.space_.columns_

    @property
    def shape(self) -> tuple[int, ...]:
        """That of one output, where outputs are arrays in single cells."""
        return tuple(self.space_.shape_)

    def read(self, table: Table) -> Items:
        """The outputs of some rows."""
        return self.space_.read(self._filled(table, table.names(self.columns_)))

    def _filled(self, table: Table, names: Sequence[Name]) -> Table:
        """Refuse rows without an output; an empty cell of label sets is a set without labels."""
        if self.kind_ == "labels" and len(names) == 1:
            return table
        return table.filled(names, drop=False)

    def kernel(self, y: Items, weights: np.ndarray | None = None) -> Kernel:
        """Return the output kernel for all models of a search.

        Numbers are scaled by the mean and standard deviation of all training outputs `y`. The
        scaler is fitted here, once, because models that scaled outputs by their own sample could
        not be blended.
        """
        if self.kind_ == "number":
            scaler = StandardScaler().fit(y, sample_weight=weights)
            return Mapped(scaler, Linear(), Vectors(), inverse=True)
        return self.space_.kernel()

    def decoder(self) -> Decoder | None:
        """The decoder; None for the natural one."""
        if self.kind_ in ("text", "smiles", "class", "graph"):
            return Candidates()
        return Threshold() if self.kind_ == "labels" else None

    @property
    def metric_name(self) -> str:
        """What `score` returns."""
        return METRICS.get(self.kind_, "exact match")

    def metric(self, truth: Items, predicted: Items) -> float:
        """How good predictions are; greater is better, 1 is best."""
        if self.kind_ in ARRAYS:
            return _explained(np.asarray(truth), np.asarray(predicted), self.kind_ == "number")
        return float(self.space_.metric(truth, predicted))

    def array_of(self, predicted: Items, flat: bool) -> Items:
        """Predictions as an array, where the training outputs were given as one."""
        if self.kind_ == "ranking" and self.space_.labels_ is None:
            return np.asarray(predicted) + self.space_.first_
        if self.kind_ in ARRAYS:
            rows = np.asarray(predicted)
            return rows[:, 0] if flat and rows.ndim == 2 and rows.shape[1] == 1 else rows
        return predicted


def _explained(truth: np.ndarray, predicted: np.ndarray, by_column: bool) -> float:
    """1 - squared error / variance: the mean over columns, or of all values together."""
    truth, predicted = (A.reshape(len(A), -1) for A in (truth, predicted))
    error = ((truth - predicted) ** 2).sum(axis=0)
    spread = ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
    if not by_column:
        return float(1.0 - error.sum() / spread.sum()) if spread.sum() > 0 else 0.0
    varies = spread > 0
    return float(np.mean(1.0 - error[varies] / spread[varies])) if varies.any() else 0.0


def set_columns(sets: Any, outputs: Outputs) -> dict[str, Any]:
    """What `predict_set` gives, by the name of the column.

    Numbers, curves and images have a lower and an upper end. Of label sets there are the labels
    that all sets in the list have, and those that some have. Other outputs are listed.
    """
    if outputs.kind_ in ARRAYS:
        return _both(("lower", "upper"), sets, outputs)
    if outputs.kind_ == "labels":
        ends = [_common(some) for some in sets], [_all(some) for some in sets]
        return _both(("surely", "possibly"), ends, outputs)
    written = [outputs.space_.write(some) for some in sets]
    return {
        f"set of {name}": [_distinct(cells[name]) for cells in written] for name in outputs.columns_
    }


def _both(names: tuple[str, str], ends: Sequence, outputs: Outputs) -> dict[str, Any]:
    return {
        f"{name} {column}": cells
        for name, items in zip(names, ends, strict=True)
        for column, cells in outputs.space_.write(items).items()
    }


def _common(sets: list) -> Any:
    if isinstance(sets[0], np.ndarray):
        return np.min(sets, axis=0)
    return [label for label in sets[0] if all(label in other for other in sets)]


def _all(sets: list) -> Any:
    if isinstance(sets[0], np.ndarray):
        return np.max(sets, axis=0)
    return sorted({label for some in sets for label in some}, key=str)


def _distinct(cells: Any) -> list:
    plain = [cell.tolist() if isinstance(cell, np.ndarray | np.generic) else cell for cell in cells]
    return list({repr(cell): cell for cell in plain}.values())
