from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning


@dataclass(frozen=True)
class ConjugateGradient:
    """The ridge equation with sparse input features, when they are too many to factor.

    For a diagonal operator B = diag(b) the equation falls apart into one for each output,

        (K_x + (α / b_j) I) a_j = v_j,    coef_j = Uᵀ a_j,    K_x = U Uᵀ,

    all of them solved side by side by conjugate gradients; K_x is only ever multiplied with.

    Parameters
    ----------
    tolerance
        The length of a residual, relative to that of its v_j, at which to stop.
    rounds
        The largest number of products with K_x; a warning says when they did not suffice.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from mercer.solvers import ConjugateGradient
    >>> U = sparse.csr_array([[1.0], [2.0]])
    >>> ConjugateGradient().solve(U, np.array([[1.0], [2.0]]), alpha=5.0).round(6)
    array([[0.5]])
    """

    tolerance: float = 1e-3
    rounds: int = 500

    def solve(self, U: Any, V: np.ndarray, alpha: float, b: np.ndarray | None = None) -> np.ndarray:
        """The coefficients of g(x) = u(x) @ coef, (p, q), in the precision of V.

        Parameters
        ----------
        U
            Input features, sparse, one row an example.
        V
            Outputs, one row an example.
        alpha
            The ridge.
        b
            The diagonal of the operator; None for the identity.
        """
        ridge = np.full(V.shape[1], alpha, dtype=V.dtype)
        if b is not None:
            V = V * (b > 0)  # where b is 0 nothing is learnt
            ridge = (alpha / np.where(b > 0, b, 1.0)).astype(V.dtype)
        Ut = U.T.tocsr()
        A = np.zeros_like(V)
        for columns, solved in self._solved(U, Ut, V, ridge):
            A[:, columns] = solved
        return Ut @ A

    def _solved(
        self, U: Any, Ut: Any, V: np.ndarray, ridge: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The a_j as they are done, with their j: products are with the rest only."""
        columns = np.arange(V.shape[1])
        A, R, P = np.zeros_like(V), V.copy(), V.copy()
        now = np.einsum("ij,ij->j", R, R)
        goal = self.tolerance**2 * now
        for _ in range(self.rounds):
            left = now > goal
            if not left.all():
                yield columns[~left], A[:, ~left]
                A, R, P = A[:, left], R[:, left], P[:, left]
                columns, ridge, now, goal = columns[left], ridge[left], now[left], goal[left]
            if not len(columns):
                return
            KP = U @ (Ut @ P) + ridge * P
            step = now / np.einsum("ij,ij->j", P, KP)
            A += step * P
            R -= step * KP
            before, now = now, np.einsum("ij,ij->j", R, R)
            P *= now / before
            P += R
        yield columns, A
        if (now > goal).any():
            warnings.warn(
                f"conjugate gradients did not reach tolerance {self.tolerance} in {self.rounds} "
                "rounds: raise alpha or the number of rounds.",
                ConvergenceWarning,
                stacklevel=4,
            )
