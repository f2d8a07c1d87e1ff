"""The best tree of a grammar by a chart, over the symbols of an input or over sizes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ._grammar import Below, Grammar

Item = tuple[int, int, int]
"""Where a subtree begins and ends, and the production at its root."""


class Chart:
    """The best derivation of every span, smallest spans first.

    Parameters
    ----------
    grammar
        The grammar.
    symbols
        The symbols that the leaves must spell; None for trees of at most `size` nodes, where a
        span is a number of nodes.
    size
        The largest number of nodes, where there are no symbols.
    seen
        Whether productions stand only where such did in a training tree.
    gains
        What each feature adds to the value of a tree, the last that of a pair never met.
    """

    def __init__(
        self,
        grammar: Grammar,
        symbols: Sequence[Hashable] | None,
        size: int,
        seen: bool,
        gains: np.ndarray,
    ):
        self.grammar, self.symbols, self.gains, self.seen = grammar, symbols, gains, seen
        self.length = size if symbols is None else len(symbols)
        self.value: dict[Item, float] = {}
        self.parts: dict[Item, tuple[tuple[int, int, int] | None, ...]] = {}
        self.ends: dict[int, dict[int, set[int]]] = {}
        self.places: dict[tuple[int, int], dict[int, float]] = {}
        self.memory: dict[tuple[int, int], dict[tuple[int, int], tuple[float, int]]] = {}

    def best(self) -> tuple[float, list[int | Below], Any] | None:
        """Value, features and nested tree of the best derivation; None where there is none."""
        first = 1 if self.symbols is not None else 2
        for width in range(first, self.length + 1):
            for start in range(0, self.length - width + 1 if self.symbols is not None else 1):
                self._fill(start, start + width)
        spans = [self.length] if self.symbols is not None else range(first, self.length + 1)
        tops = [(0, end, p) for end in spans for p in sorted(self.grammar.roots)]
        found = [item for item in tops if item in self.value]
        if not found:
            return None
        top = max(found, key=lambda item: self.value[item])
        features: list[int | Below] = []
        return self.value[top], features, self._tree(top, features)

    def _fill(self, start: int, end: int) -> None:
        """All productions over one span; single children, which span as much, until none gains."""
        unary = []
        for p, made in enumerate(self.grammar.productions):
            single = len(made.children) == 1 and not made.children[0][0]
            if single and self.symbols is not None:
                unary.append(p)
            else:
                self._put(start, end, p)
        for _ in unary:
            gained = [self._put(start, end, p) for p in unary]
            if not any(gained):
                break

    def _put(self, start: int, end: int, p: int) -> bool:
        found = self._over(start, end, p)
        if found is None:
            return False
        value, parts = found
        item = (start, end, p)
        value += float(self.gains[p])
        if value <= self.value.get(item, -np.inf) or self._inside(item, parts):
            return False
        self.value[item], self.parts[item] = value, parts
        self.ends.setdefault(start, {}).setdefault(end, set()).add(p)
        self.memory.pop((start, end), None)
        return True

    def _inside(self, item: Item, parts: tuple) -> bool:
        """Whether a chain of single children would come back to where it began."""
        while len(parts) == 1 and parts[0] is not None:
            if parts[0] == item:
                return True
            parts = self.parts[parts[0]]
        return False

    def _over(self, start: int, end: int, p: int) -> tuple[float, tuple] | None:
        """The best children of a production over a span, from left to right."""
        children = self.grammar.productions[p].children
        first = start if self.symbols is not None else start + 1  # the node itself has a size
        states: dict[int, tuple[float, tuple]] = {first: (0.0, ())}
        for place, (leaf, name) in enumerate(children):
            rest = len(children) - place - 1
            after: dict[int, tuple[float, tuple]] = {}
            for at, (value, parts) in states.items():
                if leaf:
                    fits = self.symbols is None or (at < end and self.symbols[at] == name)
                    steps = [(at + 1, 0.0, None)] if fits and at + 1 + rest <= end else []
                else:
                    steps = self._steps(at, end - rest, p, place)
                for to, gain, part in steps:
                    if to not in after or value + gain > after[to][0]:
                        after[to] = (value + gain, (*parts, part))
            states = after
        return states.get(end)

    def _steps(self, at: int, last: int, p: int, place: int) -> list[tuple[int, float, Any]]:
        """Where a child of a production that begins at a place can end, and what it gains."""
        start = at if self.symbols is not None else 0
        found = []
        for end, own in self.ends.get(start, {}).items():
            to = end if self.symbols is not None else at + end
            if to <= last:
                value, q = self._child(start, end, p, place, own)
                if q >= 0:
                    found.append((to, value, (start, end, q)))
        return found

    def _child(self, start: int, end: int, p: int, place: int, own: set) -> tuple[float, int]:
        """The best production of a span as the child of another."""
        known = self.memory.setdefault((start, end), {})
        if (p, place) not in known:
            pairs = self._pairs(p, place)
            values = [(self.value[start, end, q] + pairs[q], q) for q in own if q in pairs]
            known[p, place] = max(values, default=(-np.inf, -1))
        return known[p, place]

    def _pairs(self, p: int, place: int) -> dict[int, float]:
        """The productions that may stand at a place of another, and what the pair gains."""
        if (p, place) not in self.places:
            allowed, grammar = self.grammar.allowed(p, place, self.seen), self.grammar
            gains = {q: float(self.gains[grammar.feature((p, place, q))]) for q in allowed}
            self.places[p, place] = gains
        return self.places[p, place]

    def _tree(self, item: Item, features: list[int | Below]) -> Any:
        """The nested tree of an item; its features are added to the list."""
        p = item[2]
        made = self.grammar.productions[p]
        features.append(p)
        children = []
        pairs = enumerate(zip(made.children, self.parts[item], strict=True))
        for place, ((_, name), part) in pairs:
            if part is None:
                children.append(name)
            else:
                features.append((p, place, part[2]))
                children.append(self._tree(part, features))
        return (made.label, *children)
