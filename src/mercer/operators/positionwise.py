"""Kernel of sequences in which the input at a position explains the output there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Real

import numpy as np

from .._base.arrays import Array, Items, blocks
from .._base.checks import Limits, bounded
from .._base.memory import ROWS
from .._base.parameters import integer, parameters
from ..kernels import Kernel, Positions, as_kernel
from ..kernels.base import fit_weighted
from .block_gram import BlockGram
from .coupled import CoupledKernel
from .slots import Slots


@parameters
class Positionwise(CoupledKernel):
    r"""Kernel of sequences: the vector at a position predicts the letter at that position.

    :math:`K_{pq}(x, x') = k_{\text{word}}(x, x') \delta_{pq} + \mu\, k(x_p, x'_q) (\delta_{pq} +
    \eta)` over positions :math:`p` and :math:`q`.

    Inputs are sequences of vectors. Outputs are sequences of letters, one-hot encoded at each
    position (``output_kernel=Positions()``); all letters of a position are treated alike.

    Parameters
    ----------
    kernel : Kernel or str
        The kernel k on the vectors at the positions, such as ``Polynomial(3)`` on images.
    word_kernel : Kernel, str or None, default=None
        The kernel k_word on whole sequences, such as ``Positions(Polynomial(3))``; None for none.
    mu : float, default=1.0
        The weight of the prior; 0 leaves k_word alone.
    eta : float, default=0.0
        0 keeps positions separate; the larger, the more they share what they learn.
    letters : int or None, default=None
        The number of output components at a position; None for all of them over the length of the
        longest training input, which assumes that the longest input has the longest output.

    Attributes
    ----------
    places_, letters_
        The number of positions, and of output components at each.

    Notes
    -----
    The kernel is a sum of kernels on pairs (x, p): the word and its position, the image and its
    position, the image alone. A slot of the equation is a position that a word has; one matrix of
    slots serves all letters, and with eta = 0 the positions are separate problems. Positions beyond
    the longest training output are not predicted; an empty input is predicted as zero. Outputs must
    not be longer than their inputs.

    With ``word_kernel=None`` and eta = 0 every position has its own classifier of images; as eta
    grows with mu · eta fixed, the classifiers become one.

    References
    ----------
    Cortes, Mohri, Weston: A general regression framework for learning string-to-string mappings,
    in Predicting Structured Data, 2007.

    Examples
    --------
    Only shared weights recognise "n" and "o" at positions where they were never seen:

    >>> from mercer import KernelDependency
    >>> from mercer.decoders import PerPosition
    >>> from mercer.kernels import RBF, Positions
    >>> from mercer.operators import Positionwise
    >>> X, y = [[[0.0], [1.0]], [[0.1], [0.9], [1.1]]], ["no", "noo"]
    >>> for eta in (0.0, 1.0):
    ...     model = KernelDependency(
    ...         Positionwise(RBF(0.3), eta=eta), Positions(), 0.1, PerPosition("input"),
    ...         fit_intercept=False,
    ...     )
    ...     print(model.fit(X, y).predict([[[1.0], [0.0], [0.0]]])[0])
    noo
    onn
    """

    kernel: Kernel | str
    word_kernel: Kernel | str | None = None
    mu: float = 1.0
    eta: float = 0.0
    letters: int | None = None

    places_ = 0
    centred_outputs = False  # positions with outputs are those that are not zero

    def check_loaded(self, limits: Limits) -> None:
        """Check a loaded kernel: positions times letters must be the output width."""
        if self.places_:
            slots = self.places_ * self.letters_
            bounded(slots, "places_ * letters_", self.width_, self.width_)

    @property
    def depends_on_data(self) -> bool:
        """Whether the values of `kernel` or of `word_kernel` depend on the training data."""
        kernels = [kernel for kernel in (self.kernel, self.word_kernel) if kernel is not None]
        return any(as_kernel(kernel).depends_on_data for kernel in kernels)

    def _input_kernel(self) -> Kernel:
        """Return the kernel that checks sequences of vectors."""
        return Positions(self.kernel)  # sequences of vectors, compared position by position

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> Positionwise:
        """Fit `kernel` and `word_kernel`, and determine the number of positions and of letters."""
        self._check_parameters()
        super().fit(X, V, weights)
        lengths = np.array([len(x) for x in X])
        self.letters_ = self._letters_per_position(int(lengths.max()))
        self.places_ = self.width_ // self.letters_
        self._check_lengths(lengths, V)
        words = None if self.word_kernel is None else as_kernel(self.word_kernel)
        self.words_ = None if words is None else fit_weighted(words, words.check(X, "X"), weights)
        return self

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Return the block Gram matrix, which is computed one position at a time."""
        return PositionGram(self, A, A if B is None else B)

    def slots(self, A: Items) -> Slots:
        """Return the slots of a batch: the output components at each position of each input."""
        ends = np.minimum([len(a) for a in A], self.places_).astype(np.intp)
        live = np.arange(self.places_)[None, :] < ends[:, None]
        return Slots(len(A), self.places_, self.letters_, np.flatnonzero(live))

    # -- checking -----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse a missing kernel, and weights that are negative or all zero."""
        if self.kernel is None:
            raise ValueError("kernel must be a kernel on the vectors at the positions, got None.")
        for name, value in (("mu", self.mu), ("eta", self.eta)):
            real = isinstance(value, Real) and not isinstance(value, bool)
            if not (real and 0 <= float(value) < np.inf):
                raise ValueError(f"{name} must be a finite number ≥ 0, got {value!r}.")
        if self.mu == 0 and self.word_kernel is None:
            raise ValueError("mu=0 without a word_kernel leaves no kernel: give one of them.")

    def _letters_per_position(self, longest: int) -> int:
        """Return the number of output components per position, given the longest input."""
        if longest == 0:
            raise ValueError("every sequence in X is empty: there is no position to learn from.")
        letters = self.letters
        if letters is None:
            if self.width_ % longest:
                raise ValueError(
                    f"outputs have {self.width_} components, which is not a multiple of "
                    f"the {longest} positions of the longest input: use output_kernel="
                    "Positions() with outputs as long as their inputs, or give letters=."
                )
            letters = self.width_ // longest
        letters = integer(letters, "letters")
        if self.width_ % letters:
            raise ValueError(f"{self.width_} output components are not a multiple of {letters=}.")
        return letters

    def _check_lengths(self, lengths: np.ndarray, V: Array) -> None:
        """Refuse an output that is longer than its input."""
        filled = (np.reshape(V, (len(V), self.places_, self.letters_)) != 0).any(axis=2)
        beyond = filled & (np.arange(self.places_)[None, :] >= lengths[:, None])
        wrong = np.flatnonzero(beyond.any(axis=1))
        if wrong.size:
            i = int(wrong[0])
            position = int(np.flatnonzero(beyond[i])[0])
            raise ValueError(
                f"y[{i}] has a symbol at position {position}, but X[{i}] has only {lengths[i]}: an "
                "output must not be longer than its input. Leave such pairs out."
            )


