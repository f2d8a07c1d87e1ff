from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from .._arrays import (
    NUMBERS,
    Array,
    Items,
    foreign_vectors,
    is_foreign,
    namespace,
    refuse_masked,
    refuse_things,
)
from .base import Space, resolve


class Vectors(Space):
    """Real vectors of one length, images and other arrays of one shape; a number is a vector.

    Examples
    --------
    >>> from mercer.spaces import Vectors
    >>> Vectors().check([1.0, 2.0])
    array([[1.],
           [2.]])
    """

    name = "vectors"
    KERNEL = "kernels.Linear"
    METRIC = "metrics.squared_error"
    greater_is_better = False
    on_vectors = True

    def check(self, A: Items, name: str = "y") -> Array:
        """Finite numbers in an array of their own shape, plain numbers as vectors of length 1."""
        if type(A) is not np.ndarray or A.dtype.kind not in NUMBERS:
            refuse_masked(A, name)
            if is_foreign(A):
                A = A if A.ndim > 1 else A[:, None]
                return namespace(A).reshape(foreign_vectors(A, name), A.shape)
            refuse_things(A, name, "its kernel")
        A = check_array(A, dtype=np.float64, allow_nd=True, ensure_2d=False, input_name=name)
        return A if A.ndim > 1 else A[:, None]

    def decoder(self, kernel: Any) -> Any:
        """The point itself where features can be undone, a fixed point where k is radial."""
        features = kernel.features
        if features is not None:
            name = "Direct" if features.inverse is not None else "Candidates"
        else:
            name = "Candidates" if kernel.radial is None else "FixedPoint"
        return resolve(f"decoders.{name}")()
