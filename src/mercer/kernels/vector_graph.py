"""Graphs whose nodes and edges carry vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Items
from .._checks import Limits, bounded
from .._parameters import parameters, positive, whole
from ._bags import Bags, mixed
from ._graphs import FlatGraph, Union
from .graph import GraphKernel, WeisfeilerLehman


@parameters
class VectorGraph(GraphKernel):
    """A kernel on graphs whose nodes or edges carry vectors: the mean over random discretisations.

    In each of `draws` rounds a vector v is replaced by the cell ⌊(v · r + b) / width⌋ of a random
    direction r and offset b, which joins the label of its node or edge, and `kernel` counts what
    two graphs have in common. Two vectors share a cell the more often the nearer they are, compared
    with `width`.

    Parameters
    ----------
    kernel
        A `WeisfeilerLehman` or `ShortestPath` kernel; None is ``WeisfeilerLehman(2)``. Its labels
        count too.
    node_vector, edge_vector
        The attributes of networkx graphs that hold the vectors; None for none. Of graphs given as
        (adjacency, labels) the vectors of the nodes are the rows of labels.
    width
        How far apart vectors are that count as different.
    draws
        The number of discretisations.
    random_state
        Seeds the draws: the kernel is the same in every run.

    Notes
    -----
    Every draw gives explicit features, so that the mean is a kernel, at `draws` times the cost.

    References
    ----------
    Morris, Kriege, Kersting, Mutzel: Faster kernels for graphs with continuous attributes via
    hashing, ICDM 2016.

    Examples
    --------
    >>> import networkx as nx
    >>> from mercer.kernels import Normalized, VectorGraph
    >>> def chain(*heights):
    ...     graph = nx.path_graph(len(heights))
    ...     nx.set_node_attributes(graph, {i: [h] for i, h in enumerate(heights)}, "vector")
    ...     return graph
    >>> kernel = Normalized(VectorGraph(width=1.0))
    >>> K = kernel([chain(0.0, 1.0, 0.0), chain(0.1, 1.0, 0.0), chain(5.0, 1.0, 7.0)])
    >>> bool(K[0, 1] > 0.6 > 0.4 > K[0, 2])
    True
    """

    kernel: GraphKernel | None = None
    node_vector: str | None = "vector"
    edge_vector: str | None = None
    width: float = 1.0
    draws: int = 20
    random_state: int = 0

    @property
    def _kernel(self) -> GraphKernel:
        return WeisfeilerLehman(2) if self.kernel is None else self.kernel

    def check_loaded(self, limits: Limits) -> None:
        """As many draws as a computation may have steps."""
        bounded(self.draws, "draws", 1, limits.steps)

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """Graphs whose nodes and edges carry vectors of one length."""
        positive(self.width, "width")
        whole(self.draws, "draws")
        graphs = self._kernel.check(A, name)
        for get, kind in ((self._nodes, "nodes"), (self._edges, "edges")):
            widths: dict[int, int] = {}
            for i, graph in enumerate(graphs):
                vectors = get(graph.origin, f"{name}[{i}]")
                if len(vectors):
                    widths.setdefault(vectors.shape[1], i)
            if len(widths) > 1:
                (a, i), (b, j) = list(widths.items())[:2]
                raise ValueError(
                    f"{name}[{i}] has vectors of length {a} on its {kind}, {name}[{j}] of {b}: "
                    "give all the same length."
                )
        return graphs

    def _nodes(self, graph: Any, name: str = "y") -> np.ndarray:
        """The vectors of the nodes, (nodes, width); (nodes, 0) where there are to be none."""
        if self.node_vector is None:
            return np.zeros((0, 0))
        if not hasattr(graph, "nodes"):
            return _stacked(list(graph[1]) if graph[1] is not None else [None], name, "labels")
        return _stacked([data.get(self.node_vector) for _, data in graph.nodes(data=True)],
                        name, self.node_vector)  # fmt: skip

    def _edges(self, graph: Any, name: str = "y") -> np.ndarray:
        """The vectors of the edges in both directions, in the order of the flat form."""
        if self.edge_vector is None:
            return np.zeros((0, 0))
        if not hasattr(graph, "nodes"):
            raise ValueError(f"{name} must be a networkx graph: its edges are to carry vectors.")
        number = {node: i for i, node in enumerate(graph)}
        found = {}
        for a, b, data in graph.edges(data=True):
            found[number[a], number[b]] = found[number[b], number[a]] = data.get(self.edge_vector)
        return _stacked([found[ends] for ends in sorted(found)], name, self.edge_vector)

    def _bags(self, A: Items) -> Bags:
        union = Union([self._view(graph) for graph in A])
        nodes, edges = (
            _joined([get(graph.origin) for graph in A]) for get in (self._nodes, self._edges)
        )
        labels, marks = union.label, union.edge
        rng = np.random.default_rng(self.random_state)
        rounds = []
        for draw in range(self.draws):
            union.label = self._celled(labels, nodes, rng, draw)
            union.edge = self._celled(marks, edges, rng, draw)
            bags = self._kernel.union_bags(union)
            rounds.append((bags.owner, mixed(bags.key, seed=draw)))
        owner, key = (np.concatenate(part) for part in zip(*rounds, strict=True))
        return Bags(owner, key, np.full(len(key), self.draws**-0.5), union.n)

    def _view(self, graph: Any) -> FlatGraph:
        """The flat form of a graph; labels that are vectors are no labels."""
        kernel, vectors = self._kernel, not hasattr(graph.origin, "nodes") and self.node_vector
        return graph.view(None if vectors else kernel.node_label, kernel.edge_label)

    def _celled(
        self, labels: np.ndarray, vectors: np.ndarray, rng: np.random.Generator, draw: int
    ) -> np.ndarray:
        """Labels joined with the cells of vectors."""
        if not vectors.shape[1]:
            return labels
        r, b = rng.normal(size=vectors.shape[1]), rng.uniform(0.0, self.width)
        cells = np.floor((vectors @ r + b) / self.width).astype(np.int64).view(np.uint64)
        return mixed(labels ^ mixed(cells, seed=draw), seed=20)


def _stacked(vectors: list, name: str, attribute: str) -> np.ndarray:
    """Vectors as the rows of an array; numbers count as vectors of one."""
    try:
        rows = np.array([np.atleast_1d(np.asarray(v, dtype=float)) for v in vectors], dtype=float)
    except (TypeError, ValueError):
        rows = np.full((1, 1), np.nan)
    if (rows.ndim != 2 and len(vectors)) or not np.isfinite(rows).all():
        raise ValueError(
            f"{name} must carry {attribute!r} everywhere: finite vectors of one length."
        )
    return rows.reshape(len(vectors), -1) if len(vectors) else np.zeros((0, 0))


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """The rows of all graphs."""
    width = max((part.shape[1] for part in parts), default=0)
    return np.concatenate([part.reshape(-1, width) if width else part for part in parts])
