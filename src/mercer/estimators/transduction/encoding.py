"""Sequences of any symbols as runs of whole numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from ..._arrays import Items

UNKNOWN = -1


@dataclass(frozen=True)
class Ragged:
    """Sequences of whole numbers, end to end: sequence p is codes[start[p]:start[p + 1]]."""

    codes: np.ndarray
    start: np.ndarray

    @classmethod
    def of(cls, rows: Iterable[list[int]]) -> Ragged:
        """From one list a sequence."""
        rows = list(rows)
        start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        return cls(np.array([code for row in rows for code in row], dtype=np.int64), start)

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, p: int) -> np.ndarray:
        return self.codes[self.start[p] : self.start[p + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """The length of each sequence."""
        return np.diff(self.start)

    def owners(self) -> np.ndarray:
        """For every symbol the sequence it is of."""
        return np.repeat(np.arange(len(self)), self.lengths)


@dataclass(frozen=True)
class Alphabet:
    """The symbols seen in training, numbered in order of first appearance."""

    symbols: list[Hashable]

    @classmethod
    def of(cls, sequences: Items) -> Alphabet:
        """The distinct symbols of some sequences."""
        return cls(list(dict.fromkeys(symbol for row in sequences for symbol in row)))

    def __len__(self) -> int:
        return len(self.symbols)

    def encode(self, sequences: Items) -> Ragged:
        """Numbers of the symbols, `UNKNOWN` for those never seen."""
        number = {symbol: i for i, symbol in enumerate(self.symbols)}
        return Ragged.of([number.get(symbol, UNKNOWN) for symbol in row] for row in sequences)
