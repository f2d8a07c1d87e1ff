"""The graph of strings that `NGramPath` searches: contexts, and the symbols that may follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.checks import Limits, indices, must, offsets
from ..kernels._ngrams import NGrams

MOST_NGRAMS = 2_000_000
"""The largest number of n-grams that are enumerated."""


@dataclass(frozen=True)
class PathGraph:
    """A graph whose paths are strings: a state is a context of symbols, an edge appends one.

    Attributes
    ----------
    starts, target
        The edges of state a are starts[a], …, starts[a + 1] - 1; edge e leads to state target[e].
    roots
        The first state of each length of context 0, …, n - 1; state 0 is the empty context.
    symbols
        The symbol of each edge.
    chain
        chain[e, m - 1] is the edge of the last m symbols of edge e's n-gram; -1 if that is shorter.
    known
        The index of each edge's n-gram among the n-grams of the kernel; -1 if it is not one.
    level, suffix
        The length of each edge's n-gram minus one, and the edge of that n-gram without its first
        symbol.
    """

    starts: np.ndarray
    target: np.ndarray
    roots: np.ndarray
    symbols: np.ndarray
    chain: np.ndarray
    known: np.ndarray
    level: np.ndarray
    suffix: np.ndarray

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless all states, edges and suffixes refer to existing ones."""
        states, edges, n = len(self.starts) - 1, len(self.target), len(self.roots)
        must(states > 0 and edges > 0 and n > 0, "there is no path")
        offsets(self.starts, "starts", edges, states + 1)
        indices(self.roots, "roots", 0, states + 1)
        must(self.roots[0] == 0 and (np.diff(self.roots) >= 0).all(), "roots are not in order")
        highs = {"target": states, "symbols": len(self.symbols), "level": n, "suffix": edges}
        for name, high in highs.items():
            indices(getattr(self, name), name, 0, high, edges)
        indices(self.known, "known", -1, edges, edges)
        indices(self.chain, "chain", -1, edges, edges, n)
        before = (self.level == 0) | (self.suffix < np.arange(edges))
        must(before.all(), "suffix does not come before its edge")

    @classmethod
    def of(cls, ngrams: NGrams, seen: bool) -> PathGraph:
        """Return the graph of all strings, or if `seen` of those made of training n-grams only."""
        size, n = len(ngrams.alphabet), ngrams.n
        if not seen and size**n > MOST_NGRAMS:
            raise ValueError(
                f"{size} symbols have {size**n} {n}-grams, which are too many to search: use "
                'ngrams="seen", or a smaller n.'
            )
        keys = ngrams.keys if seen else [np.arange(size**m) for m in range(1, n + 1)]
        shorter = _suffixes(keys, size)
        known = _indices_among(keys, ngrams.keys, size)
        counts = np.array([1, *[len(level) for level in keys]])
        roots = np.concatenate([[0], np.cumsum(counts[:-1])[: n - 1]]).astype(np.int64)
        sources = np.concatenate([roots[m] + level // size for m, level in enumerate(keys)])
        targets = [roots[m] + np.arange(len(level)) for m, level in enumerate(keys[:-1], start=1)]
        first = np.concatenate([[0, 0], np.cumsum(counts[1:])])[
            :n
        ]  # first edge of the length before
        states = int(counts[:n].sum())
        level = np.repeat(np.arange(n), [len(grams) for grams in keys])
        suffix = np.concatenate([below + ids for below, ids in zip(first, shorter, strict=True)])
        last = shorter[-1] if n > 1 else np.zeros(len(keys[0]), dtype=np.int64)
        return cls(
            starts=np.searchsorted(sources, np.arange(states + 1)),
            target=np.concatenate([*targets, roots[n - 1] + last]).astype(np.int64),
            roots=roots,
            symbols=np.concatenate([level % size for level in keys]),
            chain=_edges_by_length(level, suffix, n),
            known=np.concatenate(known),
            level=level,
            suffix=suffix,
        )


def _suffixes(keys: list[np.ndarray], size: int) -> list[np.ndarray]:
    """Return for each m-gram the index of the (m-1)-gram without its first symbol.

    keys[m - 1] has the m-grams, and `size` is the number of symbols.
    """
    shorter = [np.zeros(len(keys[0]), dtype=np.int64)]
    for level, below in zip(keys[1:], keys[:-1], strict=True):
        shorter.append(np.searchsorted(below, shorter[-1][level // size] * size + level % size))
    return shorter


def _indices_among(keys: list[np.ndarray], given: list[np.ndarray], size: int) -> list[np.ndarray]:
    """Return the index of each n-gram in `keys` among the n-grams `given`; -1 if absent.

    Both are lists over the lengths 1, 2, …; `size` is the number of symbols.
    """
    parents, numbers = np.zeros(1, dtype=np.int64), []
    for level, known in zip(keys, given, strict=True):
        parent = parents[level // size]
        key = parent * size + level % size
        position = np.searchsorted(known, key)
        present = np.append(known, -1)[position] == key
        parents = np.where((parent >= 0) & present, position, -1)
        numbers.append(parents)
    return numbers


def _edges_by_length(level: np.ndarray, suffix: np.ndarray, n: int) -> np.ndarray:
    """Return `PathGraph.chain`: for each edge, the edges of its n-gram's suffixes by length.

    `level` and `suffix` are those of `PathGraph`, and n is the largest length.
    """
    chain, edges = np.full((len(level), n), -1, dtype=np.int64), np.arange(len(level))
    for length in range(n - 1, -1, -1):
        ends = level[edges] == length
        chain[ends, length] = edges[ends]
        edges = np.where(ends, suffix[edges], edges)
    return chain
