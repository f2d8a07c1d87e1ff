"""A chart parser that lists the trees of a grammar by falling value."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from ._grammar import Rules

State = tuple[int, int, int, int, int]
"""The first children of a production: (start, production, number of children, end, height).

The height counts the nodes in a row, from this one down, that have a single inner child over the
same symbols; it keeps such chains finite.
"""
Edge = tuple[float, tuple[State, ...]]
"""The gain of adding a child, and the states that are joined: earlier children, and the child."""
Derivation = tuple[float, Edge, tuple[int, ...]]
"""The value of a derivation, its last edge, and the rank of each state that the edge joins."""


class Chart:
    """A dynamic-programming chart of all trees that a grammar derives, each with a value.

    Parameters
    ----------
    rules
        The productions that may be used, and below which productions.
    symbols
        The symbols that the leaves must spell; None for trees of at most `size` nodes, where a
        span is a number of nodes.
    size
        The largest number of nodes, if `symbols` is None.
    only_seen
        Whether a production is allowed only below productions that it was seen below in a
        training tree.
    gains
        What each feature adds to the value of a tree; the last entry is for unseen pairs.
    """

    def __init__(
        self,
        rules: Rules,
        symbols: Sequence[Hashable] | None,
        size: int,
        only_seen: bool,
        gains: np.ndarray,
    ):
        self.rules, self.symbols, self.only_seen, self.gains = rules, symbols, only_seen, gains
        self.grammar = rules.grammar
        self.length = size if symbols is None else len(symbols)
        self.value: dict[State, float] = {}
        self.ends: dict[tuple[int, int, int, int], list[int]] = {}
        self.complete: dict[tuple[int, int], list[State]] = {}
        self._best_child: dict[tuple[int, int, int, int], float] = {}
        self._pair_gains: dict[tuple[int, int], dict[int, float]] = {}
        self._ranked: dict[State, list[Derivation]] = {}
        self._waiting: dict[State, list] = {}
        self._fill()

    # -- the best value of every state --------------------------------------------------------

    def _fill(self) -> None:
        """Compute the best value of every state, smallest spans first."""
        single = [self.grammar.productions[p].single for p in self.rules.productions]
        chained = self.symbols is not None
        pairs = list(zip(self.rules.productions, single, strict=True))
        self._plain = [p for p, alone in pairs if not (alone and chained)]
        self._single = [p for p, alone in pairs if alone and chained]
        for width in range(1, self.length + 1):
            for start in range(self.length - width + 1 if chained else 1):
                self._fill_span(start, start + width)

    def _fill_span(self, start: int, end: int) -> None:
        """Store the best value of every state from position `start` to position `end`.

        Complete productions come first, then chains of single children, then incomplete
        productions.
        """
        for p in self._plain:
            self._store_best((start, p, len(self.grammar.productions[p].children), end, 0))
        for height in range(1, self.rules.longest_chain + 1):
            for p in self._single:
                self._store_best((start, p, 1, end, height))
        for p in self._plain:
            for position in range(1, len(self.grammar.productions[p].children)):
                self._store_best((start, p, position, end, 0))

    def _store_best(self, state: State) -> None:
        """Store the best value of a state, a partial production, if it has a derivation."""
        start, p, position, end, height = state
        value = max(self._candidate_values(state), default=-np.inf)
        if value == -np.inf:
            return
        if position == len(self.grammar.productions[p].children):
            value += float(self.gains[p])
            self.complete.setdefault((start, end), []).append(state)
        self.value[state] = value
        self.ends.setdefault((start, p, position, height), []).append(end)

    def _candidate_values(self, state: State) -> Iterator[float]:
        """Yield the value of a state for each position where its last child may begin."""
        _, p, position, end, height = state
        leaf, _ = self.grammar.productions[p].children[position - 1]
        for before, at in self._states_before(state):
            value = 0.0 if position == 1 else self.value[before]
            if leaf:
                if self._leaf_fits(p, position, at, end):
                    yield value
            else:
                yield value + self._best_child_value(self._span_key(at, end), p, position, height)

    def _states_before(self, state: State) -> list[tuple[State, int]]:
        """Return the states before the last child of `state` was added, each with its end."""
        start, p, position, end, height = state
        if position == 1:  # in a span of nodes the parent is one of them
            at = start if self.symbols is not None else 1
            return [((start, p, 0, at, height), at)] if at < end else []
        ends = self.ends.get((start, p, position - 1, height), [])
        return [((start, p, position - 1, at, height), at) for at in ends if at < end]

    def _span_key(self, at: int, end: int) -> tuple[int, int]:
        """Return the key of the span between two positions: (at, end), or (0, length) if free."""
        return (at, end) if self.symbols is not None else (0, end - at)

    def _leaf_fits(self, p: int, position: int, at: int, end: int) -> bool:
        """Return whether a leaf, child `position` of production p, can span positions at to end.

        The span must have length one, and its symbol must be the leaf, if symbols are given.
        """
        name = self.grammar.productions[p].children[position - 1][1]
        return end == at + 1 and (self.symbols is None or self.symbols[at] == name)

    def _best_child_value(self, span: tuple[int, int], p: int, position: int, height: int) -> float:
        """Return the largest value of a subtree over a span that may be child `position` of p.

        `height` is that of the state (see `State`).
        """
        key = (*span, p, position)
        if height or key not in self._best_child:
            children = self._children(span, p, position, height)
            best = max((self.value[child] + gain for gain, child in children), default=-np.inf)
            if height:
                return best
            self._best_child[key] = best
        return self._best_child[key]

    def _children(
        self, span: tuple[int, int], p: int, position: int, height: int
    ) -> list[tuple[float, State]]:
        """Return (gain, state) of each subtree over a span that may be child `position` of p.

        Below a state of positive height, only states of the next lower height are children.
        """
        gains = self._gains_below(p, position)
        return [
            (gains[child[1]], child)
            for child in self.complete.get(span, [])
            if child[1] in gains and (not height or child[4] == height - 1)
        ]

    def _gains_below(self, p: int, position: int) -> dict[int, float]:
        """Return the gain of each production that may be child `position` of production p."""
        if (p, position) not in self._pair_gains:
            allowed, grammar = self.rules.below(p, position - 1, self.only_seen), self.grammar
            gains = {q: float(self.gains[grammar.column_of((p, position - 1, q))]) for q in allowed}
            self._pair_gains[p, position] = gains
        return self._pair_gains[p, position]

    # -- trees, best first --------------------------------------------------------------------

    def trees(self) -> Iterator[tuple[float, Any]]:
        """Yield (value, nested tree) of all trees in the chart, largest value first."""
        ends = [self.length] if self.symbols is not None else range(1, self.length + 1)
        roots = set(self.rules.roots)
        tops = [
            state for end in ends for state in self.complete.get((0, end), []) if state[1] in roots
        ]
        waiting = [(-self.value[state], i, 0) for i, state in enumerate(tops)]
        heapify(waiting)
        while waiting:
            _, i, rank = heappop(waiting)
            yield self._derivation(tops[i], rank)[0], self._tree(tops[i], rank)  # type: ignore[index]
            following = self._derivation(tops[i], rank + 1)
            if following is not None:
                heappush(waiting, (-following[0], i, rank + 1))

    def _edges_to(self, state: State) -> list[Edge]:
        """Return the edges that lead to a state, one for each last child that it may have."""
        _, p, position, end, height = state
        leaf, _ = self.grammar.productions[p].children[position - 1]
        base = (
            float(self.gains[p]) if position == len(self.grammar.productions[p].children) else 0.0
        )
        edges: list[Edge] = []
        for before, at in self._states_before(state):
            joined = () if position == 1 else (before,)
            if leaf:
                edges.extend([(base, joined)] if self._leaf_fits(p, position, at, end) else [])
                continue
            for gain, child in self._children(self._span_key(at, end), p, position, height):
                edges.append((base + gain, (*joined, child)))
        return edges

    def _derivation(self, state: State, rank: int) -> Derivation | None:
        """Return the derivation of a state with the given rank, best first; None if too few."""
        ranked = self._ranked.setdefault(state, [])
        if state not in self._waiting:
            self._waiting[state] = []
            for edge in self._edges_to(state):
                self._queue_derivation(state, edge, (0,) * len(edge[1]))
        waiting = self._waiting[state]
        while len(ranked) <= rank:
            if ranked:
                self._queue_next_best(state, ranked[-1])
            if not waiting:
                return None
            value, _, edge, ranks = heappop(waiting)
            ranked.append((-value, edge, ranks))
        return ranked[rank]

    def _queue_next_best(self, state: State, last: Derivation) -> None:
        """Queue the derivations that replace one subtree of `last` by its next best derivation.

        Ranks before the last non-zero one are not raised, so that no derivation is queued twice.
        """
        _, edge, ranks = last
        for i in reversed(range(len(ranks))):
            self._queue_derivation(state, edge, (*ranks[:i], ranks[i] + 1, *ranks[i + 1 :]))
            if ranks[i]:
                break

    def _queue_derivation(self, state: State, edge: Edge, ranks: tuple[int, ...]) -> None:
        """Queue the derivation of a state by an edge from ranked derivations of its joined states.

        ranks[i] is the rank of the derivation of the i-th joined state, 0 for the best. Nothing is
        queued if a joined state has no derivation of that rank.
        """
        value, waiting = edge[0], self._waiting[state]
        for joined, rank in zip(edge[1], ranks, strict=True):
            derivation = self._derivation(joined, rank) if rank else (self.value[joined],)
            if derivation is None:
                return
            value += derivation[0]
        heappush(waiting, (-value, len(waiting), edge, ranks))

    def _tree(self, state: State, rank: int) -> Any:
        """Return the nested tree of a state's derivation with the given rank, best first."""
        children: list[Any] = []
        production = self.grammar.productions[state[1]]
        while state[2]:
            position = state[2]
            _, (_, joined), ranks = self._derivation(state, rank)  # type: ignore[misc]
            leaf, name = production.children[position - 1]
            children.append(name if leaf else self._tree(joined[-1], ranks[-1]))
            if position == 1:
                break
            state, rank = joined[0], ranks[0]
        return (production.label, *reversed(children))