class PositionGram(BlockGram):
    """The block Gram matrix of `Positionwise`, computed one position at a time."""

    direct = True

    def __init__(self, kernel: Positionwise, A: Items, B: Items):
        self.kernel = kernel
        self.shares = kernel.mu * kernel.eta > 0
        self.rows = kernel.slots(A)
        self.columns = self.rows if A is B else kernel.slots(B)
        self.words = None if kernel.words_ is None else kernel.words_(A, None if A is B else B)
        self.left = _vectors_by_slot(A, self.rows)
        self.right = self.left if A is B else _vectors_by_slot(B, self.columns)

    def apply(self, D: Array) -> Array:
        """Return the Gram matrix times D, computed for a few rows at a time."""
        out = np.zeros((self.rows.size, D.shape[1]))
        for rows, columns in self._strips():
            out[rows] = self._values(rows, columns) @ D[columns]
        return out

    def matrix(self) -> Array:
        """Return the dense Gram matrix, one row per slot (position of a sequence)."""
        G = np.zeros((self.rows.size, self.columns.size))
        for rows, columns in self._strips():
            G[rows[:, None], columns] = self._values(rows, columns)
        return G

    def diagonal_blocks(self) -> Iterable[tuple[np.ndarray, Array]]:
        """Return the rows (slots) and the matrix of each position, if positions are not coupled."""
        if self.shares:
            return super().diagonal_blocks()
        return ((own, self._values(own, own)) for own, _ in self._slots_by_position())

    def _slots_by_position(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield for each position the numbers of the rows and of the columns that belong to it."""
        rows, columns = self.rows.positions, self.columns.positions
        for p in np.unique(rows):
            yield np.flatnonzero(rows == p), np.flatnonzero(columns == p)

    def _strips(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield row and column numbers of parts of the matrix, each with rows of one position."""
        for rows, columns in self._slots_by_position():
            columns = np.arange(self.columns.size) if self.shares else columns
            for part in blocks(len(rows), ROWS) if len(columns) else ():
                yield rows[part], columns

    def _values(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the kernel values of some rows, all of one position, and some columns."""
        mu, inner = self.kernel.mu, self.kernel.inputs_.inner
        same = self.columns.positions[columns] == self.rows.positions[rows[0]]
        if mu > 0:
            strip = inner(self.left[rows], self.right[columns])
            strip *= mu * (same + self.kernel.eta)
        else:
            strip = np.zeros((len(rows), len(columns)))
        if self.words is not None:
            theirs = self.columns.owners[columns[same]]
            strip[:, same] += self.words[np.ix_(self.rows.owners[rows], theirs)]
        return strip


def _vectors_by_slot(A: Items, slots: Slots) -> np.ndarray:
    """Return the input vectors of a batch of sequences, one row for each slot (position)."""
    filled = [a[: slots.width] for a in A if len(a)]
    return np.concatenate(filled) if filled else np.zeros((0, 1))
