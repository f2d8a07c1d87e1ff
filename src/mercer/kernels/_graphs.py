"""Graphs in flat arrays, read from networkx or from an adjacency matrix with labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import Items, as_items, object_array
from .._checks import DamagedModel, Limits, must
from .._from_file import Lean
from ._bags import hashed

NOTHING = hashed(None)
"""The label of everything in a graph without labels."""


class FlatGraph:
    """An undirected graph: labels of its nodes, and each edge in both directions.

    Attributes
    ----------
    label
        A hash for each node.
    source, target, edge
        For each directed edge where it starts, where it ends, and the hash of its label; sorted
        by source.
    labelled
        Whether the nodes came with labels.
    """

    __slots__ = ("edge", "label", "labelled", "source", "target")

    def __init__(self, label: Any, source: Any, target: Any, edge: Any, labelled: bool):
        source, target = (np.asarray(v, dtype=np.int64).reshape(-1) for v in (source, target))
        order = np.lexsort((target, source))
        self.label = np.asarray(label, dtype=np.uint64).reshape(-1)
        self.source, self.target = source[order], target[order]
        self.edge = np.asarray(edge, dtype=np.uint64).reshape(-1)[order]
        self.labelled = labelled

    def __len__(self) -> int:
        return len(self.label)

    def check_loaded(self, limits: Limits) -> None:
        """A file holds graphs as they were given: flat forms are made on use."""
        raise DamagedModel("it is made on use, and no file holds it")


class Union:
    """A batch of graphs as one graph, its parts side by side.

    Attributes
    ----------
    label, source, target, edge
        As in `FlatGraph`, nodes numbered through.
    start
        The first node of each graph, and the end.
    owner
        The graph of each node.
    """

    def __init__(self, graphs: Sequence[FlatGraph]):
        sizes = np.array([len(g) for g in graphs], dtype=np.int64)
        self.start = np.concatenate([[0], np.cumsum(sizes)])
        self.owner = np.repeat(np.arange(len(graphs)), sizes)
        shift = np.repeat(self.start[:-1], [len(g.source) for g in graphs])
        self.label = np.concatenate([g.label for g in graphs])
        self.source = np.concatenate([g.source for g in graphs]) + shift
        self.target = np.concatenate([g.target for g in graphs]) + shift
        self.edge = np.concatenate([g.edge for g in graphs])
        self.n = len(graphs)

    @property
    def pointer(self) -> np.ndarray:
        """Where the edges of each node start, and the end."""
        degrees = np.bincount(self.source, minlength=len(self.label))
        return np.concatenate([[0], np.cumsum(degrees)])


class CheckedGraph(Lean):
    """A graph as it was given, with its flat forms: kernels in a sum may read other labels."""

    __slots__ = ("origin", "views")

    def __init__(self, origin: Any):
        self.origin = origin
        self.views: dict[tuple[str | None, str | None], FlatGraph] = {}

    def check_loaded(self, limits: Limits) -> None:
        """No flat form comes from a file."""
        must(self.views == {}, "views is not empty")

    def lean(self) -> CheckedGraph:
        """The graph alone: flat forms are made again."""
        return CheckedGraph(self.origin)

    def view(self, node_label: str | None, edge_label: str | None, name: str = "y") -> FlatGraph:
        """The flat form under these labels, made once."""
        key = node_label, edge_label
        if key not in self.views:
            self.views[key] = _flat(self.origin, name, node_label, edge_label)
        return self.views[key]


def checked(A: Items, name: str, node_label: str | None, edge_label: str | None) -> np.ndarray:
    """A batch of graphs that can be read under these labels."""
    items = as_items(A, name)
    if not all(isinstance(item, CheckedGraph) for item in items):
        items = object_array([CheckedGraph(item) for item in items])
    flat = [g.view(node_label, edge_label, f"{name}[{i}]") for i, g in enumerate(items)]
    _refuse_some_without_labels(flat, name)
    return items


def _refuse_some_without_labels(flat: list[FlatGraph], name: str) -> None:
    kinds = {g.labelled: i for i, g in enumerate(flat) if len(g)}
    if len(kinds) == 2:
        raise ValueError(
            f"{name}[{kinds[False]}] has no node labels while {name}[{kinds[True]}] has: label "
            "all graphs, or use node_label=None to ignore the labels."
        )


def _flat(item: Any, name: str, node_label: str | None, edge_label: str | None) -> FlatGraph:
    if hasattr(item, "nodes") and hasattr(item, "edges"):
        return _from_networkx(item, name, node_label, edge_label)
    if isinstance(item, tuple | list) and len(item) == 2:
        return _from_adjacency(item[0], item[1], name, node_label, edge_label)
    raise ValueError(
        f"{name} must be a networkx graph or a tuple (adjacency, labels), got {item!r:.80}."
    )


def _from_networkx(
    graph: Any, name: str, node_label: str | None, edge_label: str | None
) -> FlatGraph:
    if graph.is_directed() or graph.is_multigraph():
        raise ValueError(
            f"{name} is a {type(graph).__name__}: undirected graphs with at most one edge between "
            "two nodes are wanted. Convert it by networkx.Graph(graph)."
        )
    number = {node: i for i, node in enumerate(graph)}
    labels = [data.get(node_label) for _, data in graph.nodes(data=True)]
    present = sum(label is not None for label in labels) if node_label is not None else 0
    if 0 < present < len(labels):
        missing = list(graph)[[label is None for label in labels].index(True)]
        raise ValueError(
            f"{name} has {present} nodes with {node_label!r} and others without, such as "
            f"{missing!r}: label all nodes, or use node_label=None."
        )
    ends = [
        (number[a], number[b], NOTHING if edge_label is None else hashed(data.get(edge_label)))
        for a, b, data in graph.edges(data=True)
    ]
    ends += [(b, a, mark) for a, b, mark in ends if a != b]
    u, v, e = zip(*ends, strict=True) if ends else ((), (), ())
    hashes = [hashed(label) for label in labels] if present else [NOTHING] * len(labels)
    return FlatGraph(hashes, u, v, e, present > 0)


def _from_adjacency(
    adjacency: Any, labels: Any, name: str, node_label: str | None, edge_label: str | None
) -> FlatGraph:
    A = sparse.coo_array(
        adjacency if sparse.issparse(adjacency) else np.atleast_2d(np.asarray(adjacency))
    )
    n = 0 if A.shape == (1, 0) else A.shape[0]
    if n and (A.shape != (n, n) or (A != A.T).nnz):
        raise ValueError(
            f"{name} needs a symmetric square adjacency matrix, got shape {A.shape}: undirected "
            "graphs are wanted, symmetrise it by A + A.T."
        )
    if labels is not None and len(labels) != n:
        raise ValueError(f"{name} has {n} nodes but {len(labels)} labels.")
    labelled = labels is not None and node_label is not None
    hashes = [hashed(label) for label in labels] if labelled else [NOTHING] * n
    kept = A.data != 0
    data = A.data[kept] if n else []
    edges = [NOTHING if edge_label is None else hashed(value) for value in data]
    return FlatGraph(hashes, A.row[kept], A.col[kept], edges, labelled and n > 0)
