"""What a space is: all that the package knows about one kind of item."""

from __future__ import annotations

from collections.abc import Hashable
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from joblib import hash as digest
from scipy import sparse
from sklearn.base import BaseEstimator

from .._arrays import Array, Items, as_items, host, is_foreign, object_array, take, unique_rows
from .._parameters import same


class Space(BaseEstimator):
    """One kind of item: how it is checked, sliced, compared, saved, decoded and scored.

    A space of one's own derives from this class and overrides what differs: `check` nearly
    always, and the names of the default kernel, decoder and metric. A kernel says by its `space`
    on which items it is.

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
    """The items in a message."""
    KERNEL = ""
    DECODER = "decoders.Direct"
    METRIC = ""
    """Defaults, named here and imported on first use: kernels and decoders import spaces.

    The decoder is for kernels whose features can be undone.
    """
    DECODERS: ClassVar[dict[str, str]] = {}
    """Decoders that are exact for kernels with finite features, by the names of those."""
    greater_is_better = True
    """Whether a greater value of the metric is a better one."""
    on_vectors = False
    """Whether items are real arrays of one shape."""
    pairwise = False
    """Whether a batch is a block of a Gram matrix (scikit-learn's pairwise)."""

    # -- batches ------------------------------------------------------------------------------

    def check(self, A: Items, name: str = "y") -> Items:
        """Refuse what is no batch of such items; the items as given, in a container of theirs."""
        return as_items(A, name)

    def take(self, items: Items, index: Array) -> Items:
        """The items at some positions."""
        return take(items, index)

    def key(self, item: Any) -> Hashable:
        """A hashable stand-in for an item, the same for equal items."""
        if isinstance(item, np.ndarray):
            item = item + 0.0 if item.dtype.kind == "f" else item  # -0.0 is 0.0
            return item.shape, item.tobytes()
        if isinstance(item, str | bytes | int | float | np.generic):
            return item
        return digest(item)  # structural: equal lists are one item

    def keys(self, items: Items) -> list[Hashable]:
        """The key of every item of a batch."""
        if sparse.issparse(items):
            items = items.toarray()
        return [self.key(item) for item in (host(items) if is_foreign(items) else items)]

    def unique(self, items: Items) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the distinct items, in order of first appearance, and each item's number."""
        found = unique_rows(items) if is_foreign(items) else None
        if found is not None:
            return found
        first: dict[Any, int] = {}
        keys = self.keys(items)
        number = np.array([first.setdefault(key, len(first)) for key in keys], dtype=np.intp)
        return np.unique(number, return_index=True)[1], number

    def every(self, sample: Items) -> Items | None:
        """All items of the kind of a sample, where they are few enough to write down; else None."""
        return None

    # -- files --------------------------------------------------------------------------------

    def plain(self, items: Items) -> Any:
        """A batch as an array of numbers or text, or a list of plain values."""
        things = isinstance(items, list | tuple) or str(items.dtype) == "object"
        return [self.plain_item(item) for item in items] if things else host(items)

    def from_plain(self, value: Any) -> Items:
        """The batch that `plain` made the value of, checked as any other batch."""
        if isinstance(value, list):
            value = object_array([self.item_from_plain(item) for item in value])
        return self.check(value, "the saved items")

    def plain_item(self, item: Any) -> Any:
        """An item as text, numbers, arrays, and lists or dictionaries of those."""
        return item

    def item_from_plain(self, value: Any) -> Any:
        """Inverse of `plain_item`."""
        return value

    # -- defaults -----------------------------------------------------------------------------

    def kernel(self) -> Any:
        """The kernel that suits such items where the user names none."""
        if not self.KERNEL:
            raise ValueError(f"{self.name} have no kernel of their own: name one.")
        return resolve(self.KERNEL)()

    def decoder(self, kernel: Any) -> Any:
        """The decoder that suits an output kernel on this space where the user names none."""
        features, core = kernel.features, kernel.multiple.kernel
        for kind in type(core).__mro__ if core.features is not None else ():
            if kind.__name__ in self.DECODERS:
                return resolve(self.DECODERS[kind.__name__])()
        undone = features is not None and features.inverse is not None
        return resolve(self.DECODER if undone else "decoders.Candidates")()

    def metric(self, y_true: Items, y_pred: Items, average: bool = True) -> Any:
        """How good predictions are; equal items, unless the space has a metric of its own."""
        if self.METRIC:
            return resolve(self.METRIC)(y_true, y_pred, average=average)
        pairs = zip(self.keys(y_true), self.keys(y_pred), strict=True)
        hits = np.array([a == b for a, b in pairs], dtype=float)
        return float(hits.mean()) if average else hits

    # -- joining ------------------------------------------------------------------------------

    def join(self, other: Space) -> Space:
        """The space of items that are in both: what a sum or product of two kernels is on."""
        for one, another in ((self, other), (other, self)):
            if type(another) is Opaque or same(one, another):
                return one
            if isinstance(one, type(another)) and type(one) is not type(another):
                return one  # curves are vectors, molecules are sequences
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
    """Items of any kind, of which nothing is known but equality: the space of one's own kernels.

    Examples
    --------
    >>> from mercer.spaces import Opaque
    >>> space = Opaque()
    >>> space.key({"a": 1}) == space.key({"a": 1}), space.key({"a": 1}) == space.key({"a": 2})
    (True, False)
    """

    def key(self, item: Any) -> Hashable:
        """Graphs by their content; of all else what pickles alike is equal."""
        graph = hasattr(item, "nodes") and hasattr(item, "adjacency")
        return resolve("spaces.Graphs")().key(item) if graph else super().key(item)


def resolve(name: str) -> Any:
    """A public name of the package, such as "kernels.Linear", imported on first use."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(f"mercer.{module}"), attribute)
