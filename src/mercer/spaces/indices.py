"""Items given by their index in a Gram matrix, or by their row of kernel values."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Array, Items, count, refuse_empty, refuse_masked
from .base import Space
from .vectors import Vectors


class Indices(Space):
    """Row indices of the Gram matrix of a `Precomputed` kernel.

    Parameters
    ----------
    size : int, default=0
        The number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Precomputed
    >>> from mercer.spaces import Indices
    >>> isinstance(Precomputed(np.eye(3)).space, Indices)
    True
    """

    name = "indices"

    def __init__(self, size: int = 0):
        self.size = size

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """Check that items are integers from 0 to size - 1, and return them in an array."""
        refuse_masked(A, name)
        index = np.asarray(A)
        if index.dtype == object or index.dtype.kind not in "iu":
            integral = index.dtype.kind == "f" and np.array_equal(index, np.floor(index))
            if not integral:
                raise ValueError(
                    f"{name} must hold integers, rows of the Gram matrix that Precomputed was "
                    f"given; got {index.dtype} values. Pass np.arange(n) and its slices."
                )
        refuse_empty(index.size, name)
        index = index.reshape(count(index)).astype(np.intp)
        if index.min() < 0 or index.max() >= self.size:
            wrong = index.max() if index.max() >= self.size else index.min()
            raise ValueError(
                f"{name} points to row {wrong}, but the Gram matrix of Precomputed has rows 0 to "
                f"{self.size - 1}."
            )
        return index


class GramRows(Space):
    """Rows of a precomputed Gram matrix, the inputs of the kernel "precomputed".

    Examples
    --------
    >>> from mercer.kernels import as_kernel
    >>> from mercer.spaces import GramRows
    >>> isinstance(as_kernel("precomputed").space, GramRows)
    True
    """

    name = 'rows of kernel values ("precomputed")'
    pairwise = True

    def check(self, A: Items, name: str = "y") -> Array:
        """Check that the rows form a matrix of finite numbers, and return the matrix."""
        return Vectors().check(A, name, "a precomputed kernel", rows=True)
