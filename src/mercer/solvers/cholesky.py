from __future__ import annotations

import numpy as np

from .._arrays import Array, namespace
from .._linalg import EPS, PositiveDefinite, ridged


class Cholesky:
    """The identity operator at one α: (K_x + αI)⁻¹ by one Cholesky factorisation.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import Cholesky
    >>> factor = Cholesky().factor(np.array([[2.0, 0.0], [0.0, 1.0]]), alpha=1.0)
    >>> factor.solve(np.array([[3.0], [2.0]]))
    array([[1.],
           [1.]])
    """

    def accepts(self, n: int, scale: float, alpha: float) -> bool:
        """Whether α stands out of the rounding of an n × n Gram matrix of that scale."""
        return alpha > 100 * n * EPS * scale

    def factor(self, K: Array, alpha: float) -> PositiveDefinite:
        """Factor K + αI, `K` destroyed; LinAlgError where α is too small to keep any digits."""
        scale = float(namespace(K).max(namespace(K).abs(K)))
        if not self.accepts(K.shape[0], scale, alpha):
            raise np.linalg.LinAlgError("alpha is lost in the rounding of the Gram matrix")
        return PositiveDefinite.of(ridged(K, alpha))
