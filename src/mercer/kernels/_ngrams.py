"""The n-grams of sequences as numbers: a trie in sorted arrays, looked up without a Python loop."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Items
from .._base.checks import Limits, bounded, indices, must
from ._sequences import Alphabet, Codes

Occurrences = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Where n-grams of one length occur: item, number of the n-gram, positions from both ends."""


class NGrams:
    """All n-grams, of lengths 1 to n, of a batch of sequences.

    Level m numbers the m-grams: `keys[m - 1]` holds, sorted, (number of the prefix) · |alphabet| +
    last symbol, so that the arrays are a trie and no two n-grams ever share a number.
    """

    def __init__(self, items: Items, n: int):
        self.n = n
        self.alphabet = Alphabet.of(items)
        self.keys: list[np.ndarray] = []
        self.find(items)

    def check_loaded(self, limits: Limits) -> None:
        """Check that the keys of each length are sorted and extend n-grams one symbol shorter."""
        must(isinstance(self.alphabet, Alphabet), "alphabet is not an Alphabet")
        must(isinstance(self.keys, list), "keys is not a list")
        bounded(self.n, "n", len(self.keys), len(self.keys))
        size = 1
        for level in self.keys:
            indices(level, "keys", 0, size * len(self.alphabet))
            must((np.diff(level) > 0).all(), "keys are not in order")
            size = len(level)

    def _extended_keys(
        self, codes: Codes, ids: np.ndarray, m: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions where an m-gram with a known prefix starts, and the m-grams' keys.

        `ids` has the number of the (m-1)-gram that starts at each position, -1 if it is unknown.
        """
        at = np.flatnonzero((codes.left >= m) & (ids >= 0))
        last = codes.flat[at + m - 1]
        at, last = at[last >= 0], last[last >= 0]
        return at, ids[at] * len(self.alphabet) + last

    def size(self, m: int) -> int:
        """Return the number of distinct n-grams of length m."""
        return len(self.keys[m - 1])

    def find(self, items: Items) -> list[Occurrences]:
        """Return where the known n-grams occur in sequences, one entry for each length 1 to n.

        Lengths that have no n-grams yet learn them from these sequences.
        """
        codes = self.alphabet.encode(items)
        ids = np.zeros(len(codes.flat), dtype=np.int64)
        found = []
        for m in range(1, self.n + 1):
            at, key = self._extended_keys(codes, ids, m)
            if len(self.keys) < m:
                self.keys.append(np.unique(key))
            level = self.keys[m - 1]
            places = np.searchsorted(level, key)
            known = places < len(level)
            known[known] = level[places[known]] == key[known]
            at, places = at[known], places[known]
            ids = np.full(len(codes.flat), -1, dtype=np.int64)
            ids[at] = places
            found.append((codes.rows[at], places, codes.positions[at], codes.left[at] - m))
        return found
