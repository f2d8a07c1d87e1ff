"""Ridge problems with robust losses, by proximal steps (ADMM) with one input spectrum."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._base.arrays import Array, like, namespace
from .._base.linalg import frobenius_norm
from ..losses import Loss, median_length
from .part import Part

RELAXED = 1.6
"""The over-relaxation factor of the steps."""
STEPS_BETWEEN_CHECKS = 10
"""The number of steps after which the primal and the dual residual are compared again."""


IterationState = tuple[Array, Array, float]
"""The state of the iteration: residuals R, scaled dual variables S and penalty τ."""


def clean_outputs(
    smoother: Part,
    V: Array,
    loss: Loss,
    alpha: float,
    start: IterationState | Array,
    weights: np.ndarray | None = None,
) -> tuple[Array, IterationState]:
    """Return cleaned outputs T, whose ridge fit minimises a robust loss of the outputs V.

    The objective is Σ h(‖g(x_i) - v_i‖) + α‖g‖² with the loss h, minimised by the alternating
    direction method of multipliers (ADMM). T and V are in the eigenbasis of the operator. T is the
    fitted values plus shortened residuals. The second result is the state of the iteration.

    `start` is the state of a similar problem, or a guess of T. Sample weights w multiply the loss
    of each example: the proximal step of w h is that of h at τ / w.

    Notes
    -----
    Introduce residuals r_i with r_i + g(x_i) = v_i. With a penalty τ, the two halves of a step are

        g = the ridge fit, at α/τ, of V - R + S,      R = prox of h/τ at V - G + S,

    and S += V - G - R. With the spectrum, the ridge fit at another α is a matrix product, so that τ
    can be changed at any step; the proximal step shortens rows. At the end 2τS is the (sub)gradient
    of the loss, which would be twice the residual for the square loss. Therefore g is the ordinary
    ridge fit of T = G + τS, the outputs with the residuals of outliers shortened. All results of
    a ridge fit (leave-one-out, decoders) are available with T.

    References
    ----------
    Boyd et al. (2011) for the method, its stopping rule and the balancing of τ.
    """
    w: Any = 1.0 if weights is None else like(weights, V)
    if isinstance(start, tuple):
        R, S, tau = start
    else:
        R, S, tau = V - smoother.smooth(start, alpha), V * 0.0, 1.0
    # From the median norm, because outliers would make the residuals look small.
    size = math.sqrt(V.shape[0]) * median_length(row_lengths(V))
    for step in range(1, loss.max_iter + 1):
        G = smoother.smooth(V - R + S, alpha / tau)
        mixed = RELAXED * (V - G) + (1.0 - RELAXED) * R
        before, R = R, _rescale_rows(mixed + S, partial(loss.proximal, tau=tau / w))
        S = S + mixed - R
        primal, dual = frobenius_norm(V - G - R) / size, frobenius_norm(R - before) / size
        if max(primal, dual) <= loss.tol:
            break
        if step % STEPS_BETWEEN_CHECKS == 0:
            factor = math.sqrt(min(16.0, max(1 / 16.0, primal / (dual + 1e-300))))
            tau, S = tau * factor, S / factor
    else:
        warnings.warn(
            f"{type(loss).__name__} was not solved to tol={loss.tol:g} in {loss.max_iter} "
            f"steps (alpha={alpha:.3g}; {max(primal, dual):.1g} was reached): raise max_iter "
            "or tol, or alpha.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return G + tau * S, (R, S, tau)


def row_lengths(R: Array) -> Array:
    """Return the Euclidean length of each row of R."""
    xp = namespace(R)
    return xp.sqrt(xp.sum(R * R, axis=1))


def _rescale_rows(R: Array, function: Callable[[Array], Array]) -> Array:
    """Rescale each row of R from its length r to the length function(r)."""
    r = row_lengths(R)
    xp = namespace(r)
    positive = r > 0
    return R * (function(r) / xp.where(positive, r, xp.ones_like(r)))[:, None]
