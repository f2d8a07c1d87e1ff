"""Values a I + b δδᵀ of the difference δ of two points, multiplied with and never written out."""

from __future__ import annotations

import numpy as np

from .._arrays import Array, blocks, like, namespace, take
from .block_gram import BlockGram
from .slots import Slots

ROWS = 128
"""Rows of the n × n products that are held at once: they should stay in the cache."""
FEW = 6
"""Dimensions up to which one product with d² + 2d + 1 columns is faster than two with d."""


class FieldGram(BlockGram):
    """K(a_i, b_j) = level_ij I + bend_ij δδᵀ with δ = a_i - b_j.

    Parameters
    ----------
    A, B
        The points, moved so that the mean of B is zero: only differences count.
    level, bend
        The factors, (n, m) both; a number for `level` is that multiple of `bend`.

    Notes
    -----
    With s_j = ⟨b_j, c_j⟩ and T = bend ∘ (A Cᵀ - 1sᵀ) the product is

        Σ_j K(a_i, b_j) c_j = (level C)_i + (T 1)_i a_i - (T B)_i,

    O(n m d) for n and m points in d dimensions, where the matrix written out has n m d² entries.
    In few dimensions T is expanded, and all of it is one product with the columns of
    C, s, s ∘ B and C ⊗ B, which reads `bend` once.
    """

    def __init__(self, A: Array, B: Array, level: Array | float, bend: Array):
        self.A, self.B, self.level, self.bend = A, B, level, bend
        width = int(A.shape[1])
        self.rows, self.columns = Slots(int(A.shape[0]), width), Slots(int(B.shape[0]), width)

    def apply(self, D: Array) -> Array:
        """The product, column by column of D."""
        xp = namespace(D)
        shape = (self.columns.n, self.columns.width)
        product = self._expanded if self.columns.width <= FEW else self._blocked
        parts = [product(xp.reshape(D[:, r], shape)) for r in range(D.shape[1])]
        return xp.stack([xp.reshape(part, (-1,)) for part in parts], axis=1)

    def _expanded(self, C: Array) -> Array:
        xp, (m, d), A = namespace(C), C.shape, self.A
        s = xp.sum(self.B * C, axis=1)[:, None]
        pairs = xp.reshape(self.B[:, :, None] * C[:, None, :], (m, d * d))
        M = self.bend @ xp.concat([C, s, s * self.B, pairs], axis=1)
        bent, pulled = M[:, :d], M[:, d + 1 : 2 * d + 1]
        turned = xp.reshape(M[:, 2 * d + 1 :], (-1, d, d)) @ A[:, :, None]
        along = xp.sum(A * bent, axis=1)[:, None] - M[:, d : d + 1]
        return self._levelled(C, bent) + along * A + pulled - turned[:, :, 0]

    def _blocked(self, C: Array) -> Array:
        xp = namespace(C)
        s, Ct = xp.sum(self.B * C, axis=1), C.T
        out = []
        for rows in blocks(self.rows.n, ROWS):
            A = self.A[rows, :]
            T = A @ Ct
            T -= s
            T *= self.bend[rows, :]
            out.append(xp.sum(T, axis=1)[:, None] * A - T @ self.B)
        return self._levelled(C, None) + xp.concat(out)

    def _levelled(self, C: Array, bent: Array | None) -> Array:
        """Level times C, where `bent` is bend times C if that is known."""
        if not isinstance(self.level, float):
            return self.level @ C
        return self.level * (self.bend @ C if bent is None else bent)

    def matrix(self) -> Array:
        """Every value in full, one pair of dimensions at a time."""
        n, m, d = self.rows.n, self.columns.n, self.rows.width
        G = like(np.empty((n, d, m, d)), self.bend)
        for p in range(d):
            bent = self.bend * self._differences(p)
            for r in range(p, d):
                G[:, p, :, r] = bent * self._differences(r)
                G[:, r, :, p] = G[:, p, :, r]
            G[:, p, :, p] += self.level * self.bend if isinstance(self.level, float) else self.level
        return namespace(G).reshape(G, (n * d, m * d))

    def _differences(self, p: int) -> Array:
        return self.A[:, p][:, None] - self.B[:, p][None, :]

    def landmarks(self, number: int) -> np.ndarray:
        """Points far from each other: next comes the one that is least like those chosen."""
        xp, chosen = namespace(self.bend), [0]
        nearest = xp.abs(self.bend[0, :])
        while len(chosen) < number:
            chosen.append(int(xp.argmin(nearest)))
            nearest = xp.maximum(nearest, xp.abs(self.bend[chosen[-1], :]))
        return np.unique(chosen)

    def some_columns(self, index: np.ndarray) -> Array:
        """The columns of the points that have any of them, and of those what is wanted."""
        d = self.columns.width
        points, place = np.unique(np.asarray(index) // d, return_inverse=True)
        level = self.level if isinstance(self.level, float) else _columns(self.level, points)
        part = FieldGram(self.A, take(self.B, points), level, _columns(self.bend, points))
        G = part.matrix()
        wanted = place * d + np.asarray(index) % d
        return G if np.array_equal(wanted, np.arange(G.shape[1])) else _columns(G, wanted)


def _columns(M: Array, index: np.ndarray) -> Array:
    xp = namespace(M)
    return xp.matrix_transpose(take(M.T, index))
