"""Output columns: their kind, the kernel, decoder and metric that suit it, and predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

from .._base.arrays import Items, object_array
from ..decoders import Borda, Candidates, Decoder, Threshold
from ..defaults import default_kernel, evaluate
from ..kernels import Kernel, Linear, Mapped
from ..spaces import Space, Vectors
from .kinds.cells import Cells, ClassCells, GraphCells, SmilesCells, TextCells
from .kinds.guess import output_kind
from .kinds.labels import LabelCells
from .kinds.numbers import CurveCells, NumberCells
from .kinds.rankings import RankingCells
from .tables.table import Name, Table

CELLS_OF_KIND: dict[str, type[Cells]] = {
    "number": NumberCells,
    "curve": CurveCells,
    "image": NumberCells,
    "labels": LabelCells,
    "class": ClassCells,
    "ranking": RankingCells,
    "text": TextCells,
    "smiles": SmilesCells,
    "graph": GraphCells,
}
METRICS = {
    "number": "mean R²", "curve": "R²", "image": "R²", "labels": "F1", "ranking": "Kendall tau",
    "class": "accuracy",
}  # fmt: skip
EXACT_RANKINGS = 10
"""The exact best ranking is found for at most this many labels; each one doubles the time."""
ARRAYS = ("number", "curve", "image")
"""The kinds of outputs that are arrays of numbers."""


class Outputs(BaseEstimator):
    """Converter of output columns to outputs of one kind, with their kernel, decoder and metric.

    Parameters
    ----------
    kind
        The kind of the columns: one of `guess.OUTPUT_KINDS`; None for a guess.

    Attributes
    ----------
    kind_
        The kind.
    cells_
        How cells are read and written.
    """

    cells_: Any

    def __init__(self, kind: str | None = None):
        self.kind = kind

    def fit(self, table: Table, names: Sequence[Name]) -> Items:
        """Determine the kind of the output columns, and return the outputs of the training rows."""
        self.kind_ = self.kind or output_kind(table, names)
        self.cells_ = CELLS_OF_KIND[self.kind_]()
        return self.cells_.fit(self._refuse_empty_cells(table, names), names)

    @property
    def columns_(self) -> list[Name]:
        """The names of the output columns."""
        return self.cells_.columns_

    @property
    def kinds_(self) -> dict[Name, str]:
        """The kind of each output column, by name."""
        return dict.fromkeys(self.columns_, self.kind_)

    @property
    def space_(self) -> Space:
        """The space of outputs of this kind."""
        return self.cells_.space

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one output, for outputs that are arrays such as images."""
        return tuple(self.cells_.shape_)

    def read(self, table: Table) -> Items:
        """Return the outputs in the rows of a table."""
        return self.cells_.read(self._refuse_empty_cells(table, table.names(self.columns_)))

    def _refuse_empty_cells(self, table: Table, names: Sequence[Name]) -> Table:
        """Return the table unchanged; raise an error for an empty output cell.

        An empty cell of a column of label sets is the empty set.
        """
        if self.kind_ == "labels" and len(names) == 1:
            return table
        return table.filled(names, drop=False)

    def kernel(self, y: Items, weights: np.ndarray | None = None) -> Kernel:
        """Return the output kernel that all candidate models share.

        Numbers are scaled by the mean and standard deviation of all training outputs `y`. The
        scaler is fitted here, once, because models that scaled outputs by their own sample could
        not be blended.
        """
        if self.kind_ == "number":
            scaler = StandardScaler().fit(y, sample_weight=weights)
            return Mapped(scaler, Linear(), Vectors(), inverse=True)
        return default_kernel(self.space_)

    def decoder(self) -> Decoder | None:
        """Return the decoder for this kind of output; None for the default decoder of the space."""
        if self.kind_ in ("text", "smiles", "class", "graph"):
            return Candidates()
        if self.kind_ == "ranking" and self.cells_.n_labels_ > EXACT_RANKINGS:
            return Borda()
        return Threshold() if self.kind_ == "labels" else None

    @property
    def metric_name(self) -> str:
        """The name of the metric that `score` returns."""
        return METRICS.get(self.kind_, "exact match")

    def metric(self, truth: Items, predicted: Items) -> float:
        """Return the default metric of the predictions; 1 is the best value."""
        if self.kind_ in ARRAYS:
            return _r2(np.asarray(truth), np.asarray(predicted), self.kind_ == "number")
        return float(evaluate(self.space_, truth, predicted))

    def metrics_by_column(self, truth: Items, predicted: Items) -> dict[Name, float]:
        """Return the metric of each output column by name; empty if the columns have one kind."""
        return {}

    def fill_missing(self, truth: Items, predicted: Items) -> Items:
        """Return the true outputs with missing values replaced by the predicted ones."""
        return truth

    def columns_of_sets(self, sets: Any) -> dict[str, Any]:
        """Convert prediction sets to columns of a table by name, such as "lower y" and "upper y".

        Numbers, curves and images have a lower and an upper end. Of label sets there are the labels
        that all sets in the list contain, and those that some contain. Other outputs are listed.
        """
        if self.kind_ in ARRAYS:
            return _columns_of_ends(("lower", "upper"), sets, self)
        if self.kind_ == "labels":
            ends = [_labels_in_all(some) for some in sets], [_labels_in_any(some) for some in sets]
            return _columns_of_ends(("surely", "possibly"), ends, self)
        written = [self.cells_.write(some) for some in sets]
        return {
            f"set of {name}": [_distinct_cells(cells[name]) for cells in written]
            for name in self.columns_
        }

    # -- in the form of the training outputs --------------------------------------------------

    def array_of(self, items: Items, flat: bool) -> Items:
        """Convert outputs to an array like the training outputs, for a model fitted on arrays.

        If `flat`, a single column of numbers becomes a vector.
        """
        if self.kind_ in ARRAYS:
            return self._number_array(items, flat)
        if self.cells_.needs_parsing:
            (cells,) = self.cells_.write(items).values()
            return object_array(list(cells))
        if self.kind_ == "labels":
            return np.asarray(items).astype(self.cells_.dtype_)
        if self.kind_ == "ranking":
            ranks = np.asarray(items)
            return np.where(ranks < 0, -1, ranks + self.cells_.first_)
        return items

    def _number_array(self, items: Items, flat: bool) -> Any:
        """Convert outputs to an array of numbers, dates or durations; if `flat`, to a vector."""
        rows = np.asarray(items)
        if self.cells_.has_dates:
            columns = self.cells_.write(rows).values()
            rows = np.column_stack([np.asarray(column) for column in columns])
        return rows[:, 0] if flat and rows.ndim == 2 and rows.shape[1] == 1 else rows

    def format_one(self, item: Any, named: bool, flat: bool) -> Any:
        """Convert one output to the form in which `predict` returns it.

        If outputs have column names (`named`), this is a cell, or a dictionary of cells if columns
        are several; otherwise an entry of `array_of`.
        """
        batch = _batch_of_one(item)
        if not named:
            return _python_cell(self.array_of(batch, flat)[0])
        cells = {name: _python_cell(column[0]) for name, column in self.cells_.write(batch).items()}
        return next(iter(cells.values())) if len(cells) == 1 else cells


