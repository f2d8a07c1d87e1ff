"""Output columns as items of a space and back: the protocol, and columns of single items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..._base.arrays import Items, object_array
from ..._base.errors import require
from ...spaces import Classes, Graphs, Molecules, Sequences, Space
from ..tables.bad_table import BadTable
from ..tables.columns import Column
from ..tables.notation import TRUTH
from ..tables.table import Name, Table


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
                f"{table.source}: {self.space.name} must be in one column, got {names:.200}"
            )
        (name,) = table.names(self.columns_)
        return name, table.columns[name]

    def _check_items(self, items: Items, table: Table) -> Items:
        """Return the items after a check by the space; raise `BadTable` if it refuses them."""
        try:
            return self.space.check(items, f"{table.source}: {self.columns_[0]!r:.60}")
        except (TypeError, ValueError) as problem:
            raise BadTable(str(problem).removesuffix(".")) from None


TYPES: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "str"}
TYPES_OF_ARRAYS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}
"""The names of the types of class labels, and of those in arrays by their kind."""


class ClassCells(Cells):
    """Converter of cells that hold one class label each.

    Attributes
    ----------
    type_
        The type of the labels, to which later cells are converted: "bool", "int", "float" or
        "str"; "any" where the training labels have another type.
    """

    space = Classes()

    def fit(self, table: Table, names: Sequence[Name]) -> Items:
        """Determine the type of the labels in the training rows, and return the labels."""
        self.columns_ = list(names)
        name, cells = self._single_column(table)
        if Column.of(table, name).is_truth:
            self.type_ = "bool"
        elif isinstance(cells, np.ndarray):
            self.type_ = TYPES_OF_ARRAYS.get(cells.dtype.kind, "any")
        else:
            types = {type(c.item() if isinstance(c, np.generic) else c) for c in cells}
            self.type_ = TYPES.get(types.pop(), "any") if len(types) == 1 else "str"
        return self.read(table)

    def read(self, table: Table) -> np.ndarray:
        """Return the class labels, in the type of the training labels."""
        name, cells = self._single_column(table)
        kind = TYPES_OF_ARRAYS.get(cells.dtype.kind) if isinstance(cells, np.ndarray) else None
        if kind == self.type_:
            return self._check_items(cells, table)
        labels = [self._label(table, i, name, cell) for i, cell in enumerate(cells)]
        return self._check_items(object_array(labels), table)

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


def text_of(cell: Any) -> str:
    """Return a cell as stripped text, with 10.0 as "10".

    One empty cell converts a column of integers to floats.
    """
    if isinstance(cell, float | np.floating) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


class TextCells(Cells):
    """Converter of cells that hold a text or a list of tokens each."""

    space: Space = Sequences()

    def read(self, table: Table) -> np.ndarray:
        """Return the texts, stripped of surrounding blanks, and lists of tokens unchanged."""
        name, cells = self._single_column(table)
        for i, cell in enumerate(cells):
            if not isinstance(cell, str | int | float | np.number | list | tuple):
                raise table.refused(i, name, f"{cell!r:.40} is not a text", "write a text")
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
                raise table.refused(
                    i, name, f"{item!r:.40} is not a SMILES string", "fix the cell",
                    "leave the row out",
                )  # fmt: skip


class GraphCells(Cells):
    """Converter of cells that hold a graph each."""

    space = Graphs()

    def read(self, table: Table) -> np.ndarray:
        """Return the graphs in the single output column."""
        _, cells = self._single_column(table)
        return self._check_items(object_array(list(cells)), table)
