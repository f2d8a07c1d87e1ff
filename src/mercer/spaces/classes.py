from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from .._arrays import Items, as_items, host, object_array
from ..cells import Table
from .base import Space


class Classes(Space):
    """One label out of several for each item: strings, numbers or anything hashable.

    Examples
    --------
    >>> from mercer.spaces import Classes
    >>> Classes().check(["sea", "sun"])
    array(['sea', 'sun'], dtype='<U3')
    """

    name = "classes"
    KERNEL = "kernels.Delta"
    METRIC = "metrics.accuracy"

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """One hashable label an item, in a one-dimensional array."""
        items = host(as_items(A, name))
        items = items[:, 0] if items.ndim == 2 and items.shape[1] == 1 else items
        if items.ndim != 1:
            raise ValueError(
                f"{name} must hold one label an item, got an array of shape {items.shape}. For "
                "several labels an item use Labels()."
            )
        for i, item in enumerate(items):
            missing = item is None or (isinstance(item, float) and item != item)
            if missing or not isinstance(item, Hashable):
                raise ValueError(f"{name}[{i}] is {item!r:.60}, which cannot be a label.")
        kinds = {type(item) for item in items}
        if items.dtype == object and kinds in ({str}, {int}, {bool}):
            return np.array(items.tolist())
        return items

    def key(self, item: Any) -> Hashable:
        """The label itself; numpy's scalars as Python's."""
        return item.item() if isinstance(item, np.generic) else item

    def read(self, table: Table) -> np.ndarray:
        """The cells; text without blanks around it."""
        _, cells = self._only(table)
        if isinstance(cells, np.ndarray):
            return self._refused_by_table(cells, table)
        labels = [cell.strip() if isinstance(cell, str) else cell for cell in cells]
        mixed = len({type(label) for label in labels}) > 1
        return self._refused_by_table(object_array([str(a) if mixed else a for a in labels]), table)

    def write(self, items: Items) -> dict[Any, Any]:
        """One column of labels."""
        return {self.columns_[0]: items}
