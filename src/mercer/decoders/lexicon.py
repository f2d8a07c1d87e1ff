from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, product
from typing import Any, cast

import numpy as np

from .._arrays import Items, blocks, host, take
from .._parameters import parameters
from ..embedding import Embedding
from ..kernels import Kernel
from ..spaces import Sequences
from ._targets import automatic
from .base import Decoder, Ranked
from .candidates import Candidates

POINTS = 1024
BACKGROUNDS = tuple(np.round(np.linspace(0.0, 1.0, 11), 1).tolist())
RARITIES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
"""What calibration chooses from."""


def likelihood(S: np.ndarray, own: np.ndarray) -> float:
    """The mean log-probability of the own columns, at the temperature that suits them best."""
    scale = float(np.std(S[-np.inf < S])) or 1.0
    true = S[np.arange(len(S)), own]
    return max(
        float(np.mean(beta * true - np.logaddexp.reduce(beta * S, axis=1)))
        for beta in np.logspace(-1.0, 2.0, 13) / scale
    )


def _gains(words: Items, y: Items) -> np.ndarray:
    """Σ_p (H - log f(w_p)) of each word; a symbol that was never met counts as met once."""
    counts = Counter(chain.from_iterable(y))
    n = max(counts.total(), 1)
    mean = sum(c / n * np.log(c / n) for c in counts.values())
    return np.array([sum(mean - np.log(max(counts[c], 1) / n) for c in word) for word in words])


