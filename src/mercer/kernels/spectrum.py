from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

from .._base.arrays import Items
from .._base.checks import Limits, bounded
from .._base.parameters import integer, parameters
from ..spaces import Sequences
from ._bags import Bags, count_matrix, inner_products, sqnorms
from ._ngrams import NGrams
from ._sequences import Alphabet, Codes
from .base import Kernel
from .capabilities import Features
from .gradients import ParameterGradient, Values

POSITIONS = 256
"""Models from files may distinguish this many positions for any number of n-grams."""
SHORT_STRING = 1000
"""The mean length up to which k(s, s) is computed by comparing all pairs of positions."""


@parameters
class Spectrum(Kernel):
    r"""Number of shared n-grams of sequences, counted as often as they occur in both.

    :math:`k(s, t) = \sum_u c_u(s)\, c_u(t)` with :math:`c_u` the number of times that n-gram
    :math:`u` occurs. With a `width` n-grams must also be at similar positions from either end:

    .. math::

        k(s, t) = \sum_m w_m \sum_{ij} [s_{i \ldots i+m} = t_{j \ldots j+m}]\,
        (\kappa(i - j) + \kappa(i' - j')) / 2,

    where :math:`i', j'` are the numbers of symbols that follow and
    :math:`\kappa(d) = \max(0, 1 - \lvert d \rvert / \text{width})`.

    Parameters
    ----------
    n : int, default=3
        The length of the n-grams.
    blended : bool, default=False
        Whether n-grams of all lengths m = 1, …, n count, rather than those of length n only.
    width : int or None, default=None
        The distance from which on two positions do not match; 1 for equal positions only, None to
        ignore positions.
    weights : sequence of float, array or None, default=None
        The weights :math:`w_m` of the lengths; None for ones.

    Attributes
    ----------
    ngrams_
        The n-grams of the sequences that the kernel was fitted on, which are the columns of
        `features`. Hence features(A) @ features(B).T equals k(A, B) if the n-grams of A or those of
        B (and, with a width, the lengths) were all seen at fit.

    Notes
    -----
    :math:`\kappa(i - j)` is the inner product of two windows of `width` ones, from :math:`i` and
    from :math:`j` on, divided by `width`. Hence the features are finite: one for each n-gram and
    position, from either end. Gram matrices need no fit, because no symbol is unknown.

    References
    ----------
    Leslie, Eskin, Noble: The spectrum kernel, PSB 2002.

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> Spectrum(2)(["banana"], ["ban", "nab"])
    array([[3., 2.]])
    >>> Spectrum(2, width=3)(["banana"], ["ban", "nab"]).round(2)
    array([[1.5 , 0.83]])
    """

    n: int = 3
    blended: bool = False
    width: int | None = None
    weights: Sequence[float] | np.ndarray | None = None

    space = Sequences()

    depends_on_data = False

    def fit(self, A: Items) -> Spectrum:
        """Store the n-grams of the batch, which are the columns of `features`."""
        A = self.check(A, "A")
        self.weights_by_length()
        self.ngrams_ = NGrams(A, integer(self.n, "n"))
        self.longest_ = max(map(len, A))
        return self

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if n-grams, width or lengths are larger than the limits allow."""
        bounded(self.n, "n", 1, limits.steps)
        bounded(0 if self.width is None else self.width, "width", 0, limits.steps)
        if "ngrams_" in vars(self):
            bounded(self.ngrams_.n, "ngrams_.n", self.n, self.n)
            ngrams = sum(self.ngrams_.size(m) for m in self.weights_by_length())
            # Bounds the number of features of one sequence.
            most = max(POSITIONS, limits.size // 16 // max(1, ngrams))
            bounded(self.longest_ + (self.width or 0), "longest_", 0, most)

    # -- n-grams ------------------------------------------------------------------------------

    def weights_by_length(self) -> dict[int, float]:
        """Return the weight w_m of each n-gram length m that is compared, by length."""
        n = integer(self.n, "n")
        lengths = range(1, n + 1) if self.blended else range(n, n + 1)
        weights = np.ones(len(lengths)) if self.weights is None else np.asarray(self.weights, float)
        if weights.shape != (len(lengths),) or not np.all(weights >= 0):
            raise ValueError(
                f"weights must hold a number ≥ 0 for each of the {len(lengths)} lengths of "
                f"n-grams, got {self.weights!r}."
            )
        if self.width is not None:
            integer(self.width, "width")
        return dict(zip(lengths, weights.tolist(), strict=True))

    def occurrences(self, ngrams: NGrams, A: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the item, n-gram number, and numbers of symbols before and after each occurrence.

        These are four arrays with one entry per occurrence of an n-gram of `ngrams` in a sequence
        of A. N-grams are numbered by increasing length.
        """
        by_length, start, parts = ngrams.find(A), 0, []
        for m in self.weights_by_length():
            rows, ids, *positions = by_length[m - 1]
            parts.append((rows, ids + start, *positions))
            start += ngrams.size(m)
        return tuple(map(np.concatenate, zip(*parts, strict=True)))

    def ngram_weights(self, ngrams: NGrams) -> np.ndarray:
        """Return the weight of each n-gram, which depends on its length."""
        lengths = self.weights_by_length()
        return np.repeat(list(lengths.values()), [ngrams.size(m) for m in lengths])

    # -- Gram matrices ------------------------------------------------------------------------

    def _gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the weighted number of shared n-grams, at near positions if `width` is given."""
        # The smaller batch has all n-grams that can be shared.
        ngrams = NGrams(min(A, B, key=len), integer(self.n, "n"))
        if self.width is not None:
            return self._gram_by_position(ngrams, A, B)
        left = self._bags(ngrams, A)
        return inner_products(left, left if A is B else self._bags(ngrams, B))

    def _gram_by_position(self, ngrams: NGrams, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the weighted number of n-grams that sequences share at near positions."""
        from ._string_loops import add_shared_ngrams

        rows, ids, front, back = self._sorted_occurrences(ngrams, A, by_gram=False)
        their_rows, their_ids, their_front, their_back = self._sorted_occurrences(
            ngrams, B, by_gram=True
        )
        weights_of_ngrams = self.ngram_weights(ngrams)
        starts = np.searchsorted(rows, np.arange(len(A) + 1))
        columns = np.searchsorted(their_ids, np.arange(len(weights_of_ngrams) + 1))
        span = 1 + max((len(item) for batch in (A, B) for item in batch), default=0)
        kappa = np.maximum(0.0, 1.0 - np.arange(span) / integer(self.width, "width"))
        out = np.zeros((len(A), len(B)))
        theirs = their_rows, their_front, their_back
        add_shared_ngrams(starts, ids, front, back, weights_of_ngrams, columns, *theirs, kappa, out)
        return out

    def _sorted_occurrences(self, ngrams: NGrams, A: np.ndarray, by_gram: bool) -> list[np.ndarray]:
        """Return `occurrences` sorted by item, or by n-gram if `by_gram`."""
        rows, ids, front, back = self.occurrences(ngrams, A)
        order = np.lexsort((front, rows, ids) if by_gram else (front, ids, rows))
        return [column[order] for column in (rows, ids, front, back)]

    def _diag(self, A: np.ndarray) -> np.ndarray:
        """Return k(s, s) for each sequence s, by the faster of two methods."""
        codes = Alphabet.of(A).encode(A)
        if self.width is None and codes.lengths @ codes.lengths <= SHORT_STRING * len(codes.flat):
            return self._diag_by_pairs(codes)
        return sqnorms(self._bags(NGrams(A, integer(self.n, "n")), A, int(codes.lengths.max())))

    def _bags(self, ngrams: NGrams, A: np.ndarray, longest: int = 0) -> Bags:
        """Return the weighted n-gram counts of each item; with `width`, by their positions too.

        Positions beyond those of sequences of length `longest` are ignored.
        """
        rows, ids, *positions = self.occurrences(ngrams, A)
        weights_of_ngrams = self.ngram_weights(ngrams)
        if self.width is None:
            return Bags(rows, ids, np.sqrt(weights_of_ngrams)[ids], len(A), len(weights_of_ngrams))
        width, cells = integer(self.width, "width"), self.n_positions(longest)
        at = np.stack(positions)[:, :, None] + np.arange(width)
        columns = (ids[:, None] * 2 + np.arange(2)[:, None, None]) * cells + at
        values = np.sqrt(weights_of_ngrams / (2.0 * width))[ids][:, None]
        rows, values, columns = np.broadcast_arrays(rows[:, None], values, columns)
        inside, size = at < cells, 2 * cells * len(weights_of_ngrams)
        return Bags(rows[inside], columns[inside], values[inside], len(A), size)

    def _diag_by_pairs(self, codes: Codes) -> np.ndarray:
        """Return k(s, s) by comparing all pairs of positions, fast for short sequences."""
        from ._string_loops import fill_self_matches

        weights_of_ngrams = np.zeros(1 + integer(self.n, "n"))
        for m, weight in self.weights_by_length().items():
            weights_of_ngrams[m:] += weight
        out = np.empty(len(codes.lengths))
        fill_self_matches(codes.flat, codes.starts, weights_of_ngrams, out)
        return out

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives with respect to the weights of the n-gram lengths, if all are positive."""
        weights = np.array(list(self.weights_by_length().values()))
        if not (weights > 0).all() or (self.weights is None and not self.blended):
            return ParameterGradient()

        def for_each_length(function: Callable[[Spectrum], np.ndarray]) -> Values:
            """Return {"weights": function(kernel) for the kernel of each single n-gram length}."""
            single_length_kernels = (
                Spectrum(self.n, self.blended, self.width, w) for w in np.eye(len(weights))
            )
            return {"weights": np.array([function(kernel) for kernel in single_length_kernels])}

        return ParameterGradient(
            {"weights": weights},
            lambda A, B, C: for_each_length(lambda k: (C * k._gram(A, B)).sum()),
            lambda A, c: for_each_length(lambda k: (c * k._diag(A)).sum()),
        )

    # -- features -----------------------------------------------------------------------------

    def n_positions(self, longest: int) -> int:
        """Return how many positions, from either end, the features distinguish.

        `longest` is the length of the longest sequence.
        """
        return longest + integer(self.width, "width") - 1

    @property
    def features(self) -> Features:
        """Counts of the n-grams known from fit; with `width`, by their positions from both ends."""
        return Features(lambda A: self._sparse_features(A).toarray(), self._sparse_features)

    def _sparse_features(self, A: Items) -> sparse.csr_array:
        """Return the counts of the n-grams known from fit as a sparse matrix."""
        if "ngrams_" not in vars(self):
            raise ValueError(f"the n-grams of {self} are not known yet: call fit(A) first.")
        return count_matrix(self._bags(self.ngrams_, self.check(A, "A"), self.longest_))
