"""Kernels on classes and on sets of labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from .._base.arrays import Array, Items, compressed_rows, dense, object_array
from ..spaces import Classes, LabelSets
from .base import Kernel, Linear, as_kernel
from .capabilities import Features
from .wrapper import Wrapper


class Labels(Wrapper):
    """A kernel on sets of labels: the inner kernel of their 0/1 indicator vectors.

    Items are rows of an indicator matrix (a numpy array or a scipy sparse matrix of zeros and
    ones), or collections of labels of any hashable kind: ``[["sea", "sun"], [], ["sun"]]``. Sets
    may be empty. A nested list always means labels, never indicators.

    Parameters
    ----------
    kernel : Kernel or None, default=None
        The kernel on indicator vectors; None is `Linear`, under which k(a, b) = |a ∩ b|.
    classes : sequence of labels or None, default=None
        All possible labels; None for those of the data that the kernel is fitted on.

    Attributes
    ----------
    classes_
        The label of each indicator column, sorted if possible; 0, 1, … for indicators.

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

    accepts_sparse = True

    def __init__(self, kernel: Kernel | None = None, classes: Sequence[Hashable] | None = None):
        self.kernel = kernel  # type: ignore[assignment]
        self.classes = classes

    def _unfitted_inner(self) -> Kernel:
        """Return the unfitted kernel on indicators; the default is `Linear`."""
        return Linear() if self.kernel is None else as_kernel(self.kernel)

    def fit(self, A: Items) -> Labels:
        """Determine the set of labels, and fit the inner kernel on indicator rows."""
        A = self.space.check(A, "A")
        classes = list(_distinct_labels(A) if self.classes is None else self.classes)
        self.columns_ = {label: column for column, label in enumerate(classes)}
        if len(self.columns_) < len(classes):
            raise ValueError("classes names a label twice: list each label once.")
        if not classes:
            raise ValueError(
                "no item has a label: pass items with labels, or all labels as classes."
            )
        self.classes_ = object_array(classes)
        self.kernel_ = clone(self._unfitted_inner()).fit(self._indicators(A, "A"))
        return self

    space = LabelSets()

    def as_outputs(self, Y: Items, name: str = "y") -> Items:
        """Return checked label sets: indicator rows unchanged, collections in an object array."""
        return self.space.check(Y, name)

    def check(self, A: Items, name: str = "X") -> Items:
        """Check label sets; return indicator rows after a fit, the sets unchanged before."""
        A = self.space.check(A, name)
        return self._indicators(A, name) if "columns_" in vars(self) else A

    def _indicators(self, A: Items, name: str) -> Array:
        """Return label sets as indicator rows that are checked by the inner kernel."""
        if isinstance(A, np.ndarray) and A.dtype == object:
            A = self._encode_sets(A, name)
        elif A.shape[1] != len(self.columns_):
            raise ValueError(
                f"{name} has indicators of {A.shape[1]} labels, where {len(self.columns_)} are "
                "known from fit. Pass one column for each label."
            )
        return self.inner.check(A if self.inner.accepts_sparse else dense(A), name)

    def _encode_sets(self, sets: np.ndarray, name: str) -> csr_array:
        """Return label sets as a sparse indicator matrix, one column per label known from fit."""
        rows = [sorted({self._column(v, i, name) for v in s}) for i, s in enumerate(sets)]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter(chain.from_iterable(rows), int, ends[-1])
        shape = len(sets), len(self.columns_)
        return compressed_rows(np.ones(len(columns)), columns, ends, shape)

    def _column(self, label: Hashable, index: int, name: str) -> int:
        """Return the column of a label; raise an error, naming item `index`, if it is unknown."""
        column = self.columns_.get(label)
        if column is None:
            known = ", ".join(repr(v) for v in list(self.columns_)[:5])
            raise ValueError(
                f"{name}[{index}] has the label {label!r}, which was not seen at fit (known: "
                f"{known}{', …' if len(self.columns_) > 5 else ''}). Leave it out, or name all "
                "labels with Labels(classes=[...])."
            )
        return column

    def every_output(self, y: Items) -> tuple[Items | None, bool]:
        """Return all sets of the labels if they are few, and whether the labels were given."""
        if self.classes is None or len(getattr(y, "shape", ())) == 2:
            return super().every_output(y)
        return self.space.every(object_array([list(self.classes)])), True

    def decoded(self, indicators: np.ndarray, like: Items) -> Items:
        """Return indicator rows as label sets of the type of those in `like`."""
        if issparse(like):
            return csr_array(indicators.astype(like.dtype))
        if not (isinstance(like, np.ndarray) and like.dtype == object):
            return indicators.astype(like.dtype)
        sets = [self.classes_[np.flatnonzero(row)].tolist() for row in indicators]
        if isinstance(like[0], np.ndarray):
            return object_array([np.array(labels, dtype=like[0].dtype) for labels in sets])
        form = type(like[0]) if isinstance(like[0], list | tuple | set | frozenset) else list
        return object_array([form(labels) for labels in sets])

    def _gram(self, A: Array, B: Array) -> Array:
        """Return the Gram matrix of the inner kernel on indicators."""
        return self.inner._gram(A, B)

    def _diag(self, A: Array) -> Array:
        """Return the diagonal of the inner kernel on indicators."""
        return self.inner._diag(A)

    parameter_gradient = property(lambda self: self.inner.parameter_gradient.prefixed("kernel"))

    @property
    def features(self) -> Any:
        """The features of the inner kernel; their inverse returns indicators as real numbers."""
        inner = self.inner.features
        return inner and inner.before(lambda A: self.check(A, "A"), lambda indicators: indicators)


