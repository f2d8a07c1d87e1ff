"""The base class of spaces, the kinds of items."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from joblib import hash as digest
from scipy import sparse
from sklearn.base import BaseEstimator

from .._base.arrays import (
    Array,
    Items,
    as_items,
    count,
    host,
    is_foreign,
    is_networkx,
    take,
    unique_rows,
)
from .._base.parameters import same


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, pandas' NA or NaT."""
    nan = isinstance(value, float | np.floating) and value != value
    return nan or value is None or value is pd.NA or value is pd.NaT


def python_scalar(value: Any) -> Any:
    """Return a numpy scalar as a Python scalar; other values are returned unchanged."""
    return value.item() if isinstance(value, np.generic) else value


class Space(BaseEstimator):
    """A kind of item, with the check, the indexing and the equality of items of this kind.

    A custom space derives from this class and overrides what differs: `check` nearly always, and
    `kernel`, `decoder` and `metric` where it has its own defaults. The attribute `space` of a
    kernel says which items the kernel compares.

    Examples
    --------
    >>> from mercer.kernels import Kendall
    >>> space = Kendall().space
    >>> space
    Rankings()
    >>> space.check([[0, 1, 2], [2, 1, 0]])
    array([[0, 1, 2],
           [2, 1, 0]])
    """

    name = "items"
    """The plural name of the items, for messages."""
    greater_is_better = True
    """Whether a larger value of the metric is better."""
    on_vectors = False
    """Whether items are real arrays of one shape."""
    pairwise = False
    """Whether a batch is a block of a Gram matrix (scikit-learn's pairwise)."""

    # -- batches ------------------------------------------------------------------------------

    def check(self, A: Items, name: str = "y") -> Items:
        """Check a batch of items and return it as an array or as a list of objects."""
        return as_items(A, name)

    def take(self, items: Items, index: Array) -> Items:
        """Return the items at the positions `index`."""
        return take(items, index)

    def key(self, item: Any) -> Hashable:
        """Return a hashable key of an item; equal items have equal keys."""
        if isinstance(item, np.ndarray):
            item = item + 0.0 if item.dtype.kind == "f" else item  # -0.0 is 0.0
            return item.shape, item.tobytes()
        if isinstance(item, str | bytes | int | float | np.generic):
            return item
        return digest(item)  # a hash of the content, so that equal lists have equal keys

    def keys(self, items: Items) -> list[Hashable]:
        """Return the key of every item of a batch."""
        if sparse.issparse(items):
            items = items.toarray()
        return [self.key(item) for item in (host(items) if is_foreign(items) else items)]

    def unique(self, items: Items) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the distinct items, and the index among them of each item.

        The distinct items are numbered 0, 1, … by first appearance.
        """
        distinct_and_index = unique_rows(items) if is_foreign(items) else None
        if distinct_and_index is not None:
            return distinct_and_index
        first: dict[Any, int] = {}
        keys = self.keys(items)
        number = np.array([first.setdefault(key, len(first)) for key in keys], dtype=np.intp)
        return np.unique(number, return_index=True)[1], number

    def every(self, sample: Items) -> Items | None:
        """Return all possible items of the kind of the sample if they are few, else None."""
        return None

    def parts(self, items: Items) -> list[set[Hashable]]:
        """Return for each item what a sample must have shown before `every` can have the item.

        It is a subset of the parts of items that the sample holds; empty sets if the form of the
        sample shows everything, as the number of ranked labels does.
        """
        return [set() for _ in range(count(items))]

    def form(self, Y: Items) -> Any:
        """Return the container format of outputs Y, for predictions; None for arrays and lists."""
        return None

    def moves(self, y: Items) -> Any:
        """Return the moves of the training outputs y (`mercer.spaces.Moves`); None without moves.

        The decoder `Search` makes outputs of a space that has moves.
        """
        return None

    # -- defaults of a custom space -----------------------------------------------------------

    def kernel(self) -> Any:
        """Return the default kernel on these items; None to use that of `mercer.defaults`."""
        return None

    def decoder(self, kernel: Any) -> Any:
        """Return the default decoder for a kernel; None to use that of `mercer.decoders`."""
        return None

    def metric(self, y_true: Items, y_pred: Items, average: bool = True) -> Any:
        """Return the score of predictions y_pred; None to use the metric of `mercer.defaults`."""
        return None

    # -- joining ------------------------------------------------------------------------------

    def join(self, other: Space) -> Space:
        """Return the space of the items that belong to both spaces, for sums and products."""
        for one, another in ((self, other), (other, self)):
            if type(another) is Opaque or same(one, another):
                return one
            if isinstance(one, type(another)) and type(one) is not type(another):
                return one  # a subspace: curves are vectors, molecules are sequences
        if self.pairwise != other.pairwise:
            raise ValueError(
                'a sum or product mixes "precomputed" with a kernel that computes: the same X '
                "cannot be both. Use Precomputed(gram) with indices, or add the Gram matrices "
                "yourself."
            )
        raise ValueError(
            f"a sum or product compares items of one kind: {self.name} ({self}) and {other.name} "
            f"({other}) are two. Use kernels on the same items, or On(column, kernel) on columns."
        )


class Opaque(Space):
    """Items of any kind that are only tested for equality, the default of custom kernels.

    Examples
    --------
    >>> from mercer.spaces import Opaque
    >>> space = Opaque()
    >>> space.key({"a": 1}) == space.key({"a": 1}), space.key({"a": 1}) == space.key({"a": 2})
    (True, False)
    """

    def key(self, item: Any) -> Hashable:
        """Return a hashable key of the content of an item; equal items have equal keys."""
        from .graphs import content_key

        return content_key(item) if is_networkx(item) else super().key(item)
