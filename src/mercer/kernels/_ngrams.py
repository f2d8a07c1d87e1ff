"""Numbering of the n-grams of sequences, by a trie in sorted arrays."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Items
from .._base.checks import Limits, bounded, indices, must
from ._sequences import Alphabet, Codes

Occurrences = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Occurrences of n-grams of one length: item, number of the n-gram, positions from both ends."""


class NGrams:
    """All n-grams of lengths 1 to n of a batch of sequences, numbered for each length.

    The number of an m-gram is the index of its key in the sorted array keys[m - 1]. The key is
    (number of its first m - 1 symbols) · |alphabet| + (number of its last symbol).
    """

    def __init__(self, items: Items, n: int):
        self.n = n
        self.alphabet = Alphabet.of(items)
        self.keys: list[np.ndarray] = []
        self.find(items)

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless keys are sorted and extend shorter n-grams that exist."""
        must(isinstance(self.alphabet, Alphabet), "alphabet is not an Alphabet")
        must(isinstance(self.keys, list), "keys is not a list")
        bounded(self.n, "n", len(self.keys), len(self.keys))
        size = 1
        for level in self.keys:
            indices(level, "keys", 0, size * len(self.alphabet))
            must((np.diff(level) > 0).all(), "keys are not in order")
            size = len(level)

    def _starts_and_keys(
        self, codes: Codes, ids: np.ndarray, m: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the start and the key of each m-gram whose first m - 1 symbols are stored.

        `ids` has the number of the stored (m-1)-gram that starts at each position, -1 if none does.
        """
        at = np.flatnonzero((codes.remaining >= m) & (ids >= 0))
        last = codes.flat[at + m - 1]
        at, last = at[last >= 0], last[last >= 0]
        return at, ids[at] * len(self.alphabet) + last

    def size(self, m: int) -> int:
        """Return the number of distinct stored n-grams of length m."""
        return len(self.keys[m - 1])

    def find(self, items: Items) -> list[Occurrences]:
        """Return the occurrences of the stored n-grams in sequences, for each length 1 to n.

        For lengths without stored n-grams, those of these sequences are stored first.
        """
        codes = self.alphabet.encode(items)
        ids = np.zeros(len(codes.flat), dtype=np.int64)
        occurrences = []
        for m in range(1, self.n + 1):
            at, key = self._starts_and_keys(codes, ids, m)
            if len(self.keys) < m:
                self.keys.append(np.unique(key))
            keys = self.keys[m - 1]
            number = np.searchsorted(keys, key)
            known = number < len(keys)
            known[known] = keys[number[known]] == key[known]
            at, number = at[known], number[known]
            ids = np.full(len(codes.flat), -1, dtype=np.int64)
            ids[at] = number
            occurrences.append(
                (codes.rows[at], number, codes.positions[at], codes.remaining[at] - m)
            )
        return occurrences
