from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from .._base.arrays import Items, as_items, exact_array, host
from .base import Space, is_missing, python_scalar


class Classes(Space):
    """Class labels, one for each item: strings, numbers or any hashable objects.

    Examples
    --------
    >>> from mercer.spaces import Classes
    >>> Classes().check(["sea", "sun"])
    array(['sea', 'sun'], dtype='<U3')
    """

    name = "classes"

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """Check that each item is a hashable label; return a one-dimensional array."""
        items = host(as_items(A, name))
        items = items[:, 0] if items.ndim == 2 and items.shape[1] == 1 else items
        if items.ndim != 1:
            raise ValueError(
                f"{name} must hold one label per item, got an array of shape {items.shape}. "
                "Several labels per item need a kernel on label sets."
            )
        for i, item in enumerate(items):
            if is_missing(item):
                raise ValueError(f"{name}[{i}] has no label ({item!r}): leave that row out.")
            if not isinstance(item, Hashable):
                raise ValueError(f"{name}[{i}] must be a hashable label, got {item!r:.60}.")
        kinds = {type(item) for item in items}
        if items.dtype == object and kinds in ({str}, {int}, {bool}):
            return exact_array(items.tolist())
        return items

    def key(self, item: Any) -> Hashable:
        """Return the label itself, a Python scalar if it is a numpy scalar."""
        return python_scalar(item)
