from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Items, blocks, host, take
from ..embedding import Embedding
from ..kernels import Kernel
from .base import Decoder, Ranked
from .candidates import Candidates

POINTS = 1024


class Lexicon(Decoder):
    """The best word of a lexicon, among those that suit the input.

    Scores 2⟨g(x), Φ(w)⟩ - l(w, w) of all words at once, hence exact; words that `restrict` rules
    out for an input take no part.

    Parameters
    ----------
    words
        The lexicon; None for the distinct training outputs.
    restrict
        None; "length" for words as long as the input; or a function of an input and a word that
        says whether the word may be its output. An input that no word suits gets the best of all
        words, with a warning.

    Notes
    -----
    For leave-one-out points a training word is passed over where all its occurrences were left
    out with the point, as in `Candidates`.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Lexicon
    >>> from mercer.kernels import Positions
    >>> decoder = Lexicon(["aab", "ba", "bb", "bba"], restrict="length")
    >>> model = KernelDependency(Positions(), Positions(), alpha=0.1, decoder=decoder)
    >>> model.fit(["001", "10", "110"], ["aab", "ba", "bba"]).predict(["11", "000"]).tolist()
    ['bb', 'aab']
    """

    def __init__(
        self,
        words: Items | None = None,
        restrict: str | Callable[[Any, Any], bool] | None = None,
    ):
        self.words = words
        self.restrict = restrict

    def fit(self, kernel: Kernel, y: Items) -> Lexicon:
        """Keep the distinct words."""
        known = self.restrict is None or self.restrict == "length" or callable(self.restrict)
        if not known:
            raise ValueError(
                'restrict must be None, "length" or a function of an input and a word, '
                f"got {self.restrict!r}."
            )
        self.pool_ = Candidates(self.words).fit(kernel, y)
        self.words_ = self.pool_.outputs_
        if self.restrict == "length":
            self.lengths_ = np.array([len(word) for word in self.words_])
        return self

    def decode(self, points: Embedding) -> Items:
        """The best word of each point."""
        if self.restrict is None:
            return self.pool_.decode(points)
        best = [scores.argmax(axis=1) for scores in self._scored(points)]
        return take(self.words_, np.concatenate(best))

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """The best `k` words of each point, fewer where fewer suit its input."""
        if self.restrict is None:
            return self.pool_.decode_top(points, k)
        return [
            [
                (self.words_[j], float(row[j]))
                for j in np.argsort(-row, kind="stable")[:k]
                if row[j] > -np.inf
            ]
            for scores in self._scored(points)
            for row in scores
        ]

    def _scored(self, points: Embedding) -> list[np.ndarray]:
        E, norms = points.frame.evaluate(self.words_), points.frame.sqnorms(self.words_)
        owners = self.pool_._owners(points)
        parts = []
        for rows in blocks(len(points), POINTS):
            S = host(2.0 * points.coordinates[rows] @ E.T - norms[None, :])
            if owners is not None and points.left_out is not None:
                S[points.left_out[rows, None] == owners[None, :]] = -np.inf
            parts.append(self._restricted(S, points, rows))
        return parts

    def _restricted(self, S: np.ndarray, points: Embedding, rows: slice) -> np.ndarray:
        if points.inputs is None:
            raise ValueError("words restricted by the input need points that know their x.")
        allowed = self._allowed(points.inputs[rows])
        none = np.flatnonzero(~(allowed & (-np.inf < S)).any(axis=1))
        if none.size:
            warnings.warn(
                f"no word of the lexicon suits {none.size} inputs, the first of them input "
                f"{rows.start + none[0]}: they get the best of all words.",
                stacklevel=5,
            )
            allowed[none] = True
        S[~allowed] = -np.inf
        return S

    def _allowed(self, inputs: Items) -> np.ndarray:
        if self.restrict == "length":
            return np.array([len(x) for x in inputs])[:, None] == self.lengths_[None, :]
        suits: Any = self.restrict
        return np.array([[bool(suits(x, word)) for word in self.words_] for x in inputs])
