"""Compiled breadth-first searches of the shortest-path kernel."""

import numpy as np
from numba import uint64

from .._base.loops import compiled, parallel


@compiled
def _mix_bits(x):
    """Return the 64-bit word x with its bits mixed by a bijection."""
    x = uint64(x) + uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@compiled
def _breadth_first_search(source, first, end, pointer, target, edge, distance, path, queue):
    """Write distances and path hashes from node `source`; return the number of nodes reached.

    The graph has the nodes first to end - 1; `pointer`, `target` and `edge` are those of
    `path_features`. The nodes that were reached are the first ones of `queue`. Without edge labels
    (`edge` is empty) the hash depends on the distance only. The hash of a node is computed from the
    sum over its predecessors, which all leave the queue before it.
    """
    for v in range(first, end):
        distance[v - first] = -1
        path[v - first] = uint64(0)
    distance[source - first] = 0
    queue[0] = source
    head, tail = 0, 1
    while head < tail:
        v = queue[head]
        head += 1
        d = distance[v - first]
        path[v - first] = _mix_bits(path[v - first] + uint64(d))
        for e in range(pointer[v], pointer[v + 1]):
            w = target[e]
            if distance[w - first] < 0:
                distance[w - first] = d + 1
                queue[tail] = w
                tail += 1
            if len(edge) and distance[w - first] == d + 1:
                path[w - first] += _mix_bits(path[v - first] ^ edge[e])
    return tail


def path_features(start, pointer, target, edge):
    """Return the graph, both ends and a shortest-path hash of all pairs of connected nodes.

    Graph g has the nodes start[g] to start[g + 1] - 1. The edges of node v have the indices
    pointer[v] to pointer[v + 1] - 1, with the ends `target` and the labels `edge`.
    """
    offset = np.concatenate([[0], np.cumsum(np.diff(start) ** 2)])
    owner = np.full(offset[-1], -1)
    first, last = np.zeros_like(owner), np.zeros_like(owner)
    paths = np.zeros(offset[-1], dtype=np.uint64)
    _fill_path_features(start, pointer, target, edge, owner, first, last, paths, offset[:-1])
    written = owner >= 0
    return owner[written], first[written], last[written], paths[written]


@parallel
def _fill_path_features(
    begin, end, start, pointer, target, edge, owner, first, last, paths, offset
):
    """Write the path features of graphs begin to end - 1 to owner, first, last and paths.

    Those of graph g begin at offset[g]. The other arguments are those of `path_features`.
    """
    for g in range(begin, end):
        size = start[g + 1] - start[g]
        distance = np.empty(size, dtype=np.int64)
        path = np.empty(size, dtype=np.uint64)
        queue = np.empty(size, dtype=np.int64)
        at = offset[g]
        for source in range(start[g], start[g + 1]):
            reached = _breadth_first_search(
                source, start[g], start[g + 1], pointer, target, edge, distance, path, queue
            )
            for i in range(reached):
                v = queue[i]
                owner[at], first[at], last[at] = g, source, v
                paths[at] = path[v - start[g]]
                at += 1
