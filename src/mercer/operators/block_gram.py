"""The values of an operator-valued kernel on two batches, as one linear map."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._arrays import Array, like, namespace, put, take
from ..symmetric import SymMatrix
from .slots import Slots


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

    terms: tuple[tuple[Array, SymMatrix], ...] | None = None
    """The (K, B) of which it is the sum of the k(a_i, b_j) B; None where it is no such sum."""

    direct = False
    """Whether one matrix over slots is the best way at any size: products would make it anew."""

    def apply(self, D: Array) -> Array:
        """The map on rows of slots, (columns.size, any) to (rows.size, any)."""
        raise NotImplementedError(f"{type(self).__name__} must implement apply(D)")

    def matrix(self) -> Array:
        """Written out over slots, (rows.size, columns.size)."""
        return self.apply(np.eye(self.columns.size))

    def parts(self) -> Iterable[tuple[np.ndarray, Array]]:
        """Parts that it does not couple, of a batch with itself: their slots, and their matrix.

        All in one, unless the kernel knows better.
        """
        return [(np.arange(self.rows.size), self.matrix())]

    def some_columns(self, index: np.ndarray) -> Array:
        """Some columns of the matrix, (rows.size, number of them)."""
        unit = np.zeros((self.columns.size, len(index)))
        unit[index, np.arange(len(index))] = 1.0
        return self.apply(unit)

    def landmarks(self, number: int) -> np.ndarray:
        """Some of its items that stand for all, the same in every run; here drawn at random."""
        return np.sort(np.random.RandomState(0).permutation(self.columns.n)[:number])

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

    def some_columns(self, index: np.ndarray) -> Array:
        """Taken out of the matrix."""
        xp = namespace(self.G)
        return xp.matrix_transpose(take(xp.matrix_transpose(self.G), index))


class KroneckerGram(BlockGram):
    """K(a_i, b_j) = k(a_i, b_j) B: never written out to be multiplied with."""

    def __init__(self, K: Array, B: SymMatrix | Array):
        B = SymMatrix.of(B)
        n, m = (int(size) for size in K.shape)
        q = int(B.shape[0])
        self.K, self.B = K, B
        self.rows, self.columns = Slots(n, q), Slots(m, q)

    @property
    def terms(self) -> tuple[tuple[Array, SymMatrix], ...]:  # type: ignore[override]
        """Itself."""
        return ((self.K, self.B),)

    def apply(self, D: Array) -> Array:
        """K C B, for every column of D."""
        xp, (n, m, q) = namespace(D), (self.rows.n, self.columns.n, self.columns.width)
        C = xp.reshape(self.K @ xp.reshape(D, (m, -1)), (n, q, -1))
        if self.B.diagonal is not None:
            return xp.reshape(self.B.diagonal[:, None] * C, (n * q, -1))
        C = self.B.after(xp.reshape(xp.permute_dims(C, (0, 2, 1)), (-1, q)))
        return xp.reshape(xp.permute_dims(xp.reshape(C, (n, -1, q)), (0, 2, 1)), (n * q, -1))

    def some_columns(self, index: np.ndarray) -> Array:
        """Products of columns of both."""
        xp, q = namespace(self.K), self.columns.width
        Kt = take(xp.matrix_transpose(self.K), np.asarray(index) // q)
        B = take(self.B.full, np.asarray(index) % q)  # B is symmetric
        G = xp.permute_dims(Kt[:, :, None] * B[:, None, :], (1, 2, 0))
        return xp.reshape(G, (self.rows.size, len(index)))

    def matrix(self) -> Array:
        """The Kronecker product."""
        xp = namespace(self.K)
        G = self.K[:, None, :, None] * self.B.full[None, :, None, :]
        return xp.reshape(G, (self.rows.size, self.columns.size))

    def column(self, j: int, d: Array) -> Array:
        """K_·j times B d."""
        return self.K[:, j][:, None] * (self.B @ d)[None, :]

    def pairings(self, V: Array, W: Array) -> Array:
        """K ∘ (V B Wᵀ)."""
        right = self.B.after(W)
        return self.K * (V @ namespace(V).matrix_transpose(right))


class OverComponents(BlockGram):
    """The same map over components that have no slots in common."""

    def __init__(self, gram: BlockGram):
        self.gram = gram
        self.rows, self.columns = (
            Slots(slots.n, slots.width * slots.repeats) for slots in (gram.rows, gram.columns)
        )

    def apply(self, D: Array) -> Array:
        """One column of components after another."""
        xp, shape = namespace(D), (self.columns.n, self.columns.width)
        parts = [self.gram @ xp.reshape(D[:, r], shape) for r in range(D.shape[1])]
        return xp.stack([xp.reshape(part, (-1,)) for part in parts], axis=1)


class SumGram(BlockGram):
    """The sum of two; where they share components differently, over the components."""

    def __init__(self, left: BlockGram, right: BlockGram):
        if not (left.rows.like(right.rows) and left.columns.like(right.columns)):
            left, right = OverComponents(left), OverComponents(right)
        self.left, self.right = left, right
        self.rows, self.columns = left.rows, left.columns

    @property
    def terms(self) -> tuple[tuple[Array, SymMatrix], ...] | None:  # type: ignore[override]
        """Those of both, where both have them."""
        left, right = self.left.terms, self.right.terms
        return None if left is None or right is None else left + right

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

    def landmarks(self, number: int) -> np.ndarray:
        """Those of the first."""
        return self.left.landmarks(number)

    def some_columns(self, index: np.ndarray) -> Array:
        """Those of both, added."""
        return self.left.some_columns(index) + self.right.some_columns(index)
