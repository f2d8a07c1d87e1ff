"""The grammar of training trees: their productions, and which of them occur below which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..kernels._trees import FlatTree, as_nested_tree, flat_trees, pair_hashes, postorder

Below = tuple[int, int, int]
"""A production, a position among its children, and the production at that position."""


@dataclass(frozen=True)
class Production:
    """A grammar rule: a label, and each child as (True, leaf) or (False, label of a node)."""

    label: Hashable
    children: tuple[tuple[bool, Hashable], ...]

    @property
    def only_leaves(self) -> bool:
        """Whether all children are leaves."""
        return all(leaf for leaf, _ in self.children)

    @property
    def single(self) -> bool:
        """Whether there is exactly one child, and it is an inner node."""
        return len(self.children) == 1 and not self.children[0][0]


class Grammar:
    """The productions of training trees, and the pairs (production, production of a child).

    Productions and pairs are the features of a tree, numbered in this order. Their hashes are those
    of the kernel `Productions`, so that the features of flat trees can be counted as well.

    Parameters
    ----------
    trees
        Bracketed strings or nested tuples.
    pair_weight
        The weight of a pair of productions in the objective; a production has weight 1.
    """

    def __init__(self, trees: Sequence[Any], pair_weight: float):
        self.pair_weight = float(pair_weight)
        self.number: dict[Production, int] = {}
        self.below: dict[Below, int] = {}
        self._hash: list[int] = []
        read = [self._number_productions(tree, f"y[{i}]") for i, tree in enumerate(trees)]
        self.productions = list(self.number)
        self.roots = np.array([root for root, _, _ in read])
        self.sizes = np.array([size for _, size, _ in read])
        self.chains = np.array([_longest_chain(as_nested_tree(tree, "y")) for tree in trees])
        self.by_label: dict[Hashable, list[int]] = {}
        for p, rule in enumerate(self.productions):
            self.by_label.setdefault(rule.label, []).append(p)
        pairs = [
            pair_hashes(self._hash[p], position, self._hash[q]) for p, position, q in self.below
        ]
        self._keys = np.array([*self._hash, *pairs], dtype=np.uint64)
        self._order = np.argsort(self._keys)
        width = len(self.productions)
        self.weights = np.where(np.arange(len(self._keys)) < width, 1.0, self.pair_weight)
        self.counts = self._count_matrix([bag for _, _, bag in read])

    def _number_productions(self, tree: Any, name: str) -> tuple[int, int, Counter]:
        """Store the productions of a tree; return its root, its size and its feature counts.

        The root is the number of the production there, -1 for a tree that is a single leaf. The
        size is the number of nodes.
        """
        (flat,) = flat_trees([tree], name)
        hashes = flat.productions()
        number = np.full(len(hashes), -1)
        bag: Counter = Counter()
        for i, (node, children) in enumerate(postorder(as_nested_tree(tree, name), name)):
            if not is_inner(node):
                continue
            p = number[i] = self.number.setdefault(production(node), len(self.number))
            if p == len(self._hash):
                self._hash.append(int(hashes[i]))
            bag[int(p)] += 1
            for position, child in enumerate(children):
                if number[child] >= 0:
                    below = int(p), position, int(number[child])
                    self.below.setdefault(below, len(self.below))
                    bag[below] += 1
        return int(number[-1]), len(hashes), bag

    def _count_matrix(self, counts: list[Counter]) -> sparse.csr_array:
        """Return the feature counts of training trees as a sparse matrix, one row per tree."""
        entries = [
            (row, self.column_of(f), count)
            for row, counter in enumerate(counts)
            for f, count in counter.items()
        ]
        rows, columns, values = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        shape = (len(counts), len(self._keys))
        return sparse.csr_array((values.astype(float), (rows, columns)), shape=shape)

    def column_of(self, feature: int | Below) -> int:
        """Return the column of a production or of a pair of productions; -1 for an unseen pair."""
        if isinstance(feature, int):
            return feature
        at = self.below.get(feature, -1)
        return at if at < 0 else len(self.productions) + at

    def count_in_flat_trees(self, trees: Iterable[FlatTree]) -> sparse.csr_array:
        """Return a sparse matrix of the feature counts of trees; unseen features are ignored."""
        entries = []
        for row, tree in enumerate(trees):
            inner = tree.productions()[np.diff(tree.pointer) > 0]
            keys = np.concatenate([inner, tree.production_pairs()])
            at = np.searchsorted(self._keys, keys, sorter=self._order)
            columns = self._order[np.minimum(at, len(self._order) - 1)]
            columns = columns[self._keys[columns] == keys]
            entries.append((np.full(len(columns), row), columns))
        rows, columns = (np.concatenate(part) for part in zip(*entries, strict=True))
        shape = (len(entries), len(self._keys))
        return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)

    def count_features(self, tree: Any) -> tuple[np.ndarray, float]:
        """Return the feature counts of a nested tree, and the sum of squared unseen counts.

        Unseen features are pairs of productions that do not occur in the training trees.
        """
        bag: Counter = Counter()
        waiting: list[Any] = [(tree, None)]
        while waiting:
            node, above = waiting.pop()
            if is_inner(node):
                p = self.number[production(node)]
                bag[p] += 1
                if above is not None:
                    bag[*above, p] += 1
                waiting.extend((child, (p, position)) for position, child in enumerate(node[1:]))
        counts, others = np.zeros(len(self._keys)), 0.0
        for f, c in bag.items():
            at = self.column_of(f)
            if at >= 0:
                counts[at] = c
            else:
                others += c * c
        return counts, others

    def rules(self, rows: np.ndarray) -> Rules:
        """Return the rules that occur in the training trees at the positions `rows`."""
        return Rules(self, np.asarray(self.counts[rows].sum(axis=0)) > 0, rows)


class Rules:
    """The productions that a search may use, and which may be children of which others.

    Parameters
    ----------
    grammar
        The grammar.
    known
        A mask of the features that occur in the training trees that the search may use.
    rows
        The positions of those training trees.
    """

    def __init__(self, grammar: Grammar, known: np.ndarray, rows: np.ndarray):
        self.grammar = grammar
        width = len(grammar.productions)
        self.productions = np.flatnonzero(known[:width]).tolist()
        self.roots = sorted({int(p) for p in grammar.roots[rows]} - {-1})
        self.longest_chain = int(grammar.chains[rows].max(initial=0))
        self.largest = int(grammar.sizes[rows].max(initial=0))
        self._allowed = set(self.productions)
        seen = zip(grammar.below, known[width:], strict=True)
        self._seen = {
            (p, position, self._label_or_number(q)) for (p, position, q), occurs in seen if occurs
        }

    def _label_or_number(self, p: int) -> Any:
        """Return what identifies production p as a child: its label if it has only leaves, else p.

        Where one production was seen as a child, all productions with the same result are allowed.
        """
        rule = self.grammar.productions[p]
        return rule.label if rule.only_leaves else p

    def below(self, p: int, position: int, only_seen: bool) -> list[int]:
        """Return the productions that may be child `position` of production p.

        These are all productions with the label of that child; if `only_seen`, those that were
        seen there in a training tree (productions that differ in their leaves only count as one).
        """
        label = self.grammar.productions[p].children[position][1]
        allowed = [q for q in self.grammar.by_label.get(label, []) if q in self._allowed]
        return [
            q
            for q in allowed
            if not only_seen or (p, position, self._label_or_number(q)) in self._seen
        ]


def is_inner(node: Any) -> bool:
    """Return whether a node of a nested tree has children."""
    return isinstance(node, tuple | list) and len(node) > 1


def production(node: Sequence[Any]) -> Production:
    """Return the production at the root of a nested tree."""
    children = ((not is_inner(c), c[0] if isinstance(c, tuple | list) else c) for c in node[1:])
    return Production(node[0], tuple(children))


def _longest_chain(tree: Any) -> int:
    """Return the length of the longest path of nodes whose only child is an inner node."""
    longest, waiting = 0, [(tree, 0)]
    while waiting:
        node, above = waiting.pop()
        if is_inner(node):
            single = len(node) == 2 and is_inner(node[1])
            chain = above + 1 if single else 0
            longest = max(longest, chain)
            waiting.extend((child, chain) for child in node[1:])
    return longest


def as_brackets(node: Any) -> str:
    """Return a nested tree as a bracketed string, such as "(S (NP a) b)"."""
    if not isinstance(node, tuple | list):
        return str(node)
    return f"({' '.join([str(node[0]), *map(as_brackets, node[1:])])})"


def as_lists(node: Any) -> Any:
    """Return a nested tree with lists instead of tuples."""
    return [as_lists(child) for child in node] if isinstance(node, tuple) else node
