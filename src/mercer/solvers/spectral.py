from __future__ import annotations

from dataclasses import dataclass

from .._arrays import Array, namespace
from .._linalg import eigh
from ..operators import Moments


@dataclass(frozen=True)
class Spectra:
    """The two spectra of a ridge equation, and its right-hand side in their bases.

    Attributes
    ----------
    s, P
        S_uu = P diag(s) Pᵀ; P is None where S_uu is diagonal.
    b, Q
        B = Q diag(b) Qᵀ; Q is None where B is diagonal.
    C
        Qᵀ S_vu P, (q, p).
    """

    s: Array
    P: Array | None
    b: Array
    Q: Array | None
    C: Array


class Spectral:
    """The ridge equation B W S_uu + αW = S_vu by two symmetric eigendecompositions.

    Notes
    -----
    With S_uu = P diag(s) Pᵀ and B = Q diag(b) Qᵀ the equation is diagonal,

        (Qᵀ W P)_jp = (Qᵀ S_vu P)_jp / (b_j s_p + α),

    and g(x) = B W u(x). Once factored, every further α costs a matrix product.

    References
    ----------
    Proposition 1 of Kadri et al. (2013) states the same solution by an n² × n² inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Identity, Moments
    >>> from mercer.solvers import Spectral
    >>> moments = Moments.of(np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]]))
    >>> spectra = Spectral().factor(moments, Identity().matrix(moments))
    >>> Spectral().solve(spectra, alpha=5.0)
    array([[0.5]])
    """

    def factor(self, moments: Moments, B: Array) -> Spectra:
        """Both eigendecompositions; a dense `B` is destroyed."""
        s, P = eigh(moments.uu + 0.0, "input moment")
        # Directions that B does not reach stay: what is left of the outputs there is risk too.
        b, Q = eigh(B, "output operator", drop=False)
        C = moments.vu if P is None else moments.vu @ P
        return Spectra(s, P, b, Q, C if Q is None else _transposed(Q) @ C)

    def solve(self, spectra: Spectra, alpha: float) -> Array:
        """The coefficients of g(x) = u(x) @ coef, of shape (p, q)."""
        b, s = spectra.b[:, None], spectra.s[None, :]
        D = b * s
        D += alpha
        coef = spectra.C * b  # in place from here: with n² numbers each, temporaries are the peak
        coef /= D
        del D
        coef = _transposed(coef)
        coef = coef if spectra.P is None else spectra.P @ coef
        return coef if spectra.Q is None else coef @ _transposed(spectra.Q)


def _transposed(A: Array) -> Array:
    return namespace(A).matrix_transpose(A)
