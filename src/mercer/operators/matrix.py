from __future__ import annotations

import numpy as np

from .._arrays import Array, is_foreign, like, namespace
from .._linalg import check_gram
from .base import Operator
from .moments import Moments


class Matrix(Operator):
    """B as given: a task similarity, a graph of outputs, prior knowledge of their coupling.

    Parameters
    ----------
    B
        A symmetric positive semidefinite matrix over the finite features of the output kernel
        (for `Linear`, over the components of the output vectors).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Matrix
    >>> K = RBF(1.0) * Matrix(np.array([[1.0, 0.5], [0.5, 1.0]]))
    """

    own_coordinates = True

    def __init__(self, B: Array):
        self.B = B

    def matrix(self, moments: Moments) -> Array:
        """B, after it was checked."""
        B = self.B if is_foreign(self.B) else np.asarray(self.B, dtype=np.float64)
        q = int(moments.vv.shape[0])
        if B.ndim != 2 or tuple(B.shape) != (q, q):
            raise ValueError(
                f"Matrix(B) must be ({q}, {q}), one row for each of the {q} output components; "
                f"got shape {tuple(B.shape)}."
            )
        check_gram(B, "operator matrix B")
        return namespace(moments.vv).asarray(like(B, moments.vv), copy=True)
