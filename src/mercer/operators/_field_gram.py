"""Values a I + b δδᵀ of the difference δ of two points, multiplied with and never written out."""

from __future__ import annotations

import numpy as np

from .._arrays import Array, blocks, namespace, take
from .block_gram import BlockGram, Slots

ROWS = 128
"""Rows of the n × n products that are held at once: they should stay in the cache."""


class FieldGram(BlockGram):
    """K(a_i, b_j) = level_ij I + bend_ij δδᵀ with δ = a_i - b_j.

    Notes
    -----
    With s_j = ⟨b_j, c_j⟩ and T = bend ∘ (A Cᵀ - 1sᵀ) the product is

        Σ_j K(a_i, b_j) c_j = (level C)_i + (T 1)_i a_i - (T B)_i,

    O(n m d) for n and m points in d dimensions, where the matrix written out has n m d² entries.
    Points come moved so that their mean is zero, as only differences count.
    """

    def __init__(self, A: Array, B: Array, level: Array, bend: Array):
        self.A, self.B, self.level, self.bend = A, B, level, bend
        width = int(A.shape[1])
        self.rows, self.columns = Slots(int(A.shape[0]), width), Slots(int(B.shape[0]), width)

    def apply(self, D: Array) -> Array:
        """The product, column by column of D."""
        xp = namespace(D)
        shape = (self.columns.n, self.columns.width)
        parts = [self._product(xp.reshape(D[:, r], shape)) for r in range(D.shape[1])]
        return xp.stack([xp.reshape(part, (-1,)) for part in parts], axis=1)

    def _product(self, C: Array) -> Array:
        xp = namespace(C)
        B, Ct = self.B, xp.matrix_transpose(C)
        s = xp.sum(B * C, axis=1)
        out = []
        for rows in blocks(self.rows.n, ROWS):
            A = self.A[rows, :]
            T = A @ Ct
            T -= s
            T *= self.bend[rows, :]
            out.append(xp.sum(T, axis=1)[:, None] * A - T @ B)
        return self.level @ C + xp.concat(out)

    def matrix(self) -> Array:
        """Every value in full, one pair of dimensions at a time."""
        n, m, d = self.rows.n, self.columns.n, self.rows.width
        xp = namespace(self.level)
        planes = []
        for p in range(d):
            bent = self.bend * (self.A[:, p][:, None] - self.B[:, p][None, :])
            row = [bent * (self.A[:, r][:, None] - self.B[:, r][None, :]) for r in range(d)]
            row[p] += self.level
            planes.append(xp.stack(row, axis=2))  # (n, m, d)
        return xp.reshape(xp.stack(planes, axis=1), (n * d, m * d))

    def some_columns(self, index: np.ndarray) -> Array:
        """The columns of the points that have any of them, and of those what is wanted."""
        d = self.columns.width
        points, place = np.unique(np.asarray(index) // d, return_inverse=True)
        level, bend = (_columns(M, points) for M in (self.level, self.bend))
        G = FieldGram(self.A, take(self.B, points), level, bend).matrix()
        return _columns(G, place * d + np.asarray(index) % d)


def _columns(M: Array, index: np.ndarray) -> Array:
    xp = namespace(M)
    return xp.matrix_transpose(take(xp.matrix_transpose(M), index))
