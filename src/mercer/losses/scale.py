"""How long residuals and outputs usually are, whatever a few of them are like."""

from __future__ import annotations

import numpy as np

from .._arrays import Array, host, like, median, namespace

REACH = 3.0
"""Lengths beyond this many medians say nothing more about a fit than that they are long."""


def typical(lengths: Array) -> float:
    """The median of the lengths that are not zero: where most outputs are nothing, of the rest."""
    known = host(lengths)
    known = known[known > 0]
    return float(np.median(known)) if len(known) else 1.0


def tau_risk(residuals: Array) -> float:
    """The mean squared length of residuals, each counted as at most three medians long.

    A τ-estimate of scale (Yohai and Zamar 1988): outputs that are wrong beyond repair do not
    decide between fits. Where no residual is three medians long it is the mean squared length.
    """
    xp = namespace(residuals)
    squares = residuals if residuals.ndim == 1 else xp.sum(residuals * residuals, axis=1)
    limit = REACH**2 * typical(squares)
    return float(xp.mean(xp.where(squares > limit, like(limit, squares), squares)))


def shortened(V: Array, centre: Array | None) -> Array:
    """Outputs no further from the centre (the origin for None) than three medians.

    What the covariance of outputs is taken of where some of them may be wrong.
    """
    xp = namespace(V)
    D = V if centre is None else V - centre
    r = xp.sqrt(xp.sum(D * D, axis=1))
    limit = REACH * typical(r)
    far = r > limit
    D = D * xp.where(far, limit / xp.where(far, r, xp.ones_like(r)), xp.ones_like(r))[:, None]
    return D if centre is None else D + centre


def middle(V: Array) -> Array:
    """The median of every column."""
    return like(np.array([median(V[:, j]) for j in range(V.shape[1])]), V)
