"""Kernels given as a Python function or as a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._base.arrays import Array, Items, count, is_foreign, namespace, take
from .._base.linalg import check_gram
from ..spaces import GramRows, Indices
from .base import Kernel, as_float, refuse_lists


class Function(Kernel):
    """A kernel given as a Python function of two batches or of two items.

    Parameters
    ----------
    function : callable
        ``function(A, B)`` of two batches, returning their matrix; or, with ``of_items=True``,
        ``function(a, b)`` of two items, returning a number (a Python call for each pair).
    of_items : bool, default=False
        Whether the function takes two items rather than two batches.

    Examples
    --------
    >>> from mercer.kernels import Function
    >>> shared = Function(lambda a, b: len(set(a) & set(b)), of_items=True)
    >>> shared(["abc", "bcd"])
    array([[3., 2.],
           [2., 3.]])
    """

    def __init__(self, function: Callable, of_items: bool = False):
        self.function = function
        self.of_items = of_items

    depends_on_data = False

    def fit(self, A: Items) -> Function:
        """Raise an error if the Gram matrix of the items is not symmetric positive semidefinite."""
        check_gram(self(A), "Gram matrix of the kernel function")
        return self

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the values of the function for all pairs, after checking that they are finite."""
        try:
            if self.of_items:
                K = np.array([[float(self.function(a, b)) for b in B] for a in A])
            else:
                K = as_float(self.function(A, B))
        except TypeError as error:
            refuse_lists(self, A, error)
            raise
        if self.of_items:
            return _require_finite(K)
        if K.ndim == 4:
            raise ValueError(
                f"the kernel function returned shape {tuple(K.shape)}, a matrix for every pair: "
                "that is an operator-valued kernel. Write mercer.operators.Blocks(f)."
            )
        if K.shape != (count(A), count(B)):
            raise ValueError(
                f"a kernel function gets two batches and must return their matrix: wanted shape "
                f"{(count(A), count(B))}, got {tuple(K.shape)}. For a function of two items "
                "write mercer.kernels.Function(f, of_items=True)."
            )
        return _require_finite(K)


def _require_finite(K: Array) -> Array:
    """Return kernel values; raise an error unless all of them are finite."""
    if not bool(namespace(K).all(namespace(K).isfinite(K))):
        raise ValueError("a kernel function returned NaN or infinity: every value must be finite.")
    return K


class Precomputed(Kernel):
    """A kernel given as a Gram matrix; items are row indices, or rows of kernel values.

    Parameters
    ----------
    gram : array or None, default=None
        The Gram matrix of all training and test items. Items are then integers, the indices of its
        rows; this works for inputs and outputs and under cross-validation. If None (the string
        "precomputed"), an input batch is itself a matrix of kernel values: square in `fit`, and in
        `predict` with a row for each new input and a column for each training input.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Precomputed
    >>> k = Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> k([1], [0, 1])
    array([[1., 3.]])
    """

    def __init__(self, gram: Array | None = None):
        self.gram = gram

    def __sklearn_clone__(self) -> Precomputed:
        """Return an unfitted copy that shares the Gram matrix, which is never changed."""
        return self if self.frozen_ else type(self)(self.gram)

    # Items are indices into the Gram matrix, or rows of kernel values.
    space = property(lambda k: GramRows() if k.gram is None else Indices(count(k.gram)))

    depends_on_data = False

    def fit(self, A: Items) -> Precomputed:
        """Raise an error if the matrix is not symmetric positive semidefinite on the items."""
        shape = tuple(getattr(self.gram, "shape", ()))
        if shape and (len(shape) != 2 or shape[0] != shape[1]):
            raise ValueError(f"gram must be a square matrix of kernel values, got shape {shape}.")
        check_gram(self(A), "precomputed Gram matrix")
        return self

    def _gram(self, A: Array, B: Array) -> Array:
        """Return gram[A, B] for indices A and B; without a matrix, the rows of kernel values A."""
        if not self.pairwise:
            return take(take(self._float_gram(), A).T, B).T
        if A.shape[1] != count(B):
            raise ValueError(
                f"a precomputed X needs one column for each of the {count(B)} training inputs; "
                f"got shape {tuple(A.shape)}. Where rows are left out (weights of zero, folds, "
                "held-out pairs), use Precomputed(gram), with row numbers as X."
            )
        return A + 0.0  # a copy: Gram matrices are factored in place

    def _diag(self, A: Array) -> Array:
        """Return the diagonal entries of the Gram matrix at the given indices."""
        if self.pairwise:
            raise ValueError("k(x, x) is unknown for a precomputed X: use Precomputed(gram).")
        diagonal = namespace(self.gram).linalg.diagonal(self._float_gram())
        return take(diagonal, A)

    def _float_gram(self) -> Array:
        """Return the given Gram matrix as floating-point numbers."""
        return as_float(self.gram if is_foreign(self.gram) else np.asarray(self.gram))
