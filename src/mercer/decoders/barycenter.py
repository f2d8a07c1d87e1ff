from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Items, blocks, host, object_array
from .._base.checks import Limits, bounded
from .._base.errors import require
from .._base.parameters import parameters
from ..embedding import Embedding
from ..kernels import Kernel
from ..spaces._labelled_graphs import Form, GraphLabels, LabelledGraph
from .base import Decoder, Ranked
from .candidates import Candidates
from .own_candidates import CandidateLists

GRAPH_POINTS = 256
"""The number of points whose proposed graphs are scored at once."""

NUMBER = 1e-3
"""The value of the feature that marks the number of a node; other features are 0 or 1."""


@parameters
class GromovWassersteinBarycenter(Decoder):
    r"""A decoder that averages training graphs: their fused Gromov–Wasserstein barycentre.

    A point is :math:`g(x) = \sum_i c_i(x) \Phi(y_i)`. The graphs of the `graphs` largest positive
    weights are averaged: the barycentre minimises :math:`\sum_i c_i \operatorname{FGW}(\bar y,
    y_i)`, with node labels (and labels next to a node) as features and adjacency as structure; each
    node takes the label, and each pair of nodes the edge label, that most of the weight matched to
    it has. Of the barycentres, one for each number of nodes among those graphs and each threshold,
    the one of the largest :math:`2 \langle g(x), \Phi(y) \rangle - l(y, y)` is the answer.

    Parameters
    ----------
    graphs : int, default=5
        The number of training graphs that are averaged.
    trade_off : float, default=0.5
        The weight of structure against labels in FGW, between 0 and 1.
    thresholds : tuple of float, default=(0.3, 0.5, 0.7)
        An edge is drawn where the averaged adjacency exceeds it.
    compete : bool, default=True
        Whether the best training graph competes too, so that the answer never scores worse than
        that of `Candidates`; without it every answer is a barycentre.
    max_iter : int, default=10
        Rounds of matching and averaging.
    node_label, edge_label : str or None, default="label"
        Attributes of networkx graphs that hold the labels; (adjacency, labels) need no name.

    Notes
    -----
    Not exact: FGW is not convex and a local optimum is found, from the heaviest graph as start.
    Needs POT. Works with every kernel on graphs; the weights are those of the prediction,
    `points.weights`.

    References
    ----------
    Vayer et al.: Optimal transport for structured data with application on graphs, ICML 2019.
    Brogat-Motte et al.: Learning to predict graphs with fused Gromov-Wasserstein barycenters,
    ICML 2022.

    Examples
    --------
    >>> import networkx as nx
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import GromovWassersteinBarycenter
    >>> from mercer.kernels import ShortestPath
    >>> paths = [nx.path_graph(n) for n in (2, 3, 4)]
    >>> model = KernelDependency("rbf", ShortestPath(), decoder=GromovWassersteinBarycenter())
    >>> _ = model.fit([[2.0], [3.0], [4.0]], paths)
    >>> model.predict([[3.1]])[0].number_of_edges()
    2
    """

    has_ranked_lists = True

    graphs: int = 5
    trade_off: float = 0.5
    thresholds: tuple[float, ...] = (0.3, 0.5, 0.7)
    compete: bool = True
    max_iter: int = 10
    node_label: str | None = "label"
    edge_label: str | None = "label"

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if there are more graphs or rounds than the limits allow."""
        bounded(self.graphs, "graphs", 0, limits.steps)
        bounded(self.max_iter, "max_iter", 0, limits.steps)

    def fit(self, kernel: Kernel, y: Items) -> GromovWassersteinBarycenter:
        """Convert the training graphs to arrays and store them."""
        require("ot", "graphs")
        if not 0 <= self.trade_off <= 1 or self.graphs < 1 or not len(self.thresholds):
            raise ValueError(
                "trade_off must lie in [0, 1], graphs must be positive and thresholds must not be "
                f"empty, got {self}."
            )
        self.kernel_ = kernel
        self.form_ = Form.of(y, self.node_label, self.edge_label)
        try:
            self.read_ = self.form_.read(y)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{type(self).__name__} needs outputs that are networkx graphs or tuples "
                "(adjacency, labels). Use decoder=Candidates(), which works with every kernel."
            ) from error
        self.alphabet_ = GraphLabels(self.read_)
        self.start_ = Candidates().fit(kernel, y)
        return self

    def decode(self, points: Embedding) -> np.ndarray:
        """Return the barycentre with the highest score at each predicted point."""
        return object_array([row[0][0] for row in self.decode_top(points, 1)])

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the best graphs found for each predicted point with their scores, at most `k`.

        They are barycentres and, with ``compete=True``, training graphs.
        """
        pools = [self._proposals(weights) for weights in self._weights(points)]
        if self.compete:
            rivals = self.start_.decode_top(points, k)
            for pool, ranked in zip(pools, rivals, strict=True):
                pool += [graph for graph, _ in ranked]
        return [
            row
            for rows in blocks(len(pools), GRAPH_POINTS)
            for row in CandidateLists(self.kernel_, pools[rows]).rank(points[rows], k)
        ]

    def _weights(self, points: Embedding) -> np.ndarray:
        """Return the weight of each training graph (column) in each point (row); 0 if left out."""
        C = np.array(host(points.weights))
        if points.left_out is not None and len(points.left_out) == len(self.read_):
            C[points.left_out[:, None] == points.left_out[None, :]] = 0.0
        return C

    def _proposals(self, weights: np.ndarray) -> list[Any]:
        """Return barycentres of the heaviest training graphs, one per size and threshold."""
        order = np.argsort(-weights, kind="stable")[: self.graphs]
        chosen = [i for i in order if weights[i] > 0] or [int(order[0])]
        graphs = [self.read_[i] for i in chosen]
        c = np.maximum(weights[chosen], 0) if weights[chosen[0]] > 0 else np.ones(1)
        proposals = []
        for size in dict.fromkeys(map(len, graphs)):
            X, C = self._barycentre(graphs, c / c.sum(), size)
            rounded = (
                self.alphabet_.nearest_graph(X, C, threshold) for threshold in self.thresholds
            )
            proposals += [self.form_.write(graph) for graph in rounded]
        return proposals

    def _barycentre(
        self, graphs: list[LabelledGraph], c: np.ndarray, size: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return node features and edge channels of the barycentre of `size` nodes.

        The graphs have the weights c. The iteration starts from the graph of this size that has
        the largest weight.
        """
        first = next(i for i, graph in enumerate(graphs) if len(graph) == size)
        parts = [(self.alphabet_.features(g), self.alphabet_.channels(g)) for g in graphs]
        X, C = parts[first]
        full = [i for i, graph in enumerate(graphs) if len(graph)]
        if size == 0 or full == [first]:
            return X, C
        import ot

        fractions, width = c[full] / c[full].sum(), max(map(len, graphs))
        channels = [parts[i][1] for i in full]
        features = [_with_node_numbers(parts[i][0], width) for i in full]
        X, _, log = ot.gromov.fgw_barycenters(
            size,
            features,
            [part.sum(axis=0) for part in channels],
            lambdas=fractions,
            alpha=self.trade_off,
            init_X=_with_node_numbers(X, width),
            init_C=C.sum(axis=0),
            max_iter=self.max_iter,
            tol=1e-6,
            warmstartT=True,
            log=True,
        )
        matchings = [size * T for T in log["T"]]  # rows now sum to one
        weighted = zip(fractions, matchings, channels, strict=True)
        C = sum(fraction * (T @ A @ T.T) for fraction, T, A in weighted)
        if not any(A.diagonal(axis1=1, axis2=2).any() for A in channels):
            nodes = np.arange(size)
            C[:, nodes, nodes] = 0.0  # nodes that were averaged do not become loops
        return X[:, :-width], C


def _with_node_numbers(X: np.ndarray, width: int) -> np.ndarray:
    """Return the node features X with a small one-hot code of the node number, `width` columns.

    POT starts with every node matched to all others, where the iteration would stay for graphs
    whose nodes are alike. The numbers make the nodes differ.
    """
    return np.hstack([X, NUMBER * np.eye(len(X), width)])
