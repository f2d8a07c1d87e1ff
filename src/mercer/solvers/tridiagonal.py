from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solveh_banded

from .._arrays import Array, blocks
from .leave_one_out import BLOCK, LeftOut


@dataclass(frozen=True)
class Reduced:
    """K = Q T Qᵀ with T tridiagonal: its diagonal and what is beside it."""

    Q: np.ndarray
    diagonal: np.ndarray
    off: np.ndarray

    def solve(self, alpha: float, inside: np.ndarray) -> np.ndarray:
        """(T + αI)⁻¹ QᵀV, given QᵀV."""
        bands = np.stack([self.diagonal + alpha, np.append(self.off, 0.0)])
        return solveh_banded(bands, inside, lower=True, check_finite=False)


class Tridiagonal:
    """The identity operator at many α: K_x reduced to tridiagonal form, then O(n²) for each α.

    A third cheaper than the spectrum, which takes the same reduction for its first step.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import Tridiagonal
    >>> K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> reduced = Tridiagonal().factor(K.copy())
    >>> T = np.diag(reduced.diagonal) + np.diag(reduced.off, 1) + np.diag(reduced.off, -1)
    >>> bool(np.allclose(reduced.Q @ T @ reduced.Q.T, K))
    True
    """

    def factor(self, K: np.ndarray) -> Reduced:
        """Reduce K, which is destroyed."""
        n = len(K)
        work = int(lapack.dsytrd_lwork(n, lower=1)[0])
        K = K.T if K.flags.c_contiguous else np.asfortranarray(K)
        K, diagonal, off, tau, _ = lapack.dsytrd(K, lower=1, lwork=work, overwrite_a=1)
        Q = np.zeros((n, n))
        Q[0, 0] = 1.0
        # The reflectors leave the first coordinate alone: below it they are those of a QR.
        reflectors = np.asfortranarray(K[1:, :-1])
        Q[1:, 1:] = lapack.dorgqr(reflectors, tau, lwork=64 * n, overwrite_a=1)[0]
        return Reduced(Q, diagonal, off)


class TridiagonalLeaveOneOut(LeftOut):
    """Left-out predictions under the identity operator, from the tridiagonal form.

    Notes
    -----
    With E = (K + αI)⁻¹ the residuals are αEV and one minus the leverages αE_ii: the left-out
    residual is (EV)_ij / E_ii. E_ii = q_iᵀ(T + αI)⁻¹q_i, a sum of squares.
    """

    def __init__(self, reduced: Reduced, V: Array):
        self.reduced = reduced
        self.V = V
        self.inside = reduced.Q.T @ V

    def _diagonals(self, alphas: Sequence[float]) -> np.ndarray:
        from ._tridiagonal_loops import inverse_diagonals

        r = self.reduced
        return inverse_diagonals(r.Q, r.diagonal, r.off, np.asarray(alphas, dtype=np.float64))

    def _solutions(self, alphas: Sequence[float]) -> Iterator[np.ndarray]:
        """EV for every α, several in one product."""
        n, q = self.V.shape
        for part in blocks(len(alphas), max(1, BLOCK // (n * q))):
            solved = [self.reduced.solve(alpha, self.inside) for alpha in alphas[part]]
            EV = self.reduced.Q @ np.concatenate(solved, axis=1)
            yield from np.split(EV, len(solved), axis=1)

    def path(self, alphas: Sequence[float]) -> Iterator[np.ndarray]:
        """The left-out residuals of every α in turn."""
        E = self._diagonals(alphas)
        for i, EV in enumerate(self._solutions(alphas)):
            yield EV / E[:, i : i + 1]

    def averaged_residuals(self, alpha: float) -> np.ndarray:
        """The residuals of generalised cross-validation."""
        return next(self._solutions([alpha])) / self._diagonals([alpha]).mean()

    def points(self, residuals: Array) -> Array:
        """Left-out predictions in the coordinates V came in."""
        return self.V - residuals

    def coefficients(self, alpha: float) -> np.ndarray:
        """EV, the coefficients of the fit itself."""
        return next(self._solutions([alpha]))
