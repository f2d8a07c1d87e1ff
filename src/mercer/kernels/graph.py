"""Kernels on labelled graphs: inner products of counts of hashed features."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Array, Items
from .._base.checks import Limits, bounded
from .._base.parameters import integer, parameters
from ..spaces import Graphs
from ..spaces.graph_moves import GraphMoves
from ._bags import Bags, inner_products, mix_bits, sqnorms
from ._graphs import GraphUnion, checked_graphs
from .base import Kernel


class GraphKernel(Kernel):
    """Base class of kernels Σ_f a_f b_f, where a_f is how often graph a has the feature f.

    A subclass implements `union_bags`: the hashed features of a batch of graphs.
    """

    node_label: str | None
    edge_label: str | None

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """Check graphs and their labels; return `CheckedGraph` objects."""
        return checked_graphs(A, name, self.node_label, self.edge_label)

    space = Graphs()

    def moves(self, y: Items) -> GraphMoves:
        """Return the edits of graphs with the labels of the training graphs y."""
        return self.space.moves(y, self.node_label, self.edge_label)

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the inner products of the feature counts of all pairs of graphs."""
        left = self._bags(A)
        return inner_products(left, left if B is A else self._bags(B))

    def _diag(self, A: Items) -> Array:
        """Return the squared norm of the feature counts of each graph."""
        return sqnorms(self._bags(A))

    def _bags(self, A: Items) -> Bags:
        """Return the feature counts of each graph of a batch."""
        flat = [graph.flat_graph(self.node_label, self.edge_label) for graph in A]
        return self.union_bags(GraphUnion(flat))

    def union_bags(self, union: GraphUnion) -> Bags:
        """Return the feature counts of each graph, given their disjoint union."""
        raise NotImplementedError


@parameters
class WeisfeilerLehman(GraphKernel):
    r"""Weisfeiler–Lehman subtree kernel: nodes match if their neighbourhoods do.

    At first a node has its own label. In each of `iterations` rounds, its label is replaced by one
    for its label and the multiset of (edge label, label) of its neighbours. The kernel is the
    number of pairs of nodes with equal labels, summed over all rounds:
    :math:`k(a, b) = \sum_{h=0}^{\text{iterations}} \sum_\ell a_{h\ell}\, b_{h\ell}` for the numbers
    :math:`a_{h\ell}` of nodes with label :math:`\ell` in round :math:`h`.

    Parameters
    ----------
    iterations : int, default=3
        The number of rounds of relabelling, which is the radius of the neighbourhoods.
    node_label, edge_label : str or None, default="label"
        The attributes of networkx graphs that hold the labels, any hashable values; None to
        ignore labels. For graphs given as (adjacency, labels), the entries of the matrix are the
        edge labels.

    Notes
    -----
    A new label is a 64-bit hash, computed for all nodes of a batch at once. Graphs that the
    Weisfeiler–Lehman test of isomorphism does not distinguish have equal features. The kernel of a
    graph without nodes and any graph is 0.

    References
    ----------
    Shervashidze et al.: Weisfeiler-Lehman graph kernels, JMLR 12, 2011.

    Examples
    --------
    >>> import networkx as nx
    >>> from mercer.kernels import WeisfeilerLehman
    >>> path, ring = nx.path_graph(3), nx.cycle_graph(3)
    >>> WeisfeilerLehman(iterations=1)([path, ring])
    array([[14., 12.],
           [12., 18.]])
    """

    iterations: int = 3
    node_label: str | None = "label"
    edge_label: str | None = "label"

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """Check graphs and their labels; return `CheckedGraph` objects."""
        integer(self.iterations, "iterations", 0)
        return super().check(A, name)

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if there are more iterations than the limits allow."""
        bounded(self.iterations, "iterations", 0, limits.steps)

    def union_bags(self, union: GraphUnion) -> Bags:
        """Return the counts of node labels of each graph over all rounds of relabelling."""
        label, rounds = union.label, []
        for h in range(self.iterations + 1):
            rounds.append(mix_bits(label, seed=h))  # equal labels of different rounds do not match
            label = self._relabel_nodes(union, label)
        owner, key = np.tile(union.owner, len(rounds)), np.concatenate(rounds)
        return Bags(owner, key, np.ones(len(key)), union.n)

    @staticmethod
    def _relabel_nodes(union: GraphUnion, label: np.ndarray) -> np.ndarray:
        """Return new node labels: hashes of each label and of those of neighbours and edges."""
        arriving = mix_bits(label[union.target] ^ mix_bits(union.edge, seed=1), seed=2)
        total = np.zeros_like(label)
        with np.errstate(over="ignore"):
            np.add.at(total, union.source, arriving)  # a sum of hashes identifies the multiset
            return mix_bits(mix_bits(label, seed=3) + total, seed=4)


class ShortestPath(GraphKernel):
    """Shortest-path kernel: pairs of nodes match if their labels and their distances do.

    k(a, b) counts the pairs of ordered pairs (u, v) of connected nodes, a node with itself included
    at distance 0, with equal labels at both ends, equal distance in edges, and (unless
    ``edge_label=None``) the same tree of shortest paths from u to v: equal edge labels, and as many
    shortest paths that branch alike. The number of paths counts even where no edge has a label;
    ``edge_label=None`` compares ends and distances alone.

    Parameters
    ----------
    node_label, edge_label : str or None, default="label"
        As in `WeisfeilerLehman`.

    Notes
    -----
    There is one compiled breadth-first search from every node, which also computes a hash of the
    shortest paths with their edge labels. Nodes of different components are not pairs, so that
    graphs need not be connected.

    References
    ----------
    Borgwardt, Kriegel: Shortest-path kernels on graphs, ICDM 2005.

    Examples
    --------
    >>> import networkx as nx
    >>> from mercer.kernels import ShortestPath
    >>> ShortestPath()([nx.path_graph(3)], [nx.path_graph(3), nx.cycle_graph(3)])
    array([[29., 33.]])
    """

    def __init__(self, node_label: str | None = "label", edge_label: str | None = "label"):
        self.node_label = node_label
        self.edge_label = edge_label

    def union_bags(self, union: GraphUnion) -> Bags:
        """Return how often each graph has node pairs of given labels and shortest paths."""
        from ._paths import path_features

        u = union
        edge = mix_bits(u.edge if self.edge_label is not None else u.edge[:0], seed=5)
        owner, first, last, path = path_features(u.start, u.pointer, u.target, edge)
        with np.errstate(over="ignore"):
            ends = mix_bits(u.label[first], seed=6) + mix_bits(u.label[last], seed=7)
            key = mix_bits(ends + mix_bits(path, seed=8), seed=9)
        return Bags(owner, key, np.ones(len(key)), u.n)
