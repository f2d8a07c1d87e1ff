"""Ways to read handwritten words: every system of the paper's Table 2 (right), and a better one.

A way is a function that learns from words (sequences of images), their texts and, where words to
come will be new ones, the groups that are left out together when something is chosen; it returns a
`Reader`. Everything is chosen on the words that it learns from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Protocol

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupShuffleSplit

from .. import KernelDependency, KernelDependencyCV, MaxMarginMarkovNetwork
from ..decoders import Lexicon, PerPosition
from ..embedding import Embedding
from ..features import Explicit
from ..kernels import RBF, Kernel, Normalized, Polynomial, Positions, Smoothed
from ..metrics import symbol_accuracy
from ..operators import ConditionalCovariance, Covariance, Identity, Operator, Positionwise

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SHAPE = (16, 8)
LAMBDA = 0.01
"""The paper's ridge, kept where a choice would bring nothing: kernels here have k(x, x) = 1."""


class Reader(Protocol):
    """What has learnt to read."""

    @property
    def chosen(self) -> str:
        """What was chosen on the words that it learnt from."""
        ...

    def read(self, X: np.ndarray, words: np.ndarray) -> dict[str, np.ndarray]:
        """The words as read letter by letter; perhaps also as the likeliest of some words."""
        ...


Way = Callable[[np.ndarray, np.ndarray, np.ndarray | None], Reader]


@dataclass(frozen=True)
class Dependency:
    """A fitted model, with points of texts that it had not learnt from to calibrate decoders on."""

    model: Any
    points: Embedding
    texts: np.ndarray
    chosen: str

    def read(self, X: np.ndarray, words: np.ndarray) -> dict[str, np.ndarray]:
        """Each letter alone, and the likeliest of the words that are as long as the input."""
        points = replace(self.model.embed(X), inputs=X)
        return {"letters": self.letters(points), "words": self.words(points, words)}

    def letters(self, points: Embedding) -> np.ndarray:
        """Each letter alone."""
        decoder = PerPosition("input").fit(self.model.output_kernel_, self.model.outputs_)
        return decoder.decode(points)

    def words(self, points: Embedding, words: np.ndarray) -> np.ndarray:
        """The likeliest of the words that are as long as the input."""
        decoder = Lexicon(words, restrict="length", background="auto")
        decoder.fit(self.model.output_kernel_, self.model.outputs_)
        return decoder.calibrate(self.points, self.texts).decode(points)


# -- one kernel on whole words ----------------------------------------------------------------


ALPHAS = tuple(np.logspace(-6, 0, 7))


