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

    def _read(self, tree: Any) -> Counter:
        """The features of a tree, productions and pairs numbered as they are met."""
        bag: Counter = Counter()
        top: list[Any] = [(nested(tree, "y"), None)]
        while top:
            node, above = top.pop()
            if not isinstance(node, tuple | list):
                continue
            p = self.number.setdefault(production(node), len(self.number))
            bag[p] += 1
            if above is None:
                self.roots.add(p)
            else:
                below = (*above, p)
                self.below.setdefault(below, len(self.below))
                if self.pair_weight:
                    bag[below] += 1
            top.extend((child, (p, place)) for place, child in enumerate(node[1:]))
        return bag

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

    def features_of(self, derivation: Sequence[int | Below]) -> tuple[np.ndarray, float]:
        """Counts of the features of a tree, given by productions and pairs, and Σ c² of others."""
        counts, others = np.zeros(self.width), Counter[Below]()
        for f in derivation:
            at = f if isinstance(f, int) else self.feature(f)
            if at >= 0:
                counts[at] += 1
            elif not isinstance(f, int):
                others[f] += 1
        return counts, float(sum(c * c for c in others.values()))


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
