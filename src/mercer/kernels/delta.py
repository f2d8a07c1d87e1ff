from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from scipy.sparse import csr_array

from .._arrays import Items
from ..spaces import Classes
from .base import Kernel
from .capabilities import Features


class Delta(Kernel):
    """k(a, b) = 1 where a and b are the same class, else 0: one label out of several.

    As an output kernel it makes a classifier: g(x) estimates the probability of every class, and
    the best candidate is the likeliest class.

    Parameters
    ----------
    classes
        All the classes there are; None for those of the data that the kernel is fitted on.

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

    def fit(self, A: Items) -> Delta:
        """Keep the classes."""
        A = self.check(A if self.classes is None else self.classes, "classes")
        self.classes_ = A[np.sort(self.space.unique(A)[0])]
        return self

    def _gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        number: dict[Hashable, int] = {}
        left, right = (
            [number.setdefault(key, len(number)) for key in self.space.keys(batch)]
            for batch in (A, B)
        )
        return (np.array(left)[:, None] == np.array(right)[None, :]).astype(float)

    def _diag(self, A: np.ndarray) -> np.ndarray:
        return np.ones(len(A))

    @property
    def features(self) -> Features:
        """One column a class; zero for a class that the kernel was not fitted on."""
        return Features(lambda A: self._one_hot(A).toarray(), self._one_hot)

    def _one_hot(self, A: Items) -> csr_array:
        if "classes_" not in self.__dict__:
            raise ValueError(f"{self} numbers classes at fit: call fit(A) on it first.")
        column = {key: j for j, key in enumerate(self.space.keys(self.classes_))}
        found = np.array([column.get(key, -1) for key in self.space.keys(self.check(A, "A"))])
        rows = np.flatnonzero(found >= 0)
        entries = (np.ones(len(rows)), (rows, found[rows]))
        return csr_array(entries, shape=(len(found), len(column)))
