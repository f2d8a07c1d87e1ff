"""Operators that do not depend on the data: the identity, and given matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import Array, host, is_foreign, like, namespace
from .._base.linalg import check_gram, eigh
from .._base.parameters import integer, positive
from .base import Operator
from .moments import Moments


class Matrix(Operator):
    r"""Operator given as a matrix B: a task similarity, a graph of outputs, or prior knowledge.

    The penalty is :math:`\lVert g \rVert^2 = \sum_{st} (B^{-1})_{st} \langle g_s, g_t \rangle`,
    with one component :math:`g_t` for each task. Three constructors build B from what is usually
    known of tasks: `mean_regularized`, `graph` and `similarity`.

    Parameters
    ----------
    B : array
        A symmetric positive semidefinite matrix over the finite features of the output kernel
        (for `Linear`, over the components of the output vectors).

    References
    ----------
    Evgeniou, Micchelli, Pontil (JMLR 2005); Álvarez, Rosasco, Lawrence (2012), section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Matrix
    >>> K = RBF(1.0) * Matrix(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])   # task 1 is like tasks 0 and 2
    >>> Matrix.graph(chain, ridge=1.0).B.round(3)
    array([[0.625, 0.25 , 0.125],
           [0.25 , 0.5  , 0.25 ],
           [0.125, 0.25 , 0.625]])
    """

    own_coordinates = True
    depends_on_data = False

    def __init__(self, B: Array):
        self.B = B

    @classmethod
    def mean_regularized(cls, tasks: int, share: float = 0.5) -> Matrix:
        r"""Return the operator that shrinks all tasks to their mean, as strongly as `share`.

        It is :math:`B = s 1 1^\top + (1 - s) I` with s = `share`. The penalty is
        :math:`\sum_t \lVert g_t - \bar g \rVert^2 / (1 - s) + q \lVert \bar g \rVert^2 /
        (1 - s + q s)`, with :math:`\bar g` the mean of the q tasks. At 0 the tasks are separate, at
        1 they are one task.
        """
        q = integer(tasks, "tasks")
        if not 0 <= share <= 1:
            raise ValueError(f"share must lie between 0 (apart) and 1 (one task), got {share!r}.")
        return cls(share * np.ones((q, q)) + (1.0 - share) * np.eye(q))

    @classmethod
    def graph(cls, adjacency: Array, ridge: float = 1.0) -> Matrix:
        r"""Return the operator of a graph of tasks: the inverse of its Laplacian plus a ridge.

        The penalty is :math:`\sum_{s<t} A_{st} \lVert g_s - g_t \rVert^2 + \text{ridge} \sum_t
        \lVert g_t \rVert^2` with the adjacency matrix A. Loops have no effect.
        """
        A = _checked_weights(adjacency, "adjacency")
        L = np.diag(A.sum(axis=1)) - A
        B = np.linalg.inv(L + positive(ridge, "ridge") * np.eye(len(A)))
        return cls((B + B.T) / 2)

    @classmethod
    def similarity(cls, S: Array) -> Matrix:
        r"""Return the operator for similarities of tasks; the diagonal of S has their ridges.

        :math:`B = L^+` with :math:`L_{ss} = \sum_t S_{st}` and :math:`L_{st} = -S_{st}`. The
        penalty is :math:`\frac12 \sum_{st} S_{st} \lVert g_s - g_t \rVert^2 + \sum_t S_{tt}
        \lVert g_t \rVert^2`, that of `graph` with a ridge for each task. If connected tasks have
        no ridge at all, their common part is predicted as zero, because it is in the null space
        of the pseudo-inverse.
        """
        S = _checked_weights(S, "similarity")
        L = np.diag(S.sum(axis=1) + S.diagonal()) - S
        values, vectors = eigh(L, "Laplacian of the similarity")
        vectors = np.eye(len(S)) if vectors is None else vectors
        return cls((vectors / values) @ vectors.T)

    def matrix(self, moments: Moments) -> Array:
        """Return the given matrix, after a check of its shape and its eigenvalues."""
        B = self.B if is_foreign(self.B) else np.asarray(self.B, dtype=np.float64)
        q = int(moments.ones.shape[0])
        if B.ndim != 2 or tuple(B.shape) != (q, q):
            raise ValueError(
                f"Matrix(B) must be ({q}, {q}), one row for each of the {q} output components; "
                f"got shape {tuple(B.shape)}."
            )
        check_gram(B, "operator matrix B")
        return namespace(moments.ones).asarray(like(B, moments.ones), copy=True)


def _checked_weights(A: Any, what: str) -> np.ndarray:
    """Return task weights as a dense array after a check: square, symmetric and ≥ 0."""
    A = np.array(A.toarray() if issparse(A) else host(A), dtype=np.float64)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.size == 0:
        raise ValueError(
            f"{what} must be a square matrix, one row and one column a task; got shape {A.shape}."
        )
    if not np.isfinite(A).all() or A.min() < 0:
        raise ValueError(
            f"{what} must hold finite weights ≥ 0, got values from {A.min():.3g} to {A.max():.3g}. "
            "A matrix that is positive semidefinite already goes into Matrix(B) as it is."
        )
    if not np.allclose(A, A.T):
        raise ValueError(
            f"{what} is not symmetric: pass (A + A.T) / 2 where direction does not matter."
        )
    return A


class Identity(Operator):
    """The identity operator B = I, without coupling of outputs (Cortes et al. 2005).

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Identity
    >>> print(RBF(6.0) * Identity())
    RBF(length_scale=6.0) * Identity()
    """

    uniform = 1.0
    depends_on_data = False

    def matrix(self, moments: Moments) -> Array:
        """Return ones, the diagonal of the identity."""
        return moments.ones
