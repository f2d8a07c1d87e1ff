"""Graphs whose nodes and edges carry vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import Items
from .._checks import Limits, bounded
from .._parameters import parameters, positive, whole
from ..spaces.graphs import read_graph
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
        both = [self._vectors(graph, f"{name}[{i}]") for i, graph in enumerate(graphs)]
        for kind, parts in zip(("nodes", "edges"), zip(*both, strict=True), strict=True):
            widths = {part.shape[1]: i for i, part in enumerate(parts) if len(part)}
            if len(widths) > 1:
                (a, i), (b, j) = list(widths.items())[:2]
                raise ValueError(
                    f"{name}[{i}] has vectors of length {a} on its {kind}, {name}[{j}] of {b}: "
                    "give all the same length."
                )
        return graphs

    def _vectors(self, graph: Any, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
        """The vectors of nodes and of edges as in the flat form; no rows where there are none."""
        labels, edges = read_graph(graph.origin, name, self.node_vector, self.edge_vector)
        given = hasattr(graph.origin, "nodes")
        if not given and self.edge_vector is not None:
            raise ValueError(f"{name} must be a networkx graph: its edges are to carry vectors.")
        marks = [mark for *_, mark in sorted(edges, key=lambda edge: edge[:2])]
        return (
            _stacked(labels, name, self.node_vector, self.node_vector if given else "labels"),
            _stacked(marks, name, self.edge_vector, self.edge_vector),
        )

    def _bags(self, A: Items) -> Bags:
        union = Union([self._view(graph) for graph in A])
        nodes, edges = (_joined(parts) for parts in zip(*map(self._vectors, A), strict=True))
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


def _stacked(vectors: list, name: str, wanted: str | None, called: str | None) -> np.ndarray:
    """Vectors as the rows of an array, none where none are wanted; numbers are vectors of one."""
    if wanted is None or not vectors:
        return np.zeros((0, 0))
    try:
        rows = np.array([np.atleast_1d(np.asarray(v, dtype=float)) for v in vectors], dtype=float)
    except (TypeError, ValueError):
        rows = np.full((1, 1), np.nan)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(f"{name} must carry {called!r} everywhere: finite vectors of one length.")
    return rows


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The rows of all graphs."""
    width = max(part.shape[1] for part in parts)
    return np.concatenate([part.reshape(-1, width) if width else part for part in parts])
