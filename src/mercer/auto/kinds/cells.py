"""Output columns as items of a space and back: the protocol, and columns of single items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..._base.arrays import Items, object_array
from ..._base.errors import require
from ...spaces import Classes, Graphs, Molecules, Sequences, Space
from ..tables.table import BadTable, Name, Table


class Cells(BaseEstimator):
    """Base class of converters between the cells of output columns and the items of a space.

    Attributes
    ----------
    columns_
        The names of the columns.
    """

    columns_: list[Name]
    space: Space

    @property
    def needs_parsing(self) -> bool:
        """Whether each cell is a text or list that has to be parsed to an item."""
        return False

    def fit(self, table: Table, names: Sequence[Name]) -> Items:
        """Determine the format of the cells in the training rows, and return their items."""
        self.columns_ = list(names)
        return self.read(table)

    def read(self, table: Table) -> Items:
        """Convert the cells of a table to items; they have the format of the training rows."""
        raise NotImplementedError

    def write(self, items: Items) -> dict[Name, Any]:
        """Convert items to columns of cells by name, in the format of the training rows."""
        return {self.columns_[0]: list(items)}

    def _single_column(self, table: Table) -> tuple[Name, Any]:
        """Return the name and the cells of the single output column."""
        if len(self.columns_) != 1:
            names = ", ".join(map(str, self.columns_))
            raise BadTable(
                f"{table.source}: {self.space.name} must be in one column, got {names:.200}."
            )
        (name,) = table.names(self.columns_)
        return name, table.columns[name]

    def _check_items(self, items: Items, table: Table) -> Items:
        """Return the items after a check by the space; raise `BadTable` if it refuses them."""
        try:
            return self.space.check(items, f"{table.source}: {self.columns_[0]!r:.60}")
        except (TypeError, ValueError) as problem:
            raise BadTable(str(problem)) from None


class ClassCells(Cells):
    """Converter of cells that hold one class label each."""

    space = Classes()

    def read(self, table: Table) -> np.ndarray:
        """Return the class labels, with text stripped of surrounding blanks."""
        _, cells = self._single_column(table)
        if isinstance(cells, np.ndarray):
            return self._check_items(cells, table)
        labels = [cell.strip() if isinstance(cell, str) else cell for cell in cells]
        mixed = len({type(label) for label in labels}) > 1
        return self._check_items(object_array([str(a) if mixed else a for a in labels]), table)

    def write(self, items: Items) -> dict[Name, Any]:
        """Convert class labels to one column of cells, by name."""
        return {self.columns_[0]: np.asarray(items)}


class TextCells(Cells):
    """Converter of cells that hold a text or a list of tokens each."""

    space: Space = Sequences()

    def read(self, table: Table) -> np.ndarray:
        """Return the texts, stripped of surrounding blanks, and lists of tokens unchanged."""
        name, cells = self._single_column(table)
        for i, cell in enumerate(cells):
            if not isinstance(cell, str | int | float | np.number | list | tuple):
                raise table.refused(i, name, f"{cell!r:.40} is not a text.")
        texts = [cell if isinstance(cell, list | tuple) else str(cell).strip() for cell in cells]
        return self._check_items(object_array(texts), table)


class SmilesCells(TextCells):
    """Converter of cells that hold a molecule each, as a SMILES string."""

    space = Molecules()

    def read(self, table: Table) -> np.ndarray:
        """Return the SMILES strings; raise an error if rdkit cannot parse one."""
        items = super().read(table)
        check_smiles(table, self.columns_[0], items)
        return items


def check_smiles(table: Table, name: Name, items: Iterable[str]) -> None:
    """Raise an error for the first SMILES string of a column that rdkit cannot parse."""
    require("rdkit", "molecules")
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        for i, item in enumerate(items):
            if item and Chem.MolFromSmiles(item) is None:
                raise table.refused(i, name, f"{item!r:.40} is not a SMILES string.")


class GraphCells(Cells):
    """Converter of cells that hold a graph each."""

    space = Graphs()

    def read(self, table: Table) -> np.ndarray:
        """Return the graphs in the single output column."""
        _, cells = self._single_column(table)
        return self._check_items(object_array(list(cells)), table)
