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
        """The outputs of some rows, whatever their columns are called."""
        table = as_table(y, "y")
        cells = dict(zip(self.outputs.columns_, table.columns.values(), strict=True))
        return self.outputs.read(replace(table, columns=cells))


def outputs_table(y: Any) -> Table:
    """The outputs as a table; a Series under its name."""
    table = as_table(y, "y")
    named_series = not named(y) and getattr(y, "name", None) is not None
    return replace(table, columns={y.name: table.columns[0]}) if named_series else table
