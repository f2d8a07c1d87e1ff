"""Moves: the neighbours of an item, one edit away, that the decoder `Search` tries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from .._base.arrays import Items


class Moves:
    """Base class of moves: what is one edit away from an item, and an item to start from.

    Moves are made from the training outputs, from which they know labels, symbols and sizes. The
    method `moves` of a space returns them.

    Examples
    --------
    >>> from mercer.spaces import Rankings
    >>> moves = Rankings().moves([[0, 1, 2], [2, 1, 0]])
    >>> [ranking.tolist() for ranking in moves.neighbours(moves.smallest())]
    [[1, 0, 2], [2, 1, 0], [0, 2, 1], [2, 0, 1], [1, 2, 0]]
    """

    def neighbours(self, item: Any) -> Iterator[Any]:
        """Yield the items that are one edit away from an item; repetitions are allowed."""
        raise NotImplementedError(f"{type(self).__name__} must implement neighbours(item)")

    def smallest(self) -> Any:
        """Return an item to start from where there are no training outputs."""
        raise NotImplementedError(f"{type(self).__name__} must implement smallest()")

    def like_training(self) -> Moves:
        """Return these moves, restricted to items whose parts look as in the training outputs."""
        raise ValueError(
            f'allowed="training" is for graphs, and {type(self).__name__} knows no such rule: give '
            "a function of an output that returns whether it may be the answer."
        )


class SequenceMoves(Moves):
    """Edits of a sequence: replace, insert or delete a symbol, exchange two adjacent symbols.

    Parameters
    ----------
    y
        The training outputs: strings, or tuples or lists of symbols.
    """

    def __init__(self, y: Items):
        counted = Counter(symbol for item in y for symbol in item)
        self.symbols = sorted(counted, key=lambda symbol: (-counted[symbol], repr(symbol)))
        self.shortest = min(map(len, y))
        self.form = type(y[0])

    def _made(self, symbols: Sequence[Any]) -> Any:
        """Return symbols as a sequence of the type of the training outputs."""
        if issubclass(self.form, str):
            return "".join(symbols)
        return np.array(symbols) if self.form is np.ndarray else self.form(symbols)

    def neighbours(self, item: Any) -> Iterator[Any]:
        """Yield the sequences that are one edit away."""
        s = list(item)
        for i, symbol in enumerate(s):
            for other in self.symbols:
                if other != symbol:
                    yield self._made([*s[:i], other, *s[i + 1 :]])
            if len(s) > max(self.shortest, 1):
                yield self._made(s[:i] + s[i + 1 :])
            if i and s[i - 1] != symbol:
                yield self._made([*s[: i - 1], symbol, s[i - 1], *s[i + 1 :]])
        for i in range(len(s) + 1):
            for other in self.symbols:
                yield self._made([*s[:i], other, *s[i:]])

    def smallest(self) -> Any:
        """Return the shortest possible sequence of the most frequent symbol."""
        return self._made(self.symbols[:1] * max(self.shortest, 1))


class LabelSetMoves(Moves):
    """Edits of a set of labels: add one, remove one, replace one by another.

    Parameters
    ----------
    y
        The training outputs: collections of labels, or rows of indicators.
    """

    def __init__(self, y: Items):
        self.indicators = isinstance(y, np.ndarray) and y.dtype != object
        counted: Counter[Hashable] = Counter()
        for item in y:
            counted.update(self._labels(item))
        self.labels = sorted(counted, key=lambda label: (-counted[label], repr(label)))
        self.fewest = min(len(self._labels(item)) for item in y)
        self.like = y[0]

    def _labels(self, item: Any) -> set:
        """Return the labels of an item as a set."""
        return set(np.flatnonzero(item).tolist()) if self.indicators else set(item)

    def _made(self, labels: set) -> Any:
        """Return a set of labels in the form of the training outputs."""
        if self.indicators:
            row = np.zeros_like(self.like)
            row[sorted(labels)] = 1
            return row
        ordered = sorted(labels, key=repr)
        return np.array(ordered) if isinstance(self.like, np.ndarray) else type(self.like)(ordered)

    def neighbours(self, item: Any) -> Iterator[Any]:
        """Yield the sets that are one edit away."""
        own = self._labels(item)
        others = [label for label in self.labels if label not in own]
        for label in others:
            yield self._made(own | {label})
        for label in sorted(own, key=repr):
            if len(own) > self.fewest:
                yield self._made(own - {label})
            for other in others:
                yield self._made(own - {label} | {other})

    def smallest(self) -> Any:
        """Return the smallest possible set, of the most frequent labels."""
        return self._made(set(self.labels[: self.fewest]))


class RankingMoves(Moves):
    """Edits of a ranking: exchange two objects, or move one to another place.

    Parameters
    ----------
    y
        The training outputs, rows of ranks.
    """

    def __init__(self, y: Items):
        self.n = len(y[0])

    def neighbours(self, item: Any) -> Iterator[np.ndarray]:
        """Yield the rankings that are one edit away."""
        ranks = np.asarray(item)
        for i in range(self.n):
            for j in range(i + 1, self.n):
                other = ranks.copy()
                other[[i, j]] = ranks[[j, i]]
                yield other
        order = np.argsort(ranks, kind="stable")
        values = ranks[order]
        for i in range(self.n):
            for j in range(self.n):
                if abs(i - j) > 1:
                    moved = np.insert(np.delete(order, i), j, order[i])
                    other = ranks.copy()
                    other[moved] = values
                    yield other

    def smallest(self) -> np.ndarray:
        """Return the objects in their order."""
        return np.arange(self.n)
