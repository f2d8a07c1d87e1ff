from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator

from ..._arrays import Items
from ...decoders import Decoder
from ...kernels import Kernel
from ..table import BadTable, Table


class Space(BaseEstimator):
    """What some columns of a table hold: how to read it, compare it, write it and measure it.

    `learn` reads the cells of training rows and settles what later rows are read by.

    Examples
    --------
    >>> from mercer.tables import SPACES, Space
    >>> all(issubclass(space, Space) for space in SPACES.values())
    True
    >>> sorted(SPACES)[:3]
    ['curve', 'image', 'labels']
    """

    name = ""
    columns_: list[str]

    def learn(self, table: Table, names: Sequence[str]) -> Items:
        """The items of training rows."""
        self.columns_ = list(names)
        return self.parse(table)

    def parse(self, table: Table) -> Items:
        """The items of any rows, as training rows were read."""
        raise NotImplementedError

    def kernels(self, items: Items) -> list[Kernel]:
        """Kernels to choose from, where this is the input."""
        raise NotImplementedError

    def output(self, items: Items) -> tuple[Kernel, Decoder | None]:
        """The output kernel and the decoder, where this is the output."""
        raise NotImplementedError

    def cells(self, item: Any) -> dict[str, Any]:
        """A predicted item as cells by column name."""
        return {f"predicted {self.columns_[0]}": item}

    def measures(self, truth: Items, predicted: Items) -> dict[str, float]:
        """How good predictions are, by the name of the measure."""
        raise NotImplementedError

    def _single(self, table: Table) -> tuple[str, Sequence[Any]]:
        """The one column that there is, by name."""
        if len(self.columns_) != 1:
            raise BadTable(
                f"{table.source}: {self.name} is one column, got {', '.join(self.columns_)}."
            )
        (name,) = table.names(self.columns_)
        return name, table.columns[name]
