from __future__ import annotations

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from .._base.arrays import (
    Array,
    Items,
    canonical,
    foreign_vectors,
    is_foreign,
    namespace,
    refuse_masked,
    refuse_scalar,
    refuse_things,
)
from .base import Space

NUMBERS = "fiub"
"""Kinds of numpy's plain numbers, of which an array needs no further look before scikit-learn's."""


class Vectors(Space):
    """Real vectors of one length, or arrays of one shape such as images; numbers count as vectors.

    Examples
    --------
    >>> from mercer.spaces import Vectors
    >>> Vectors().check([1.0, 2.0])
    array([[1.],
           [2.]])
    """

    name = "vectors"
    greater_is_better = False
    on_vectors = True

    def check(
        self,
        A: Items,
        name: str = "y",
        owner: str = "its kernel",
        rows: bool = False,
        accept_sparse: bool = False,
        fill: bool = False,
    ) -> Array:
        """Check finite numbers and keep their shape; numbers become vectors of length 1.

        With `rows` further axes are flattened, plain numbers refused, and a sparse matrix stays
        one, as a CSR array, where its kernel can work on it; with `fill` it becomes a dense one.
        """
        if type(A) is np.ndarray and A.ndim == 2 and A.dtype == np.float64 and A.size:
            with np.errstate(all="ignore"):  # a sum of finite numbers may overflow: look closely
                if np.isfinite(A.sum()):
                    return A  # the short way for a server, which checks single rows
        if type(A) is not np.ndarray or A.dtype.kind not in NUMBERS:
            refuse_masked(A, name)
            if (accept_sparse or fill) and issparse(A):
                A = check_array(A, accept_sparse="csr", dtype=np.float64, input_name=name)
                return A.toarray() if fill else canonical(A)
            if is_foreign(A):
                A = foreign_vectors(A if rows or A.ndim > 1 else A[:, None], name)
                return namespace(A).reshape(A, (A.shape[0], -1)) if rows else A
            refuse_things(A, name, owner)
        refuse_scalar(A, name)
        A = check_array(A, dtype=np.float64, allow_nd=True, ensure_2d=rows, input_name=name)
        return A.reshape(len(A), -1) if A.ndim == 1 or (rows and A.ndim > 2) else A
