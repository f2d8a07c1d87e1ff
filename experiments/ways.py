"""The ways to read handwritten words that are compared: the paper's, and a better one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
from scipy.ndimage import gaussian_filter

from experiments.peers import MaxMarginMarkovNetwork
from mercer.kernels import RBF, Kernel, Normalized, Polynomial, Positions, Smoothed
from mercer.operators import ConditionalCovariance, Covariance, Identity, Operator, Positionwise

from .baselines import EACH_LETTER, each_letter
from .reading import LAMBDA, Chain, Way, by_positions, by_words

SHAPE = (16, 8)
"""Of the images, in pixels."""

# -- kernels on words -------------------------------------------------------------------------


def cubic_kernel(gamma: float) -> Kernel:
    """Return the normalised cubic kernel on images, as in the paper."""
    return Normalized(Polynomial(3, gamma))


def blurred_kernel(width: float, scale: float) -> Kernel:
    """Return an RBF kernel on images blurred by `width` pixels."""
    return Smoothed(RBF(scale), width, SHAPE)


def word_cosine(kernel: Kernel, power: int = 1) -> Kernel:
    """Return the normalised kernel on words that compares them position by position."""
    words = Normalized(Positions(kernel))
    return words if power == 1 else words**power


GAMMAS = (1 / 128, 1 / 32, 1 / 8)
PAPER = [words(cubic_kernel(gamma)) for gamma in GAMMAS for words in (Positions, word_cosine)]
"""The paper's maps; how far the cubic leans on pairs and triples of pixels is left open there."""
BLURRED = [
    word_cosine(blurred_kernel(width, 3.0), power) for width in (0.7, 1.0, 1.3) for power in (2, 4)
]


# -- places coupled ---------------------------------------------------------------------------


def constrained_regression(*etas: float) -> Way:
    """Return the method of constrained regression, with mu and eta chosen."""
    image = cubic_kernel(1 / 32)
    kernels = [Positionwise(image, word_cosine(image), *p) for p in product((0.03, 0.1, 1.0), etas)]
    return by_positions(lambda unseen: kernels)


def shared_blurred_kernels(unseen: bool) -> Iterable[Positionwise]:
    """Yield kernels on blurred letters that share information between positions."""
    for width in (0.7, 1.0, 1.3):
        letters, words = blurred_kernel(width, 1.5), word_cosine(blurred_kernel(width, 3.0), 4)
        pairs = ((0.1, 10.0),) if unseen else ((0.1, 1.0), (0.01, 10.0), (0.03, 10.0))
        yield from (Positionwise(letters, words, mu, eta) for mu, eta in pairs)
        # Words as wholes are in the way where words are new, and where a lexicon separates them.
        yield from (Positionwise(letters, None, mu, 10.0) for mu in (0.01, 0.03))


DIRECTIONS = 8


def edge_maps(word: np.ndarray) -> np.ndarray:
    """Return blurred maps of the edges in images of letters, one for each direction.

    Roots of them, so that faint edges count.
    """
    pixels = np.pad(np.reshape(word, (-1, *SHAPE)), ((0, 0), (3, 3), (3, 3)))
    down, right = np.gradient(gaussian_filter(pixels, (0, 0.5, 0.5)), axis=(1, 2))
    angle = np.arctan2(down, right) * DIRECTIONS / (2.0 * np.pi)
    half = DIRECTIONS / 2
    near = [1.0 - np.abs((angle - d + half) % DIRECTIONS - half) for d in range(DIRECTIONS)]
    ink = np.hypot(down, right) * np.maximum(near, 0.0)
    maps = gaussian_filter(ink, (0, 0, 1.5, 1.5))[..., ::2, ::2]
    return np.sqrt(np.moveaxis(maps, 0, 1).reshape(len(pixels), -1))


def shared_edge_kernels(unseen: bool) -> Iterable[Positionwise]:
    """Yield kernels on edge maps that share information between positions."""
    for scale in (1.1, 1.6, 2.2):
        letters, words = RBF(scale), word_cosine(RBF(2.0 * scale), 4)
        yield from (Positionwise(letters, None, mu, 10.0) for mu in (0.03, 0.1))
        if not unseen:
            yield from (Positionwise(letters, words, mu, 10.0) for mu in (0.03, 0.1))


def fit_chain(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> Chain:
    """Fit a max-margin Markov network with the cubic kernel."""
    return Chain(MaxMarginMarkovNetwork(cubic_kernel(1.0), C=1.0, gap=0.01).fit(X, y))


# -- all of them ------------------------------------------------------------------------------

OPERATORS: dict[str, list[Operator]] = {
    "identity": [Identity()],
    "covariance": [Covariance()],
    "conditional covariance": [ConditionalCovariance(0.01), ConditionalCovariance(0.1)],
}
BEST = "mercer: edges, places shared"
WAYS: dict[str, Way] = {
    EACH_LETTER: each_letter,
    "M3N": fit_chain,
    "constrained regression, eta 0": constrained_regression(0.0),
    "constrained regression, eta chosen": constrained_regression(1.0, 10.0),
    **{name: by_words(PAPER, *operators) for name, operators in OPERATORS.items()},
    "identity, blurred": by_words(BLURRED, Identity()),
    "mercer: blurred, places shared": by_positions(shared_blurred_kernels),
    BEST: by_positions(shared_edge_kernels, edge_maps),
}
LITERAL: dict[str, Way] = {
    name: by_words([Positions(Polynomial(3))], *operators, alphas=[LAMBDA])
    for name, operators in OPERATORS.items()
}
"""The paper's λ with its cubic kernel as it stands."""
