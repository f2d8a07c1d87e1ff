"""Spaces of graphs and of trees, and the reading of graphs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from joblib import hash as digest
from scipy.sparse import coo_array, issparse

from .._base.arrays import Items, as_items, is_networkx
from .._base.hashes import text_hash
from ._canonical import canonical_key
from .base import Space, python_scalar


class Graphs(Space):
    """Graphs with or without labels, as networkx graphs or as tuples (adjacency, labels).

    Examples
    --------
    >>> import networkx as nx
    >>> from mercer.spaces import Graphs
    >>> Graphs().key(nx.path_graph("abc")) == Graphs().key(nx.path_graph("cab"))
    True
    """

    name = "graphs"

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """Check that items are graphs; return them in an object array."""
        items = as_items(A, name)
        for i, item in enumerate(items):
            pair = isinstance(item, tuple | list) and len(item) == 2
            if not (pair or is_networkx(item)):
                raise ValueError(
                    f"{name}[{i}] must be a networkx graph or a tuple (adjacency, labels), "
                    f"got {item!r:.80}."
                )
        return items

    def moves(
        self, y: Items, node_label: str | None = "label", edge_label: str | None = "label"
    ) -> Any:
        """Return the edits of graphs with the labels of the training graphs y."""
        from .graph_moves import GraphMoves

        return GraphMoves(y, node_label, edge_label)

    def key(self, item: Any) -> Hashable:
        """Return a hashable key of a graph, equal exactly for isomorphic graphs.

        Attributes of nodes and edges count, names of nodes do not. Directed graphs and graphs with
        parallel edges are compared node by node.
        """
        if is_networkx(item):
            if item.is_directed() or item.is_multigraph():
                return content_key(item)
            number = {node: i for i, node in enumerate(item)}
            nodes = [data for _, data in item.nodes(data=True)]
            edges = [(number[a], number[b], data) for a, b, data in item.edges(data=True)]
            edges += [(b, a, data) for a, b, data in edges if a != b]
            return canonical_key(nodes, edges, _word)
        if isinstance(item, tuple | list) and len(item) == 2:
            return canonical_key(*_from_adjacency(item[0], item[1], "y"), _word)
        return super().key(item)


def _word(label: Any) -> np.uint64:
    """Return a 64-bit hash of a label or of a dictionary of attributes."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)  # an adjacency matrix may have 1.0 where another has 1
    plain = _has_stable_repr(label)
    return text_hash(repr(_sorted_items(label)) if plain else digest(label))


def content_key(graph: Any) -> Hashable:
    """Return a hashable key of the named nodes and edges of a networkx graph with attributes."""
    # Not the graph itself, because networkx stores views in it when they are used.
    content = type(graph).__name__, dict(graph.nodes(data=True)), dict(graph.adjacency())
    if _has_stable_repr(content):
        # Ten times as fast as a digest.
        return repr([content[0], *map(_sorted_items, content[1:])])
    return digest(content)


Edges = list[tuple[int, int, Any]]
"""Edges as (number of a node, number of a node, label), each in both directions."""


def read_graph(
    item: Any, name: str, node_label: str | None, edge_label: str | None
) -> tuple[list, Edges]:
    """Return the node labels of a graph, None for nodes without, and its edges (i, j, label)."""
    if is_networkx(item):
        return _from_networkx(item, name, node_label, edge_label)
    if isinstance(item, tuple | list) and len(item) == 2:
        return _from_adjacency(item[0], item[1], name)
    raise ValueError(
        f"{name} must be a networkx graph or a tuple (adjacency, labels), got {item!r:.80}."
    )


def _from_networkx(
    graph: Any, name: str, node_label: str | None, edge_label: str | None
) -> tuple[list, Edges]:
    """Return the node labels and the edges (i, j, label) of a networkx graph."""
    if graph.is_directed() or graph.is_multigraph():
        raise ValueError(
            f"{name} is a {type(graph).__name__}: expected an undirected graph with at most one "
            "edge between two nodes. Convert it with networkx.Graph(graph)."
        )
    number = {node: i for i, node in enumerate(graph)}
    labels = [data.get(node_label) for _, data in graph.nodes(data=True)]
    edges = [(number[a], number[b], data.get(edge_label)) for a, b, data in graph.edges(data=True)]
    return labels, edges + [(b, a, mark) for a, b, mark in edges if a != b]


def _from_adjacency(adjacency: Any, labels: Any, name: str) -> tuple[list, Edges]:
    """Return the node labels and the edges (i, j, label) of a graph (adjacency, labels)."""
    A = coo_array(adjacency if issparse(adjacency) else np.atleast_2d(np.asarray(adjacency)))
    n = 0 if A.shape == (1, 0) else A.shape[0]
    if n and (A.shape != (n, n) or (A != A.T).nnz):
        raise ValueError(
            f"{name} needs a symmetric square adjacency matrix, got shape {A.shape}: expected an "
            "undirected graph. Symmetrise it with A + A.T."
        )
    if labels is not None and len(labels) != n:
        raise ValueError(f"{name} has {n} nodes but {len(labels)} labels.")
    edges = zip(A.row.tolist(), A.col.tolist(), A.data.tolist(), strict=True)
    nodes = [None] * n if labels is None else [python_scalar(label) for label in labels]
    return nodes, [edge for edge in edges if edge[2] != 0]


def _has_stable_repr(item: Any) -> bool:
    """Return whether an item is made of dictionaries, tuples, strings and numbers only.

    The repr of such an item is a key.
    """
    if isinstance(item, dict):
        return all(map(_has_stable_repr, item.keys())) and all(map(_has_stable_repr, item.values()))
    if isinstance(item, tuple):
        return all(map(_has_stable_repr, item))
    return item is None or isinstance(item, str | int | float)


def _sorted_items(item: Any) -> Any:
    """Return a nested dictionary as lists of (key, value), sorted by the repr of the keys."""
    if not isinstance(item, dict):
        return item
    return sorted(
        ((key, _sorted_items(value)) for key, value in item.items()), key=lambda kv: repr(kv[0])
    )


class Trees(Space):
    """Ordered labelled trees, as bracketed strings or as nested tuples (label, child, …).

    Examples
    --------
    >>> from mercer.spaces import Trees
    >>> list(Trees().check(["(S (NP I) (VP run))"]))
    ['(S (NP I) (VP run))']
    """

    name = "trees"

    def key(self, item: Any) -> Hashable:
        """Return a hashable key of a tree that ignores the blanks of a bracketed string."""
        if isinstance(item, str):
            return " ".join(item.replace("(", " ( ").replace(")", " ) ").split())
        return super().key(item)
