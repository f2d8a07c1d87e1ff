"""Kinds of outputs: what a kind of output column is, and what is done with its items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from ..._base.arrays import Items, object_array
from ...decoders import Decoder
from ...defaults import default_kernel, row_scores
from ...kernels import Kernel
from ...spaces import Space
from ..pictures import Picture
from ..tables.bad_table import BadTable
from ..tables.table import Name, Table

Rows = list[dict[str, Any]]
"""A table of a report, as a list of rows."""


@dataclass(frozen=True)
class Comparison:
    """Left-out predictions next to the true outputs, for a report.

    Attributes
    ----------
    truth, left_out
        The true and the predicted outputs of all rows.
    numbered
        Pairs of the number in the table and the index of the rows to show, from small to large
        errors.
    half_width
        A function that returns half the width of the prediction band of curves; None if there is
        none.
    """

    truth: Items
    left_out: Items
    numbered: list[tuple[int, int]]
    half_width: Callable[[], np.ndarray | None]


class Kind(BaseEstimator):
    """Base class of the kinds of outputs.

    A kind converts the cells of output columns to the items of a space and back, in the form of the
    training cells. It has the kernel, decoder, metric, prediction sets and pictures of its items.
    Its class attributes say which models and methods suit it.

    Attributes
    ----------
    columns_
        The names of the columns.
    """

    kind_: ClassVar[str]
    """The name of the kind, such as "ranking"."""
    metric_name: Any = "exact match"
    """The name of the metric."""
    caption: ClassVar[str] = "All predictions are left out."
    """What the pictures of a report show."""
    is_array: ClassVar[bool] = False
    """Whether outputs are arrays of numbers, with intervals instead of lists of candidates."""
    is_record: ClassVar[bool] = False
    """Whether outputs are records, whose columns are of several kinds."""
    has_column_intervals: ClassVar[bool] = False
    """Whether each column has an interval."""
    has_quick_sets: ClassVar[bool] = False
    """Whether prediction sets are always calibrated, because that takes under 1 % of a fit."""
    is_classification: ClassVar[bool] = False
    """Whether an output is one of several classes."""
    has_labels: ClassVar[bool] = False
    """Whether outputs consist of labels with probabilities: classes and label sets."""
    is_free_text: ClassVar[bool] = False
    """Whether new texts may be outputs."""
    is_single: ClassVar[bool] = False
    """Whether several columns of this kind are a record, because an item has one column."""
    has_empty_items: ClassVar[bool] = False
    """Whether an empty cell is an item, such as the empty set of labels."""
    needs_exact_folds: ClassVar[bool] = False
    """Whether models that are judged by folds do not suit, because they predict lower scores."""
    scoring: ClassVar[str | None] = None
    """The `scoring` of `KernelDependencyCV` by which ridges are chosen."""
    has_linear_average: ClassVar[bool] = False
    """Whether the average of a blend and its best linear model is tried."""

    columns_: list[Name]
    space: Space

    # -- cells --------------------------------------------------------------------------------

    @property
    def needs_parsing(self) -> bool:
        """Whether each cell is a text or list that has to be parsed to an item."""
        return False

    def fit(self, table: Table, names: Sequence[Name]) -> Items:
        """Determine the form of the cells in the training rows, and return their items."""
        self.columns_ = list(names)
        return self.fit_cells(self._refuse_empty_cells(table, names))

    def fit_cells(self, table: Table) -> Items:
        """Determine the form of the cells of the columns, none of which is empty."""
        return self.read_cells(table)

    def read(self, table: Table) -> Items:
        """Return the outputs in the rows of a table."""
        return self.read_cells(self._refuse_empty_cells(table, table.names(self.columns_)))

    def read_cells(self, table: Table) -> Items:
        """Convert the cells of a table to items; they have the form of the training cells."""
        raise NotImplementedError

    def write(self, items: Items) -> dict[Name, Any]:
        """Convert items to columns of cells by name, in the form of the training cells."""
        return {self.columns_[0]: list(items)}

    def _refuse_empty_cells(self, table: Table, names: Sequence[Name]) -> Table:
        """Return the table unchanged; raise an error for an empty output cell."""
        if self.has_empty_items and len(names) == 1:
            return table
        return table.filled(names, drop=False)

    def single_column(self, table: Table) -> tuple[Name, Any]:
        """Return the name and the cells of the single output column."""
        if len(self.columns_) != 1:
            names = ", ".join(map(str, self.columns_))
            raise BadTable(
                f"{table.source}: {self.space.name} must be in one column, got {names:.200}"
            )
        (name,) = table.names(self.columns_)
        return name, table.columns[name]

    def check_items(self, items: Items, table: Table) -> Items:
        """Return the items after a check by the space; raise `BadTable` if it refuses them."""
        try:
            return self.space.check(items, f"{table.source}: {self.columns_[0]!r:.60}")
        except (TypeError, ValueError) as problem:
            raise BadTable(str(problem).removesuffix(".")) from None

    @property
    def kinds_(self) -> dict[Name, str]:
        """The kind of each output column, by name."""
        return dict.fromkeys(self.columns_, self.kind_)

    # -- models -------------------------------------------------------------------------------

    def kernel(self, y: Items, weights: np.ndarray | None = None) -> Kernel:
        """Return the output kernel that all candidate models share."""
        return default_kernel(self.space)

    def decoder(self) -> Decoder | None:
        """Return the decoder for this kind of output; None for the default decoder of the space."""
        return None

    def other_decoder(self, rows: int, labels: int) -> tuple[str, Decoder] | None:
        """Return another decoder for a blend, and its name; None if there is none.

        `labels` is the number of coordinates of an output.
        """
        return None

    # -- quality ------------------------------------------------------------------------------

    def metric(self, truth: Items, predicted: Items, weights: np.ndarray | None = None) -> float:
        """Return the default metric of the predictions with sample weights; 1 is the best value."""
        return float(np.average(row_scores(self.space, truth, predicted), weights=weights))

    def metrics_by_column(
        self, truth: Items, predicted: Items, weights: np.ndarray | None = None
    ) -> dict[Name, float]:
        """Return the metric of each output column by name; empty if the columns have one kind."""
        return {}

    def other_metrics(self, truth: Items, predicted: Items) -> dict[str, float]:
        """Return further metrics by name."""
        return {}

    def row_errors(self, truth: Items, predicted: Items) -> np.ndarray:
        """Return the error of each row: 1 minus its metric."""
        filled = self.fill_missing(truth, predicted)
        return 1.0 - np.asarray(row_scores(self.space, filled, predicted))

    def label_scores(self, truth: Items, predicted: Items) -> Rows:
        """Return a table of scores by label, or by output column; empty if there are none."""
        return []

    def fill_missing(self, truth: Items, predicted: Items) -> Items:
        """Return the true outputs with missing values replaced by the predicted ones."""
        return truth

    def for_scorers(self, truth: Items, predicted: Items) -> tuple[Items, Items]:
        """Return true and predicted outputs as the scorers of scikit-learn take them."""
        return truth, predicted

    # -- descriptions -------------------------------------------------------------------------

    def describe(self, table: Table, y: Items) -> dict[Name, str]:
        """Return a short description of the cells of each output column, such as their range."""
        return dict.fromkeys(self.columns_, self.description(y))

    def description(self, y: Items) -> str:
        """Return a short description of the training outputs."""
        return f"such as {str(y[0])[:30]!r}"

    def notes(self, table: Table, y: Items) -> list[str]:
        """Return notes, for the user, on how the output columns were read."""
        return []

    has_pictures: ClassVar[bool] = False
    """Whether a report compares outputs by pictures, rather than by rows of a table."""

    def pictures(self, shown: Comparison) -> list[Picture]:
        """Return pictures that compare left-out predictions with the truth."""
        return []

    def compared_rows(self, shown: Comparison) -> Rows:
        """Return the true and the predicted output of some rows, where there are no pictures."""
        return [
            {"row": number, "true": str(shown.truth[i]), "predicted": str(shown.left_out[i])}
            for number, i in shown.numbered
        ]

    def shown(self, item: Any, truth: Items) -> Any:
        """Return an output as a report shows it: a picture, a cell, or the text of several."""
        written = self.format_one(item, named=True, flat=True)
        if not isinstance(written, dict):
            return written
        some = [f"{name} {_short_cell(cell)}" for name, cell in list(written.items())[:6]]
        return ", ".join(some) + (", …" if len(written) > 6 else "")

    # -- predictions --------------------------------------------------------------------------

    def columns_of_sets(self, sets: Any) -> dict[str, Any]:
        """Convert prediction sets to columns of a table by name, such as "set of y"."""
        written = [self.write(some) for some in sets]
        return {
            f"set of {name}": [distinct_cells(cells[name]) for cells in written]
            for name in self.columns_
        }

    def columns_of_ends(self, names: tuple[str, str], ends: Sequence) -> dict[str, Any]:
        """Return two columns for each output column, such as "lower y" and "upper y", by name.

        `names` are the two prefixes, `ends` the outputs at the two ends of the prediction sets.
        """
        written = [self.write(items) for items in ends]
        return {
            f"{name} {column}": cells[column]
            for column in self.columns_
            for name, cells in zip(names, written, strict=True)
        }

    def members(self, sets: dict[Any, Any], text_of: Any) -> list[str]:
        """Return the members of the prediction set of one row as texts.

        `sets` are the cells of `columns_of_sets` by name, and `text_of` shows a cell.
        """
        return [text_of(y) for y in next(iter(sets.values()))]

    def bands(self, sets: Any, rows: int) -> Any:
        """Return prediction sets as outputs of this kind."""
        return sets

    def array_of(self, items: Items, flat: bool) -> Items:
        """Convert outputs to an array like the training outputs, for a model fitted on arrays.

        If `flat`, a single column of numbers becomes a vector.
        """
        if not self.needs_parsing:
            return self.unparsed(items)
        (cells,) = self.write(items).values()
        return object_array(list(cells))

    def unparsed(self, items: Items) -> Items:
        """Return outputs in the form of training outputs that were not texts or lists."""
        return items

    def format_one(self, item: Any, named: bool, flat: bool) -> Any:
        """Convert one output to the form in which `predict` returns it.

        If outputs have column names (`named`), this is a cell, or a dictionary of cells if columns
        are several; otherwise an entry of `array_of`.
        """
        batch = _batch_of_one(item)
        if not named:
            return python_cell(self.array_of(batch, flat)[0])
        cells = {name: python_cell(column[0]) for name, column in self.write(batch).items()}
        return next(iter(cells.values())) if len(cells) == 1 else cells


def _batch_of_one(item: Any) -> Any:
    """Return an array that holds only `item`."""
    if isinstance(item, np.ndarray | np.generic | float | int):
        return np.asarray(item)[None]
    return object_array([item])


def python_cell(cell: Any) -> Any:
    """Convert a NumPy scalar to a Python or pandas value; return other cells unchanged."""
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return pd.Timestamp(cell) if isinstance(cell, np.datetime64) else pd.Timedelta(cell)
    return cell.item() if isinstance(cell, np.generic) else cell


def distinct_cells(cells: Any) -> list:
    """Return the distinct cells, in order of appearance."""
    plain = [cell.tolist() if isinstance(cell, np.ndarray) else python_cell(cell) for cell in cells]
    return list({repr(cell): cell for cell in plain}.values())


def _short_cell(cell: Any) -> str:
    """Return a cell as text, with floats rounded to four digits."""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
