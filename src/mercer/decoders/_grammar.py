"""A grammar read off trees: the productions that occur, and which of them occur below which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from ..kernels._trees import nested

Below = tuple[int, int, int]
"""A production, a place on its right side, and the production that is there."""
MIXED = 1024
"""Productions that are made of those of one label, at most."""


@dataclass(frozen=True)
class Production:
    """A label and what its children are: (True, leaf) or (False, label of an inner node)."""

    label: Hashable
    children: tuple[tuple[bool, Hashable], ...]

    @property
    def leafy(self) -> bool:
        """Whether all children are leaves."""
        return all(leaf for leaf, _ in self.children)


class Grammar:
    """The productions of some trees, numbered, and the features that trees have under it.

    Features are the productions, and where `pairs`, two productions of which one is below the
    other at a place.

    Parameters
    ----------
    trees
        Bracketed strings or nested tuples.
    pairs
        The weight of a pair of productions; 0 leaves pairs out.
    mixed
        Whether productions are added of which each child stands at its place in some production
        of the same label.
    """

    def __init__(self, trees: Sequence[Any], pairs: float, mixed: bool = False):
        self.pair_weight = float(pairs)
        self.number: dict[Production, int] = {}
        self.roots: set[int] = set()
        self.below: dict[Below, int] = {}
        bags = [self._read(tree) for tree in trees]
        for made in _mixtures(list(self.number)) if mixed else []:
            self.number.setdefault(made, len(self.number))
        self.productions = list(self.number)
        tops = {self.productions[p].label for p in self.roots}
        if mixed:
            self.roots = {p for made, p in self.number.items() if made.label in tops}
        width = len(self.productions)
        keys = [
            {f if isinstance(f, int) else width + self.below[f]: c for f, c in bag.items()}
            for bag in bags
        ]
        self.width = width + len(self.below)
        rows = np.repeat(np.arange(len(keys)), [len(bag) for bag in keys])
        columns = np.array([f for bag in keys for f in bag], dtype=np.int64)
        values = np.array([c for bag in keys for c in bag.values()], dtype=float)
        self.counts = sparse.csr_array((values, (rows, columns)), shape=(len(keys), self.width))
        self.weights = np.where(np.arange(self.width) < width, 1.0, self.pair_weight)

    def _features(self, tree: Any) -> Iterator[int | Below]:
        """The productions of a tree, its root first, and the pairs; productions are numbered."""
        top: list[Any] = [(nested(tree, "y"), None)]
        while top:
            node, above = top.pop()
            if isinstance(node, tuple | list):
                p = self.number.setdefault(production(node), len(self.number))
                yield p
                if above is not None:
                    yield (*above, p)
                top.extend((child, (p, place)) for place, child in enumerate(node[1:]))

    def _read(self, tree: Any) -> Counter:
        """The features of a training tree, pairs numbered as they are met."""
        features = list(self._features(tree))
        self.roots.update(f for f in features[:1] if isinstance(f, int))
        for f in features:
            if isinstance(f, tuple):
                self.below.setdefault(f, len(self.below))
        return Counter(f for f in features if isinstance(f, int) or self.pair_weight)

    def feature(self, below: Below) -> int:
        """The number of a pair among the features; -1 where trees had none such, or none count."""
        at = self.below.get(below, -1)
        return -1 if at < 0 or not self.pair_weight else len(self.productions) + at

    @cached_property
    def by_label(self) -> dict[Hashable, list[int]]:
        """The productions of each label."""
        found: dict[Hashable, list[int]] = {}
        for p, made in enumerate(self.productions):
            found.setdefault(made.label, []).append(p)
        return found

    @cached_property
    def _seen(self) -> set[tuple[int, int, Any]]:
        return {(p, place, self._kind(q)) for p, place, q in self.below}

    def _kind(self, p: int) -> Any:
        """What of a production decides where it may stand: words of one label are all alike."""
        made = self.productions[p]
        return made.label if made.leafy else p

    def allowed(self, p: int, place: int, seen: bool) -> list[int]:
        """The productions that may stand below one: any of the label, or those that did."""
        own = self.by_label.get(self.productions[p].children[place][1], [])
        return [q for q in own if not seen or (p, place, self._kind(q)) in self._seen]

    def features_of(self, tree: Any) -> tuple[np.ndarray, float]:
        """Counts of the features of a tree of the grammar, and Σ c² over pairs never met."""
        counts, others = np.zeros(self.width), 0.0
        for f, c in Counter(self._features(tree)).items():
            at = f if isinstance(f, int) else self.feature(f)
            if at >= 0:
                counts[at] = c
            else:
                others += c * c
        return counts, others


def _mixtures(productions: list[Production]) -> Iterator[Production]:
    """Productions whose children are mixed of those of one label, leaves at the same places."""
    alike: dict[Any, list[Production]] = {}
    for made in productions:
        alike.setdefault((made.label, *(leaf for leaf, _ in made.children)), []).append(made)
    for group in alike.values():
        children = zip(*(made.children for made in group), strict=True)
        places = [list(dict.fromkeys(place)) for place in children]
        if prod(map(len, places)) <= MIXED:
            yield from (Production(group[0].label, mixture) for mixture in product(*places))


def production(node: Sequence[Any]) -> Production:
    """The production at the root of a nested tree."""
    inner = [isinstance(child, tuple | list) for child in node[1:]]
    children = [(not i, c[0] if i else c) for i, c in zip(inner, node[1:], strict=True)]
    return Production(node[0], tuple(children))


def bracketed(node: Any) -> str:
    """A nested tree as a string."""
    if not isinstance(node, tuple | list):
        return str(node)
    return f"({' '.join([str(node[0]), *map(bracketed, node[1:])])})"


def listed(node: Any) -> Any:
    """A nested tree as lists."""
    return [listed(child) for child in node] if isinstance(node, tuple) else node


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

    def best(self) -> tuple[float, Any] | None:
        """Value and nested tree of the best derivation; None where there is none."""
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
        return self.value[top], self._tree(top)

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

    def _tree(self, item: Item) -> Any:
        """The nested tree of an item."""
        made = self.grammar.productions[item[2]]
        parts = zip(made.children, self.parts[item], strict=True)
        children = [name if part is None else self._tree(part) for (_, name), part in parts]
        return (made.label, *children)
