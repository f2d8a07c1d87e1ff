"""The exact edit distance of two small labelled graphs, by branch and bound.

It is the smallest number of edits that make one graph of the other: insert, delete or relabel a
node; insert, delete or relabel an edge. Each costs 1. Inserted and deleted nodes cost their edges
too.
"""

from __future__ import annotations

import numpy as np

from mercer._base.loops import compiled


@compiled
def _extend(i, n, a, b, order, place, used, cost, best):
    """Extend a matching of the first i nodes by every free node, and keep the cheapest in best."""
    if cost >= best[0]:
        return
    if i == n:
        best[0] = cost
        return
    v, top = order[i], max(a.max(), b.max()) + 1
    rest = np.zeros(top, np.int64)  # labels of nodes that are left, of one graph minus the other
    for x in range(i, n):
        rest[a[order[x], order[x]]] += 1
    for y in range(n):
        if not used[y]:
            rest[b[y, y]] -= 1
    if cost + np.maximum(rest, 0).sum() >= best[0]:
        return
    for same in (True, False):
        for y in range(n):
            if used[y] or (a[v, v] == b[y, y]) != same:
                continue
            more = cost + (0 if same else 1)
            for z in range(i):
                if a[v, order[z]] != b[y, place[z]]:
                    more += 1
            used[y], place[i] = True, y
            _extend(i + 1, n, a, b, order, place, used, more, best)
            used[y] = False


def edit_distance(a: np.ndarray, b: np.ndarray) -> int:
    """Return the edit distance of two graphs with at most about ten nodes.

    Parameters
    ----------
    a, b
        Symmetric integer matrices: positive node labels on the diagonal, edge labels elsewhere, 0
        for no edge.
    """
    n = max(len(a), len(b))
    a, b = (np.pad(m, (0, n - len(m))).astype(np.int64) for m in (a, b))
    order: list[int] = []
    for _ in range(n):  # nodes with many edges to earlier ones first
        left = [v for v in range(n) if v not in order]
        edges = a > 0
        order.append(max(left, key=lambda v: (edges[v, order].sum(), edges[v].sum())))
    best = np.array([n * n], np.int64)
    _extend(
        0, n, a, b, np.array(order), np.zeros(n, np.int64), np.zeros(n, np.bool_), 0, best
    )  # fmt: skip
    return int(best[0])
