"""Best orders for given preferences: compiled subset programme, integer programme."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .._loops import compiled, parallel

SUBSETS = 16
"""Up to this many labels all subsets are gone through."""


def subset_orders(W: np.ndarray) -> np.ndarray:
    """For each (m, m) matrix an order of the labels, best first, with the most Σ_{i before j} W_ij.

    best[S], the most that the labels of S win among themselves, is the best over the label that
    comes last in S. What S wins against a label is looked up in two halves: O(2^m m) in all.
    """
    orders = np.empty(W.shape[:2], dtype=np.int64)
    _subset_orders(W, orders)
    return orders


@parallel
def _subset_orders(start, stop, W, orders):
    m = W.shape[1]
    half = m // 2
    mask = (1 << half) - 1
    for t in range(start, stop):
        low, high = _sums(W[t, :half]), _sums(W[t, half:])
        best = np.zeros(1 << m)
        last = np.zeros(1 << m, dtype=np.int8)
        for S in range(1, 1 << m):
            top = -np.inf
            for j in range(m):
                if S >> j & 1:
                    rest = S ^ (1 << j)
                    value = best[rest] + low[rest & mask, j] + high[rest >> half, j]
                    if value > top:
                        top = value
                        last[S] = j
            best[S] = top
        S = (1 << m) - 1
        for place in range(m - 1, -1, -1):
            orders[t, place] = last[S]
            S ^= 1 << last[S]


@compiled
def _sums(rows: np.ndarray) -> np.ndarray:
    """The sum of every subset of the rows, by the number whose bits the subset is."""
    sums = np.zeros((1 << rows.shape[0], rows.shape[1]))
    for i in range(rows.shape[0]):
        for S in range(1 << i):
            sums[S | (1 << i)] = sums[S] + rows[i]
    return sums


def majority_orders(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels by number of duels won, and whether that order wins every duel: then it is best.

    Where there is no cycle among the duels, the number of wins is such an order.
    """
    orders = np.argsort(-(W > 0).sum(axis=2), axis=1, kind="stable")
    rows = np.arange(len(W))[:, None, None]
    sorted_W = W[rows, orders[:, :, None], orders[:, None, :]]
    i, j = np.triu_indices(W.shape[1], 1)
    return orders, np.all(sorted_W[:, i, j] >= 0, axis=1)


def component_order(W: np.ndarray, time_limit: float | None) -> tuple[np.ndarray, bool]:
    """The best order of many labels, and whether it is proved to be.

    Labels that beat each other in a circle belong together; the circles themselves have an order
    that wins every duel between them, so each is solved on its own, exactly.
    """
    count, member = connected_components(csr_array(W > 0), directed=True, connection="strong")
    circles = [np.flatnonzero(member == c) for c in range(count)]
    beats = np.array([[bool((W[np.ix_(a, b)] > 0).any()) for b in circles] for a in circles])
    parts, proved = [], True
    for circle in (circles[c] for c in _unbeaten_first(beats)):
        order, sure = _circle_order(W[np.ix_(circle, circle)], time_limit)
        parts.append(circle[order])
        proved &= sure
    return np.concatenate(parts), proved


def _unbeaten_first(beats: np.ndarray) -> list[int]:
    """An order in which nobody stands behind somebody that he beats."""
    np.fill_diagonal(beats, False)
    left, order = list(range(len(beats))), []
    while left:
        order.append(next(c for c in left if not beats[left, c].any()))
        left.remove(order[-1])
    return order


def _circle_order(W: np.ndarray, time_limit: float | None) -> tuple[np.ndarray, bool]:
    if len(W) <= SUBSETS:
        return subset_orders(W[None])[0], True
    return integer_order(W, time_limit)


def integer_order(W: np.ndarray, time_limit: float | None) -> tuple[np.ndarray, bool]:
    """The linear ordering programme: x_ij = 1 where i is before j, no circle among three."""
    m = len(W)
    i, j = np.triu_indices(m, 1)
    number = np.zeros((m, m), dtype=int)
    number[i, j] = np.arange(len(i))
    a, b, c = np.array(list(combinations(range(m), 3))).T
    rows = np.repeat(np.arange(len(a)), 3)
    columns = np.stack([number[a, b], number[b, c], number[a, c]], axis=1).ravel()
    signs = np.tile([1.0, 1.0, -1.0], len(a))
    circles = LinearConstraint(csr_array((signs, (rows, columns)), (len(a), len(i))), 0.0, 1.0)
    options = {} if time_limit is None else {"time_limit": time_limit}
    found = milp(
        -W[i, j],
        integrality=np.ones(len(i)),
        bounds=Bounds(0, 1),
        constraints=circles,
        options={**options, "mip_rel_gap": 0.0},
    )
    simple = np.argsort(W.sum(axis=0), kind="stable")
    if found.x is None:
        return simple, False
    before = np.zeros((m, m))
    before[i, j] = np.round(found.x)
    before[j, i] = 1.0 - before[i, j]
    order = np.argsort(-before.sum(axis=1), kind="stable")
    better = order_value(W, order) >= order_value(W, simple)
    return (order if better else simple), bool(found.status == 0 and better)


def order_value(W: np.ndarray, order: np.ndarray) -> float:
    """Σ_{i before j} W_ij."""
    return float(np.triu(W[np.ix_(order, order)], 1).sum())