def _distinct_labels(A: Items) -> Iterable:
    """Return the distinct labels of a batch, sorted if possible.

    They are column numbers for indicator rows.
    """
    if not (isinstance(A, np.ndarray) and A.dtype == object):
        return range(A.shape[1])
    labels = dict.fromkeys(label for item in A for label in item)
    try:
        return sorted(labels)
    except TypeError:
        return labels  # labels of several types, in order of appearance


class Delta(Kernel):
    """Kernel on classes, k(a, b) = 1 if a and b are the same class, else 0.

    As an output kernel it gives a classifier: g(x) estimates the probability of every class, and
    the best candidate is the most probable class.

    Parameters
    ----------
    classes : sequence of labels or None, default=None
        All possible classes; None for those of the data that the kernel is fitted on.

    Attributes
    ----------
    classes_
        The classes, the columns of `features`.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF, Delta
    >>> X, y = [[0.0], [0.1], [1.0], [1.1]], ["sea", "sea", "sun", "sun"]
    >>> model = KernelDependency(RBF(0.5), Delta(), alpha=0.1).fit(X, y)
    >>> model.predict([[0.05], [1.2]])
    array(['sea', 'sun'], dtype='<U3')
    """

    unit_norm = True

    def __init__(self, classes: Sequence[Hashable] | None = None):
        self.classes = classes

    space = Classes()

    depends_on_data = False

    def fit(self, A: Items) -> Delta:
        """Store the distinct classes of the items, or the given ones."""
        A = self.check(A if self.classes is None else self.classes, "classes")
        self.classes_ = A[np.sort(self.space.unique(A)[0])]
        return self

    def every_output(self, y: Items) -> tuple[Items | None, bool]:
        """Return the classes if they were given, and whether they were."""
        given = self.classes is not None
        return (self.classes_ if given else None), given

    def _gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return a matrix with 1 for each pair of equal classes, else 0."""
        number: dict[Hashable, int] = {}
        left, right = (
            [number.setdefault(key, len(number)) for key in self.space.keys(batch)]
            for batch in (A, B)
        )
        return (np.array(left)[:, None] == np.array(right)[None, :]).astype(float)

    def _diag(self, A: np.ndarray) -> np.ndarray:
        """Return k(a, a) = 1 for each item."""
        return np.ones(len(A))

    @property
    def features(self) -> Features:
        """One-hot vectors over the classes known from fit; zero vectors for other classes."""
        return Features(lambda A: self._one_hot(A).toarray(), self._one_hot)

    def _one_hot(self, A: Items) -> csr_array:
        """Return one-hot rows over the classes known from fit, as a sparse matrix."""
        if "classes_" not in self.__dict__:
            raise ValueError(f"the classes of {self} are not known yet: call fit(A) first.")
        column = {key: j for j, key in enumerate(self.space.keys(self.classes_))}
        columns = np.array([column.get(key, -1) for key in self.space.keys(self.check(A, "A"))])
        rows = np.flatnonzero(columns >= 0)
        entries = (np.ones(len(rows)), (rows, columns[rows]))
        return csr_array(entries, shape=(len(columns), len(column)))
