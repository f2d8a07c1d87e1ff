"""Graphs as arrays of hashed labels and edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.arrays import Items, as_items, object_array
from .._base.checks import DamagedModel, Limits, must
from .._base.reducible import Reducible
from ..spaces.graphs import Edges, read_graph
from ._bags import stable_hash

UNLABELLED = stable_hash(None)
"""The hash of all nodes or edges without labels."""


class FlatGraph:
    """An undirected graph as arrays of node labels and of edges, each edge in both directions.

    Attributes
    ----------
    label
        A hash for each node.
    source, target, edge
        The start, the end and the hash of the label of each directed edge, sorted by start.
    labelled
        Whether the nodes have labels.
    names
        The labels of the nodes as the user gave them.
    """

    __slots__ = ("edge", "label", "labelled", "names", "source", "target")

    def __init__(self, labels: list, edges: Edges, node_label: str | None, edge_label: str | None):
        self.labelled = node_label is not None and len(labels) > 0 and labels[0] is not None
        self.names = labels
        starts, ends, marks = zip(*edges, strict=True) if edges else ((), (), ())
        source, target = np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)
        order = np.lexsort((target, source))
        self.label = _label_hashes(labels, self.labelled)
        self.source, self.target = source[order], target[order]
        self.edge = _label_hashes(marks, edge_label is not None)[order]

    def __len__(self) -> int:
        return len(self.label)

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel`, because model files contain graphs as given, never flat graphs."""
        raise DamagedModel("a flat graph is never saved")


class GraphUnion:
    """The disjoint union of a batch of graphs, as arrays.

    Attributes
    ----------
    label, source, target, edge
        As in `FlatGraph`, with nodes numbered over all graphs.
    start
        The first node of each graph, followed by the number of nodes.
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
        """The index of the first edge of each node, followed by the number of edges."""
        degrees = np.bincount(self.source, minlength=len(self.label))
        return np.concatenate([[0], np.cumsum(degrees)])


class CheckedGraph(Reducible):
    """A graph as the user gave it, with a cache of its `FlatGraph` for each choice of labels."""

    __slots__ = ("origin", "views")

    def __init__(self, origin: Any):
        self.origin = origin
        self.views: dict[tuple[str | None, str | None], FlatGraph] = {}

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if a file contains cached flat graphs, which are never saved."""
        must(self.views == {}, "views is not empty")

    def without_training_data(self) -> CheckedGraph:
        """Return a copy without the cached flat graphs, which are rebuilt when needed."""
        return CheckedGraph(self.origin)

    def flat_graph(
        self, node_label: str | None, edge_label: str | None, name: str = "y"
    ) -> FlatGraph:
        """Return the graph as a `FlatGraph`, cached, with the given attributes as its labels.

        `name` is what error messages call the graph.
        """
        key = node_label, edge_label
        if key not in self.views:
            labels, edges = read_graph(self.origin, name, *key)
            absent = [i for i, label in enumerate(labels) if label is None]
            if 0 < len(absent) < len(labels):
                raise ValueError(
                    f"{name} has {len(labels) - len(absent)} nodes with {node_label!r} and others "
                    f"without, such as {list(self.origin)[absent[0]]!r}: label all nodes, or use "
                    "node_label=None."
                )
            self.views[key] = FlatGraph(labels, edges, *key)
        return self.views[key]


def _label_hashes(labels: Sequence[Any], labelled: bool) -> np.ndarray:
    """Return a hash of each label, or the same constant for all unless `labelled`."""
    hashes = [stable_hash(label) if labelled else UNLABELLED for label in labels]
    return np.array(hashes, dtype=np.uint64)


def checked_graphs(
    A: Items, name: str, node_label: str | None, edge_label: str | None
) -> np.ndarray:
    """Return a batch as `CheckedGraph` objects; raise an error if labels cannot be read.

    Either all graphs that have nodes have node labels, or none has.
    """
    items = as_items(A, name)
    if not all(isinstance(item, CheckedGraph) for item in items):
        items = object_array([CheckedGraph(item) for item in items])
    flat = [g.flat_graph(node_label, edge_label, f"{name}[{i}]") for i, g in enumerate(items)]
    kinds = {g.labelled: i for i, g in enumerate(flat) if len(g)}
    if len(kinds) == 2:
        raise ValueError(
            f"{name}[{kinds[False]}] has no node labels while {name}[{kinds[True]}] has: label "
            "all graphs, or use node_label=None to ignore the labels."
        )
    return items
