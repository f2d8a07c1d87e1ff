"""Robust losses by proximal steps on spectra that were factored once."""

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
"""Over-relaxation of the steps."""
STEPS_BETWEEN_CHECKS = 10
"""The number of steps after which the primal and the dual residual are compared again."""


IterationState = tuple[Array, Array, float]
"""The state of the iteration, from which a neighbouring problem starts: R, S and τ."""


def clean_outputs(
    smoother: Part,
    V: Array,
    loss: Loss,
    alpha: float,
    start: IterationState | Array,
    weights: np.ndarray | None = None,
) -> tuple[Array, IterationState]:
    """Return targets T whose ridge fit minimises a robust loss of V, and the iteration state.

    The objective is Σ h(‖g(x_i) - v_i‖) + α‖g‖², minimised by alternating directions (ADMM).

    Find T for outputs V, both in the eigenbasis of B, started where a problem near by ended or from
    a guess of T: fitted values plus what the loss leaves of each residual. Sample weights multiply
    the loss of each example, w h: its proximal step is that of h at τ / w.

    Notes
    -----
    Split the residual r_i off, with r_i + g(x_i) = v_i. Under a penalty τ the two halves of a step
    are

        g = the ridge fit, at α/τ, of V - R + S,      R = prox of h/τ at V - G + S,

    and S += V - G - R. The ridge at another α is a matrix product once it is factored, so that τ
    can be balanced at will; the prox shortens rows. At the end 2τS is the (sub)gradient of the
    loss, which for the square would be twice the residual: g is the *plain* ridge fit of
    T = G + τS, outputs with their wild residuals shortened. Whatever works for a ridge
    (leave-one-out, decoders) then works for T.

    References
    ----------
    Boyd et al. (2011) for the method, its stopping rule and the balancing of τ.
    """
    w: Any = 1.0 if weights is None else like(weights, V)
    if isinstance(start, tuple):
        R, S, tau = start
    else:
        R, S, tau = V - smoother.smooth(start, alpha), V * 0.0, 1.0
    # As large as outputs usually are: wrong ones must not make the rest look small.
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
    some = r > 0
    return R * (function(r) / xp.where(some, r, xp.ones_like(r)))[:, None]
