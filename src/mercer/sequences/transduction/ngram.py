"""An n-gram model of sequences as an automaton whose states are the contexts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._base.checks import Limits, array, bounded, indices
from ..._base.memory import GIB
from ...kernels import Codes

TABLE_BYTES = 2 * GIB
"""The largest size of a table in bytes."""
UNSEEN = -20.0
"""The log-probability of chunks and symbols that are not in the training data."""


@dataclass(frozen=True)
class NGram:
    """An n-gram model of symbols, interpolated over all shorter contexts (Witten and Bell).

    Contexts of up to `order` - 1 symbols are states. For a context c that is followed by n symbols
    in the training data, u of them distinct,

        p(s | c) = (count(c s) + u p(s | c without its first symbol)) / (n + u),

    and for the empty context the shorter one is the uniform distribution.

    Attributes
    ----------
    logp
        Log-probabilities, (states, symbols + 1); the last column is that of the end.
    next
        The state after a symbol, (states, symbols).
    last
        The symbols of each context, right-aligned, (states, order - 1), padded with -1. The start
        of a sequence counts as a symbol with the number `symbols`.
    start
        The state in which sequences begin.
    """

    logp: np.ndarray
    next: np.ndarray
    last: np.ndarray
    start: int

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless all states and symbols exist."""
        states, symbols = array(self.logp, "logp", np.float64, None, None).shape
        indices(self.next, "next", 0, states, states, symbols - 1, dtype=np.int32)
        indices(self.last, "last", -1, symbols, states, None)
        bounded(self.start, "start", 0, states - 1)

    @classmethod
    def of(cls, codes: Codes, symbols: int, order: int) -> NGram:
        """Return the model fitted to sequences of the symbols 0, …, symbols - 1.

        Longer contexts are a symbol followed by a shorter context. They have the probabilities and
        transitions of the shorter one where the training data has no others.
        """
        tokens, position = _with_end_marks(codes, symbols)
        at, state = np.flatnonzero(position > 0), np.zeros(len(tokens), dtype=np.int64)
        P = np.full((1, symbols + 1), 1.0 / (symbols + 1))
        nexts, last = np.zeros((1, symbols), np.int32), np.full((1, max(order - 1, 1)), -1)
        shorter, tables, first, start = np.zeros(1, dtype=np.int64), [], 0, 0
        for length in range(order):
            if length:
                at = at[position[at] >= length]
                pairs = tokens[at - length] * len(P) + state[at]
                distinct, number = np.unique(pairs, return_inverse=True)
                first += len(P)
                _check_table_size(first + len(distinct), symbols, order)
                # The context before a token ends in the token before it, where that is a symbol.
                inner = position[at] > 1
                before = at[inner] - 1
                nexts[state[before], tokens[before]] = first + number[inner]
                shorter, state[at] = distinct % len(P), number
            P = _interpolate(state[at], tokens[at], P[shorter])
            nexts, last = nexts[shorter], last[shorter]
            if length:
                last[state[at], -length] = tokens[at - length]
            if length == 1:  # a sequence begins in the context of its start alone
                start = first + int(state[at[0]])
            tables.append((P, nexts, last))
        P, nexts, last = (np.concatenate(parts) for parts in zip(*tables, strict=True))
        return cls(np.log(P), nexts, last, start)

    def log_probability(self, codes: Codes) -> np.ndarray:
        """Return the log-probability of each sequence, with that of its end.

        Symbols beyond the alphabet, which are copied from an input, have the uniform probability
        and are followed by the empty context; negative ones have the log-probability `UNSEEN`.
        """
        from ._ngram_loops import log_probabilities

        total = np.empty(len(codes.lengths))
        log_probabilities(self.logp, self.next, self.start, codes.flat, codes.starts, total)
        return total

    @property
    def end(self) -> int:
        """The column of `logp` for the end of a sequence."""
        return self.logp.shape[1] - 1


def _with_end_marks(codes: Codes, n_symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all tokens with end marks, and the position of each within its marked sequence.

    Each sequence has a mark, of code `n_symbols`, before it (at position 0) and after it.
    """
    starts = codes.starts[:-1] + 2 * np.arange(len(codes.lengths))
    tokens = np.full(len(codes.flat) + 2 * len(starts), n_symbols, dtype=np.int64)
    position = np.arange(len(tokens)) - np.repeat(starts, codes.lengths + 2)
    inner = np.repeat(starts + 1, codes.lengths) + codes.positions
    tokens[inner] = codes.flat
    return tokens, position


def _interpolate(states: np.ndarray, tokens: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Return p(token | context), (contexts, tokens): counts interpolated with P.

    Entry i of `states` and `tokens` says that a token followed a context in the training data. P
    has the probabilities in each context without its first symbol.
    """
    counts = np.bincount(states * P.shape[1] + tokens, minlength=P.size).reshape(P.shape)
    distinct = (counts > 0).sum(axis=1, keepdims=True)
    return (counts + distinct * P) / (counts.sum(axis=1, keepdims=True) + distinct)


def _check_table_size(states: int, symbols: int, order: int) -> None:
    """Raise an error if tables of that many states and symbols exceed `TABLE_BYTES` bytes."""
    if states * (symbols + 1) * 12 > TABLE_BYTES:
        raise MemoryError(
            f"an n-gram model of order {order} over {symbols} symbols has {states} states or more, "
            "too many for its tables: lower order."
        )
