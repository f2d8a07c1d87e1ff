"""How words are read: what learns from words and their texts, choosing all else on the way.

A way to read is a function that learns from words (sequences of images), their texts and, where
words to come will be new ones, the groups that are left out together when something is chosen; it
returns a `Reader`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupShuffleSplit

from experiments.peers import MaxMarginMarkovNetwork
from mercer import KernelDependency, KernelDependencyCV
from mercer._base.arrays import object_array
from mercer.decoders import Lexicon, PerPosition
from mercer.embedding import Embedding
from mercer.features import Explicit
from mercer.kernels import Kernel, Positions
from mercer.metrics import symbol_accuracy
from mercer.operators import Operator, Positionwise

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LAMBDA = 0.01
"""The paper's ridge, kept where a choice would bring nothing: kernels here have k(x, x) = 1."""


class Reader(Protocol):
    """Protocol of fitted models that read words from images."""

    @property
    def chosen(self) -> str:
        """The parameters chosen on the training words, as text."""
        ...

    def read(self, X: np.ndarray, words: np.ndarray) -> dict[str, np.ndarray]:
        """Return words as read letter by letter, and as chosen from `words`, by kind of reading."""
        ...


Way = Callable[[np.ndarray, np.ndarray, np.ndarray | None], Reader]


@dataclass(frozen=True)
class Dependency:
    """A fitted model that reads words, with held-out points that calibrate its lexicon."""

    model: Any
    points: Embedding
    texts: np.ndarray
    chosen: str
    speller: Dependency | None = None
    """Another model that reads words, where it was the better one."""
    half: Dependency | None = None
    """What the points are of, where that is not the model: it may know fewer places."""
    of: Callable[[np.ndarray], np.ndarray] = np.asarray
    """What is made of a word before the model sees it."""

    def read(self, X: np.ndarray, words: np.ndarray) -> dict[str, np.ndarray]:
        """Return each word as read letter by letter, and the most probable word of `words`."""
        letters = self.letters(self._embed(X))
        speller = self.speller or self
        return {"letters": letters, "words": speller.words(speller._embed(X), words)}

    def _embed(self, X: np.ndarray) -> Embedding:
        """Return the predicted points of words, after they are transformed by `of`."""
        X = object_array([self.of(word) for word in X])
        return replace(self.model.embed(X), inputs=X)

    def letters(self, points: Embedding) -> np.ndarray:
        """Return the word at each point as decoded letter by letter."""
        decoder = PerPosition("input").fit(self.model.output_kernel_, self.model.outputs_)
        return decoder.decode(points)

    def words(self, points: Embedding, words: np.ndarray) -> np.ndarray:
        """Return the most probable word at each point, among the `words` of its length."""
        rarity = (self.half or self).lexicon(words).rarity_
        decoder = Lexicon(words, "length", rarity=rarity)
        return decoder.fit(self.model.output_kernel_, self.model.outputs_).decode(points)

    def lexicon(self, words: np.ndarray) -> Lexicon:
        """Return a lexicon decoder that is calibrated on the held-out texts."""
        decoder = Lexicon(words, "length", rarity="auto")
        decoder.fit(self.model.output_kernel_, self.model.outputs_)
        return decoder.calibrate(self.points, self.texts)


# -- one kernel on whole words ----------------------------------------------------------------


ALPHAS = tuple(np.logspace(-6, 0, 7))


def by_words(
    scalars: Sequence[Kernel], *operators: Operator, alphas: Sequence[float] = ALPHAS
) -> Way:
    """Return a method that fits a kernel on whole words, chosen by leave-one-out."""

    def learn(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> Dependency:
        """Fit the model to images of words X and their texts y."""
        model = KernelDependencyCV(
            [scalar * operator for scalar in scalars for operator in operators],
            Positions(letters=LETTERS),
            alphas=alphas,
            scoring=make_scorer(symbol_accuracy),
            decoder=PerPosition("input"),
            output_features=Explicit(),
            fit_intercept=False,
        ).fit(X, y, groups=groups)
        return Dependency(model, model.loo_embed(), y, f"{model.kernel_}, alpha {model.alpha_:g}")

    return learn


# -- places coupled ---------------------------------------------------------------------------


def by_positions(
    kernels: Callable[[bool], Iterable[Positionwise]],
    of: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> Way:
    """Return a method that fits the kernels on positions that read held-out words best.

    One for letters, by the fraction that is right, and one for words, by their likelihood.
    `kernels` gives those to choose from, given whether new words are to be expected; `of` is
    what is made of a word first.
    """

    def learn(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> Dependency:
        """Choose kernels on half of the words, and fit them to all words."""
        unseen, words = groups is not None, np.unique(y)
        X = object_array([of(word) for word in X])
        group_labels = groups if unseen else np.arange(len(y))
        ours, theirs = next(
            GroupShuffleSplit(1, test_size=0.5, random_state=0).split(X, y, group_labels)
        )
        trials = []
        for kernel in kernels(unseen):
            model = _make_model(kernel).fit(X[ours], y[ours])
            points = replace(model.embed(X[theirs]), inputs=X[theirs])
            half = Dependency(model, points, y[theirs], _describe_kernel(kernel), of=of)
            right = symbol_accuracy(half.texts, half.letters(points))
            trials.append((right, half.lexicon(words).likelihood_, kernel, half))
        _, _, kernel, half = max(trials, key=lambda each: each[0])
        _, _, spelling, spelt = max(trials, key=lambda each: each[1])
        letters = replace(half, model=_make_model(kernel).fit(X, y), half=half)
        if spelling is kernel:
            return letters
        speller = replace(spelt, model=_make_model(spelling).fit(X, y), half=spelt)
        chosen = f"{letters.chosen}; for words {speller.chosen}"
        return replace(letters, speller=speller, chosen=chosen)

    return learn


def _make_model(kernel: Positionwise) -> KernelDependency:
    """Return an unfitted model with a kernel on positions, at the ridge of the paper."""
    letters, decoder = Positions(letters=LETTERS), PerPosition("input")
    return KernelDependency(kernel, letters, LAMBDA, decoder, fit_intercept=False)


def _describe_kernel(kernel: Positionwise) -> str:
    """Return the parameters of a kernel on positions, as text."""
    words = "" if kernel.word_kernel is None else f" and {kernel.word_kernel}"
    return f"{kernel.kernel}{words}, mu {kernel.mu:g}, eta {kernel.eta:g}"


# -- chains -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chain:
    """A fitted max-margin Markov network that reads letters in their context."""

    model: MaxMarginMarkovNetwork

    @property
    def chosen(self) -> str:
        """The parameters of the network and its relative duality gap, as text."""
        m = self.model
        return f"{m.kernel}, C {m.C:g}, relative duality gap {m.relative_gap_:.4f}"

    def read(self, X: np.ndarray, words: np.ndarray) -> dict[str, np.ndarray]:
        """Return words with the best total score of letters and pairs of letters."""
        return {"letters": self.model.predict(X)}
