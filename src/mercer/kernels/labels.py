"""Sets of labels: indicator rows, dense or sparse, or lists of labels of any kind."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from .._arrays import Array, Items, count, dense, host, is_foreign, object_array
from .base import Kernel, Wrapper, as_kernel
from .linear import Linear


class Labels(Wrapper):
    """A kernel on sets of labels: k(indicator of a, indicator of b).

    Items are rows of an indicator matrix (a numpy array or a scipy sparse matrix of zeros and
    ones), or collections of labels of any hashable kind: ``[["sea", "sun"], [], ["sun"]]``. An
    empty set is a set like any other. A nested list always means labels, never indicators.

    Parameters
    ----------
    kernel
        The kernel on indicator vectors; None is `Linear`, under which k(a, b) = |a ∩ b|.
    classes
        All the labels there are; None for those of the data that the kernel is fitted on.

    Attributes
    ----------
    classes_
        The labels, one an indicator column: sorted where they can be; 0, 1, … for indicators.

    Examples
    --------
    >>> from mercer.kernels import Labels, Tanimoto
    >>> sets = [["sea", "sun"], ["sun"], []]
    >>> Labels().fit(sets)(sets)
    array([[2., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    >>> Labels(Tanimoto()).fit(sets)(sets[:1], sets)
    array([[1. , 0.5, 0. ]])
    """

    on_vectors = False
    accepts_sparse = True
    differentiable = False
    finite = property(lambda self: self.inner.finite)
    invertible = property(lambda self: self.inner.invertible)

    def __init__(self, kernel: Kernel | None = None, classes: Sequence[Hashable] | None = None):
        self.kernel = kernel  # type: ignore[assignment]
        self.classes = classes

    @property
    def inner(self) -> Kernel:
        """The kernel on indicator vectors."""
        return getattr(self, "kernel_", None) or self._given()

    def _given(self) -> Kernel:
        return Linear() if self.kernel is None else as_kernel(self.kernel)

    def fit(self, A: Items) -> Labels:
        """Learn the labels, and fit the kernel on the indicators."""
        A = self.as_outputs(A, "A")
        classes = list(_labels(A) if self.classes is None else self.classes)
        self.columns_ = {label: column for column, label in enumerate(classes)}
        if len(self.columns_) < len(classes):
            raise ValueError("classes names a label twice: name each label once.")
        if not classes:
            raise ValueError("no item has a label: there is nothing to learn. Or give classes=.")
        self.classes_ = object_array(classes)
        self.kernel_ = clone(self._given()).fit(self._indicators(A, "A"))
        return self

    def as_outputs(self, Y: Items, name: str = "y") -> Items:
        """Indicator rows as they are, or an array that holds one collection of labels an item."""
        Y = Y.to_numpy() if hasattr(Y, "iloc") else Y  # a pandas frame of indicators, or a series
        if issparse(Y) or is_foreign(Y) or (isinstance(Y, np.ndarray) and Y.dtype != object):
            return _checked_indicators(Y, name)
        if isinstance(Y, str | Mapping) or not isinstance(Y, Iterable):
            raise TypeError(f"{name} must be a batch of label sets, got {Y!r:.60}.")
        items = Y if isinstance(Y, np.ndarray) and Y.ndim == 1 else object_array(list(Y))
        if not len(items):
            raise ValueError(f"{name} is empty: found 0 sample(s), at least 1 is needed.")
        for i, item in enumerate(items):
            _check_set(item, i, name)
        return items

    def check(self, A: Items, name: str = "X") -> Items:
        """Indicator rows, once the labels are known; before that, the sets as given."""
        A = self.as_outputs(A, name)
        return self._indicators(A, name) if hasattr(self, "columns_") else A

    def _indicators(self, A: Items, name: str) -> Array:
        if isinstance(A, np.ndarray) and A.dtype == object:
            A = self._encoded(A, name)
        elif A.shape[1] != len(self.columns_):
            raise ValueError(
                f"{name} has indicators of {A.shape[1]} labels, where {len(self.columns_)} are "
                "known from fit. Give every label its column."
            )
        return self.inner.check(A if self.inner.accepts_sparse else dense(A), name)

    def _encoded(self, sets: np.ndarray, name: str) -> csr_array:
        rows = [np.fromiter({self._column(v, i, name) for v in s}, int) for i, s in enumerate(sets)]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.concatenate([np.sort(row) for row in rows])
        return csr_array((np.ones(len(columns)), columns, ends), (len(sets), len(self.columns_)))

    def _column(self, label: Hashable, index: int, name: str) -> int:
        column = self.columns_.get(label)
        if column is None:
            known = ", ".join(repr(v) for v in list(self.columns_)[:5])
            raise ValueError(
                f"{name}[{index}] has the label {label!r}, which was not seen at fit (known: "
                f"{known}{', …' if len(self.columns_) > 5 else ''}). Leave it out, or name all "
                "labels by Labels(classes=[...])."
            )
        return column

    def decoded(self, indicators: np.ndarray, like: Items) -> Items:
        """Indicator rows as items of the same form as `like`."""
        if issparse(like):
            return csr_array(indicators.astype(like.dtype))
        if not (isinstance(like, np.ndarray) and like.dtype == object):
            return indicators.astype(like.dtype)
        form = type(like[0]) if isinstance(like[0], list | tuple | set | frozenset) else list
        return object_array([form(self.classes_[np.flatnonzero(row)]) for row in indicators])

    def _gram(self, A: Array, B: Array) -> Array:
        return self.inner._gram(A, B)

    def _diag(self, A: Array) -> Array:
        return self.inner._diag(A)

    def features(self, A: Items) -> Array:
        """The features of the indicators."""
        return self.inner.features(self.check(A, "A"))

    def preimage(self, F: Array) -> Array:
        """Soft indicators, one column a label: `Direct` returns them, `Threshold` cuts them."""
        return self.inner.preimage(F)


def _check_set(item: Any, index: int, name: str) -> None:
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
    if Y.ndim != 2:
        raise ValueError(
            f"{name} must hold label sets: an indicator matrix with a column for each label, or a "
            f"list of lists of labels; got an array of shape {tuple(Y.shape)}."
        )
    if not count(Y):
        raise ValueError(f"{name} is empty: found 0 sample(s), at least 1 is needed.")
    Y = csr_array(Y) if issparse(Y) else Y
    values = Y.data if issparse(Y) else host(Y)
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row = _first_row(Y, wrong)
        raise ValueError(
            f"{name}[{row}] has {values[wrong][0]!s}, where an indicator is 0 or 1. Pass lists of "
            "labels as lists, not as an array."
        )
    return Y


def _first_row(Y: Array, wrong: np.ndarray) -> int:
    if issparse(Y):
        return int(np.searchsorted(Y.indptr, np.flatnonzero(wrong)[0], side="right")) - 1
    return int(np.argwhere(wrong)[0, 0])


def _labels(A: Items) -> Iterable:
    if not (isinstance(A, np.ndarray) and A.dtype == object):
        return range(A.shape[1])
    labels = dict.fromkeys(label for item in A for label in item)
    try:
        return sorted(labels)
    except TypeError:
        return labels  # labels of several kinds keep the order of their appearance
