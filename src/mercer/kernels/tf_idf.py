"""Kernels on texts: tf-idf of words or letter n-grams, and sequence kernels on words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from .._base.arrays import Array, Items, count, object_array
from .._base.parameters import integer, one_of, parameters
from ..spaces import Sequences
from .base import Kernel, as_kernel
from .capabilities import Features
from .mapped import OnTransformed
from .spectrum import Spectrum

SCIKIT_LEARN_ANALYZERS = {"words": "word", "letters": "char_wb"}
"""The values of `pieces`, with their names in scikit-learn."""
COMPONENT_TEXTS = 10_000
"""The largest number of texts from which principal directions are computed."""


@parameters
class TfIdf(Kernel):
    """Cosine similarity of tf-idf vectors of texts, with words or letter n-grams as terms.

    A piece that occurs c times in a text, and in m of the n texts that the kernel is fitted on, has
    the weight (1 + log c)(1 + log((1 + n) / (1 + m))), and 0 if m < 2. Without the pieces of single
    texts, the weights of texts that the kernel was fitted on are comparable with those of new
    texts. The weights of a text are scaled to length one. Pieces are hashed to 2^bits columns.

    Parameters
    ----------
    pieces : str, default="words"
        "words", or "letters" for runs of letters within words, ends of words included.
    shortest, longest : int, default=1
        The smallest and the largest number of words or letters of a piece.
    rank : int or None, default=None
        None for all columns, or the number of their principal directions that are kept. Features
        are then dense, which makes fits to many texts fast.
    bits : int, default=16
        The logarithm of the number of columns.

    Examples
    --------
    >>> from mercer.kernels import TfIdf
    >>> texts = ["the sea", "the sun", "the sand", "sea sun"]
    >>> TfIdf().fit(texts)(["a sea"], texts).round(2)
    array([[0.78, 0.  , 0.  , 0.71]])
    """

    pieces: str = "words"
    shortest: int = 1
    longest: int = 1
    rank: int | None = None
    bits: int = 16

    space = Sequences()

    def check(self, A: Items, name: str = "X") -> Items:
        """Check that items are texts, not lists of tokens."""
        A = super().check(A, name)
        wrong = next((i for i, text in enumerate(A) if not isinstance(text, str)), None)
        if wrong is not None:
            raise ValueError(f"{name}[{wrong}] must be a string, got {type(A[wrong]).__name__}.")
        return A

    def fit(self, A: Items) -> TfIdf:
        """Count the texts that contain each term; compute principal directions if rank is given."""
        C = self._counts(self.check(A, "A"))
        documents = np.bincount(C.indices, minlength=C.shape[1])
        self.idf_ = 1.0 + np.log((1.0 + C.shape[0]) / (1.0 + documents))
        if (documents > 1).any():  # a piece of a single text says nothing about others
            self.idf_[documents < 2] = 0.0
        if self.rank is not None:
            sample = np.random.RandomState(0).permutation(C.shape[0])[:COMPONENT_TEXTS]
            F = self._tf_idf_of_counts(csr_array(C[np.sort(sample)]))
            self.columns_ = np.unique(F.indices)
            self.directions_ = leading_right_singular_vectors(
                csr_array(F[:, self.columns_]), integer(self.rank, "rank")
            )
        return self

    def _counts(self, A: Items) -> csr_array:
        """Return the sparse counts of the hashed terms of texts; the last batch is cached.

        Python caches the hash of a string, so that it is fast to recognise the last batch.
        """
        key = hash((tuple(A), self.pieces, self.shortest, self.longest, self.bits))
        last = self.__dict__.get("_last")
        if last is None or last[0] != key:
            from sklearn.feature_extraction.text import HashingVectorizer  # slow to import

            one_of(self.pieces, "pieces", [*SCIKIT_LEARN_ANALYZERS])
            lengths = integer(self.shortest, "shortest"), integer(self.longest, "longest")
            vectorizer = HashingVectorizer(
                analyzer=SCIKIT_LEARN_ANALYZERS[self.pieces], ngram_range=lengths, norm=None,
                n_features=2 ** integer(self.bits, "bits"), alternate_sign=False,
                token_pattern=r"(?u)\b\w+\b",
            )  # fmt: skip
            last = key, csr_array(vectorizer.transform(list(A)))
            self._last = last
        return last[1]

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_last"}

    def _tf_idf_of_counts(self, C: csr_array) -> csr_array:
        """Return tf-idf rows of length one, given a sparse matrix of term counts."""
        W = csr_array((1.0 + np.log(C.data), C.indices, C.indptr), shape=C.shape)
        W = csr_array(W @ diags_array(self.idf_))
        lengths = np.sqrt(np.asarray(W.multiply(W).sum(axis=1)).ravel())
        return csr_array(diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ W)

    def _tf_idf_rows(self, A: Items) -> csr_array:
        """Return the tf-idf rows of texts as a sparse matrix."""
        if "idf_" not in vars(self):
            raise ValueError("the weights of TfIdf are not known yet: call fit first.")
        return self._tf_idf_of_counts(self._counts(self.check(A, "A")))

    def _principal_coordinates(self, A: Items) -> np.ndarray:
        """Return the coordinates of tf-idf rows along the principal directions."""
        return csr_array(self._tf_idf_rows(A)[:, self.columns_]) @ self.directions_

    @property
    def features(self) -> Features:
        """The tf-idf rows of texts, or their coordinates along the principal directions."""
        if self.rank is not None:
            return Features(self._principal_coordinates)
        return Features(lambda A: self._tf_idf_rows(A).toarray(), self._tf_idf_rows)

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the inner products of the tf-idf rows, or of their principal coordinates."""
        if self.rank is not None:
            return super()._gram(A, B)
        left = self._tf_idf_rows(A)
        return (left @ (left if A is B else self._tf_idf_rows(B)).T).toarray()

    def _diag(self, A: Items) -> Array:
        """Return k(a, a): 0 for an empty text, else 1, or less along principal directions."""
        if self.rank is not None:
            return super()._diag(A)
        return (
            (self._tf_idf_rows(A).power(2).sum(axis=1) > 0).astype(float)
            if count(A)
            else np.zeros(0)
        )


