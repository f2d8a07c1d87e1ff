"""Graphs as outputs."""

from __future__ import annotations

import numpy as np

from ..._base.arrays import object_array
from ...decoders import Candidates
from ...spaces import Graphs
from ..tables.table import Table
from .base import Kind


class GraphKind(Kind):
    """Graphs, one in each cell."""

    kind_ = "graph"
    is_single = True
    space = Graphs()

    def read_cells(self, table: Table) -> np.ndarray:
        """Return the graphs in the single output column."""
        _, cells = self.single_column(table)
        return self.check_items(object_array(list(cells)), table)

    def decoder(self) -> Candidates:
        """Return the decoder that chooses among the training graphs."""
        return Candidates()
