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
SMALL_GAINS = 1e-9, 1e-6
"""A step that lowers the cost by less than this, absolute or relative to the cost, is the last."""


@dataclass(frozen=True)
class LabelledGraph:
    """A graph as a list of node labels and a matrix of edges: tuples (label,), None for no edge."""

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
        return self._to_networkx(graph) if self.networkx else self._to_tuple(graph)

    def _read(self, graph: Any) -> LabelledGraph:
        """Convert one graph of this format to a `LabelledGraph`."""
        nodes, marks = read_graph(graph, "y", self.node_label, self.edge_label)
        edges = np.full((len(nodes), len(nodes)), None, dtype=object)
        for i, j, mark in marks:
            edges[i, j] = (mark,)  # the mark of a networkx edge may be None
        return LabelledGraph(nodes, edges)

    def _to_networkx(self, graph: LabelledGraph) -> Any:
        """Convert a `LabelledGraph` to a networkx graph."""
        import networkx as nx

        G = nx.Graph()
        for i, label in enumerate(graph.nodes):
            G.add_node(i, **_attributes(self.node_label, label))
        for i, j in zip(*np.nonzero(np.triu(graph.edges != None)), strict=True):  # noqa: E711
            G.add_edge(int(i), int(j), **_attributes(self.edge_label, graph.edges[i, j][0]))
        return G

    def _to_tuple(self, graph: LabelledGraph) -> tuple[np.ndarray, list | None]:
        """Convert a `LabelledGraph` to a tuple (adjacency, labels)."""
        n = len(graph)
        A = np.array([[e[0] if e else 0 for e in row] for row in graph.edges]).reshape(n, n)
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

    def structures(self, graph: LabelledGraph, labelled: bool) -> np.ndarray:
        """Return 0/1 matrices of edges, for comparisons of graphs by `_optimal_cost`.

        The first is the adjacency matrix. If `labelled`, one for each edge label follows, else the
        adjacency matrix again. Then half of the sum of their squared differences is 1 for different
        edges, and 0 for equal ones.
        """
        channels = self.channels(graph)
        present = channels.sum(axis=0, keepdims=True)
        return np.concatenate([present, channels if labelled else present])

    def nearest_graph(self, X: np.ndarray, C: np.ndarray, threshold: float) -> LabelledGraph:
        """Return the labelled graph nearest to averaged node features X and edge channels C.

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
    """Return the fused Gromov–Wasserstein distance of each graph left[i] to right[i].

    Edges are compared by their labels, or only by their presence if `edge_label` is None.
    """
    if not 0 <= trade_off <= 1:
        raise ValueError(f"trade_off must be between 0 and 1, got {trade_off!r}.")
    pairs = [
        Form.of(batch, node_label, edge_label).read(batch, name)
        for batch, name in ((left, "y_true"), (right, "y_pred"))
    ]
    alphabet, labelled = GraphLabels([*pairs[0], *pairs[1]]), edge_label is not None
    return np.array(
        [_graph_distance(alphabet, a, b, trade_off, labelled) for a, b in zip(*pairs, strict=True)]
    )


def _graph_distance(
    alphabet: GraphLabels, a: LabelledGraph, b: LabelledGraph, trade_off: float, labelled: bool
) -> float:
    """Return the fused Gromov–Wasserstein distance of two graphs, the best of two local optima.

    One search starts from all nodes matched evenly. The other starts from the nodes matched in
    their order, and is for graphs with equal numbers of nodes only.
    """
    if not len(a) or not len(b):
        return float(len(a) != len(b))
    require("ot", "graphs")
    M = cdist(alphabet.features(a), alphabet.features(b), "sqeuclidean")
    C, D = (alphabet.structures(graph, labelled) for graph in (a, b))
    starts = [np.full(M.shape, 1.0 / M.size)]
    if len(a) == len(b):
        starts.append(np.eye(len(a)) / len(a))
    return max(0.0, min(_optimal_cost(M, C, D, trade_off, start) for start in starts))


def _optimal_cost(
    M: np.ndarray, C: np.ndarray, D: np.ndarray, trade_off: float, G: np.ndarray
) -> float:
    """Return the cost of a locally optimal matching of nodes, by conditional gradient steps.

    The cost of a matching G is (1 - trade_off) Σ_ij M_ij G_ij, for the nodes, plus
    trade_off · ½ Σ_c Σ_ijkl (C_cik - D_cjl)² G_ij G_kl, for the edges.

    Parameters
    ----------
    M
        The costs of matching each node of the first graph (rows) with each of the second.
    C, D
        The `structures` of the graphs, symmetric matrices.
    trade_off
        The weight of the edges.
    G
        The matching to start from. All nodes of a graph have equal weights.
    """
    import ot

    p, q = (np.full(n, 1.0 / n) for n in M.shape)
    M = (1.0 - trade_off) * M
    squares = 0.5 * (((C**2).sum(axis=0) @ p)[:, None] + ((D**2).sum(axis=0) @ q)[None, :])
    products = (C @ G @ D).sum(axis=0)
    cost = (M * G).sum() + trade_off * ((squares - products) * G).sum()
    for _ in range(MAX_STEPS):
        slopes = M + trade_off * (2.0 * (squares - products))
        move = ot.emd(p, q, slopes) - G
        moved = (C @ move @ D).sum(axis=0)
        # The cost after a fraction t of the move is cost + linear · t + quadratic · t².
        quadratic = -trade_off * (moved * move).sum()
        linear = (M * move).sum() - 2.0 * trade_off * (moved * G).sum()
        t = float(linear + quadratic < 0)
        if quadratic > 0:
            t = min(1.0, max(0.0, -linear / (2.0 * quadratic)))
        gain = -(linear + quadratic * t) * t
        G, cost = G + t * move, cost - gain
        products = (C @ G @ D).sum(axis=0)
        if gain < max(SMALL_GAINS[0], SMALL_GAINS[1] * abs(cost)):
            break
    return float(cost)