def by_words(
    scalars: Sequence[Kernel], *operators: Operator, alphas: Sequence[float] = ALPHAS
) -> Way:
    """A kernel on words times an operator, the ridge and all else chosen by leave-one-out."""

    def learn(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> Dependency:
        model = KernelDependencyCV(
            [scalar * operator for scalar in scalars for operator in operators],
            Positions(letters=LETTERS),
            alphas=alphas,
            scoring=make_scorer(symbol_accuracy),
            decoder=PerPosition("input"),
            output_features=Explicit(),
        ).fit(X, y, groups=groups)
        return Dependency(model, model.loo_embed(), y, f"{model.kernel_}, alpha {model.alpha_:g}")

    return learn


def cubic(gamma: float) -> Kernel:
    """The paper's kernel on images, as a cosine: images differ in ink."""
    return Normalized(Polynomial(3, gamma))


def blurred(width: float, scale: float) -> Kernel:
    """An RBF on blurred images."""
    return Smoothed(RBF(scale), width, SHAPE)


def cosine(kernel: Kernel, power: int = 1) -> Kernel:
    """Words compared place by place, as a cosine: they differ in length."""
    words = Normalized(Positions(kernel))
    return words if power == 1 else words**power


GAMMAS = (1 / 128, 1 / 32, 1 / 8)
PAPER = [words(cubic(gamma)) for gamma in GAMMAS for words in (Positions, cosine)]
"""The paper's maps; how far the cubic leans on pairs and triples of pixels is left open there."""
BLURRED = [cosine(blurred(width, 3.0), power) for width in (0.7, 1.0, 1.3) for power in (2, 4)]


# -- places coupled ---------------------------------------------------------------------------

Kernels = Callable[[np.ndarray, np.ndarray, np.ndarray | None], Iterable[Positionwise]]


def by_places(kernels: Kernels) -> Way:
    """Of several kernels the one that reads half of the words best, learnt from the other half."""

    def learn(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> Dependency:
        apart = np.arange(len(y)) if groups is None else groups
        ours, theirs = next(GroupShuffleSplit(1, test_size=0.5, random_state=0).split(X, y, apart))
        found = []
        for kernel in kernels(X, y, groups):
            model = _model(kernel).fit(X[ours], y[ours])
            points = replace(model.embed(X[theirs]), inputs=X[theirs])
            half = Dependency(model, points, y[theirs], _described(kernel))
            found.append((_right(half, np.unique(y), groups is not None), kernel, half))
        _, kernel, half = max(found, key=lambda each: each[0])
        return replace(half, model=_model(kernel).fit(X, y))

    return learn


def _model(kernel: Positionwise) -> KernelDependency:
    return KernelDependency(kernel, Positions(letters=LETTERS), LAMBDA, PerPosition("input"))


def _right(half: Dependency, words: np.ndarray, unseen: bool) -> float:
    """The share of right letters: alone and in words, or alone where words will be new."""
    right = symbol_accuracy(half.texts, half.letters(half.points))
    if unseen:
        return right
    return (right + symbol_accuracy(half.texts, half.words(half.points, words))) / 2


def _described(kernel: Positionwise) -> str:
    words = "" if kernel.word_kernel is None else f" and {kernel.word_kernel}"
    return f"{kernel.kernel}{words}, mu {kernel.mu:g}, eta {kernel.eta:g}"


def constrained(*etas: float) -> Way:
    """Constrained regression with the cubic kernel, mu and eta chosen."""

    def kernels(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> Iterable[Positionwise]:
        image = cubic(1 / 32)
        return [Positionwise(image, cosine(image), *p) for p in product((0.03, 0.1, 1.0), etas)]

    return by_places(kernels)


SHARES = ((0.1, 1.0), (0.01, 10.0), (0.03, 10.0))
"""(mu, eta) for words that were seen."""


def shared(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> Iterable[Positionwise]:
    """Blurred words, and blurred letters that share what they learn over places.

    Where words to come are new ones, words as wholes are mostly in the way.
    """
    for width in (0.7, 1.0, 1.3):
        letters, words = blurred(width, 1.5), cosine(blurred(width, 3.0), 4)
        if groups is None:
            yield from (Positionwise(letters, words, mu, eta) for mu, eta in SHARES)
        else:
            yield Positionwise(letters, words, 0.1, 10.0)
            yield from (Positionwise(letters, None, mu, 10.0) for mu in (0.01, 0.03))


# -- chains -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chain:
    """A fitted max-margin Markov network, which reads letters in their context."""

    model: MaxMarginMarkovNetwork

    @property
    def chosen(self) -> str:
        """Nothing was chosen; how near the optimum it is."""
        m = self.model
        return f"{m.kernel}, C {m.C:g}, relative duality gap {m.relative_gap_:.4f}"

    def read(self, X: np.ndarray, words: np.ndarray) -> dict[str, np.ndarray]:
        """Letters under the scores of letters and of pairs of them."""
        return {"letters": self.model.predict(X)}


def chains(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> Chain:
    """Max-margin Markov network with the cubic kernel."""
    return Chain(MaxMarginMarkovNetwork(cubic(1 / 32), C=1.0, gap=0.01).fit(X, y))


# -- all of them ------------------------------------------------------------------------------

OPERATORS: dict[str, list[Operator]] = {
    "identity": [Identity()],
    "covariance": [Covariance()],
    "conditional covariance": [ConditionalCovariance(0.01), ConditionalCovariance(0.1)],
}
BEST = "mercer: blurred, places shared"
WAYS: dict[str, Way] = {
    "M3N": chains,
    "constrained regression, eta 0": constrained(0.0),
    "constrained regression, eta chosen": constrained(1.0, 10.0),
    **{name: by_words(PAPER, *operators) for name, operators in OPERATORS.items()},
    "identity, blurred": by_words(BLURRED, Identity()),
    BEST: by_places(shared),
}
LITERAL: dict[str, Way] = {
    name: by_words([Positions(Polynomial(3))], *operators, alphas=[LAMBDA])
    for name, operators in OPERATORS.items()
}
"""The paper's λ with its cubic kernel as it stands."""
