"""A joint n-gram model of input symbols with the chunks that they emit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._base.checks import Limits, array, bounded, finite, indices, must
from ...kernels import Codes
from ._keys import extend_hashes, feature_seed, make_hash_table
from .emission import COPY, Emissions
from .inputs import preceding_symbols
from .tiers import Tiers

EVENT_ORDER = 6
"""The order of the model: an event, which is a symbol with its chunk, after five events."""
BEGIN_EVENT, END_EVENT = 0, 1
"""The events before and after each sequence; those of symbols with chunks have larger numbers."""
CONTEXT_SEED, EVENT = 800, 801
"""Seeds of the hash keys of contexts, and of events after contexts."""


@dataclass(frozen=True)
class JointNGram:
    """An interpolated n-gram model of sequences of (input symbol, chunk) events.

    Counts c are discounted by D, and the probability that this frees goes to shorter contexts
    (Kneser and Ney). With u(h) the number of distinct events after a context h, and h' the context
    without its first event,

        p(t | h) = (max(c(h t) - D, 0) + D u(h) p(t | h')) / c(h).

    For shorter contexts, c is the number of longer contexts in which an n-gram occurs.

    Attributes
    ----------
    keys, values
        The keys of contexts h, with the values D u(h) / c(h), and of events after contexts, with
        the values max(c(h t) - D, 0) / c(h).
    size
        The number of distinct events.
    number
        The event of each symbol with a chunk; the last is for all very rare ones.
    """

    keys: np.ndarray
    values: np.ndarray
    size: int
    number: np.ndarray

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless there is a finite value for each key."""
        array(self.keys, "keys", np.uint64, None)
        finite(float(np.abs(array(self.values, "values", np.float64, len(self.keys))).sum()), "sum")
        must((self.keys[1:] > self.keys[:-1]).all(), "keys are not in order")
        bounded(self.size, "size", 1, limits.size)
        indices(self.number, "number", 0, limits.size)

    @cached_property
    def table(self) -> np.ndarray:
        """The hash table from the keys of contexts and of events to their indices in `keys`."""
        return make_hash_table(self.keys)

    @classmethod
    def of(cls, codes: Codes, number: np.ndarray) -> JointNGram:
        """Return the model fitted to sequences; `number` maps each (symbol, chunk) to its event."""
        codes = Codes(number[codes.flat], codes.starts)
        rows, keys, values = _ngram_rows(codes), [], []
        size = len(np.unique(codes.flat)) + 1
        for length in range(EVENT_ORDER, 0, -1):
            rows = rows[:, -length:]
            names = _row_keys(rows[:, :-1], CONTEXT_SEED)
            events, at, counts = np.unique(
                extend_hashes(extend_hashes(names, EVENT), rows[:, -1]),
                return_index=True,
                return_counts=True,
            )
            rows, names = rows[at], names[at]
            contexts, owner = np.unique(names, return_inverse=True)
            totals, distinct = np.bincount(owner, weights=counts), np.bincount(owner)
            once, twice = (counts == 1).sum(), (counts == 2).sum()
            discount = once / max(once + 2.0 * twice, 1.0)
            keys += [events, contexts]
            values += [np.maximum(counts - discount, 0.0) / totals[owner],
                       discount * distinct / totals]  # fmt: skip
        joined, first = np.unique(np.concatenate(keys), return_index=True)
        return cls(joined, np.concatenate(values)[first], size, number)


def outline_events(
    emissions: Emissions, copies: np.ndarray, tiers: Tiers | None
) -> np.ndarray | None:
    """Return the event of each (symbol, output chunk) if symbols other than vowels are merged.

    A chunk is reduced to its vowels and whether it is empty. `copies` has the output symbol that
    equals each input symbol. None if there are no vowels.
    """
    if tiers is None or not tiers.source.any() or not tiers.target.any():
        return None
    symbols = np.repeat(np.arange(len(emissions.width)), emissions.width)
    chunks = emissions.chunks.symbols[emissions.chunk]
    chunks = np.where(chunks == COPY, np.append(copies, -1)[symbols, None], chunks)
    vowels = np.where((chunks >= 0) & tiers.target[chunks], chunks, -1)
    vowels = np.take_along_axis(vowels, np.argsort(vowels < 0, axis=1, kind="stable"), axis=1)
    merged = np.where(tiers.source[symbols].any(axis=1), symbols, -1)
    events = np.column_stack([merged, chunks[:, :1] >= 0, vowels])
    number = np.unique(events, axis=0, return_inverse=True)[1].ravel()
    return np.append(number, number.max() + 1)


def _ngram_rows(codes: Codes) -> np.ndarray:
    """Return rows of `EVENT_ORDER` events: each event, or end, after those before it."""
    events = Codes(codes.flat + 2, codes.starts)
    last = np.insert(events.flat, events.starts[1:], END_EVENT)
    return np.column_stack(
        [preceding_symbols(events, EVENT_ORDER - 1, BEGIN_EVENT, BEGIN_EVENT), last]
    )


def _row_keys(rows: np.ndarray, kind: int) -> np.ndarray:
    """Return a hash key of each row, computed from its last entry to its first.

    `kind` is the argument of `feature_seed`.
    """
    keys = np.full(len(rows), feature_seed(kind))
    for column in rows.T[::-1]:
        keys = extend_hashes(keys, column)
    return extend_hashes(keys, rows.shape[1])
