"""Partial Cholesky factor of a Gram matrix K, which computes only the columns of its pivots."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from array_api_compat import device
from scipy.linalg.blas import dtrsm

from .._base.arrays import Array, Items, blocks, count, host, is_foreign, namespace, sliced, take
from .._base.linalg import EPS, PositiveDefinite, solve_triangular
from .._base.plan import require_low_rank
from .._base.threads import cores, map_row_blocks
from ..kernels import Kernel

FACTOR_ROWS = 8192
"""Rows of the factor that are computed at once, because kernels copy their arguments."""
THREAD_ROWS = 1024
"""Rows that each of several threads computes at once."""
FEW_THREADS = 4
"""Number of threads up to which a solve that holds the interpreter lock is faster."""
AHEAD = 48
"""Columns that the greedy method computes together."""


def _solve_triangular(L: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return L⁻¹B for a lower triangular matrix L, and overwrite B."""
    return dtrsm(1.0, L, B, lower=1, overwrite_b=1)


class Factor:
    """Low-rank factor U of a Gram matrix K ≈ UUᵀ, which grows as items are added as pivots."""

    def __init__(self, kernel: Kernel, A: Items, rank: int | None):
        self.kernel, self.A = kernel, kernel.check(A, "A")
        self.residual = kernel.finite_values(kernel.diag(self.A)) + 0.0
        xp, n = namespace(self.residual), count(self.A)
        self.rank = n if rank is None else min(rank, n)
        require_low_rank(n, None if rank is None else self.rank)
        self.trace = float(xp.sum(self.residual))
        self.noise = n * EPS * float(xp.max(self.residual))
        shape, kind = (n, self.rank), self.residual
        self.U = xp.zeros(shape, dtype=kind.dtype, device=device(kind))
        self.pivots: list[int] = []
        self.place: dict[int, int] = {}

    @property
    def rows(self) -> Array:
        """The columns of the factor U computed so far, with one row for each item."""
        return self.U[:, : len(self.pivots)]

    @property
    def error(self) -> float:
        """The trace error tr(K - UUᵀ) / tr K of the factor."""
        return float(namespace(self.residual).sum(self.residual)) / (self.trace or 1.0)

    def residual_block(self, index: Array) -> Array:
        """Return the rows and columns of the residual K - UUᵀ at the items `index`."""
        chosen, rows = take(self.A, index), take(self.rows, index)
        left = self.kernel.finite_values(self.kernel._gram(chosen, chosen))
        return left - rows @ rows.T

    def columns(self, index: Array) -> Array:
        """Return the columns of the residual K - UUᵀ at the items `index`."""
        landmarks, known = take(self.A, index), take(self.rows, index)
        G = [
            self.kernel._gram(sliced(self.A, rows), landmarks) - self.rows[rows, :] @ known.T
            for rows in blocks(count(self.A), FACTOR_ROWS)
        ]
        return self.kernel.finite_values(G[0] if len(G) == 1 else namespace(*G).concat(G, axis=0))

    def grow(self, index: Array) -> None:
        """Add the items `index` as pivots, and compute their columns of the factor U."""
        if is_foreign(self.U) or not self.kernel.on_vectors:
            G = self.columns(index)
            L = PositiveDefinite.of(take(G, index)).factor
            self._append_columns(index, solve_triangular(L, G.T).T)
            return
        L = np.asfortranarray(PositiveDefinite.of(self.residual_block(index)).factor)
        landmarks, known = take(self.A, index), take(self.rows, index)
        threads = min(cores(), count(self.A) // THREAD_ROWS)
        solve = _solve_triangular if threads <= FEW_THREADS else np.linalg.solve
        map_row_blocks(
            partial(self._fill_rows, solve, L, landmarks, known), count(self.A), THREAD_ROWS
        )
        self._record_pivots(index)

    def _fill_rows(
        self,
        solve: Callable[[np.ndarray, np.ndarray], np.ndarray],
        L: np.ndarray,
        landmarks: Items,
        known: np.ndarray,
        slices: list[slice],
    ) -> None:
        """Compute new columns of U, and update the residual diagonal, for some slices of rows.

        `known` are the rows of U of the `landmarks`, and L is their residual's Cholesky factor.
        """
        m = known.shape[1]
        for rows in slices:
            G = self.kernel.finite_values(self.kernel._gram(sliced(self.A, rows), landmarks))
            G = G - self.U[rows, :m] @ known.T  # not in place: the kernel may cache G
            new = solve(L, G.T).T
            self.U[rows, m : m + len(L)] = new
            left = self.residual[rows] - np.einsum("ij,ij->i", new, new)
            self.residual[rows] = np.maximum(left, 0.0)

    def _append_columns(self, index: Array, new: Array) -> None:
        """Append the columns `new` of U for the pivots `index`; update the residual diagonal."""
        xp, m = namespace(self.U), len(self.pivots)
        self.U[:, m : m + len(index)] = new
        left = self.residual - xp.sum(new * new, axis=1)
        self.residual = xp.where(left > 0, left, xp.zeros_like(left))
        self._record_pivots(index)

    def _record_pivots(self, index: Array) -> None:
        """Record the items `index` as pivots, and set their residuals to zero."""
        for i in index:
            self.residual[int(i)] = 0.0
        self.pivots += [int(i) for i in index]

    def grow_by_one(self, i: int) -> None:
        """Add item i as a pivot; its residual column may have been computed ahead."""
        if i not in self.place:
            self._compute_columns_ahead(i)
        column = self.fetched[:, self.place[i]]
        column = column - self.rows[:, self.since :] @ self.U[i, self.since : len(self.pivots)]
        self._append_columns([i], (column / namespace(column).sqrt(column[i]))[:, None])

    def _compute_columns_ahead(self, i: int) -> None:
        """Compute residual columns of item i and the items with the largest residuals.

        A kernel takes hardly longer for some dozen columns than for one, and the next pivots are
        nearly always among the items with the largest residuals now.
        """
        order = host(namespace(self.residual).argsort(self.residual))
        chosen = [i, *(int(j) for j in order[-AHEAD:] if j != i)]
        self.fetched, self.since = self.columns(chosen), len(self.pivots)
        self.place = {j: at for at, j in enumerate(chosen)}
