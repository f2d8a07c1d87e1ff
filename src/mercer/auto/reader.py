"""Tables as the inputs and outputs that the model of an `AutoDependency` sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arrays import Items
from .frames import columns_of
from .inputs import Inputs
from .outputs import Outputs


@dataclass(frozen=True)
class TableReader:
    """Reads rows as they were read in training."""

    inputs: Inputs
    outputs: Outputs

    def transform(self, X: Any) -> Items:
        """The inputs of some rows."""
        return self.inputs.transform(columns_of(X, "X"))

    def read(self, y: Any) -> Items:
        """The outputs of some rows, whatever their columns are called."""
        cells = columns_of(y, "y").values()
        return self.outputs.read(dict(zip(self.outputs.columns_, cells, strict=True)))
