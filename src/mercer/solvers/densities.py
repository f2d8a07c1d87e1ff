"""The density of left-out outputs under a fitted ridge as a Gaussian process."""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np

from .._arrays import Array, Items, blocks, count, host, is_foreign, namespace
from .._arrays import part as part_of
from .._threads import striped
from .factorization import Refused

HELD = 2**23
"""Kernel values that a variance holds at once, many enough for one fast product."""
CACHED = 2**16
"""Numbers of which all passes are made while they are in the cache of a core."""


def left_out_noise(parts: Any, alpha: float) -> np.ndarray:
    """σ_j² along each direction of the operator: the mean of (left-out residual)² (1 - H_ii).

    A left-out residual has variance σ_j² / (1 - H_ii): the noise that left-out outputs show.
    """
    return np.concatenate([_noise(one, alpha)[0] for one in parts.parts])


def left_out_density(parts: Any, alpha: float) -> float:
    """Σ_i log p(y_i | all others), each direction of the operator with a noise of its own.

    −½ Σ_j [n log(2πσ_j²) + n - Σ_i log(1 - H_ii)], over finitely many directions.

    References
    ----------
    Rasmussen, Williams: Gaussian processes for machine learning (2006), section 5.4.2.
    """
    problem = parts.problem
    if problem.outputs.kernel.features is None and problem.outputs.features is None:
        raise Refused(
            f"{problem.outputs.kernel} has infinitely many directions, over which a density is "
            "not defined: use finite output features."
        )
    total = 0.0
    for one in parts.parts:
        noise, logs = _noise(one, alpha)
        n = one.T.shape[0]
        noise = np.maximum(noise, np.finfo(float).tiny)
        total -= 0.5 * float((n * (np.log(noise) + log(2 * pi) + 1.0) - logs).sum())
    if problem.weights is not None:
        width = sum(one.T.shape[1] for one in parts.parts)
        total += 0.5 * width * float(np.log(problem.weights).sum())
    return total


def _noise(part: Any, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """σ² and Σ_i log(1 - H_ii) of every direction of a part."""
    R, rest = (host(A) for A in next(iter(part.path([alpha]))))
    rest = np.broadcast_to(np.maximum(rest, np.finfo(float).eps), R.shape)
    return (R * R / rest).mean(axis=0), np.log(rest).sum(axis=0)


def unit_variance(inputs: Any, b: Array, share: float, X: Items, alpha: float) -> Array:
    """The variance of g(x) along directions of eigenvalues b, one column each, for unit noise."""
    xp, found = namespace(b), []
    removed = b * b / (inputs.s[:, None] * b[None, :] + alpha)
    for rows in blocks(count(X), max(1, HELD // max(1, inputs.s.shape[0]))):
        Z, prior = inputs.both(part_of(X, rows))
        found.append(prior[:, None] * b[None, :] - _squared(Z, removed))
    V = xp.concat(found)
    return xp.where(V > 0, V, xp.zeros_like(V)) / alpha + share**2


def _squared(Z: Array, A: Array) -> Array:
    """(Z∘Z) A, Z destroyed: in numpy one pass over it, on all cores."""
    if is_foreign(Z):
        return (Z * Z) @ A
    found = np.empty((Z.shape[0], A.shape[1]))

    def pass_over(parts: list[slice]) -> None:
        for rows in parts:
            Z[rows] *= Z[rows]
            np.matmul(Z[rows], A, out=found[rows])

    striped(pass_over, Z.shape[0], CACHED // max(1, Z.shape[1]))
    return found
