"""Tables as the inputs and outputs that the model of an `AutoDependency` sees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .._arrays import Items
from ..cells import Table
from .frames import as_table, named
from .inputs import Inputs
from .outputs import Outputs


@dataclass(frozen=True)
class TableReader:
    """Reads rows as they were read in training."""

    inputs: Inputs
    outputs: Outputs

    def transform(self, X: Any) -> Items:
        """The inputs of some rows."""
        return self.inputs.transform(as_table(X))

    def read(self, y: Any) -> Items:
        """The outputs of some rows; columns without the names of training go by their order."""
        table = as_table(y, "y")
        if not set(self.outputs.columns_) <= set(table.columns):
            cells = dict(zip(self.outputs.columns_, table.columns.values(), strict=True))
            table = replace(table, columns=cells)
        return self.outputs.read(table)


def outputs_table(y: Any) -> Table:
    """The outputs as a table: a Series under its name, columns of an array as y, y 0 or y 1."""
    table = as_table(y, "y")
    if named(y):
        return table
    name = getattr(y, "name", None)
    alone = len(table.columns) == 1
    called = "y" if name is None else name
    cells = table.columns.values()
    columns = {called if alone else f"{called} {j}": column for j, column in enumerate(cells)}
    return replace(table, columns=columns)
