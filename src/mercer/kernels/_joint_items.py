"""Items that two different kernels have checked, for sums and products of these kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from .._base.arrays import Items, count, object_array, one


class JointItem:
    """An item in two forms: as checked by the left and by the right kernel of a sum or product."""

    __slots__ = ("left", "right")

    def __init__(self, left: Any, right: Any):
        self.left, self.right = left, right


def are_joint(items: Items) -> bool:
    """Return whether all items of a batch are `JointItem` objects."""
    is_object_array = isinstance(items, np.ndarray) and items.dtype == object
    return is_object_array and all(isinstance(item, JointItem) for item in items)


def join_items(left: Items, right: Items) -> np.ndarray:
    """Pair items checked by the left kernel with those checked by the right kernel."""
    left, right = (csr_array(batch) if issparse(batch) else batch for batch in (left, right))
    return object_array(
        [JointItem(_take_one(left, i), _take_one(right, i)) for i in range(count(left))]
    )


def _take_one(batch: Items, i: int) -> Any:
    """Return item i of a batch; for a sparse matrix, row i as a matrix."""
    return batch[[i]] if issparse(batch) else one(batch, i)


def split_items(items: np.ndarray) -> tuple[Items, Items]:
    """Split `JointItem` objects into the items for the left and those for the right kernel."""
    return _stack_items([item.left for item in items]), _stack_items([item.right for item in items])


def items_of_first_kernel(items: Items) -> Items:
    """Return the items as checked by the first kernel of a (nested) sum or product."""
    return items_of_first_kernel(split_items(items)[0]) if are_joint(items) else items


def _stack_items(items: list) -> Items:
    """Stack a list of items into a sparse matrix, a numeric array or an object array."""
    if issparse(items[0]):
        return vstack(items, format="csr")
    numbers = isinstance(items[0], np.ndarray | np.generic) and items[0].dtype != object
    if numbers and len({np.shape(item) for item in items}) == 1:
        return np.stack(items)
    return object_array(items)


def same_items(left: Items, right: Items) -> bool:
    """Return whether two batches hold the same objects or are equal numeric arrays."""
    if left is right:
        return True
    if issparse(left) and issparse(right):
        return left.shape == right.shape and (left != right).nnz == 0
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return False
    if left.dtype == object or right.dtype == object:
        return all(a is b for a, b in zip(left, right, strict=True))
    return np.array_equal(left, right)
