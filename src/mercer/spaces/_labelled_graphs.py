"""Labelled graphs as arrays, conversions from and to the user's graphs, and distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .._base.arrays import Items, as_items
from .._base.errors import require
from .graphs import is_networkx, read_graph

MAX_STEPS = 50
"""The largest number of conditional gradient steps; small graphs converge in ten, or cycle."""


@dataclass(frozen=True)
class LabelledGraph:
    """A graph as a list of node labels and a matrix of edge labels, None for no edge."""

    nodes: list
    edges: np.ndarray

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True)
class Form:
    """The format of the user's graphs: networkx, or tuples (adjacency, labels)."""

    networkx: bool
    node_label: str | None
    edge_label: str | None

    @classmethod
    def of(cls, graphs: Items, node_label: str | None, edge_label: str | None) -> Form:
        """Return the format of the first graph of a batch, which all others must have."""
        return cls(is_networkx(graphs[0]), node_label, edge_label)

    def read(self, graphs: Items, name: str = "y") -> list[LabelledGraph]:
        """Convert graphs of this format to `LabelledGraph` objects."""
        return [self._read(graph) for graph in as_items(graphs, name)]

    def write(self, graph: LabelledGraph) -> Any:
        """Convert a `LabelledGraph` to a graph of this format."""
        return self._networkx(graph) if self.networkx else self._tuple(graph)

    def _read(self, graph: Any) -> LabelledGraph:
        """Convert one graph of this format to a `LabelledGraph`."""
        nodes, marks = read_graph(graph, "y", self.node_label, self.edge_label)
        edges = np.full((len(nodes), len(nodes)), None, dtype=object)
        for i, j, mark in marks:  # networkx edges may lack labels, hence the tuple
            edges[i, j] = (mark,) if is_networkx(graph) else mark
        return LabelledGraph(nodes, edges)

    def _networkx(self, graph: LabelledGraph) -> Any:
        """Convert a `LabelledGraph` to a networkx graph."""
        import networkx as nx

        G = nx.Graph()
        for i, label in enumerate(graph.nodes):
            G.add_node(i, **_attributes(self.node_label, label))
        for i, j in zip(*np.nonzero(np.triu(graph.edges != None)), strict=True):  # noqa: E711
            G.add_edge(int(i), int(j), **_attributes(self.edge_label, graph.edges[i, j][0]))
        return G

    def _tuple(self, graph: LabelledGraph) -> tuple[np.ndarray, list | None]:
        """Convert a `LabelledGraph` to a tuple (adjacency, labels)."""
        n = len(graph)
        A = np.array([[e or 0 for e in row] for row in graph.edges]).reshape(n, n)
        return A, None if n and graph.nodes[0] is None else list(graph.nodes)


class GraphLabels:
    """The distinct node and edge labels of a batch of graphs, the columns of one-hot codes.

    A graph is represented by node features (one-hot labels, then counts of the neighbours' labels,
    which guide the matching of nodes) and one adjacency matrix for each edge label.
    """

    NEIGHBOURS = 0.5
    """The weight of the counts of neighbours' labels."""

    def __init__(self, graphs: Sequence[LabelledGraph]):
        self.nodes = sorted({label for g in graphs for label in g.nodes}, key=repr)
        self.edges = sorted({e for g in graphs for e in g.edges.flat if e is not None}, key=repr)

    def features(self, graph: LabelledGraph) -> np.ndarray:
        """Return one-hot node labels and counts of neighbours' labels, (nodes, 2 · labels)."""
        column = {label: i for i, label in enumerate(self.nodes)}
        one_hot = np.eye(len(self.nodes))[[column[label] for label in graph.nodes]]
        neighbour_counts = self.channels(graph).sum(axis=0) @ one_hot
        return np.hstack([one_hot, self.NEIGHBOURS * neighbour_counts])

    def channels(self, graph: LabelledGraph) -> np.ndarray:
        """Return a 0/1 adjacency matrix for each edge label, (edge labels, nodes, nodes)."""
        channels = np.zeros((len(self.edges), len(graph), len(graph)))
        for channel, label in zip(channels, self.edges, strict=True):
            # One by one: numpy would unpack a label that is a tuple.
            channel[...] = np.frompyfunc(lambda edge, label=label: edge == label, 1, 1)(graph.edges)
        return channels

    def rounded(self, X: np.ndarray, C: np.ndarray, threshold: float) -> LabelledGraph:
        """Return the labelled graph nearest to real-valued node features X and edge channels C.

        Two nodes have an edge where the sum of their channels exceeds the threshold.
        """
        nodes = [self.nodes[i] for i in X[:, : len(self.nodes)].argmax(axis=1)]
        edges = np.full((len(nodes), len(nodes)), None, dtype=object)
        if len(C):
            total, best = C.sum(axis=0), C.argmax(axis=0)
            for i, j in np.argwhere(total > threshold):
                edges[i, j] = self.edges[best[i, j]]
        return LabelledGraph(nodes, edges)


def _attributes(name: str | None, value: Any) -> dict[str, Any]:
    """Return {name: value} as attributes of a node or an edge; empty if either is None."""
    return {} if name is None or value is None else {name: value}


def graph_distances(
    left: Items, right: Items, trade_off: float, node_label: str | None, edge_label: str | None
) -> np.ndarray:
    """Return the fused Gromov–Wasserstein distance of each graph left[i] to right[i]."""
    pairs = [
        Form.of(batch, node_label, edge_label).read(batch, name)
        for batch, name in ((left, "y_true"), (right, "y_pred"))
    ]
    alphabet = GraphLabels([*pairs[0], *pairs[1]])
    return np.array(
        [_graph_distance(alphabet, a, b, trade_off) for a, b in zip(*pairs, strict=True)]
    )


def _graph_distance(
    alphabet: GraphLabels, a: LabelledGraph, b: LabelledGraph, trade_off: float
) -> float:
    """Return the fused Gromov–Wasserstein distance of two graphs, the best of two starts."""
    if not len(a) or not len(b):
        return float(len(a) != len(b))
    require("ot", "graphs")
    import ot

    M = cdist(alphabet.features(a), alphabet.features(b), "sqeuclidean")
    C, D = alphabet.channels(a).sum(axis=0), alphabet.channels(b).sum(axis=0)
    p, q = (np.full(n, 1.0 / n) for n in M.shape)
    starts = [None, *([np.eye(len(a)) / len(a)] if len(a) == len(b) else [])]
    costs = [
        ot.gromov.fused_gromov_wasserstein2(
            M, C, D, p, q, alpha=trade_off, G0=start, max_iter=MAX_STEPS, tol_rel=1e-6
        )
        for start in starts
    ]
    return max(0.0, float(min(costs)))
