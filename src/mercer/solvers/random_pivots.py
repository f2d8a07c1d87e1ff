"""A preconditioner of low rank, from random pivots of a Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.arrays import Array, host, like, namespace, take_columns
from .._base.linalg import EPS, PositiveDefinite, add_ridge, solve_triangular
from .gram_products import GramProducts

PIVOT_SEED = 0
"""The seed of the pivots, so that two fits are equal."""
PIVOTS = 100
"""The number of pivots that are drawn together."""
PIVOT_JITTER = 1e-10
"""The ridge on the block of new pivots, relative to its trace."""
SMALLEST_KEPT = 1e-12
"""Smaller eigenvalues, relative to the largest, are left out."""


@dataclass(frozen=True)
class RandomPivots:
    """The inverses of U diag(s) Uᵀ + s_min (I - U Uᵀ) + τI for all shifts τ at once.

    Attributes
    ----------
    Ft, W
        The factors of U = F W, which has orthonormal columns; Fᵀ is stored.
    s
        The eigenvalues, in rising order.
    """

    Ft: Array
    W: Array
    s: Array

    @classmethod
    def of(
        cls, gram: GramProducts, roots: Array | None, N: Array | None, rank: int
    ) -> RandomPivots:
        """Return the preconditioner of P (r ∘ K ∘ rᵀ) P with P = I - NNᵀ, from `rank` pivots.

        `roots` are r as a column, and N is a column; None stands for ones, and for no intercept.
        """
        Ft = pivoted_rows(gram, roots, rank)
        if N is not None:
            Ft = Ft - (Ft @ N) @ N.T
        xp = namespace(Ft)
        s, Q = xp.linalg.eigh(Ft @ Ft.T)
        kept = np.flatnonzero(host(s > SMALLEST_KEPT * s[-1]))
        s, Q = s[int(kept[0]) :], Q[:, int(kept[0]) :]
        return cls(Ft, Q / xp.sqrt(s), s)

    @property
    def leading(self) -> Array:
        """The leading eigenvector, as a column."""
        return self.Ft.T @ self.W[:, -1:]

    def __call__(self, R: Array, shifts: Array) -> Array:
        """Return the columns of R, each multiplied by the inverse for its shift."""
        outside = self.s[0] + shifts
        inside = 1.0 / (self.s[:, None] + shifts) - 1.0 / outside
        return R / outside + self.Ft.T @ (self.W @ ((self.W.T @ (self.Ft @ R)) * inside))


def pivoted_rows(gram: GramProducts, roots: Array | None, rank: int) -> Array:
    """Return Fᵀ with F Fᵀ close to r ∘ K ∘ rᵀ.

    The pivots are drawn in blocks, in proportion to the rest of the diagonal.
    """
    random = np.random.default_rng(PIVOT_SEED)
    rest = gram.diagonal if roots is None else gram.diagonal * roots[:, 0] ** 2
    xp, n, done = namespace(rest), int(rest.shape[0]), 0
    Ft, rounding = like(np.zeros((rank, n)), rest), n * EPS * float(xp.max(rest))
    while done < rank:
        chances = np.where(host(rest) > rounding, host(rest), 0.0)
        index = _draw(random, chances, min(PIVOTS, rank - done))
        if not len(index):
            return Ft[:done, :]
        G = gram.rows(index)
        if roots is not None:
            G = like(host(roots)[index], G) * G * roots.T
        G = G - take_columns(Ft[:done, :], index).T @ Ft[:done, :]
        block = take_columns(G, index)
        jitter = max(rounding, PIVOT_JITTER * float(xp.linalg.trace(block)))
        factor = PositiveDefinite.of(add_ridge(block + 0.0, jitter)).factor
        new = solve_triangular(factor, G)
        Ft[done : done + len(index), :] = new
        rest = rest - xp.sum(new * new, axis=0)
        done += len(index)
    return Ft


def _draw(random: np.random.Generator, chances: np.ndarray, number: int) -> np.ndarray:
    """Draw up to `number` different positions in proportion to `chances`."""
    number = min(number, int((chances > 0).sum()))
    if not number:
        return np.arange(0)
    return np.sort(random.choice(len(chances), number, replace=False, p=chances / chances.sum()))
