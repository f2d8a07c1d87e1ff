"""Symmetric matrices: two dimensions hold all entries, one dimension the diagonal of the others."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from .arrays import Array, is_foreign, like, namespace

EPS = float(np.finfo(np.float64).eps)
INDEFINITE = 1e-8
"""Eigenvalues below -INDEFINITE times the largest are more than rounding errors."""
ASYMMETRIC = 1e-6
"""Differences to the transpose above this fraction of the largest entry are more than rounding."""

GRADED = 1e-4
"""Rows of weights that differ by more are factored by a method that keeps the light ones."""


class NotPositiveSemidefinite(ValueError):
    """Error of a Gram matrix or an operator with a negative eigenvalue."""


def eigh(
    S: Array,
    what: str = "matrix",
    drop: bool = True,
    scale: float = 0.0,
    overwrite: bool = False,
    lightest: float = 1.0,
) -> tuple[Array, Array | None]:
    """Return the positive eigenvalues of a positive semidefinite matrix, and their eigenvectors.

    Eigenvalues under n eps max are dropped with their vectors, or set to zero where not `drop`;
    the vectors of a diagonal matrix (given as a 1-D array) are None, none of its entries dropped.
    `lightest` is the smallest weight of a row over the largest, where rows are ordered by falling
    weight: small eigenvalues are then accurate relative to the lightest row.
    `scale` is the size of what `S` was computed of, where that is larger than `S`; an array may be
    destroyed with `overwrite`.
    """
    xp = namespace(S)
    if S.ndim == 1:
        return xp.where(S > 0, S, xp.zeros_like(S)), None
    if S.shape[0] == 0:
        return xp.sum(S, axis=1), None
    graded = None
    if lightest < GRADED and not is_foreign(S):
        graded = graded_eigh(S, S.shape[0] * EPS * scale * lightest)
    if graded is not None:
        values, vectors = graded
    elif is_foreign(S):
        values, vectors = xp.linalg.eigh(S)
    else:  # a symmetric matrix is its own transpose: LAPACK works in place in the Fortran view
        S = S.T if S.flags.c_contiguous and S.dtype.kind != "c" else S
        values, vectors = scipy.linalg.eigh(
            S, driver="evd", overwrite_a=overwrite, check_finite=False
        )
    largest, smallest = float(values[-1]), float(values[0])
    if smallest < -INDEFINITE * max(largest, -smallest, scale):
        raise NotPositiveSemidefinite(
            f"the {what} is not positive semidefinite: its eigenvalues go from {smallest:.3g} to "
            f"{largest:.3g}. Use a positive semidefinite kernel, or add {-smallest:.3g} to its "
            "diagonal."
        )
    kept = values > values.shape[0] * EPS * max(largest, 0.0, scale) * lightest
    if not drop:
        return xp.where(kept, values, xp.zeros_like(values)), vectors
    dropped = values.shape[0] - int(xp.sum(xp.astype(kept, xp.int64)))
    return values[dropped:], vectors[:, dropped:]


def graded_eigh(S: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return eigenvalues and eigenvectors of a matrix with rows of very different sizes.

    They are the squared singular values and the left singular vectors of a pivoted Cholesky
    factor, which keeps small rows accurate next to any number of large ones; a tridiagonal form
    does so next to one or two. Pivots up to `floor` count as zero. None for a matrix that is not
    positive semidefinite.
    """
    L, pivots, rank, _ = scipy.linalg.lapack.dpstrf(S, tol=floor, lower=1)
    rows = np.empty((len(S), rank))
    rows[pivots - 1] = np.tril(L)[:, :rank]
    if np.abs(S - rows @ rows.T).max() > INDEFINITE * np.abs(S).max():
        return None
    vectors, roots, _ = scipy.linalg.svd(rows, check_finite=False)
    values = np.zeros(len(S))
    values[:rank] = roots**2
    return values[::-1], vectors[:, ::-1]


def full(S: Array) -> Array:
    """Return a symmetric matrix with two dimensions; one dimension is a diagonal matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._base.symmetric import full
    >>> full(np.array([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """
    return like(np.eye(int(S.shape[0])), S) * S[:, None] if S.ndim == 1 else S


def add(S: Array, T: Array) -> Array:
    """Return S + T, a diagonal where both are."""
    return S + T if S.ndim == T.ndim else full(S) + full(T)


def multiply(M: Array, S: Array) -> Array:
    """Return M S; the columns of M are scaled where S is diagonal."""
    return M * S if S.ndim == 1 else M @ S


def trace(S: Array) -> float:
    """Return the sum of the eigenvalues of a symmetric matrix."""
    xp = namespace(S)
    return float(xp.sum(S if S.ndim == 1 else xp.linalg.diagonal(S)))


def inner(S: Array, T: Array) -> float:
    """Return tr(S T), the sum of the products of all entries."""
    product = S * T if S.ndim == T.ndim else full(S) * full(T)
    return float(namespace(product).sum(product))


def check_symmetric(S: Array) -> Array:
    """Return a symmetric matrix, or the diagonal of one, after a check of its entries."""
    if not S.shape[0]:
        return S
    xp = namespace(S)
    size, gap = xp.max(xp.abs(S)), xp.max(xp.abs(S - S.T)) if S.ndim == 2 else 0.0
    if not gap <= ASYMMETRIC * size < np.inf:
        raise ValueError(
            "an operator must be a symmetric matrix of finite numbers: its largest entry is "
            f"{float(size):.3g}, and entries differ from those of its transpose by up to "
            f"{float(gap):.3g}. Check a custom operator with `mercer.testing.check_operator`."
        )
    return S
