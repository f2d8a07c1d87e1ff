"""The values of an operator-valued kernel on two batches, as one linear map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._arrays import Array, like, namespace, put, take


@dataclass(frozen=True)
class Slots:
    """How the output components of a batch are tied together by a kernel.

    Each of n items has `width` slots of `repeats` components; the kernel couples slots, and acts
    on the components of a slot alike (the letters that could stand at a position, say). Component
    c of an item is slot c // repeats, place c % repeats.

    Attributes
    ----------
    n, width, repeats
        Items, slots of an item, components of a slot.
    live
        The slots that exist, as positions in the n · width slots; None for all of them.
    """

    n: int
    width: int
    repeats: int = 1
    live: np.ndarray | None = None

    @property
    def size(self) -> int:
        """The number of slots of the batch."""
        return self.n * self.width if self.live is None else len(self.live)

    @cached_property
    def owners(self) -> np.ndarray:
        """The item that each slot belongs to."""
        every = np.repeat(np.arange(self.n), self.width)
        return every if self.live is None else every[self.live]

    def split(self, C: Array) -> Array:
        """Components (n, width · repeats) as one row a slot, (size, repeats)."""
        D = namespace(C).reshape(C, (self.n * self.width, self.repeats))
        return D if self.live is None else take(D, self.live)

    def join(self, D: Array) -> Array:
        """The same back, zero where there is no slot."""
        if self.live is not None:
            D = put(like(np.zeros((self.n * self.width, self.repeats)), D), self.live, D)
        return namespace(D).reshape(D, (self.n, self.width * self.repeats))


class BlockGram:
    """K(a_i, b_j) for all pairs: a linear map of coefficients (m, q) to points (n, q).

    ``gram @ C`` is Σ_j K(a_i, b_j) c_j. One of one's own implements `apply`; `matrix` follows
    from it, and is worth overriding where the kernel is cheaper written out.

    Attributes
    ----------
    rows, columns
        The slots of the two batches.
    """

    rows: Slots
    columns: Slots

    def apply(self, D: Array) -> Array:
        """The map on rows of slots, (columns.size, any) to (rows.size, any)."""
        raise NotImplementedError(f"{type(self).__name__} must implement apply(D)")

    def matrix(self) -> Array:
        """Written out over slots, (rows.size, columns.size)."""
        return self.apply(np.eye(self.columns.size))

    def __matmul__(self, C: Array) -> Array:
        return self.rows.join(self.apply(self.columns.split(C)))

    def column(self, j: int, d: Array) -> Array:
        """K(a_i, b_j) d for every a_i, (n, q)."""
        C = like(np.zeros((self.columns.n, int(d.shape[0]))), d)
        return self @ put(C, [j], d[None, :])

    def joint(self, V: Array) -> Array:
        """⟨K(a_i, b_j) v_d, v_c⟩ at [i, c, j, d]: the joint kernel of all inputs and points V."""
        xp = namespace(V)
        every = [(j, d) for j in range(self.columns.n) for d in range(int(V.shape[0]))]
        columns = [self.column(j, V[d, :]) @ xp.matrix_transpose(V) for j, d in every]
        shape = (self.rows.n, int(V.shape[0]), self.columns.n, int(V.shape[0]))
        return xp.reshape(xp.stack(columns, axis=-1), shape)

    def pairings(self, V: Array, W: Array) -> Array:
        """⟨K(a_i, b_j) w_j, v_i⟩ for all pairs, (n, m), of points V (n, q) and W (m, q)."""
        V, W = self.rows.split(V), self.columns.split(W)
        xp = namespace(V)
        P = self.matrix() * (V @ xp.matrix_transpose(W))
        left = np.equal.outer(np.arange(self.rows.n), self.rows.owners)
        right = np.equal.outer(self.columns.owners, np.arange(self.columns.n))
        return like(left.astype(float), P) @ P @ like(right.astype(float), P)

    def blocks(self) -> np.ndarray:
        """Every K(a_i, b_j) in full, (n, m, q, q): for tests and for a look."""
        rows, columns = self.rows, self.columns
        q, p = rows.width * rows.repeats, columns.width * columns.repeats
        units = np.eye(columns.n * p).reshape(-1, columns.n, p)
        values = np.stack([self @ unit for unit in units], axis=-1)
        return values.reshape(rows.n, q, columns.n, p).transpose(0, 2, 1, 3)


class DenseGram(BlockGram):
    """A matrix over slots that is there already."""

    def __init__(self, G: Array, rows: Slots, columns: Slots):
        self.G, self.rows, self.columns = G, rows, columns

    def apply(self, D: Array) -> Array:
        """A product."""
        return self.G @ D

    def matrix(self) -> Array:
        """The matrix itself."""
        return self.G


class KroneckerGram(BlockGram):
    """K(a_i, b_j) = k(a_i, b_j) B: never written out to be multiplied with."""

    def __init__(self, K: Array, B: Array):
        n, m = (int(size) for size in K.shape)
        q = int(B.shape[0])
        self.K, self.B = K, B
        self.rows, self.columns = Slots(n, q), Slots(m, q)

    def apply(self, D: Array) -> Array:
        """K C B, for every column of D."""
        xp, (m, q) = namespace(D), (self.columns.n, self.columns.width)
        C = xp.reshape(D, (m, -1))  # (m, q · columns of D)
        C = xp.reshape(self.K @ C, (self.rows.n, q, -1))
        B = self.B[:, None] * C if self.B.ndim == 1 else self.B @ C
        return xp.reshape(B, (self.rows.n * q, -1))

    def matrix(self) -> Array:
        """The Kronecker product."""
        xp = namespace(self.K)
        B = self.B if self.B.ndim == 2 else like(np.eye(self.B.shape[0]), self.B) * self.B
        G = self.K[:, None, :, None] * B[None, :, None, :]
        return xp.reshape(G, (self.rows.size, self.columns.size))

    def column(self, j: int, d: Array) -> Array:
        """K_·j times B d."""
        return self.K[:, j][:, None] * (self.B * d if self.B.ndim == 1 else self.B @ d)[None, :]

    def pairings(self, V: Array, W: Array) -> Array:
        """K ∘ (V B Wᵀ)."""
        right = W * self.B if self.B.ndim == 1 else W @ self.B
        return self.K * (V @ namespace(V).matrix_transpose(right))


class SumGram(BlockGram):
    """The sum of two."""

    def __init__(self, left: BlockGram, right: BlockGram):
        self.left, self.right = left, right
        self.rows, self.columns = left.rows, left.columns

    def apply(self, D: Array) -> Array:
        """Both, added."""
        return self.left.apply(D) + self.right.apply(D)

    def matrix(self) -> Array:
        """Both written out, added."""
        return self.left.matrix() + self.right.matrix()

    def column(self, j: int, d: Array) -> Array:
        """Both, added."""
        return self.left.column(j, d) + self.right.column(j, d)

    def pairings(self, V: Array, W: Array) -> Array:
        """Both, added."""
        return self.left.pairings(V, W) + self.right.pairings(V, W)
