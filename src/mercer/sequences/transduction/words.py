"""Words of an input: what a position sees of its own word and of those next to it."""

from __future__ import annotations

import numpy as np

from ...kernels._sequences import Codes
from ._keys import mix, seed
from .inputs import DIGIT, SEPARATOR, EncodedInputs

MANY = 0.5
"""Fraction of inputs with more than one word from which positions see words."""
NEXT = (1,)
NEIGHBOURS = ((), (-1,), NEXT, (1, 2))
"""The words that a position sees together with its own, as distances."""


def has_words(inputs: EncodedInputs) -> bool:
    """Return whether many inputs have more than one word."""
    codes, between = inputs.source, inputs.inside & (inputs.classes == SEPARATOR)
    return len(np.unique(codes.rows[between])) > MANY * len(codes.lengths)


def word_features(inputs: EncodedInputs, decay: float) -> tuple[np.ndarray, np.ndarray]:
    """Return features of every position, (positions, kinds), and the weight of each kind.

    A feature is the place in a word, the word, and words next to it, or the form of the next one.
    The next word counts as much as the symbol at the position.
    """
    words = WordPositions(inputs)
    own = mix(words.place, words.symbols[words.number])
    keys = [words.joined(own, words.symbols, distances) for distances in NEIGHBOURS]
    keys.append(words.joined(own, words.forms, NEXT))
    reach = [len(distances) - 1 for distances in (*NEIGHBOURS, NEXT)]
    return np.column_stack(keys), float(decay) ** (np.array(reach) / 2.0)


def letters_in_words(inputs: EncodedInputs) -> list[Codes]:
    """Return the inputs in finer symbols: letters by place and word, and by the next word too."""
    keys = word_features(inputs, 1.0)[0]
    return [
        Codes(np.unique(keys[:, kind], return_inverse=True)[1].ravel(), inputs.source.starts)
        for kind in (NEIGHBOURS.index(()), NEIGHBOURS.index(NEXT))
    ]


class WordPositions:
    """The words of inputs; separators belong to the word that they follow.

    Attributes
    ----------
    number, place
        The word of each position, and a key of the place in it.
    symbols, forms
        Keys of each word: of its symbols, and of its digits with any run of letters as one symbol.
    """

    def __init__(self, inputs: EncodedInputs):
        codes, classes = inputs.source, inputs.classes
        between = classes == SEPARATOR
        after = np.concatenate([[True], between[:-1]]) & ~between
        begins = after | (codes.positions == 0) | ~inputs.inside
        self.starts, self.rows = np.flatnonzero(begins), codes.rows[begins]
        self.number = np.cumsum(begins) - 1
        self.place = mix(seed(650), np.arange(len(begins)) - self.starts[self.number])
        self.symbols = self._hashed(codes.flat, np.ones(len(begins), dtype=bool))
        self.forms = self._hashed(classes, begins | (classes == DIGIT))

    def _hashed(self, values: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Return a key for each word, of those of its values that are kept, left to right."""
        sizes = np.diff(np.append(self.starts, len(values)))
        keys = np.full(len(sizes), seed(651))
        for j in range(int(sizes.max(initial=0))):
            words = np.flatnonzero(sizes > j)
            words = words[kept[self.starts[words] + j]]
            keys[words] = mix(keys[words], values[self.starts[words] + j] + 2)
        return keys

    def joined(self, keys: np.ndarray, names: np.ndarray, distances: tuple[int, ...]) -> np.ndarray:
        """Return keys of positions with the names of the words at some distances from their own."""
        for distance in distances:
            at = np.clip(self.number + distance, 0, len(names) - 1)
            there = (at == self.number + distance) & (self.rows[at] == self.rows[self.number])
            keys = mix(mix(keys, distance + 9), np.where(there, names[at], 1))
        return keys
