"""Equality of two items of any kind by their content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import is_networkx
from .graphs import Graphs


def equal(a: Any, b: Any) -> bool:
    """Return whether two arrays, graphs, sequences or other objects have equal content.

    A list equals a tuple of equal entries, as with `numpy.array_equal`.
    """
    if is_networkx(a) or is_networkx(b):
        return is_networkx(a) and is_networkx(b) and Graphs().key(a) == Graphs().key(b)
    if issparse(a) or issparse(b):
        return issparse(a) and issparse(b) and a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    numbers = isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype != object
    if numbers:
        return np.array_equal(a, b)
    if is_sequence(a) and is_sequence(b):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    return bool(np.all(a == b))


def is_sequence(item: Any) -> bool:
    """Return whether an item is a list, a tuple, or an array with at least one axis."""
    return isinstance(item, list | tuple) or (isinstance(item, np.ndarray) and item.ndim > 0)
