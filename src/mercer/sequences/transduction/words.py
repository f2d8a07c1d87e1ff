"""The words of inputs, as features of their positions."""

from __future__ import annotations

import numpy as np

from ...kernels import Codes
from ._keys import extend_hashes, feature_seed
from .inputs import DIGIT, SEPARATOR, EncodedInputs

MULTIWORD_FRACTION = 0.5
"""Words are features if more than this fraction of inputs has several words."""


def has_words(inputs: EncodedInputs) -> bool:
    """Return whether a large fraction of the inputs, `MULTIWORD_FRACTION`, have several words."""
    codes, between = inputs.source, inputs.inside & (inputs.classes == SEPARATOR)
    return len(np.unique(codes.rows[between])) > MULTIWORD_FRACTION * len(codes.lengths)


def letters_in_words(inputs: EncodedInputs) -> list[Codes]:
    """Return two finer encodings of inputs: letters with their word, and with the next as well."""
    words = WordPositions(inputs)
    in_word = extend_hashes(words.neighbour(words.symbols, 0), words.position_in_word)
    return [
        Codes(np.unique(keys, return_inverse=True)[1].ravel(), inputs.source.starts)
        for keys in (in_word, extend_hashes(in_word, words.neighbour(words.symbols, 1)))
    ]


class WordPositions:
    """For each position of an input, its word and the position in that word.

    Separators belong to the word that they follow.

    Attributes
    ----------
    number, position_in_word
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
        self.position_in_word = np.arange(len(begins)) - self.starts[self.number]
        self.symbols = self._word_keys(codes.flat, np.ones(len(begins), dtype=bool))
        self.forms = self._word_keys(classes, begins | (classes == DIGIT))

    def _word_keys(self, values: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Return a hash key of each word, from the `values` at its positions in the mask `kept`."""
        sizes = np.diff(np.append(self.starts, len(values)))
        keys = np.full(len(sizes), feature_seed(651))
        for j in range(int(sizes.max(initial=0))):
            words = np.flatnonzero(sizes > j)
            words = words[kept[self.starts[words] + j]]
            keys[words] = extend_hashes(keys[words], values[self.starts[words] + j] + 2)
        return keys

    def neighbour(self, keys: np.ndarray, distance: int) -> np.ndarray:
        """Return the hash key of the word `distance` words away from each position; 1 for none.

        The distance is negative for words before. `keys` has the keys of all words.
        """
        at = np.clip(self.number + distance, 0, len(keys) - 1)
        exists = (at == self.number + distance) & (self.rows[at] == self.rows[self.number])
        return np.where(exists, keys[at], np.uint64(1))
