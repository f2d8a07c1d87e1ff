"""An n-gram model of sequences as an automaton: its states are the contexts it has met."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._checks import Limits, array, bounded, indices
from ..._memory import GIB
from ...kernels._sequences import Codes

LARGEST = 2 * GIB
"""Tables beyond this size are refused."""


@dataclass(frozen=True)
class NGram:
    """log p(symbol | last symbols), interpolated over all shorter contexts (Witten and Bell).

    Contexts of up to `order` - 1 symbols are states. Of a context c that was followed by n symbols,
    u of them distinct,

        p(s | c) = (count(c s) + u p(s | c without its first symbol)) / (n + u),

    and the empty context falls back on the uniform distribution.

    Attributes
    ----------
    logp
        Log-probabilities, (states, symbols + 1); the last column is that of the end.
    next
        The state after a symbol, (states, symbols).
    last
        The symbols of each context, right-aligned, (states, order - 1); -1 where there is none.
        The start of a sequence counts as a symbol, of number `symbols`.
    start
        The state in which sequences begin.
    """

    logp: np.ndarray
    next: np.ndarray
    last: np.ndarray
    start: int

    def check_loaded(self, limits: Limits) -> None:
        """States and symbols that there are."""
        states, symbols = array(self.logp, "logp", np.float64, None, None).shape
        indices(self.next, "next", 0, states, states, symbols - 1, dtype=np.int32)
        indices(self.last, "last", -1, symbols, states, None)
        bounded(self.start, "start", 0, states - 1)

    @classmethod
    def of(cls, codes: Codes, symbols: int, order: int) -> NGram:
        """Count the n-grams of sequences of the symbols 0, …, symbols - 1."""
        tokens, left = _with_ends(codes, symbols)
        levels = [_Level(np.zeros(len(tokens), np.int64), left > 0, np.zeros(1, np.int64), 1)]
        while len(levels) < order:
            levels.append(levels[-1].longer(tokens, left, len(levels)))
        sizes = [level.size for level in levels]
        if sum(sizes) * (symbols + 1) * 12 > LARGEST:
            raise MemoryError(
                f"an n-gram model of order {order} over {symbols} symbols has {sum(sizes)} states, "
                "too many for its tables: lower order."
            )
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        P = _probabilities(levels, tokens, symbols)
        nexts = _transitions(levels, tokens, left, symbols, offsets)
        last = _contexts(levels, tokens, order)
        # A sequence begins in the context of its start alone, where contexts have any length.
        start = 0 if order == 1 else int(offsets[1] + levels[1].state[np.argmax(left == 1)])
        return cls(np.log(P), nexts, last, start)

    @property
    def end(self) -> int:
        """The column of `logp` that ends a sequence."""
        return self.logp.shape[1] - 1


@dataclass(frozen=True)
class _Level:
    """Contexts of one length: the number of the one before each token, and its suffix's."""

    state: np.ndarray
    known: np.ndarray
    suffix: np.ndarray
    size: int

    def longer(self, tokens: np.ndarray, left: np.ndarray, length: int) -> _Level:
        """Contexts of one more symbol, numbered by that symbol and the shorter context."""
        known = left >= length
        at = np.flatnonzero(known)
        pairs = tokens[at - length] * self.size + self.state[at]
        distinct, number = np.unique(pairs, return_inverse=True)
        state = np.full(len(tokens), -1)
        state[at] = number
        return _Level(state, known, distinct % self.size, len(distinct))


def _with_ends(codes: Codes, symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """All sequences in one run, with a mark before and after each; and each token's place."""
    starts = codes.starts[:-1] + 2 * np.arange(len(codes.lengths))
    tokens = np.full(len(codes.flat) + 2 * len(starts), symbols, dtype=np.int64)
    place = np.arange(len(tokens)) - np.repeat(starts, codes.lengths + 2)
    inner = np.repeat(starts + 1, codes.lengths) + codes.positions
    tokens[inner] = codes.flat
    return tokens, place


def _probabilities(levels: list[_Level], tokens: np.ndarray, symbols: int) -> np.ndarray:
    P = np.full((1, symbols + 1), 1.0 / (symbols + 1))
    tables = []
    for level in levels:
        at = np.flatnonzero(level.known)
        cells = level.state[at] * (symbols + 1) + tokens[at]
        counts = np.bincount(cells, minlength=level.size * (symbols + 1))
        counts = counts.reshape(level.size, symbols + 1)
        distinct = (counts > 0).sum(axis=1, keepdims=True)
        P = (counts + distinct * P[level.suffix]) / (counts.sum(axis=1, keepdims=True) + distinct)
        tables.append(P)
    return np.concatenate(tables)


def _transitions(
    levels: list[_Level], tokens: np.ndarray, left: np.ndarray, symbols: int, offsets: np.ndarray
) -> np.ndarray:
    """The state of the longest known context after each symbol, shorter contexts first."""
    table = np.zeros((1, symbols), dtype=np.int32)
    tables = []
    for h, level in enumerate(levels):
        table = table[level.suffix]
        if h + 1 < len(levels):
            longer = levels[h + 1]
            # The context of length h + 1 before a token ends in the token before it.
            at = np.flatnonzero(longer.known & (left > 1))
            before = at - 1
            fits = level.known[before]
            at, before = at[fits], before[fits]
            table[level.state[before], tokens[before]] = offsets[h + 1] + longer.state[at]
        tables.append(table)
    return np.concatenate(tables)


def _contexts(levels: list[_Level], tokens: np.ndarray, order: int) -> np.ndarray:
    last = np.full((1, max(order - 1, 1)), -1, dtype=np.int64)
    tables = [last]
    for length, level in enumerate(levels[1:], start=1):
        last = last[level.suffix]
        at = np.flatnonzero(level.known)
        last[level.state[at], -length] = tokens[at - length]
        tables.append(last)
    return np.concatenate(tables)
