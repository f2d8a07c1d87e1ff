"""Words of an input: what a position sees of its own word and of those next to it."""

from __future__ import annotations

import numpy as np

from ...kernels._sequences import Codes
from ._keys import mix, seed
from .inputs import DIGIT, SEPARATOR, EncodedInputs

MANY = 0.5
"""Fraction of inputs with more than one word from which positions see words."""


def has_words(inputs: EncodedInputs) -> bool:
    """Return whether a large fraction of the inputs has more than one word."""
    codes, between = inputs.source, inputs.inside & (inputs.classes == SEPARATOR)
    return len(np.unique(codes.rows[between])) > MANY * len(codes.lengths)


def letters_in_words(inputs: EncodedInputs) -> list[Codes]:
    """Return the inputs with letters numbered by their word, and also by the next word."""
    words = WordPositions(inputs)
    own = mix(words.neighbour(words.symbols, 0), words.place)
    return [
        Codes(np.unique(keys, return_inverse=True)[1].ravel(), inputs.source.starts)
        for keys in (own, mix(own, words.neighbour(words.symbols, 1)))
    ]


class WordPositions:
    """The word of each position; separators belong to the word that they follow.

    Attributes
    ----------
    number, place
        The word of each position, and the place in it.
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
        self.place = np.arange(len(begins)) - self.starts[self.number]
        self.symbols = self._word_keys(codes.flat, np.ones(len(begins), dtype=bool))
        self.forms = self._word_keys(classes, begins | (classes == DIGIT))

    def _word_keys(self, values: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Return a hash key of each word, of its values at the positions in the mask `kept`."""
        sizes = np.diff(np.append(self.starts, len(values)))
        keys = np.full(len(sizes), seed(651))
        for j in range(int(sizes.max(initial=0))):
            words = np.flatnonzero(sizes > j)
            words = words[kept[self.starts[words] + j]]
            keys[words] = mix(keys[words], values[self.starts[words] + j] + 2)
        return keys

    def neighbour(self, names: np.ndarray, distance: int) -> np.ndarray:
        """Return the key of the word at `distance` words from each position; 1 for none.

        `names` are keys of all words.
        """
        at = np.clip(self.number + distance, 0, len(names) - 1)
        there = (at == self.number + distance) & (self.rows[at] == self.rows[self.number])
        return np.where(there, names[at], np.uint64(1))
