"""The values of an operator-valued kernel on two batches, as one linear map."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from .._base.arrays import Array, like, namespace, put, take
from .._base.symmetric import full, multiply
from .slots import Slots


class BlockGram:
    r"""The Gram matrix of an operator-valued kernel as a linear map of (m, q) to (n, q) arrays.

    Row i of ``gram @ C`` is :math:`\sum_j K(a_i, b_j) c_j`. A custom Gram matrix implements
    `apply`. The other methods use it; override `matrix` if the dense matrix can be computed faster
    than by products.

    A slot is a group of output components of one item that the kernel treats alike, see `Slots`;
    for most kernels every component is a slot.

    Attributes
    ----------
    rows, columns
        The slots of the two batches.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import CurlFree
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> gram = CurlFree(1.0).fit(X, X).gram(X)
    >>> gram.rows.size, gram.blocks().shape, (gram @ X).shape
    (4, (2, 2, 2, 2), (2, 2))
    """

    rows: Slots
    columns: Slots

    terms: tuple[tuple[Array, Array], ...] | None = None
    """Pairs (K, B) if the Gram matrix is a sum of Kronecker products of K and B, else None."""

    direct = False
    """Whether the dense matrix is stored at any size, because each product would recompute it."""

    def apply(self, D: Array) -> Array:
        """Return the Gram matrix times D, one row per slot (a group of output components).

        The shape of D is (columns.size, any), that of the result (rows.size, any).
        """
        raise NotImplementedError(f"{type(self).__name__} must implement apply(D)")

    def matrix(self) -> Array:
        """Return the dense Gram matrix, one row per slot (a group of output components).

        Its shape is (rows.size, columns.size).
        """
        return self.apply(np.eye(self.columns.size))

    def diagonal_blocks(self) -> Iterable[tuple[np.ndarray, Array]]:
        """Return the diagonal blocks: their slots (groups of components) and their matrices.

        The slots of a block couple with no others. By default, there is one block with all slots.
        """
        return [(np.arange(self.rows.size), self.matrix())]

    def some_columns(self, index: np.ndarray) -> Array:
        """Return the columns `index` of the Gram matrix, (rows.size, len(index))."""
        unit = np.zeros((self.columns.size, len(index)))
        unit[index, np.arange(len(index))] = 1.0
        return self.apply(unit)

    def landmarks(self, number: int) -> np.ndarray:
        """Return the indices of `number` representative items, by default a fixed random sample."""
        return np.sort(np.random.RandomState(0).permutation(self.columns.n)[:number])

    def __matmul__(self, C: Array) -> Array:
        return self.rows.join(self.apply(self.columns.split(C)))

    def column(self, j: int, d: Array) -> Array:
        """Return the vectors K(a_i, b_j) d for item number j, a vector d and every item a_i."""
        C = like(np.zeros((self.columns.n, int(d.shape[0]))), d)
        return self @ put(C, [j], d[None, :])

    def joint(self, V: Array) -> Array:
        """Return the Gram matrix of the joint kernel, for all pairs of an item and a row of V.

        The entry [i, c, j, d] is ⟨K(a_i, b_j) v_d, v_c⟩.
        """
        xp = namespace(V)
        every = [(j, d) for j in range(self.columns.n) for d in range(int(V.shape[0]))]
        columns = [self.column(j, V[d, :]) @ V.T for j, d in every]
        shape = (self.rows.n, int(V.shape[0]), self.columns.n, int(V.shape[0]))
        return xp.reshape(xp.stack(columns, axis=-1), shape)

    def pairings(self, V: Array, W: Array) -> Array:
        """Return ⟨K(a_i, b_j) w_j, v_i⟩ for all items a_i, b_j and rows v_i of V, w_j of W.

        The shape of the result is (n, m).
        """
        V, W = self.rows.split(V), self.columns.split(W)
        P = self.matrix() * (V @ W.T)
        left = np.equal.outer(np.arange(self.rows.n), self.rows.owners)
        right = np.equal.outer(self.columns.owners, np.arange(self.columns.n))
        return like(left.astype(float), P) @ P @ like(right.astype(float), P)

    def blocks(self) -> np.ndarray:
        """Return all blocks K(a_i, b_j), (n, m, q, q), for tests and inspection."""
        rows, columns = self.rows, self.columns
        q, p = rows.width * rows.repeats, columns.width * columns.repeats
        units = np.eye(columns.n * p).reshape(-1, columns.n, p)
        done = self.apply(np.concatenate([columns.split(unit) for unit in units], axis=1))
        values = np.stack([rows.join(D) for D in np.split(done, len(units), axis=1)], axis=-1)
        return values.reshape(rows.n, q, columns.n, p).transpose(0, 2, 1, 3)


class DenseGram(BlockGram):
    """Block Gram matrix that is stored as a dense matrix, one row per slot.

    Parameters
    ----------
    G : array of shape (rows.size, columns.size)
        The matrix.
    rows, columns : Slots
        The slots of the two batches.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import DenseGram, Slots
    >>> gram = DenseGram(np.eye(4), Slots(2, 2), Slots(2, 2))
    >>> gram @ np.array([[1.0, 2.0], [3.0, 4.0]])
    array([[1., 2.],
           [3., 4.]])
    """

    def __init__(self, G: Array, rows: Slots, columns: Slots):
        self.G, self.rows, self.columns = G, rows, columns

    def apply(self, D: Array) -> Array:
        """Return the stored matrix times D."""
        return self.G @ D

    def matrix(self) -> Array:
        """Return the stored matrix."""
        return self.G

    def some_columns(self, index: np.ndarray) -> Array:
        """Return the columns `index` of the stored matrix."""
        return take(self.G.T, index).T


class KroneckerGram(BlockGram):
    """Block Gram matrix of a separable kernel, stored as the Gram matrix K and the operator B."""

    def __init__(self, K: Array, B: Array):
        n, m = (int(size) for size in K.shape)
        q = int(B.shape[0])
        self.K, self.B = K, B
        self.rows, self.columns = Slots(n, q), Slots(m, q)
        self.terms = ((K, B),)

    def apply(self, D: Array) -> Array:
        """Return the Kronecker product of K and B, times D.

        It is K C B for each column of D as an (m, q) array C.
        """
        xp, (n, m, q) = namespace(D), (self.rows.n, self.columns.n, self.columns.width)
        C = xp.reshape(self.K @ xp.reshape(D, (m, -1)), (n, q, -1))
        if self.B.ndim == 1:
            return xp.reshape(self.B[:, None] * C, (n * q, -1))
        C = xp.reshape(xp.permute_dims(C, (0, 2, 1)), (-1, q)) @ self.B
        return xp.reshape(xp.permute_dims(xp.reshape(C, (n, -1, q)), (0, 2, 1)), (n * q, -1))

    def some_columns(self, index: np.ndarray) -> Array:
        """Return the columns `index` of the Kronecker product of K and B."""
        xp, q = namespace(self.K), self.columns.width
        Kt = take(self.K.T, np.asarray(index) // q)
        B = take(full(self.B), np.asarray(index) % q)  # B is symmetric
        G = xp.permute_dims(Kt[:, :, None] * B[:, None, :], (1, 2, 0))
        return xp.reshape(G, (self.rows.size, len(index)))

    def matrix(self) -> Array:
        """Return the Kronecker product of K and B as a dense matrix."""
        xp = namespace(self.K)
        G = self.K[:, None, :, None] * full(self.B)[None, :, None, :]
        return xp.reshape(G, (self.rows.size, self.columns.size))

    def column(self, j: int, d: Array) -> Array:
        """Return the vectors K[i, j] B d for item number j, a vector d and every item i."""
        return self.K[:, j][:, None] * multiply(d, self.B)[None, :]

    def pairings(self, V: Array, W: Array) -> Array:
        """Return K[i, j] ⟨B w_j, v_i⟩ for all items i, j and rows v_i of V, w_j of W."""
        return self.K * (V @ multiply(W, self.B).T)


class SumGram(BlockGram):
    """Sum of block Gram matrices, multiplied by a number.

    Where the slots of the terms differ, each output component is a slot of the sum.
    """

    def __init__(self, *grams: BlockGram, scale: float = 1.0):
        self.grams, self.scale = grams, scale
        first, *others = grams
        self.direct = not others and first.direct
        self.rows, self.columns = first.rows, first.columns
        self.alike = all(g.rows.like(first.rows) and g.columns.like(first.columns) for g in others)
        if not self.alike:
            self.rows, self.columns = first.rows.by_component(), first.columns.by_component()

    def _total(self, values: Callable[[BlockGram], Array]) -> Array:
        """Return the scaled sum of `values(gram)` over the Gram matrices of all terms."""
        first, *others = map(values, self.grams)
        total = sum(others, start=first)
        return total if self.scale == 1 else self.scale * total

    @property
    def terms(self) -> tuple[tuple[Array, Array], ...] | None:  # type: ignore[override]
        """The pairs (K, B) of all terms; None if a term is not a sum of Kronecker products."""
        terms_of_each = [gram.terms for gram in self.grams]
        if None in terms_of_each:
            return None
        pairs = [pair for terms in terms_of_each for pair in terms or ()]
        return tuple(pairs if self.scale == 1 else ((self.scale * K, B) for K, B in pairs))

    def apply(self, D: Array) -> Array:
        """Return the sum of all terms times D."""
        if self.alike:
            return self._total(lambda gram: gram.apply(D))
        products = [self._times_components(self.columns.join(D[:, [r]])) for r in range(D.shape[1])]
        return namespace(D).concat([self.rows.split(product) for product in products], axis=1)

    def _times_components(self, C: Array) -> Array:
        """Return the Gram matrix times output components C, from (m, q) to (n, q)."""
        return self._total(lambda gram: gram @ C)

    def matrix(self) -> Array:
        """Return the scaled sum of the matrices of all terms."""
        return self._total(lambda gram: gram.matrix()) if self.alike else super().matrix()

    def diagonal_blocks(self) -> Iterable[tuple[np.ndarray, Array]]:
        """Return the diagonal blocks of the matrix; a sum of several terms is one block."""
        if len(self.grams) > 1:
            return super().diagonal_blocks()
        return [(slots, self.scale * G) for slots, G in self.grams[0].diagonal_blocks()]

    def column(self, j: int, d: Array) -> Array:
        """Return the vectors K(a_i, b_j) d for item number j, a vector d and every item a_i."""
        return self._total(lambda gram: gram.column(j, d))

    def pairings(self, V: Array, W: Array) -> Array:
        """Return ⟨K(a_i, b_j) w_j, v_i⟩ for all items a_i, b_j and rows v_i of V, w_j of W."""
        return self._total(lambda gram: gram.pairings(V, W))

    def landmarks(self, number: int) -> np.ndarray:
        """Return the indices of `number` representative items, those of the first term."""
        return self.grams[0].landmarks(number)

    def some_columns(self, index: np.ndarray) -> Array:
        """Return the columns `index` of the sum of all terms."""
        if not self.alike:
            return super().some_columns(index)
        return self._total(lambda gram: gram.some_columns(index))
