"""Explicit integer features of labelled graphs, for kernels and for decoders that make graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._base.arrays import Array, Items, blocks
from .._base.checks import Limits, array, bounded, must
from .._base.parameters import boolean, integer, parameters
from ._bags import Bags
from ._graphs import GraphUnion
from .capabilities import Features
from .graph import GraphKernel

GRAPHS_AT_ONCE = 4096
"""The number of graphs whose features are listed at once."""
FEATURES_OF_GRAPH = 400
"""The number of features of a graph for which there is room at first."""
KIND_NAMES = (
    "a node", "an edge", "label", "degree", "label and edges", "labelled surroundings",
    "surroundings", "edge", "edge with degrees", "edge with surroundings", "path", "cycle",
    "cycle with labels", "cycle with edges", "cycle with degrees", "node of a cycle",
    "node of a cycle with surroundings", "distance", "distance with degrees",
)  # fmt: skip
"""The names of the kinds of features, in the order of their numbers in the compiled loops."""


class ListedFeatures(NamedTuple):
    """The features of a batch of graphs, one entry for each occurrence.

    Attributes
    ----------
    owner, key, mask, kind
        The graph, the word, the mask of the nodes and the kind of each feature.
    n
        The number of graphs.
    """

    owner: np.ndarray
    key: np.ndarray
    mask: np.ndarray
    kind: np.ndarray
    n: int


@parameters
class GraphCounts(GraphKernel):
    r"""Inner product of the numbers of small patterns in labelled graphs.

    :math:`k(a, b) = \sum_f a_f b_f`, where :math:`a_f` is how often graph :math:`a` has the
    pattern :math:`f`. The features are integers in known columns, so that a ridge regression
    predicts each of them, and the decoder `Search` makes the graph that fits them best.

    Parameters
    ----------
    size : int or None, default=10000
        The number of features that are kept: those that most of the graphs of `fit` have. None
        keeps all of them.
    least : int, default=1
        The number of graphs of `fit` that must have a feature.
    sizes, labels, degrees : bool, default=True
        Whether to count nodes and edges; node labels; degrees, and node labels with the labels of
        their edges.
    radius : int, default=3
        The radius of the surroundings of nodes (Weisfeiler–Lehman), with labels and, up to 2,
        without; 0 for none.
    bonds : bool, default=True
        Whether to count edges with the labels, the degrees or the surroundings of both ends.
    paths, cycles : int, default=5, 7
        The largest number of nodes of paths and of cycles; 0 for none.
    distances : bool, default=True
        Whether to count pairs of nodes with their labels or degrees and their distance.
    node_label, edge_label : str or None, default="label"
        As in `WeisfeilerLehman`.

    Attributes
    ----------
    keys_
        The hashes of the features that are kept, which are the columns of `features`.
    names_
        A description of each of them, made from one graph that has it.

    Notes
    -----
    Before `fit` all features count; afterwards, those that are kept. A graph of nine atoms has
    about 280. Cycles and paths are many in dense graphs: lower `paths` and `cycles` there. In a
    graph of more than 64 nodes the names of features may be those of other nodes.

    Examples
    --------
    >>> import networkx as nx
    >>> from mercer.kernels import GraphCounts
    >>> kernel = GraphCounts(radius=0, paths=3, cycles=0, distances=False, bonds=False)
    >>> kernel([nx.path_graph(3)], [nx.path_graph(3), nx.cycle_graph(3)])
    array([[33., 33.]])
    """

    size: int | None = 10000
    least: int = 1
    sizes: bool = True
    labels: bool = True
    degrees: bool = True
    radius: int = 3
    bonds: bool = True
    paths: int = 5
    cycles: int = 7
    distances: bool = True
    node_label: str | None = "label"
    edge_label: str | None = "label"

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """Check graphs and their labels; return `CheckedGraph` objects."""
        self.families()
        return super().check(A, name)

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if lengths or columns are larger than the limits allow."""
        for name in ("radius", "paths", "cycles"):
            bounded(vars(self)[name], name, 0, limits.steps)
        if "keys_" in vars(self):
            array(self.keys_, "keys_", np.uint64, None)
            must(isinstance(self.names_, list), "names_ is not a list")
            must(len(self.names_) == len(self.keys_), "names_ has another length than keys_")

    def families(self) -> np.ndarray:
        """Return which features are counted, as the array that the compiled loops take."""
        switches = [int(boolean(vars(self)[name], name)) for name in ("sizes", "labels", "degrees")]
        bonds, distances = boolean(self.bonds, "bonds"), boolean(self.distances, "distances")
        radius, paths, cycles = (
            integer(vars(self)[name], name, 0) for name in ("radius", "paths", "cycles")
        )
        return np.array([*switches, radius, int(bonds), paths, cycles, int(distances)])

    # -- the features that are kept -----------------------------------------------------------

    def fit(self, A: Items) -> GraphCounts:
        """Choose the features that are kept: those that most of the graphs have."""
        A = self.check(A, "A")
        size = None if self.size is None else integer(self.size, "size")
        keys, graphs = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        for _, listed in self._listed_in_blocks(A):
            ours, counts = _graphs_with_each_key(listed)
            keys, place = np.unique(np.concatenate([keys, ours]), return_inverse=True)
            total = np.bincount(place, np.concatenate([graphs, counts]), len(keys))
            graphs = total.astype(np.int64)
        order = np.argsort(-graphs, kind="stable")[:size]
        kept = order[graphs[order] >= integer(self.least, "least")]
        self.keys_ = np.ascontiguousarray(keys[kept])
        self.names_ = self._names(A)
        return self

    def _names(self, A: Items) -> list[str]:
        """Return a description of each feature that is kept, from the first graph that has it."""
        names: list[str] = [""] * len(self.keys_)
        table, missing = KeyTable(self.keys_), len(names)
        for start, listed in self._listed_in_blocks(A):
            columns = table.columns(listed.key)
            first = np.unique(columns, return_index=True)[1]
            for i in first[columns[first] >= 0]:
                if not names[columns[i]]:
                    graph = A[start + listed.owner[i]]
                    labels = graph.flat_graph(self.node_label, self.edge_label).names
                    names[columns[i]] = _describe(int(listed.kind[i]), int(listed.mask[i]), labels)
                    missing -= 1
            if not missing:
                break
        return names

    # -- counts -------------------------------------------------------------------------------

    def _listed_in_blocks(self, A: Items) -> Iterator[tuple[int, ListedFeatures]]:
        """Yield the features of some thousand graphs at a time, with the number of the first."""
        for rows in blocks(len(A), GRAPHS_AT_ONCE):
            yield rows.start, self._listed(A[rows])

    def _listed(self, A: Items) -> ListedFeatures:
        """Return all features of a batch of checked graphs."""
        from ._graph_count_loops import features_of_graphs

        u = GraphUnion([graph.flat_graph(self.node_label, self.edge_label) for graph in A])
        ends, room = np.zeros(len(A), np.int64), FEATURES_OF_GRAPH * len(A)
        while True:
            key, mask = np.empty(room, np.uint64), np.empty(room, np.uint64)
            kind = np.empty(room, np.int64)
            total = features_of_graphs(
                u.start, u.pointer, u.target, u.edge, u.label, self.families(),
                ends, key, mask, kind,
            )  # fmt: skip
            if total <= room:
                break
            room = total
        owner = np.repeat(np.arange(len(A)), np.diff(ends, prepend=0))
        return ListedFeatures(owner, key[:total], mask[:total], kind[:total], len(A))

    def _bags(self, A: Items) -> Bags:
        """Return the feature counts of each graph of a batch, of kept features after a fit."""
        if "keys_" not in vars(self):
            listed = self._listed(A)
            return Bags(listed.owner, listed.key, np.ones(len(listed.key)), listed.n)
        F = self._counts(A)[0].tocoo()
        return Bags(F.row, F.col, F.data, len(A), F.shape[1])

    def _counts(self, A: Items) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the counts of kept features of checked graphs, and how many are not kept."""
        table, width = KeyTable(self.keys_), len(self.keys_)
        parts, outside = [], []
        for _, listed in self._listed_in_blocks(A):
            columns = table.columns(listed.key)
            known = columns >= 0
            entries = np.ones(int(known.sum())), (listed.owner[known], columns[known])
            parts.append(sparse.csr_array(entries, shape=(listed.n, width)))
            outside.append(np.bincount(listed.owner[~known], minlength=listed.n))
        if not parts:
            return sparse.csr_array((0, width)), np.zeros(0)
        return sparse.csr_array(sparse.vstack(parts)), np.concatenate(outside).astype(float)

    @property
    def features(self) -> Features:
        """The counts of the kept features, sparse, with names and the number of other features."""
        return Features(
            lambda A: self._fitted_counts(A)[0].toarray(),
            lambda A: self._fitted_counts(A)[0],
            outside=lambda A: self._fitted_counts(A)[1],
            names=lambda: list(self.names_),
        )

    def _fitted_counts(self, A: Items) -> tuple[sparse.csr_array, Array]:
        """Return the counts of kept features of graphs, and how many are not kept."""
        if "keys_" not in vars(self):
            raise ValueError(f"the features of {self} are not known yet: call fit(A) first.")
        return self._counts(self.check(A, "A"))


class KeyTable:
    """An open hash table from the keys of features to their columns."""

    def __init__(self, keys: np.ndarray):
        from ._graph_count_loops import fill_table

        room = 1 << max(4, (4 * len(keys)).bit_length())
        self.slots, self.numbers = np.zeros(room, np.uint64), np.full(room, -1, np.int64)
        fill_table(keys, self.slots, self.numbers)

    def columns(self, key: np.ndarray) -> np.ndarray:
        """Return the column of each key; -1 for those without one."""
        from ._graph_count_loops import fill_columns

        found = np.empty(len(key), np.int64)
        fill_columns(key, self.slots, self.numbers, found)
        return found


def _graphs_with_each_key(listed: ListedFeatures) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys of a batch, and the number of graphs that have each of them."""
    keys, number = np.unique(listed.key, return_inverse=True)
    pairs = np.unique(number.astype(np.int64) * listed.n + listed.owner)
    return keys, np.bincount(pairs // listed.n, minlength=len(keys))


def _describe(kind: int, mask: int, labels: Any) -> str:
    """Return the name of a feature: its kind, its length, and the labels of its nodes."""
    name, length = KIND_NAMES[kind % 32], kind // 32
    nodes = [labels[v] for v in range(len(labels)) if mask >> (v % 64) & 1]
    of = "" if nodes and nodes[0] is None else " ".join(map(str, sorted(nodes, key=repr)))
    return f"{name}{f' {length}' if length else ''}{': ' if of and kind > 1 else ''}" + (
        of if kind > 1 else ""
    )