def _batch_of_one(item: Any) -> Any:
    """Return an array that holds only `item`."""
    if isinstance(item, np.ndarray | np.generic | float | int):
        return np.asarray(item)[None]
    return object_array([item])


def _python_cell(cell: Any) -> Any:
    """Convert a NumPy scalar to a Python or pandas value; return other cells unchanged."""
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return pd.Timestamp(cell) if isinstance(cell, np.datetime64) else pd.Timedelta(cell)
    return cell.item() if isinstance(cell, np.generic) else cell


def _r2(truth: np.ndarray, predicted: np.ndarray, by_column: bool) -> float:
    """Return R²: the mean over columns that vary if `by_column`, else over all values."""
    truth, predicted = (A.reshape(len(A), -1) for A in (truth, predicted))
    varies = truth.std(axis=0) > 0
    if not varies.any():
        return 0.0
    if by_column:
        return float(r2_score(truth[:, varies], predicted[:, varies]))
    error = ((truth - predicted) ** 2).sum()
    return float(1.0 - error / ((truth - truth.mean(axis=0)) ** 2).sum())


def _columns_of_ends(names: tuple[str, str], ends: Sequence, outputs: Outputs) -> dict[str, Any]:
    """Return two columns for each output column, such as "lower y" and "upper y", by name.

    `names` are the two prefixes, `ends` the outputs at the two ends of the prediction sets.
    """
    written = [outputs.cells_.write(items) for items in ends]
    return {
        f"{name} {column}": cells[column]
        for column in outputs.columns_
        for name, cells in zip(names, written, strict=True)
    }


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


def _distinct_cells(cells: Any) -> list:
    """Return the distinct cells, in order of appearance."""
    plain = [
        cell.tolist() if isinstance(cell, np.ndarray) else _python_cell(cell) for cell in cells
    ]
    return list({repr(cell): cell for cell in plain}.values())
