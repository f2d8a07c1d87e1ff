from __future__ import annotations

from ..symmetric import SymMatrix
from .base import Operator
from .moments import Moments


class Identity(Operator):
    """B = I: every direction of the output space on its own (Cortes et al. 2005).

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Identity
    >>> print(RBF(6.0) * Identity())
    RBF(length_scale=6.0) * Identity()
    """

    uniform = 1.0

    def matrix(self, moments: Moments) -> SymMatrix:
        """The identity, as a diagonal of ones."""
        return SymMatrix(diagonal=moments.ones)
