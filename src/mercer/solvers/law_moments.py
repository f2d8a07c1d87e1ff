"""The ridge regression that finds a law of neighbours: sums over windows of fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._base.arrays import Array, blocks, count, host, is_foreign, namespace
from .._base.linalg import PositiveDefinite, add_ridge, solve_triangular
from ..operators.windows import like_index
from .local_law import DEVICE_ROWS, ROWS, LocalLawMap
from .place_moments import factor_of

DAMPED = 0.02
"""The damping of solutions over the squared violation of the law by left-out fields."""
JITTER = 1e-10
"""What is added to the diagonal of the landmarks' Gram matrix."""


def binary_unit(A: Array) -> float:
    """Return the power of two below the largest absolute value, or 1."""
    top = float(namespace(A).max(abs(A)))
    return float(np.ldexp(1.0, int(np.frexp(top)[1]) - 1)) if top else 1.0


class LawMoments(NamedTuple):
    """Sums over windows of some fields: D ᵀD, Dᵀt, and at each place those of D and t."""

    S: Array
    b: Array
    rows: Array
    targets: Array
    n: int

    def __add__(self, other: Any) -> LawMoments:
        return LawMoments(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: Any) -> LawMoments:
        return LawMoments(*(a - b for a, b in zip(self, other, strict=True)))

    def path(self, alphas: Sequence[float], intercept: bool) -> Iterator[tuple[Array, Array]]:
        """Coefficients and the constants of places for every α; NaN where α is lost in rounding."""
        turn = namespace(self.S).matrix_transpose
        mean, level = self.rows / self.n, self.targets / self.n
        S, b = self.S + 0.0, self.b
        if intercept:
            S -= self.n * (turn(mean) @ mean)
            b = b - self.n * (turn(mean) @ level)
        for alpha in alphas:
            try:
                coef = PositiveDefinite.of(add_ridge(S + 0.0, alpha)).solve(b[:, None])[:, 0]
            except np.linalg.LinAlgError:
                coef = b * np.nan
            yield coef, level - mean @ coef if intercept else 0.0 * level


class LawFit:
    """The moments of some fields on some landmarks."""

    def __init__(self, map: LocalLawMap, X: Array, Y: Array):
        self.map, self.X, self.Y = map, X, Y
        own, over = map.neighbours(Y)
        xp = namespace(own)
        self.scales = xp.sqrt(xp.mean(own * own, axis=0)) + 1e-300
        self.scale = float(xp.sqrt(xp.mean(over * over))) or 1.0
        K = map.kernel._gram(map.marks, map.marks)
        self.root = factor_of(add_ridge(K, JITTER * float(xp.max(xp.linalg.diagonal(K)))))

    def moments(self, fields: np.ndarray) -> LawMoments:
        """Those of some of the fields."""
        map, step = self.map, DEVICE_ROWS if is_foreign(self.X) else ROWS
        step = max(1, step // len(map._grid.live))
        total: Any = None
        for rows in blocks(len(fields), step):
            at = like_index(fields[rows], self.X)
            own = self._moments(self.X[at, ...], self.Y[at, ...])
            total = own if total is None else total + own
        return total

    def _moments(self, X: Array, Y: Array) -> LawMoments:
        xp, places = namespace(X), len(self.map._grid.live)
        turn = xp.matrix_transpose
        Z = turn(
            solve_triangular(
                self.root, turn(self.map.kernel._gram(self.map.windows(X), self.map.marks))
            )
        )
        own, over = self.map.neighbours(Y)
        factors = xp.concat([xp.ones_like(own[:, :1]), own / self.scales], axis=1)
        D = xp.reshape(factors[:, :, None] * Z[:, None, :], (Z.shape[0], -1))
        t = over / self.scale
        at_places = xp.sum(xp.reshape(D, (-1, places, D.shape[1])), axis=0)
        levels = xp.sum(xp.reshape(t, (-1, places)), axis=0)
        return LawMoments(turn(D) @ D, turn(D) @ t, at_places, levels, count(X))

    def weights(self, coef: Array) -> Array:
        """Coefficients of the map from those of a fit."""
        xp = namespace(coef)
        W = xp.reshape(coef, (-1, self.root.shape[0]))
        W = solve_triangular(xp.matrix_transpose(self.root), xp.matrix_transpose(W), lower=False)
        scales = xp.concat([xp.ones_like(self.scales[:1]), self.scales])
        return W * (self.scale / scales)

    def judged(
        self, fields: np.ndarray, path: Iterable[tuple[Array, Array]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Relative errors of solved fields (row) for each of some fits, infinite without one.

        And by how much the fields themselves violate the law of each fit.
        """
        map, at = self.map, like_index(fields, self.X)
        K = map.kernel._gram(map.windows(self.X[at, ...]), map.marks)
        laws = [map.law(K, self.weights(c), d * self.scale) for c, d in path]
        violated = np.stack([map.violations(C, self.Y[at, ...]) for C in laws], axis=1)
        damping = np.repeat(damping_of(violated), len(fields))
        solved = map.solved(namespace(K).concat(laws), damping)
        truth, found = host(self.Y[at, ...]), host(solved)
        wrong = found.reshape(len(laws), *truth.shape) - truth
        lengths = np.maximum(np.linalg.norm(truth, axis=1), np.finfo(float).tiny)
        with np.errstate(over="ignore"):  # too large to be squared is infinite
            relative = (np.linalg.norm(wrong, axis=2) / lengths).T
        return np.where(np.isfinite(relative), relative, np.inf), violated


def damping_of(violated: np.ndarray) -> np.ndarray:
    """Return the damping of solutions of each law, from how far true fields violate it.

    A field of typical length is as likely to violate the law by so much as to be that long.
    """
    return DAMPED * np.median(violated, axis=0) ** 2
