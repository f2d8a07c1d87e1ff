from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .._base.arrays import (
    Array,
    Items,
    canonical_csr,
    count,
    has_columns,
    host,
    is_foreign,
    is_table,
    like,
    object_array,
    refuse_empty,
    refuse_masked,
)
from .base import Space
from .moves import LabelSetMoves

ENUMERATED_LABELS = 10
"""The largest number of labels for which all sets are enumerated, 1,024 of them."""


class LabelSets(Space):
    """Sets of labels, as rows of a 0/1 indicator matrix or as collections of hashable labels.

    Examples
    --------
    >>> from mercer.spaces import LabelSets
    >>> LabelSets().keys([["sun", "sea"], ["sea", "sun"]])[0] == frozenset({"sea", "sun"})
    True
    """

    name = "label sets"

    def check(self, A: Items, name: str = "y") -> Items:
        """Check label sets; return an indicator matrix, or collections in an object array."""
        refuse_masked(A, name)
        if is_table(A) or has_columns(A):  # a frame of indicators, or a pandas series
            A = np.asarray(A)
        if issparse(A) or is_foreign(A) or (isinstance(A, np.ndarray) and A.dtype != object):
            return _checked_indicators(A, name)
        if isinstance(A, str | Mapping) or not isinstance(A, Iterable):
            raise TypeError(f"{name} must be a batch of label sets, got {A!r:.60}.")
        items = A if isinstance(A, np.ndarray) and A.ndim == 1 else object_array(list(A))
        refuse_empty(len(items), name)
        for i, item in enumerate(items):
            _check_set(item, i, name)
        return items

    def moves(self, y: Items) -> LabelSetMoves:
        """Return the edits of label sets: add, remove or replace a label."""
        return LabelSetMoves(y)

    def key(self, item: Any) -> Hashable:
        """Return the labels as a frozenset; for a row of indicators, a hashable key of the row."""
        indicators = isinstance(item, np.ndarray) and item.dtype.kind in "biuf"
        return super().key(item) if indicators else frozenset(item)

    def keys(self, items: Items) -> list[Hashable]:
        """Return the key of every label set of a batch."""
        if isinstance(items, np.ndarray) and items.dtype == object:
            return [frozenset(item) for item in items]
        return super().keys(items)

    def parts(self, items: Items) -> list[set[Hashable]]:
        """Return the labels of each set; indicators show all labels by their columns."""
        if hasattr(items, "shape") and len(items.shape) == 2:
            return super().parts(items)
        return [set(item) for item in items]

    def every(self, sample: Items) -> Items | None:
        """Return all subsets of the labels of a sample if there are few labels, else None."""
        rows = hasattr(sample, "shape") and len(sample.shape) == 2
        labels = range(sample.shape[1]) if rows else sorted({a for s in sample for a in s}, key=str)
        if len(labels) > ENUMERATED_LABELS:
            return None
        chosen = np.array(list(product([0, 1], repeat=len(labels))))
        if not rows:
            return object_array(
                [[a for a, c in zip(labels, row, strict=True) if c] for row in chosen]
            )
        if issparse(sample):
            return csr_array(chosen.astype(sample.dtype))
        return (
            chosen.astype(sample.dtype) if isinstance(sample, np.ndarray) else like(chosen, sample)
        )


def _check_set(item: Any, index: int, name: str) -> None:
    """Raise an error, naming item `index`, unless an item is a collection of labels."""
    if isinstance(item, str | bytes | Mapping) or not isinstance(item, Iterable):
        raise ValueError(
            f"{name}[{index}] must be a collection of labels, got {item!r:.60}: write a single "
            "label as [label]."
        )
    if isinstance(item, Iterator):
        raise ValueError(
            f"{name}[{index}] is a {type(item).__name__}, which can be read only once: write it "
            "as a list."
        )
    for label in item:
        if not isinstance(label, Hashable) or (isinstance(label, float) and label != label):
            raise ValueError(f"{name}[{index}] has {label!r:.60}, which cannot be a label.")


def _checked_indicators(Y: Array, name: str) -> Array:
    """Return an indicator matrix; raise an error unless all entries are 0 or 1."""
    if Y.ndim != 2:
        raise ValueError(
            f"{name} must hold label sets: an indicator matrix with a column for each label, or a "
            f"list of lists of labels; got an array of shape {tuple(Y.shape)}."
        )
    refuse_empty(count(Y), name)
    Y = canonical_csr(Y) if issparse(Y) else Y
    values = Y.data if issparse(Y) else host(Y)
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row = _first_wrong_row(Y, wrong)
        raise ValueError(
            f"{name}[{row}] has {values[wrong][0]!s}, where an indicator is 0 or 1. Pass lists of "
            "labels as lists, not as an array."
        )
    return Y


def _first_wrong_row(Y: Array, wrong: np.ndarray) -> int:
    """Return the index of the first row of Y with an entry that is marked as wrong."""
    if issparse(Y):
        return int(np.searchsorted(Y.indptr, np.flatnonzero(wrong)[0], side="right")) - 1
    return int(np.argwhere(wrong)[0, 0])


# -- scores of a predicted set from its overlap with the true set ------------------------------

SetScore = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]
"""A function of the numbers of labels in both sets, in the prediction, in the truth, and of all."""


def f1(both: np.ndarray, predicted: np.ndarray, true: np.ndarray, labels: int) -> np.ndarray:
    """Return the F1 score 2|y ∩ ŷ| / (|y| + |ŷ|), given the sizes of sets; 1 for two empty sets.

    The arguments are the sizes of the intersection, of the predicted set and of the true set.
    """
    total = predicted + true
    return np.where(total > 0, 2.0 * both / np.maximum(total, 1), 1.0)


def hamming(both: np.ndarray, predicted: np.ndarray, true: np.ndarray, labels: int) -> np.ndarray:
    """Return the fraction of labels on whose membership two sets agree.

    The arguments are those of `f1`, and the number of all labels.
    """
    return 1.0 - (predicted + true - 2 * both) / labels


def subset(both: np.ndarray, predicted: np.ndarray, true: np.ndarray, labels: int) -> np.ndarray:
    """Return 1 where the predicted set equals the true set, else 0.

    The arguments are those of `f1`.
    """
    return ((both == predicted) & (both == true)).astype(float)


OVERLAPS: dict[str, SetScore] = {"f1": f1, "hamming": hamming, "subset": subset}
"""The scores of label sets by name, as functions of the sizes of sets and overlaps."""