def leading_right_singular_vectors(F: csr_array, rank: int) -> np.ndarray:
    """Return the leading right singular vectors of a sparse matrix as columns.

    Block power iteration; only the basis of the row side, which is smaller, is orthonormalised.
    """
    Q = np.random.RandomState(0).normal(size=(F.shape[0], min(rank + 20, F.shape[0])))
    for _ in range(4):
        Q = np.linalg.qr(F @ (F.T @ Q))[0]
    B = F.T @ Q
    values, vectors = np.linalg.eigh(B.T @ B)
    kept = np.flatnonzero(values > 1e-12 * max(values.max(initial=0.0), 1e-300))[-rank:]
    return B @ (vectors[:, kept] / np.sqrt(values[kept]))


WORD_RUN = re.compile(r"\w+")
"""A word: a run of letters and digits."""


class Words(OnTransformed):
    """A sequence kernel applied to the words of texts.

    Words are runs of letters and digits, in lower case.

    Parameters
    ----------
    kernel : Kernel or None, default=None
        The kernel on sequences of words; None counts words in common, ``Spectrum(1)``.

    Examples
    --------
    >>> from mercer.kernels import Words
    >>> Words()(["The sea, the sun."], ["a sun", "the sand"])
    array([[1., 2.]])
    """

    def __init__(self, kernel: Kernel | None = None):
        self.kernel = kernel  # type: ignore[assignment]

    def _unfitted_inner(self) -> Kernel:
        """Return the unfitted kernel on sequences of words; the default is `Spectrum(1)`."""
        return Spectrum(1) if self.kernel is None else as_kernel(self.kernel)

    space = Sequences()

    def _apply(self, A: Items) -> np.ndarray:
        """Return the words of each text in lower case; sequences of tokens become tuples."""
        words = (WORD_RUN.findall(text.lower()) if isinstance(text, str) else text for text in A)
        return object_array([tuple(item) for item in words])
