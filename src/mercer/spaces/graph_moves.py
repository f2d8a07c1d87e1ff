"""Moves of labelled graphs: one node or edge is added, removed, relabelled or moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from .._base.arrays import Items
from ._labelled_graphs import Form, LabelledGraph
from .moves import Moves

GROWTH = 1.1
"""The largest graph that is made, in nodes of the largest training graph."""


@dataclass(frozen=True)
class CodedGraph:
    """A graph as numbers: of the label of each node, and of the label of each edge from 1 on.

    Attributes
    ----------
    nodes
        The number of each node's label.
    edges
        A symmetric matrix; 0 for no edge.
    """

    nodes: np.ndarray
    edges: np.ndarray


class GraphMoves(Moves):
    """Edits of a labelled graph, for graphs with the labels of the training graphs.

    A node is relabelled, added at the end of a new edge or in the middle of an edge, or removed;
    then the neighbours of a node that has two may be joined. An edge is set, relabelled, removed,
    or moved to another node. Two nodes or two edges at a node exchange their labels; two edges
    exchange their ends.

    Parameters
    ----------
    y
        The training graphs.
    node_label, edge_label
        The attributes of networkx graphs that hold the labels.

    Attributes
    ----------
    node_labels, edge_labels
        The labels, the most frequent first.
    largest
        The largest number of nodes.
    connected
        Whether all graphs that are made are connected, as all training graphs are.
    patterns
        For each node label (first column) and each pattern of a node of the training graphs, the
        numbers of its edges with each label: a node may have the edges of a pattern, or fewer.
        None for any.
    """

    def __init__(
        self, y: Items, node_label: str | None = "label", edge_label: str | None = "label"
    ):
        self.form = Form.of(y, node_label, edge_label)
        graphs = self.form.read(y)
        nodes = Counter(label for graph in graphs for label in graph.nodes)
        marks = Counter(e for graph in graphs for e in graph.edges[np.tril_indices(len(graph))])
        del marks[None]
        self.node_labels = sorted(nodes, key=lambda label: (-nodes[label], repr(label)))
        self.edge_labels = [e for (e,) in sorted(marks, key=lambda e: (-marks[e], repr(e)))]
        self.largest = ceil(GROWTH * max(map(len, graphs)))
        self._number = {label: i for i, label in enumerate(self.node_labels)}
        self._mark = {(label,): i + 1 for i, label in enumerate(self.edge_labels)}
        self.connected, patterns = True, set()
        for graph in map(self._coded, graphs):
            self.connected = self.connected and is_connected(graph.edges)
            for v, label in enumerate(graph.nodes):
                row = np.bincount(graph.edges[v], minlength=len(marks) + 1)[1:]
                patterns.add((int(label), *row.tolist()))
        self.patterns: np.ndarray | None = None
        self._seen_patterns = _largest_patterns(patterns)

    def like_training(self) -> GraphMoves:
        """Return these moves, restricted to nodes with edges as those of the training graphs."""
        self.patterns = self._seen_patterns
        return self

    # -- conversions --------------------------------------------------------------------------

    def code(self, graph: Any) -> CodedGraph:
        """Return a graph of the user as numbers."""
        return self._coded(self.form.read([graph])[0])

    def _coded(self, graph: LabelledGraph) -> CodedGraph:
        """Return a graph as numbers."""
        nodes = np.array([self._number[label] for label in graph.nodes], dtype=np.int64)
        edges = np.zeros(graph.edges.shape, dtype=np.int64)
        for i, j in np.argwhere(graph.edges != None):  # noqa: E711
            edges[i, j] = self._mark[graph.edges[i, j]]
        return CodedGraph(nodes, edges)

    def decode(self, graph: CodedGraph) -> Any:
        """Return a graph of numbers as a graph of the user's kind."""
        edges = np.full(graph.edges.shape, None, dtype=object)
        for i, j in np.argwhere(graph.edges):
            edges[i, j] = (self.edge_labels[graph.edges[i, j] - 1],)
        return self.form.write(LabelledGraph([self.node_labels[v] for v in graph.nodes], edges))

    # -- moves --------------------------------------------------------------------------------

    def smallest(self) -> Any:
        """Return one node of the most frequent label."""
        return self.decode(self.smallest_code())

    def smallest_code(self) -> CodedGraph:
        """Return one node of the most frequent label, as numbers."""
        return CodedGraph(np.zeros(1, np.int64), np.zeros((1, 1), np.int64))

    def neighbours(self, item: Any) -> Iterator[Any]:
        """Yield the graphs that are one edit away."""
        for graph in self.coded_neighbours(self.code(item)):
            yield self.decode(graph)

    def coded_neighbours(self, graph: CodedGraph) -> Iterator[CodedGraph]:
        """Yield the graphs of numbers that are one edit away from a graph of numbers.

        The compiled search makes the same graphs; this is its definition.
        """
        made = (
            self._relabelled, self._with_set_edges, self._with_moved_edges,
            self._with_exchanged_ends, self._grown, self._shrunk,
        )  # fmt: skip
        for edits in made:
            for nodes, edges in edits(graph.nodes, graph.edges):
                if self.permits(nodes, edges):
                    yield CodedGraph(nodes, edges)

    def permits(self, nodes: np.ndarray, edges: np.ndarray) -> bool:
        """Return whether a graph is connected, if it must be, and its nodes fit the patterns."""
        if self.connected and not is_connected(edges):
            return False
        if self.patterns is None:
            return True
        for v, label in enumerate(nodes):
            row = np.bincount(edges[v], minlength=len(self.edge_labels) + 1)[1:]
            own = self.patterns[self.patterns[:, 0] == label, 1:]
            if not (row <= own).all(axis=1).any():
                return False
        return True

    def _relabelled(self, nodes: np.ndarray, a: np.ndarray) -> Iterator[tuple]:
        """Yield the graphs with one other node label, or two node labels exchanged."""
        for i in range(len(nodes)):
            for label in range(len(self.node_labels)):
                if label != nodes[i]:
                    yield _replaced(nodes, {i: label}), a
            for j in range(i):
                if nodes[i] != nodes[j]:
                    yield _replaced(nodes, {i: nodes[j], j: nodes[i]}), a

    def _with_set_edges(self, nodes: np.ndarray, a: np.ndarray) -> Iterator[tuple]:
        """Yield the graphs with another label, or none, on one pair of nodes."""
        for i in range(len(nodes)):
            for j in range(i):
                for mark in range(len(self.edge_labels) + 1):
                    if mark != a[i, j]:
                        yield nodes, _set(a, (i, j, mark))

    def _with_moved_edges(self, nodes: np.ndarray, a: np.ndarray) -> Iterator[tuple]:
        """Yield the graphs with an edge moved to another node, or edge labels exchanged."""
        n = len(nodes)
        for i in range(n):
            for j in range(n):
                if i == j or not a[i, j]:
                    continue
                for k in range(n):
                    if k in (i, j):
                        continue
                    if not a[i, k]:
                        yield nodes, _set(a, (i, j, 0), (i, k, a[i, j]))
                    elif k < j and a[i, k] != a[i, j]:
                        yield nodes, _set(a, (i, j, a[i, k]), (i, k, a[i, j]))

    def _with_exchanged_ends(self, nodes: np.ndarray, a: np.ndarray) -> Iterator[tuple]:
        """Yield the graphs with edges ij and kq replaced by iq and kj."""
        n = len(nodes)
        for i in range(n):
            for j in range(n):
                if i == j or not a[i, j]:
                    continue
                for k in range(i + 1, n):
                    for q in range(n):
                        free = len({i, j, k, q}) == 4 and not a[i, q] and not a[k, j]
                        if free and a[k, q]:
                            yield (
                                nodes,
                                _set(a, (i, j, 0), (k, q, 0), (i, q, a[k, q]), (k, j, a[i, j])),
                            )

    def _grown(self, nodes: np.ndarray, a: np.ndarray) -> Iterator[tuple]:
        """Yield the graphs with one more node, at a node or inside an edge."""
        n = len(nodes)
        if n >= self.largest:
            return
        wide = np.pad(a, (0, 1))
        for label in range(len(self.node_labels)):
            grown = np.append(nodes, label)
            if not self.connected:
                yield grown, wide
            for i in range(n):
                for mark in range(1, len(self.edge_labels) + 1):
                    yield grown, _set(wide, (i, n, mark))
                for j in range(i):
                    if a[i, j]:
                        for one, other in split_marks(a[i, j], len(self.edge_labels)):
                            yield grown, _set(wide, (i, j, 0), (i, n, one), (j, n, other))

    def _shrunk(self, nodes: np.ndarray, a: np.ndarray) -> Iterator[tuple]:
        """Yield the graphs without one node, whose two neighbours may be joined."""
        if len(nodes) < 2:
            return
        for i in range(len(nodes)):
            rest = np.delete(nodes, i)
            ends = [int(j) for j in np.flatnonzero(a[i]) if j != i]
            if len(ends) == 2 and not a[ends[0], ends[1]]:
                for mark in {int(a[i, j]) for j in ends}:
                    joined = _set(a, (ends[0], ends[1], mark))
                    yield rest, np.delete(np.delete(joined, i, 0), i, 1)
            yield rest, np.delete(np.delete(a, i, 0), i, 1)


