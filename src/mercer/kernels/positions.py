from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._base.arrays import Array, Items
from .._base.checks import Limits, bounded, must
from ..spaces import Sequences
from ._bags import Bags, count_matrix, inner_products
from ._sequences import Alphabet, Codes, restore_container
from .base import Kernel, as_kernel
from .capabilities import Features
from .gradients import ParameterGradient, Values, add_values
from .weighted_degree import encode_both


class Positions(Kernel):
    r"""Kernel on sequences, the sum over positions of a kernel on the symbols or vectors there.

    :math:`k(s, t) = \sum_p k(s_p, t_p)`.

    For symbols k is equality, and the features are one-hot vectors, one for each position; for
    sequences of vectors (such as the images of the letters of a word) k is any kernel on vectors.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        The kernel on the vector at a position, such as ``Polynomial(3)`` on images; None for
        sequences of symbols.
    letters : sequence or None, default=None
        All symbols, in the order of the features; None for those of the training sequences.

    Attributes
    ----------
    alphabet_, longest_
        The symbols and the number of positions that `features` distinguishes.

    Notes
    -----
    Inputs may have symbols that are not in the training sequences: such a symbol is equal only to
    itself. Outputs with such a symbol are refused, because it could not be predicted.

    References
    ----------
    Kadri et al. (2013) use this kernel on the inputs and on the outputs of their word recognition,
    after Cortes, Mohri, Weston (2007).

    Examples
    --------
    >>> from mercer.kernels import Polynomial, Positions
    >>> Positions()(["gatto"], ["gatta", "atto", ""])
    array([[4., 1., 0.]])
    >>> word, other = [[0.0, 1.0], [1.0, 1.0]], [[0.0, 1.0]]
    >>> Positions(Polynomial(3))([word, other])
    array([[35.,  8.],
           [ 8.,  8.]])
    """

    kernel_: Kernel | None = None
    alphabet_: Any = None
    longest_ = 0

    def __init__(self, kernel: Kernel | str | None = None, letters: Sequence[Any] | None = None):
        self.kernel = kernel
        self.letters = letters

    @property
    def inner(self) -> Kernel:
        """The kernel on the vectors at a position; the fitted one if this kernel is fitted."""
        if self.kernel is None:
            raise AttributeError("Positions() of symbols has no kernel on vectors inside")
        return self.kernel_ or as_kernel(self.kernel)

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if a file has more positions than the limits allow."""
        alphabet = self.alphabet_ or Alphabet(())
        must(isinstance(alphabet, Alphabet), "alphabet_ is not an Alphabet")
        most = min(limits.steps, limits.size // 16 // max(1, len(alphabet)))
        bounded(self.longest_, "longest_", 0, most)

    # -- checking -----------------------------------------------------------------------------

    space = property(lambda self: Sequences(vectors=self.kernel is not None))

    def as_outputs(self, Y: Items, name: str = "y") -> np.ndarray:
        """Check that outputs are sequences of known symbols, or of vectors; return them."""
        Y = self.check(Y, name)
        if self.kernel is None and (self.letters is not None or self.alphabet_ is not None):
            self._checked_codes(Y, name)
        return Y

    def _checked_codes(self, A: np.ndarray, name: str) -> Codes:
        """Return sequences as symbol numbers; raise an error for an unknown symbol."""
        alphabet = self.alphabet_ or Alphabet(self.letters or ())
        codes = alphabet.encode(A)
        if len(codes.flat) and codes.flat.min() < 0:
            i = int(codes.rows[np.argmin(codes.flat)])
            unknown = next(symbol for symbol in A[i] if symbol not in alphabet.number)
            raise ValueError(
                f"{name}[{i}] has the symbol {unknown!r}, which is none of the "
                f"{len(alphabet)} that were learnt from. Leave it out, or give all symbols: "
                "Positions(letters=...)."
            )
        return codes

    @property
    def depends_on_data(self) -> bool:
        """Whether the kernel on vectors depends on data."""
        return self.kernel is not None and as_kernel(self.kernel).depends_on_data

    def fit(self, A: Items) -> Positions:
        """Determine the alphabet and the number of positions, or fit the kernel on vectors."""
        A = self.check(A, "A")
        self.longest_ = max(map(len, A))
        if self.kernel is None:
            self.alphabet_ = Alphabet.of(A) if self.letters is None else Alphabet(self.letters)
            return self
        filled = [item for item in A if len(item)]
        if filled:
            self.kernel_ = clone(as_kernel(self.kernel)).fit(np.concatenate(filled))
        return self

    # -- Gram matrices ------------------------------------------------------------------------

    def _gram(self, A: np.ndarray, B: np.ndarray) -> Array:
        """Return the number of equal symbols, or the sum of kernel values, over all positions."""
        return (
            self._count_equal_symbols(A, B) if self.kernel is None else self._sum_vector_grams(A, B)
        )

    def _count_equal_symbols(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the number of positions with equal symbols for each pair of sequences."""
        ours, theirs = encode_both(A, B)
        size = 1 + max(codes.flat.max(initial=0) for codes in (ours, theirs))
        longest = max(codes.lengths.max() for codes in (ours, theirs))
        left = _position_symbol_bags(ours, size, longest)
        return inner_products(
            left, left if A is B else _position_symbol_bags(theirs, size, longest)
        )

    def _sum_vector_grams(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the sum over positions of the Gram matrices of the vectors at the position."""
        ours = _indices_by_length(A)
        theirs = ours if A is B else _indices_by_length(B)
        K = np.zeros((len(A), len(B)))
        for p in range(min(len(A[ours[0]]), len(B[theirs[0]]))):
            left = np.stack([A[i][p] for i in ours if len(A[i]) > p])
            right = left if A is B else np.stack([B[j][p] for j in theirs if len(B[j]) > p])
            K[: len(left), : len(right)] += self.inner(left, right if A is not B else None)
        return K[np.argsort(ours)][:, np.argsort(theirs)]

    def _diag(self, A: np.ndarray) -> np.ndarray:
        """Return the length of each sequence, or the sum of k(v, v) over its vectors v."""
        if self.kernel is None:
            return np.array([float(len(item)) for item in A])
        owners = np.repeat(np.arange(len(A)), [len(item) for item in A])
        filled = [item for item in A if len(item)]
        each = self.inner.diag(np.concatenate(filled)) if filled else np.zeros(0)
        return np.bincount(owners, weights=each, minlength=len(A))

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives with respect to the parameters of the inner kernel `kernel`, if given."""
        if self.kernel is None:
            return ParameterGradient()
        inner = self.inner.parameter_gradient.prefixed("kernel")

        def vjp(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> Values:
            """Return Σ_ij C_ij ∂k(A_i, B_j)/∂θ for each parameter θ by name."""
            derivatives: Values = {}
            for p in range(min(max(map(len, A)), max(map(len, B)))):
                i, j = (np.flatnonzero([len(item) > p for item in Z]) for Z in (A, B))
                left, right = np.stack([A[k][p] for k in i]), np.stack([B[k][p] for k in j])
                derivatives = add_values(derivatives, inner.vjp(left, right, C[np.ix_(i, j)]))
            return derivatives

        def diag_vjp(A: np.ndarray, c: np.ndarray) -> Values:
            """Return Σ_i c_i ∂k(A_i, A_i)/∂θ for each parameter θ by name."""
            filled = [item for item in A if len(item)]
            each = np.repeat(c, [len(item) for item in A])
            return inner.diag_vjp(np.concatenate(filled), each) if filled else {}

        return inner.with_functions(vjp, diag_vjp)

    # -- features -----------------------------------------------------------------------------

    @property
    def features(self) -> Features | None:
        """One-hot vectors of (position, symbol), up to the longest sequence of the fit."""
        if self.kernel is not None:
            return None
        return Features(lambda A: self._one_hot_rows(A).toarray(), self._one_hot_rows)

    def _one_hot_rows(self, A: Items) -> sparse.csr_array:
        """Check sequences and return their one-hot features as a sparse matrix."""
        if self.alphabet_ is None:
            raise ValueError(f"{self} takes its alphabet from data: call fit first.")
        codes = self._checked_codes(self.check(A, "A"), "A")
        return count_matrix(_position_symbol_bags(codes, len(self.alphabet_), self.longest_))

    def spell(self, codes: np.ndarray, like: Sequence[Any] | np.ndarray) -> Sequence[Any]:
        """Convert symbol numbers to a sequence, in a container of the type of `like`."""
        return restore_container([self.alphabet_.symbols[c] for c in codes], like)


def _position_symbol_bags(codes: Codes, size: int, longest: int) -> Bags:
    """Return the features (position, symbol) of sequences as bags, up to position `longest`.

    `size` is the number of symbols; symbol c at position p has the key p · size + c.
    """
    inside = codes.positions < longest
    columns = (codes.positions * size + codes.flat)[inside]
    n = len(codes.lengths)
    return Bags(codes.rows[inside], columns, np.ones(len(columns)), n, int(longest * size))


def _indices_by_length(A: np.ndarray) -> np.ndarray:
    """Return the indices of the items in order of decreasing length."""
    return np.argsort([-len(item) for item in A], kind="stable")
