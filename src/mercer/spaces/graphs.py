"""Graphs and trees."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse

from .._base.arrays import Items, as_items
from .base import Space


class Graphs(Space):
    """Graphs with or without labels: networkx graphs, or tuples (adjacency, labels).

    Examples
    --------
    >>> import networkx as nx
    >>> from mercer.spaces import Graphs
    >>> Graphs().key(nx.path_graph(3)) == Graphs().key(nx.path_graph(3))
    True
    """

    name = "graphs"

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """Check graphs; return them in an object array. Kernels read their labels."""
        items = as_items(A, name)
        for i, item in enumerate(items):
            pair = isinstance(item, tuple | list) and len(item) == 2
            if not (pair or is_networkx(item)):
                raise ValueError(
                    f"{name}[{i}] must be a networkx graph or a tuple (adjacency, labels), "
                    f"got {item!r:.80}."
                )
        return items

    def key(self, item: Any) -> Hashable:
        """Return nodes and edges with their attributes."""
        if not is_networkx(item):
            return super().key(item)
        # networkx keeps views in a graph once they were used: take its content alone
        content = type(item).__name__, dict(item.nodes(data=True)), dict(item.adjacency())
        if _is_plain(content):
            return repr([content[0], *map(_in_order, content[1:])])  # a digest takes ten times that
        return super().key(content)


def is_networkx(item: Any) -> bool:
    """Return whether an item has nodes and edges as networkx graphs have them."""
    return hasattr(item, "nodes") and hasattr(item, "adjacency")


Edges = list[tuple[int, int, Any]]
"""Numbers of two nodes and what stands on the edge between them, in either direction."""


def read_graph(
    item: Any, name: str, node_label: str | None, edge_label: str | None
) -> tuple[list, Edges]:
    """Return the labels of the nodes, None where there are none, and the edges with theirs."""
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
    """Return labels and edges of a networkx graph."""
    if graph.is_directed() or graph.is_multigraph():
        raise ValueError(
            f"{name} is a {type(graph).__name__}: expected an undirected graph with at most one "
            "edge between two nodes. Convert it by networkx.Graph(graph)."
        )
    number = {node: i for i, node in enumerate(graph)}
    labels = [data.get(node_label) for _, data in graph.nodes(data=True)]
    edges = [(number[a], number[b], data.get(edge_label)) for a, b, data in graph.edges(data=True)]
    return labels, edges + [(b, a, mark) for a, b, mark in edges if a != b]


def _from_adjacency(adjacency: Any, labels: Any, name: str) -> tuple[list, Edges]:
    """Return labels and edges of a graph given by its adjacency matrix."""
    A = coo_array(adjacency if issparse(adjacency) else np.atleast_2d(np.asarray(adjacency)))
    n = 0 if A.shape == (1, 0) else A.shape[0]
    if n and (A.shape != (n, n) or (A != A.T).nnz):
        raise ValueError(
            f"{name} needs a symmetric square adjacency matrix, got shape {A.shape}: expected an "
            "undirected graph. Symmetrise it by A + A.T."
        )
    if labels is not None and len(labels) != n:
        raise ValueError(f"{name} has {n} nodes but {len(labels)} labels.")
    edges = zip(A.row.tolist(), A.col.tolist(), A.data.tolist(), strict=True)
    nodes = [None] * n if labels is None else [_of_python(label) for label in labels]
    return nodes, [edge for edge in edges if edge[2] != 0]


def _of_python(value: Any) -> Any:
    """Convert a scalar of NumPy to one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _is_plain(item: Any) -> bool:
    """Return whether an item is made of dictionaries, tuples, strings and numbers alone."""
    if isinstance(item, dict):
        return all(map(_is_plain, item.keys())) and all(map(_is_plain, item.values()))
    if isinstance(item, tuple):
        return all(map(_is_plain, item))
    return item is None or isinstance(item, str | int | float)


def _in_order(item: Any) -> Any:
    """Convert dictionaries to lists in the order of the repr of their keys."""
    if not isinstance(item, dict):
        return item
    return sorted(
        ((key, _in_order(value)) for key, value in item.items()), key=lambda kv: repr(kv[0])
    )


class Trees(Space):
    """Ordered labelled trees: bracketed strings or nested tuples, as the kernel reads them.

    Examples
    --------
    >>> from mercer.spaces import Trees
    >>> list(Trees().check(["(S (NP I) (VP run))"]))
    ['(S (NP I) (VP run))']
    """

    name = "trees"

    def key(self, item: Any) -> Hashable:
        """Return the text without its blanks; nested tuples are unchanged."""
        if isinstance(item, str):
            return " ".join(item.replace("(", " ( ").replace(")", " ) ").split())
        return super().key(item)
