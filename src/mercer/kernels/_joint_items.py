"""Checked items in the forms of two kernels, for sums and products of different kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from .._base.arrays import Items, count, object_array, one


class JointItem:
    """An item in the forms that two kernels work on."""

    __slots__ = ("left", "right")

    def __init__(self, left: Any, right: Any):
        self.left, self.right = left, right


def are_joint(A: Items) -> bool:
    """Return whether a batch was made by `joined`."""
    things = isinstance(A, np.ndarray) and A.dtype == object
    return things and all(isinstance(item, JointItem) for item in A)


def joined(left: Items, right: Items) -> np.ndarray:
    """Return one batch that holds each item in both forms."""
    left, right = (csr_array(batch) if issparse(batch) else batch for batch in (left, right))
    return object_array([JointItem(_item(left, i), _item(right, i)) for i in range(count(left))])


def _item(batch: Items, i: int) -> Any:
    """Return one item of a batch; of a sparse matrix, one row."""
    return batch[[i]] if issparse(batch) else one(batch, i)


def separated(A: np.ndarray) -> tuple[Items, Items]:
    """Return the two forms of the items of a joint batch."""
    return _batch([item.left for item in A]), _batch([item.right for item in A])


def first_form(A: Items) -> Items:
    """Return checked items in the form of the first kernel of a sum or product."""
    return first_form(separated(A)[0]) if are_joint(A) else A


def _batch(items: list) -> Items:
    """Return items as a batch: a sparse matrix, an array, or an object array."""
    if issparse(items[0]):
        return vstack(items, format="csr")
    numbers = isinstance(items[0], np.ndarray | np.generic) and items[0].dtype != object
    if numbers and len({np.shape(item) for item in items}) == 1:
        return np.stack(items)
    return object_array(items)


def same_items(left: Items, right: Items) -> bool:
    """Return whether two checks returned the same objects, or equal arrays."""
    if left is right:
        return True
    if issparse(left) and issparse(right):
        return left.shape == right.shape and (left != right).nnz == 0
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return False
    if left.dtype == object or right.dtype == object:
        return all(a is b for a, b in zip(left, right, strict=True))
    return np.array_equal(left, right)
