"""Cholesky factors of Gram matrices plus a ridge."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Array, namespace
from .._base.linalg import PositiveDefinite, ridged
from .._base.symmetric import EPS


def factored(K: Array, alpha: float) -> PositiveDefinite:
    """Factor K + αI, `K` destroyed; LinAlgError where α is too small to keep any digits."""
    xp = namespace(K)
    scale = float(xp.max(abs(xp.linalg.diagonal(K)))) if K.shape[0] else 0.0
    if not stands_out(alpha, int(K.shape[0]), scale):
        raise np.linalg.LinAlgError("alpha is lost in the rounding of the Gram matrix")
    return PositiveDefinite.of(ridged(K, alpha))


def stands_out(alpha: float, n: int, scale: float) -> bool:
    """Return whether α stands out of the rounding of an n × n Gram matrix of that scale."""
    return alpha > 100 * n * EPS * scale
