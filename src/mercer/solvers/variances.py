"""The posterior variance of g at one ridge, in the form in which it is computed and saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, blocks, count, is_foreign, namespace, take
from .._base.arrays import part as part_of
from .._base.threads import striped

HELD = 2**23
"""Kernel values that a variance holds at once, many enough for one fast product."""
CACHED = 2**16
"""Numbers of which all passes are made while they are in the cache of a core."""


@dataclass(frozen=True)
class SpectralVariances:
    """The posterior variance along the directions of the operator, for unit noise.

    Along direction j it is (b_j k(x, x) - Σ_p b_j² z_p(x)² / (b_j s_p + α)) / α, plus 1/Σw with an
    intercept.

    Attributes
    ----------
    inputs, scales
        For each part of the output directions the inputs in their eigenbasis, and the eigenvalues
        of the operator.
    alpha
        The ridge.
    order
        The position of each direction in the concatenated parts; None for one part.
    """

    inputs: list[Any]
    scales: list[Any]
    alpha: float
    order: np.ndarray | None = None

    def __call__(self, X: Items) -> Array:
        """One row an input, one column a direction."""
        parts = zip(self.inputs, self.scales, strict=True)
        found = [inputs.unit_variance(b, X, self.alpha) for inputs, b in parts]
        return in_order(found, self.order)


def in_order(columns: list[Array], order: np.ndarray | None) -> Array:
    """The columns of several parts as columns of all directions."""
    xp = namespace(*columns)
    joined = columns[0] if len(columns) == 1 else xp.concat(columns, axis=1)
    return (
        joined if order is None else xp.matrix_transpose(take(xp.matrix_transpose(joined), order))
    )


def unit_variance(inputs: Any, b: Array, X: Items, alpha: float) -> Array:
    """The variance of g(x) along directions of eigenvalues b, one column each, for unit noise."""
    xp, found = namespace(b), []
    removed = b * b / (inputs.s[:, None] * b[None, :] + alpha)
    for rows in blocks(count(X), max(1, HELD // max(1, inputs.s.shape[0]))):
        Z, prior = inputs.both(part_of(X, rows))
        found.append(prior[:, None] * b[None, :] - _squared(Z, removed))
    V = xp.concat(found)
    return xp.where(V > 0, V, xp.zeros_like(V)) / alpha + inputs.share**2


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
