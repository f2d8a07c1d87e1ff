"""Symmetric matrices as 2-D arrays, and diagonal matrices as the 1-D arrays of their diagonals."""

from __future__ import annotations

import numpy as np

from .arrays import Array, like, namespace

ASYMMETRIC = 1e-6
"""Differences to the transpose above this fraction of the largest entry are more than rounding."""


def full(S: Array) -> Array:
    """Return a symmetric matrix as a 2-D array; a 1-D array is the diagonal of one.

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
    """Return S + T for matrices or diagonals; a diagonal if both are diagonals."""
    return S + T if S.ndim == T.ndim else full(S) + full(T)


def multiply(M: Array, S: Array) -> Array:
    """Return M S for a matrix M and a symmetric matrix or a diagonal S."""
    return M * S if S.ndim == 1 else M @ S


def trace(S: Array) -> float:
    """Return the trace of a symmetric matrix, or of a diagonal."""
    xp = namespace(S)
    return float(xp.sum(S if S.ndim == 1 else xp.linalg.diagonal(S)))


def inner(S: Array, T: Array) -> float:
    """Return the inner product tr(S T) of symmetric matrices or diagonals."""
    product = S * T if S.ndim == T.ndim else full(S) * full(T)
    return float(namespace(product).sum(product))


def check_symmetric(S: Array) -> Array:
    """Return S after checking that it is a symmetric matrix, or a diagonal, of finite numbers."""
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
