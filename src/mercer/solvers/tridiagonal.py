"""Ridge equations of many directions at one ridge, by the tridiagonal form of the Gram matrix.

With √w K √w = H T Hᵀ, T tridiagonal, and B = Q diag(b) Qᵀ the dual coefficients along direction j
are H (b_j T + αI)⁻¹ Hᵀ (VQ)_j: O(n) operations for each direction once H is applied, where the
eigenvectors of T would take as long as all the rest.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh_tridiagonal, lapack

from .._base.linalg import INDEFINITE, factor_with_ridge, solve_triangular, tridiagonalized
from ..operators.separable import SpectralMoments


def solve_directions(
    K: np.ndarray, b: np.ndarray, alpha: float, T: np.ndarray
) -> np.ndarray | None:
    """Return b_j (b_j K + αI)⁻¹T_j for every column j of T; None if K is indefinite.

    K is overwritten.
    """
    reflectors, tau, diagonal, off = tridiagonalized(K)
    if not positive_semidefinite(diagonal, off):
        return None
    C = np.array(T, order="C")
    reflect(C, reflectors, tau)
    shifted_solves(diagonal, off, b, alpha, C)
    reflect(C, reflectors, tau, back=True)
    C *= b
    return C


class FactoredMoments(SpectralMoments):
    """Moments that compute the conditional covariance from a Cholesky factor of K."""

    def unexplained(self, epsilon: float) -> np.ndarray:
        """Return nε Vᵀ(K + nεI)⁻¹V, the output moment that kernel ridge regression leaves.

        LinAlgError where nε is lost in the rounding of K.
        """
        shift = self.n * epsilon
        assert self.gram is not None
        X = solve_triangular(factor_with_ridge(self.gram() + 0.0, shift).factor, self.EV)
        return (X.T @ X) * shift


def reflect(A: np.ndarray, reflectors: np.ndarray, tau: np.ndarray, back: bool = False) -> None:
    """Overwrite A with HᵀA (or H A if `back`), H being the product of Householder reflectors.

    `reflectors` and `tau` are those of `tridiagonalized`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._base.linalg import tridiagonalized
    >>> from mercer.solvers.tridiagonal import reflect
    >>> K = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 2.0]])
    >>> reflectors, tau, diagonal, off = tridiagonalized(K.copy())
    >>> H = np.eye(3)
    >>> reflect(H, reflectors, tau, back=True)
    >>> T = np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)
    >>> bool(np.allclose(H @ T @ H.T, K))
    True
    """
    if not len(tau):
        return  # one row alone
    work = 64 * (A.shape[1] + 65)  # as much as LAPACK's blocks of reflectors need
    turned = A.T[:, 1:]  # in LAPACK's order: H is multiplied from the right
    lapack.dormqr("R", "T" if back else "N", reflectors, tau, turned, work, overwrite_c=1)


def positive_semidefinite(diagonal: np.ndarray, off: np.ndarray) -> bool:
    """Return whether a symmetric tridiagonal matrix has no negative eigenvalue beyond rounding."""
    ends = [
        eigh_tridiagonal(diagonal, off, eigvals_only=True, select="i", select_range=(i, i))[0]
        for i in (0, len(diagonal) - 1)
    ]
    return bool(ends[0] >= -INDEFINITE * max(map(abs, ends)))


def shifted_solves(
    diagonal: np.ndarray, off: np.ndarray, b: np.ndarray, alpha: float, A: np.ndarray
) -> None:
    """Multiply column j of A by (b_j T + αI)⁻¹ in place, with T a tridiagonal matrix.

    All columns go through one elimination, a row of the matrix at a time.
    """
    steps = np.empty_like(A)
    pivot = b * diagonal[0] + alpha
    for i, neighbour in enumerate(off):
        steps[i] = b * neighbour / pivot
        A[i + 1] -= steps[i] * A[i]
        A[i] /= pivot
        pivot = b * diagonal[i + 1] + alpha - steps[i] * b * neighbour
    A[-1] /= pivot
    for i in range(len(off) - 1, -1, -1):
        A[i] -= steps[i] * A[i + 1]
