"""Keys of labelled graphs that are equal exactly for isomorphic graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Edges = Sequence[tuple[int, int, Any]]


def canonical_key(
    nodes: Sequence[Any], edges: Edges, word: Callable[[Any], np.uint64]
) -> tuple[int, int, int]:
    """Return (number of nodes, number of directed edges, hash) of a graph, up to isomorphism.

    Parameters
    ----------
    nodes
        The label of each node.
    edges
        Edges as (node, node, label), each in both directions.
    word
        A function that returns a 64-bit hash of a label.
    """
    from ._canonical_loops import canonical_hash

    n = len(nodes)
    first, target, mark = compressed_edges(n, edges, word)
    label = np.array([word(node) for node in nodes], dtype=np.uint64)
    return n, len(target), int(canonical_hash(first, target, mark, label))


def compressed_edges(
    n: int, edges: Edges, word: Callable[[Any], np.uint64]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return edges by their start: where those of each node begin, their ends, and their words."""
    ordered = sorted((i, j, word(label)) for i, j, label in edges)
    first = np.zeros(n + 1, dtype=np.int64)
    for i, _, _ in ordered:
        first[i + 1] += 1
    target = np.array([j for _, j, _ in ordered], dtype=np.int64)
    mark = np.array([m for _, _, m in ordered], dtype=np.uint64)
    return np.cumsum(first), target, mark
