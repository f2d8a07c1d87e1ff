"""Items of a custom space as outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.arrays import Items, object_array
from ..._base.registered import registered_classes
from ...decoders import Decoder, natural
from ...spaces import Space
from ..tables.columns import Column, is_numeric, numbers
from ..tables.table import Name, Table
from .base import Kind


def registered_spaces() -> dict[str, type[Space]]:
    """Return the custom spaces that were registered with `mercer.register`, by their name."""
    return {kind.name: kind for kind in registered_classes() if issubclass(kind, Space)}


class SpaceKind(Kind):
    """Items of a custom space, with the kernel, the decoder and the metric of the space.

    Items are the numbers in the columns, or else the cells of a single column, as the `check` of
    the space returns them.

    Parameters
    ----------
    space
        The space.

    Attributes
    ----------
    is_numeric_
        Whether items are numbers in the columns.
    """

    metric_name = "score"

    def __init__(self, space: Space):
        self.space = space

    @property
    def kind_(self) -> str:  # type: ignore[override]
        """The name of the kind, which is that of the space."""
        return self.space.name

    def fit_cells(self, table: Table) -> Items:
        """Determine whether the cells hold numbers, and return the items."""
        self.is_numeric_ = all(is_numeric(table, name) for name in self.columns_)
        if self.is_numeric_:
            table_columns = [Column.of(table, name) for name in self.columns_]
            self.notations_ = [column.notation() for column in table_columns]
        return self.read_cells(table)

    def read_cells(self, table: Table) -> Items:
        """Return the items of a table, checked by the space."""
        if not self.is_numeric_:
            return self.check_items(object_array(list(self.single_column(table)[1])), table)
        rows = numbers(table, table.names(self.columns_), self.notations_)
        return self.check_items(rows, table)

    def write(self, items: Items) -> dict[Name, Any]:
        """Convert items to columns of numbers, or to one column of items."""
        if not self.is_numeric_:
            return super().write(items)
        rows = np.asarray(items, dtype=float).reshape(len(items), -1)
        if len(self.columns_) == rows.shape[1]:
            return {name: rows[:, j] for j, name in enumerate(self.columns_)}
        return {self.columns_[0]: list(rows)}

    def decoder(self) -> Decoder:
        """Return the decoder of the space for its kernel."""
        return natural(self.kernel([]))
