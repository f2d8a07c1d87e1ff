"""The words of inputs, as features of their positions."""

from __future__ import annotations

import numpy as np

from ...kernels._sequences import Codes
from ._keys import mix, seed
from .inputs import DIGIT, SEPARATOR, EncodedInputs

MANY = 0.5
"""Words are features if more than this fraction of inputs has several words."""


def has_words(inputs: EncodedInputs) -> bool:
    """Return whether more than the fraction `MANY` of the inputs has several words."""
    codes, between = inputs.source, inputs.inside & (inputs.classes == SEPARATOR)
    return len(np.unique(codes.rows[between])) > MANY * len(codes.lengths)


def letters_in_words(inputs: EncodedInputs) -> list[Codes]:
    """Return the inputs with a number for each letter in its word, then also with the next word."""
    words = WordPositions(inputs)
    in_word = mix(words.neighbour(words.symbols, 0), words.place)
    return [
        Codes(np.unique(keys, return_inverse=True)[1].ravel(), inputs.source.starts)
        for keys in (in_word, mix(in_word, words.neighbour(words.symbols, 1)))
    ]


class WordPositions:
    """The word of each position; separators belong to the word that they follow.

    Attributes
    ----------
    number, place
        The number of the word at each position, and the position in that word.
    symbols, forms
        Hash keys of each word: of its symbols, and of its first class and number of digits.
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
        """Return the key of the word `distance` words after that of each position; 1 for none.

        `names` has the keys of all words.
        """
        at = np.clip(self.number + distance, 0, len(names) - 1)
        exists = (at == self.number + distance) & (self.rows[at] == self.rows[self.number])
        return np.where(exists, names[at], np.uint64(1))
