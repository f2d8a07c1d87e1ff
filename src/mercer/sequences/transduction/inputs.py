"""Inputs as the local map sees them: tokens of the sequence, and what else is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels._sequences import Alphabet, Codes

BEGIN, END = ("begin of the input",), ("end of the input",)
LABEL = "label of the context"
"""Tokens that stand for the ends of an input and for labels; no symbol of a user's is like them."""


@dataclass(frozen=True)
class Inputs:
    """Encoded inputs.

    Attributes
    ----------
    source
        The tokens: the sequence, with the ends and the labels where there is a context.
    first, last
        Where in its tokens each sequence itself begins and ends.
    context
        Keys of what else is known of each input, (inputs, kinds); 0 for none.
    values
        The coordinates that go with the keys, (inputs, kinds); None where all are one.
    """

    source: Codes
    first: np.ndarray
    last: np.ndarray
    context: np.ndarray
    values: np.ndarray | None = None

    @property
    def inside(self) -> np.ndarray:
        """Whether each token is one of the sequence itself."""
        place, rows = self.source.positions, self.source.rows
        return (place >= self.first[rows]) & (place < self.last[rows])

    def take(self, rows: np.ndarray) -> Inputs:
        """Return some of the inputs."""
        values = None if self.values is None else self.values[rows]
        return Inputs(
            sliced(self.source, rows)[0], self.first[rows], self.last[rows], self.context[rows],
            values,
        )  # fmt: skip


def sliced(codes: Codes, words: np.ndarray) -> tuple[Codes, np.ndarray]:
    """Some of the sequences, and where their symbols were."""
    lengths = codes.lengths[words]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(codes.starts[words] - starts[:-1], lengths) + np.arange(starts[-1])
    return Codes(codes.flat[places], starts), places


def before_places(codes: Codes, width: int, mark: int, outside: int = -1) -> np.ndarray:
    """The last `width` symbols before each place of sequences, and after their last symbol.

    `mark` stands for the begin of a sequence, `outside` for what is before that. The place before
    symbol j of sequence p has row starts[p] + p + j.
    """
    starts = codes.starts[:-1] + width * np.arange(len(codes.lengths))
    tokens = np.full(len(codes.flat) + width * len(starts), outside, dtype=np.int64)
    tokens[starts + width - 1] = mark
    tokens[width * (codes.rows + 1) + np.arange(len(codes.flat))] = codes.flat
    rows = np.repeat(np.arange(len(starts)), codes.lengths + 1)
    return tokens[((width - 1) * rows + np.arange(len(rows)))[:, None] + np.arange(width)]


@dataclass(frozen=True)
class InputCoder:
    """How inputs and their context become numbers.

    Attributes
    ----------
    symbols
        The alphabet of tokens.
    context
        The coder of the context, None where there is none.
    backward
        Whether sequences are read from their end.
    """

    symbols: Alphabet
    context: Any = None
    backward: bool = False

    @classmethod
    def of(cls, X: np.ndarray, context: Any, given: Any, backward: bool) -> InputCoder:
        """Collect the tokens of training inputs."""
        bare = cls(Alphabet([]), context, backward)
        return cls(Alphabet.of(bare.tokens(X, given)), context, backward)

    def tokens(self, X: np.ndarray, given: Any) -> Any:
        """Return each sequence between its ends, its labels behind it; as it is without context."""
        if self.context is None:
            return X
        labels = self.context.tokens(given)
        return [
            (BEGIN, *x, END, *((LABEL, label) for label in own))
            for x, own in zip(X, labels, strict=True)
        ]

    def encode(self, X: np.ndarray, given: Any = None) -> Inputs:
        """Encode inputs and, where there is one, their context."""
        n = np.array([len(x) for x in X], dtype=np.int64)
        ahead = int(self.context is not None)
        first = np.full(len(n), ahead)
        codes = self.symbols.encode(self.tokens(X, given))
        if self.backward:
            codes = reversed_codes(codes)
            first = codes.lengths - ahead - n
        keys, values = np.zeros((len(n), 0), dtype=np.uint64), None
        if self.context is not None:
            keys, values = self.context.keys(given)
        return Inputs(codes, first, first + n, keys, values)

    def shown(self, number: int) -> Any:
        """Return a token as a user knows it."""
        symbol = self.symbols.symbols[number]
        if symbol in (BEGIN, END):
            return "<" if symbol == BEGIN else ">"
        known = self.context is not None and isinstance(symbol, tuple) and symbol[0] == LABEL
        return symbol[1] if known else symbol


def reversed_codes(codes: Codes) -> Codes:
    """Each sequence from its end to its beginning."""
    mirrored = codes.starts[codes.rows] + codes.lengths[codes.rows] - 1 - codes.positions
    return Codes(codes.flat[mirrored], codes.starts)


def directed(codes: Codes, backward: bool) -> Codes:
    """Sequences in the direction in which they are read."""
    return reversed_codes(codes) if backward else codes


def joined(codes: Codes, more: Codes | None) -> Codes:
    """Two batches as one."""
    if more is None:
        return codes
    starts = np.concatenate([codes.starts, codes.starts[-1] + more.starts[1:]])
    return Codes(np.concatenate([codes.flat, more.flat]), starts)
