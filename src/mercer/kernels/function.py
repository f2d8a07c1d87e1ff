from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._arrays import Array, Items, count, namespace
from .._linalg import check_gram
from .base import Kernel, as_float


class Function(Kernel):
    """A kernel given as a plain function.

    Parameters
    ----------
    function
        ``function(A, B)`` of two batches, returning their matrix; or, with ``of_items=True``,
        ``function(a, b)`` of two items, returning a number (a Python call for each pair).

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

    def fit(self, A: Items) -> Function:
        """Refuse a function that is no kernel: nothing but its values can tell."""
        check_gram(self(A), "Gram matrix of the kernel function")
        return self

    def _gram(self, A: Items, B: Items) -> Array:
        if self.of_items:
            return _finite(np.array([[float(self.function(a, b)) for b in B] for a in A]))
        K = as_float(self.function(A, B))
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
        return _finite(K)


def _finite(K: Array) -> Array:
    if not bool(namespace(K).all(namespace(K).isfinite(K))):
        raise ValueError("a kernel function returned NaN or infinity: every value must be finite.")
    return K