def split_marks(mark: int, number: int) -> list[tuple[int, int]]:
    """Return the labels of the two edges that may replace one with a label, of `number` labels.

    One of them has the label of the edge, or both have the most frequent one.
    """
    both = [(mark, other) for other in range(1, number + 1)]
    both += [(other, mark) for other in range(1, number + 1) if other != mark]
    return both if mark == 1 else [*both, (1, 1)]


def is_connected(edges: np.ndarray) -> bool:
    """Return whether a graph has a path between any two nodes."""
    if not len(edges):
        return True
    reached = np.zeros(len(edges), dtype=bool)
    reached[0] = True
    while True:
        wider = reached | (edges[reached] > 0).any(axis=0)
        if wider.sum() == reached.sum():
            return bool(reached.all())
        reached = wider


def _largest_patterns(patterns: set[tuple[int, ...]]) -> np.ndarray:
    """Return the patterns that are not inside another pattern of the same label, as rows."""
    rows = np.array(sorted(patterns), dtype=np.int64)
    kept = [
        row
        for row in rows
        if not any(
            row[0] == other[0] and (row <= other).all() and (row < other).any() for other in rows
        )
    ]
    return np.array(kept, dtype=np.int64).reshape(len(kept), rows.shape[1])


def _replaced(values: np.ndarray, changes: dict[int, int]) -> np.ndarray:
    """Return a copy of an array with some entries replaced."""
    other = values.copy()
    for i, value in changes.items():
        other[i] = value
    return other


def _set(a: np.ndarray, *entries: tuple[int, int, int]) -> np.ndarray:
    """Return a copy of a symmetric matrix with some entries replaced, on both sides."""
    other = a.copy()
    for i, j, value in entries:
        other[i, j] = other[j, i] = value
    return other
