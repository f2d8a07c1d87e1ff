"""Trees as arrays of hashed labels and children, from bracketed strings or nested tuples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._base.arrays import Items, as_items, object_array
from .._base.checks import Limits, array, indices, must, offsets
from ._bags import mix_bits, stable_hash

TOKEN = re.compile(r"[()]|[^\s()]+")
"""A token of a bracketed string: a bracket or a label."""


class FlatTree:
    """An ordered tree as arrays, with its nodes in postorder (children before their parents).

    Attributes
    ----------
    label
        A hash for each node.
    pointer, child
        The children of node i are child[pointer[i]:pointer[i + 1]], from left to right.
    """

    __slots__ = ("child", "label", "pointer")

    def __init__(self, labels: list[Any], children: list[list[int]]):
        self.label = np.array([stable_hash(label) for label in labels], dtype=np.uint64)
        self.pointer = np.concatenate([[0], np.cumsum([len(c) for c in children])])
        self.child = np.array([j for c in children for j in c], dtype=np.int64)

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless all children exist and come before their parents."""
        n, edges = len(array(self.label, "label", np.uint64, None)), len(self.child)
        offsets(self.pointer, "pointer", edges, n + 1)
        indices(self.child, "child", 0, n)
        parents = np.repeat(np.arange(n), np.diff(self.pointer))
        must((self.child < parents).all(), "child does not come before its parent")

    def productions(self) -> np.ndarray:
        """Return a hash of each node's production (its label and its children's); 0 for leaves."""
        degree = np.diff(self.pointer)
        inner = np.flatnonzero(degree)
        # A leaf and an inner node with the same label differ.
        kinds = np.where(degree == 0, mix_bits(self.label, seed=15), self.label)
        position = mix_bits(self._child_positions().astype(np.uint64), seed=12)
        children = mix_bits(kinds[self.child] ^ position, seed=13)
        out = np.zeros(len(self.label), dtype=np.uint64)
        if len(inner):
            with np.errstate(over="ignore"):  # positions are mixed in before the sum
                total = np.add.reduceat(children, self.pointer[inner])
                out[inner] = mix_bits(self.label[inner], seed=14) + total
        return out

    def production_pairs(self) -> np.ndarray:
        """Return a hash of (parent's production, position, production) of each inner child."""
        productions, degree = self.productions(), np.diff(self.pointer)
        parent = np.repeat(productions, degree)
        inner = degree[self.child] > 0
        child = productions[self.child[inner]]
        return pair_hashes(parent[inner], self._child_positions()[inner], child)

    def _child_positions(self) -> np.ndarray:
        """Return the position of each entry of `child` among its siblings."""
        first = np.repeat(self.pointer[:-1], np.diff(self.pointer))
        return np.arange(len(self.child)) - first

    def subtrees(self) -> tuple[np.ndarray, np.ndarray]:
        """Return a hash of the subtree below each node, and the size of the subtree."""
        from ._fragments import subtree_hashes

        return subtree_hashes(mix_bits(self.label, seed=16), self.pointer, self.child)


def pair_hashes(parent: Any, position: Any, child: Any) -> Any:
    """Return hashes of (production of a parent, position of a child, production of the child)."""
    parent, position, child = (
        np.asarray(part, dtype=np.uint64) for part in (parent, position, child)
    )
    with np.errstate(over="ignore"):
        return mix_bits(parent, seed=19) + mix_bits(child ^ mix_bits(position, 17), seed=18)


def flat_trees(A: Items, name: str) -> np.ndarray:
    """Return a batch of trees as `FlatTree` objects; error messages call the batch `name`."""
    items = as_items(A, name)
    if all(isinstance(item, FlatTree) for item in items):
        return items
    return object_array([_flat_tree(item, f"{name}[{i}]") for i, item in enumerate(items)])


def _flat_tree(item: Any, name: str) -> FlatTree:
    """Return one tree as a `FlatTree`; error messages call it `name`."""
    if isinstance(item, FlatTree):
        return item
    if not isinstance(item, str | tuple | list):
        raise ValueError(
            f"{name} must be a bracketed string or a nested tuple (label, child, …), "
            f"got {item!r:.60}."
        )
    labels, children = [], []
    for node, below in postorder(as_nested_tree(item, name), name):
        labels.append(node[0] if isinstance(node, tuple | list) else node)
        children.append(below)
    return FlatTree(labels, children)


def postorder(tree: Any, name: str) -> Iterator[tuple[Any, list[int]]]:
    """Yield each node of a nested tree in postorder, with the postorder numbers of its children."""
    number = 0
    waiting: list[tuple[Any, list[int], list[Any]]] = [(tree, [], _children(tree, name))]
    while waiting:  # an explicit stack: deep trees would exhaust Python's own
        node, done, rest = waiting[-1]
        if rest:
            child = rest.pop(0)
            waiting.append((child, [], _children(child, name)))
            continue
        waiting.pop()
        yield node, done
        if waiting:
            waiting[-1][1].append(number)
        number += 1


def as_nested_tree(item: Any, name: str) -> Any:
    """Return a bracketed string as nested lists [label, child, …]; return other trees unchanged."""
    return _parse_brackets(item, name) if isinstance(item, str) else item


def _children(node: Any, name: str) -> list[Any]:
    """Return the children of a node of a nested tree, an empty list if the node is a label."""
    if not isinstance(node, tuple | list):
        return []
    if not node or isinstance(node[0], tuple | list):
        raise ValueError(
            f"{name} must be a bracketed string or a nested tuple (label, child, …), got the node "
            f"{node!r:.60} without a label."
        )
    return list(node[1:])


def _parse_brackets(text: str, name: str) -> Any:
    """Return a bracketed string such as "(S (N dog) (V barks))" as nested lists."""
    tokens = TOKEN.findall(text)
    if not tokens:
        raise ValueError(f"{name} is an empty string, not a tree.")
    if len(tokens) == 1 and tokens[0] not in "()":
        return tokens[0]
    root: list[Any] = []
    open_nodes = [root]
    for i, token in enumerate(tokens):
        if len(open_nodes) == 1 and (token != "(" or root):
            raise ValueError(
                f"{name} has {_describe_token(tokens, i)} outside its brackets: {text!r:.80}."
            )
        if token == "(":
            node: list[Any] = []
            open_nodes[-1].append(node)
            open_nodes.append(node)
        elif token == ")":
            if not open_nodes.pop():
                raise ValueError(f"{name} has an empty pair of brackets: {text!r:.80}.")
        else:
            open_nodes[-1].append(token)
    if len(open_nodes) > 1:
        raise ValueError(
            f"{name} has unbalanced brackets, {len(open_nodes) - 1} never closed: {text!r:.80}."
        )
    return root[0]


def _describe_token(tokens: list[str], position: int) -> str:
    """Return a description of tokens[position] for an error message."""
    closing = "unbalanced brackets: a ')'" if tokens[position] == ")" else repr(tokens[position])
    return f"{closing} (token {position})"
