from __future__ import annotations

from array_api_compat import device

from .._arrays import Array, namespace
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

    uniform = True

    def matrix(self, moments: Moments) -> Array:
        """The identity, as a diagonal of ones."""
        vv = moments.vv
        return namespace(vv).ones(vv.shape[0], dtype=vv.dtype, device=device(vv))
