from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, host, take
from .._base.parameters import parameters
from ..embedding import Embedding
from ..kernels import Kernel
from ..spaces import Sequences
from ._scan import Change
from ._sequence_decoding import is_automatic
from .base import Decoder, Ranked
from .candidates import Candidates

BACKGROUNDS = tuple(np.round(np.linspace(0.0, 1.0, 11), 1).tolist())
RARITIES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
"""The values of `background` and `rarity` that calibration tries."""


def _log_likelihood(S: np.ndarray, columns: np.ndarray, counts: np.ndarray) -> float:
    """Return the mean log-softmax of scores S at the true `columns`, at the best temperature.

    Row i counts `counts[i]` times.
    """
    rows, finite = np.nonzero(-np.inf < S)
    weights, values = counts[rows], S[rows, finite]
    mean = np.average(values, weights=weights)
    scale = float(np.average((values - mean) ** 2, weights=weights)) ** 0.5 or 1.0
    true = S[np.arange(len(S)), columns]
    return max(
        float(np.average(beta * true - np.logaddexp.reduce(beta * S, axis=1), weights=counts))
        for beta in np.logspace(-1.0, 2.0, 13) / scale
    )


def _rarities(words: Items, y: Items, weights: np.ndarray) -> np.ndarray:
    """Return the rarity of each word: how rare its symbols are in the outputs y, summed over them.

    The rarity of a symbol of frequency f is -log f minus the mean of -log f over y. A symbol that
    does not occur counts as if it occurred once. Output i counts `weights[i]` times.
    """
    counts: dict[Any, float] = {}
    for item, weight in zip(y, weights.tolist(), strict=True):
        for symbol in item:
            counts[symbol] = counts.get(symbol, 0.0) + weight
    n = sum(counts.values()) or 1.0
    mean = sum(c / n * np.log(c / n) for c in counts.values())
    return np.array([sum(mean - np.log(counts.get(c, 1.0) / n) for c in word) for word in words])