@parameters
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
    background
        How much of the mean Φ of the training outputs (of those that suit the input) is taken off
        g(x) before words are scored; "auto" chooses it on left-out points. A ridge draws g(x)
        towards what is frequent, at the cost of rare words; 0 leaves the objective as it is.
    rarity
        A word gains rarity · Σ_p (H - log f(w_p)) by its symbols, f being their shares in the
        training outputs and H the mean of log f: Bayes' rule where the words to come are others
        than those learnt from, so that rare symbols are as likely as frequent ones. "auto" chooses
        it on left-out points; fit with ``groups=y`` where the words to come are new.

    Attributes
    ----------
    words_, background_, rarity_
        The distinct words, and the background and the rarity in use.
    likelihood_
        The mean log-probability of the true words at the left-out points, where they were used.

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

    words: Items | None = None
    restrict: str | Callable[[Any, Any], bool] | None = None
    background: float | str = 0.0
    rarity: float | str = 0.0
    rarity_, gains_ = 0.0, cast(Any, 0.0)  # of models that were saved before there was a rarity

    @property
    def calibrates(self) -> bool:  # type: ignore[override]
        """Whether the background or the rarity is to be chosen."""
        chosen = automatic(self.background, "background"), automatic(self.rarity, "rarity")
        return any(chosen)

    def fit(self, kernel: Kernel, y: Items) -> Lexicon:
        """Keep the distinct words, and how often each training output occurs."""
        known = self.restrict is None or self.restrict == "length" or callable(self.restrict)
        if not known:
            raise ValueError(
                'restrict must be None, "length" or a function of an input and a word, '
                f"got {self.restrict!r}."
            )
        if self.rarity and not isinstance(kernel.space, Sequences):
            raise ValueError(f"rarity needs outputs that are sequences of symbols, not {kernel}'s.")
        self.pool_ = Candidates(self.words).fit(kernel, y)
        self.words_ = self.pool_.outputs_
        self.background_, self.rarity_ = (
            0.0 if isinstance(value, str) else float(value)
            for value in (self.background, self.rarity)
        )
        positions, numbers = kernel.space.unique(y)
        self.seen_, self.counts_ = take(y, positions), np.bincount(numbers).astype(float)
        self.kernel_ = kernel
        self.gains_ = _gains(self.words_, y) if self.rarity else np.zeros(len(self.words_))
        return self

    def calibrate(self, points: Embedding, y: Items) -> Lexicon:
        """Choose background and rarity under which the true words are likeliest.

        Scores at some temperature as probabilities: smoother, hence surer, than counting words.
        """
        S, mean = (np.concatenate(part) for part in zip(*self._parts(points, True), strict=True))
        keys = self.kernel_.space.keys
        number = {key: j for j, key in enumerate(keys(self.words_))}
        own = np.array([number.get(key, -1) for key in keys(y)])
        known = np.flatnonzero((own >= 0) & (S[np.arange(len(S)), own] > -np.inf))
        if known.size:
            S, mean, own = S[known], mean[known], own[known]
            given = (self.background, BACKGROUNDS), (self.rarity, RARITIES)
            trials = product(*(grid if v == "auto" else (float(v),) for v, grid in given))
            worth = {(b, r): likelihood(S - b * mean + r * self.gains_, own) for b, r in trials}
            self.background_, self.rarity_ = max(worth, key=lambda choice: worth[choice])
            self.likelihood_ = worth[self.background_, self.rarity_]
        return self

    def decode(self, points: Embedding) -> Items:
        """The best word of each point."""
        if self._plain:
            return self.pool_.decode(points)
        best = [row.argmax(axis=1) for row in self._corrected(points)]
        return take(self.words_, np.concatenate(best))

    @property
    def _plain(self) -> bool:
        return self.restrict is None and not self.background_ and not self.rarity_

    def _corrected(self, points: Embedding) -> Iterator[np.ndarray]:
        """Scores of some points without the background, with what rare symbols gain."""
        for S, mean in self._parts(points, background=bool(self.background_)):
            yield S - self.background_ * mean + self.rarity_ * self.gains_

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """The best `k` words of each point, fewer where fewer suit its input."""
        if self._plain:
            return self.pool_.decode_top(points, k)
        least = self.pool_._norms(points.frame)[1]
        return [
            [
                (self.words_[j], float(row[j] - least))
                for j in np.argsort(-row, kind="stable")[:k]
                if row[j] > -np.inf
            ]
            for S in self._corrected(points)
            for row in S
        ]

    def _parts(self, points: Embedding, background: bool) -> Iterator[tuple[np.ndarray, Any]]:
        """Scores of some points, -∞ where ruled out, and of the mean output beside them.

        The least l(w, w) is left out of the scores: it changes no order.
        """
        E, (norms, _) = points.frame.evaluate(self.words_), self.pool_._norms(points.frame)
        L = host(self.kernel_(self.seen_, self.words_)) if background else None
        owners = self.pool_._owners(points)
        for rows in blocks(len(points), POINTS):
            S = host(2.0 * points.coordinates[rows] @ E.T - norms[None, :])
            if owners is not None and points.left_out is not None:
                S[points.left_out[rows, None] == owners[None, :]] = -np.inf
            inputs = None if points.inputs is None else points.inputs[rows]
            self._rule_out(S, inputs, rows.start)
            yield S, 0.0 if L is None else 2.0 * self._mean_weights(inputs, len(S)) @ L

    def _rule_out(self, S: np.ndarray, inputs: Items | None, first: int) -> None:
        if self.restrict is None:
            return
        allowed = self._allowed(inputs, self.words_)
        none = np.flatnonzero(~(allowed & (-np.inf < S)).any(axis=1))
        if none.size:
            warnings.warn(
                f"no word of the lexicon suits {none.size} inputs, the first of them input "
                f"{first + none[0]}: they get the best of all words.",
                stacklevel=6,
            )
            allowed[none] = True
        S[~allowed] = -np.inf

    def _mean_weights(self, inputs: Items | None, n: int) -> np.ndarray:
        """The share of each distinct training output among those that suit an input."""
        suitable = np.ones((n, 1)) if self.restrict is None else self._allowed(inputs, self.seen_)
        weights = suitable * self.counts_
        return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1.0)

    def _allowed(self, inputs: Items | None, words: Items) -> np.ndarray:
        if inputs is None:
            raise ValueError("words restricted by the input need points that know their x.")
        if self.restrict == "length":
            lengths = np.array([len(word) for word in words])
            return np.array([len(x) for x in inputs])[:, None] == lengths[None, :]
        suits: Any = self.restrict
        return np.array([[bool(suits(x, word)) for word in words] for x in inputs])
