"""The density of left-out outputs under a fitted ridge as a Gaussian process."""

from __future__ import annotations

from collections.abc import Iterable
from math import log, pi

import numpy as np

from .._base.arrays import host
from ..problem import Problem
from .left_out import LeaveOneOut, members_by_size
from .part import Part
from .variances import in_order


def left_out_noise(
    parts: Iterable[Part], problem: Problem, alpha: float, order: np.ndarray | None
) -> np.ndarray:
    """Return σ_j² along each direction: the mean of (left-out residual)² (1 - H_ii).

    A left-out residual has variance σ_j² / (1 - H_ii): the noise that left-out outputs show. The
    left-out residuals of a group have the covariance σ_j² (I - H_gg)⁻¹.
    """
    found = []
    for one in parts:
        noise = _noise(one, alpha, one.labels(problem))[0]
        found.append(np.tile(noise, 1 if one.slots is None else one.slots.width)[None, :])
    return in_order(found, order)[0]


def left_out_density(parts: Iterable[Part], problem: Problem, alpha: float) -> float:
    """Return Σ_g log p(y_g | all others), each direction of the operator with its own noise.

    −½ Σ_j [n log(2πσ_j²) + n - Σ_g log det(I - H_gg)], over finitely many directions.

    References
    ----------
    Rasmussen, Williams: Gaussian processes for machine learning (2006), section 5.4.2.
    """
    total = 0.0
    for one in parts:
        noise, logs = _noise(one, alpha, one.labels(problem))
        n, q = one.shape
        noise = np.maximum(noise, np.finfo(float).tiny)
        own = -0.5 * float((n * (np.log(noise) + log(2 * pi) + 1.0) - logs).sum())
        total += one.times * (own + 0.5 * q * one.log_weights(problem.weights))
    return total


def _noise(part: Part, alpha: float, groups: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return σ² and Σ_g log det(I - H_gg) of every direction of a part."""
    if groups is not None:
        return _group_noise(part, alpha, groups)
    R, rest = (host(A) for A in next(iter(part.path([alpha]))))
    rest = np.broadcast_to(np.maximum(rest, np.finfo(float).eps), R.shape)
    return (abs(R) ** 2 / rest).mean(axis=0), np.log(rest).sum(axis=0)


def _group_noise(part: Part, alpha: float, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same where the rows of a group are left out together."""
    R = next(part.path([alpha]))[0]
    (errors,) = LeaveOneOut(part, groups).solved([R], [alpha])
    logs = np.zeros(R.shape[1])
    for members in members_by_size(groups):
        E = part.inputs.rows(members.reshape(-1))
        rest = host(part.rest_blocks([alpha], members, E))[:, 0]
        logs = logs + np.linalg.slogdet(rest)[1].sum(axis=0)
    return (host(R).conj() * host(errors)).real.mean(axis=0), logs