@parameters
class Lexicon(Decoder):
    r"""A decoder that returns the word of a lexicon with the highest score among suitable words.

    Scores :math:`2 \langle g(x), \Phi(w) \rangle - l(w, w)` of all words at once, hence exact;
    words that `restrict` rules out for an input are ignored.

    Parameters
    ----------
    words : sequence of words or None, default=None
        The lexicon; None for the distinct training outputs.
    restrict : "length", callable or None, default=None
        None; "length" for words as long as the input; or a function of an input and a word that
        says whether the word may be its output. An input that no word suits gets the best of all
        words, with a warning.
    background : float or "auto", default=0.0
        How much of the mean point of the training outputs (of those that suit the input) is
        subtracted from g(x) before words are scored; "auto" chooses it on left-out points. A ridge
        shrinks g(x) towards what is frequent, at the cost of rare words; 0 leaves the objective
        unchanged.
    rarity : float or "auto", default=0.0
        A word gains :math:`\text{rarity} \sum_p (H - \log f(w_p))` by its symbols, with :math:`f`
        their frequencies in the training outputs and :math:`H` the mean of :math:`\log f`: Bayes'
        rule where the words to come are others than those learnt from, so that rare symbols are as
        likely as frequent ones. "auto" chooses it on left-out points; fit with ``groups=y`` where
        the words to come are new.

    Attributes
    ----------
    words_, background_, rarity_
        The distinct words, and the background and the rarity in use.
    likelihood_
        The mean log-probability of the true words at the left-out points, where they were used.

    Notes
    -----
    For left-out points a training word is ignored if all its occurrences were left out with the
    point, as in `Candidates`.

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

    has_ranked_lists = True

    words: Items | None = None
    restrict: str | Callable[[Any, Any], bool] | None = None
    background: float | str = 0.0
    rarity: float | str = 0.0

    @property
    def calibrates(self) -> bool:  # type: ignore[override]
        """Whether `calibrate` chooses the background or the rarity."""
        chosen = is_automatic(self.background, "background"), is_automatic(self.rarity, "rarity")
        return any(chosen)

    uses_sample_weight = True

    def fit(self, kernel: Kernel, y: Items, sample_weight: Array | None = None) -> Lexicon:
        """Store the distinct words of the lexicon and the frequency of each training output."""
        valid = self.restrict is None or self.restrict == "length" or callable(self.restrict)
        if not valid:
            raise ValueError(
                'restrict must be None, "length" or a function of an input and a word, '
                f"got {self.restrict!r}."
            )
        if self.rarity and not isinstance(kernel.space, Sequences):
            raise ValueError(
                f"rarity needs outputs that are sequences, got the output kernel {kernel}."
            )
        self.pool_ = Candidates(self.words).fit(kernel, y)
        self.words_ = self.pool_.outputs_
        self.background_, self.rarity_ = (
            0.0 if isinstance(value, str) else float(value)
            for value in (self.background, self.rarity)
        )
        positions, numbers = kernel.space.unique(y)
        weights = np.ones(len(numbers)) if sample_weight is None else sample_weight
        self.seen_, self.counts_ = take(y, positions), np.bincount(numbers, weights)
        self.kernel_ = kernel
        words = self.words_
        self.gains_ = _rarities(words, y, weights) if self.rarity else np.zeros(len(words))
        return self

    def calibrate(self, points: Embedding, y: Items) -> Lexicon:
        """Choose the background and the rarity that maximise the likelihood of the outputs y.

        The probabilities of words are the softmax of their scores. Their likelihood is less noisy
        than the number of right words.
        """
        S, mean = self._score_matrix(points), self._mean_scores(points)
        keys = self.kernel_.space.keys
        number = {key: j for j, key in enumerate(keys(self.words_))}
        true = np.array([number.get(key, -1) for key in keys(y)])
        known = np.flatnonzero((true >= 0) & (S[np.arange(len(S)), true] > -np.inf))
        if known.size:
            S, mean, true = S[known], np.broadcast_to(mean, S.shape)[known], true[known]
            counts = points.counts[known]
            given = (self.background, BACKGROUNDS), (self.rarity, RARITIES)
            trials = product(*(grid if v == "auto" else (float(v),) for v, grid in given))
            values = {
                (b, r): _log_likelihood(S - b * mean + r * self.gains_, true, counts)
                for b, r in trials
            }
            self.background_, self.rarity_ = max(values, key=lambda choice: values[choice])
            self.likelihood_ = values[self.background_, self.rarity_]
        return self

    def _score_matrix(self, points: Embedding) -> np.ndarray:
        """Return the score of each word (column) at each point (row); -inf for excluded words."""
        parts, _ = self.pool_._score_blocks(points, self._restriction_changes(points))
        S = np.empty((len(points), len(self.words_)))
        for rows, columns, block in parts:
            S[rows, columns] = host(block)
        return S

    def decode(self, points: Embedding) -> Items:
        """Return the word with the highest score at each predicted point."""
        best, _ = self.pool_._search(points, 1, self._score_changes(points))
        return take(self.words_, best[:, 0])

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the best words of each predicted point that suit its input, at most `k`."""
        return self.pool_._as_ranked(*self.pool_._search(points, k, self._score_changes(points)))

    def _score_changes(self, points: Embedding) -> list[Change]:
        """Return the functions that add restriction, rarity and background to blocks of scores."""
        changes = self._restriction_changes(points)
        if self.rarity_:
            changes.append(lambda rows, columns: self.rarity_ * self.gains_[None, columns])
        if self.background_:
            changes.append(self._background_change(points))
        return changes

    def _background_change(self, points: Embedding) -> Change:
        """Return the function that subtracts `background_` times the scores at the mean output."""
        weights = self._mean_weights(points)
        cache: dict[int, np.ndarray] = {}

        def change(rows: slice, columns: slice) -> np.ndarray:
            """Return the change of the scores of a block of points and words."""
            if columns.start not in cache:  # the same for all points
                cache.clear()
                cache[columns.start] = host(self.kernel_(self.seen_, self.words_[columns]))
            of_rows = weights if len(weights) == 1 else weights[rows]
            return -2.0 * self.background_ * (of_rows @ cache[columns.start])

        return change

    def _restriction_changes(self, points: Embedding) -> list[Change]:
        """Return the function that excludes unsuitable words, as a list; empty if all suit.

        If no word suits an input, all words are allowed, with a warning.
        """
        if self.restrict is None:
            return []
        allowed = self._allowed(points.inputs, self.words_)
        available = allowed.copy()
        for change in self.pool_._left_out_changes(points):
            available &= change(slice(None), slice(None)) == 0.0
        none = np.flatnonzero(~available.any(axis=1))
        if none.size:
            warnings.warn(
                f"no word of the lexicon suits {none.size} inputs, the first of them input "
                f"{none[0]}: they get the best of all words.",
                stacklevel=5,
            )
            allowed[none] = True
        return [lambda rows, columns: np.where(allowed[rows, columns], 0.0, -np.inf)]

    def _mean_scores(self, points: Embedding) -> np.ndarray:
        """Return the score term 2⟨m, Φ(w)⟩ of each word w, with m the mean training output.

        m is the mean of those training outputs that suit the input of a point.
        """
        return 2.0 * self._mean_weights(points) @ host(self.kernel_(self.seen_, self.words_))

    def _mean_weights(self, points: Embedding) -> np.ndarray:
        """Return weights that average the distinct training outputs suited to each point's input.

        There is one row for each point, or one for all points without `restrict`.
        """
        if self.restrict is None:
            suitable: np.ndarray = np.ones((1, 1))
        else:
            suitable = self._allowed(points.inputs, self.seen_)
        weights = suitable * self.counts_
        total = weights.sum(axis=1, keepdims=True)
        return weights / np.where(total > 0, total, 1.0)

    def _allowed(self, inputs: Items | None, words: Items) -> np.ndarray:
        """Return a boolean matrix (inputs, words): whether each word suits each input."""
        if inputs is None:
            raise ValueError(
                f"restrict={self.restrict!r} needs points that know their x: predict from inputs, "
                "or use restrict=None."
            )
        if self.restrict == "length":
            lengths = np.array([len(word) for word in words])
            return np.array([len(x) for x in inputs])[:, None] == lengths[None, :]
        suits: Any = self.restrict
        return np.array([[bool(suits(x, word)) for word in words] for x in inputs])
