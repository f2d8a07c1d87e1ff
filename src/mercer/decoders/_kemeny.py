"""Best orders of labels for pairwise preferences, by dynamic or integer programming."""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .._base.loops import compiled, parallel

SUBSETS = 16
"""The largest number of labels for which all subsets are enumerated."""
PROGRAMME = 300
"""The largest number of labels, preferred to each other in a cycle, for an integer programme."""
ORDER_TOLERANCE = 1e-10
"""The allowed rounding error of the value of an order, relative to the sum of preferences."""


def best_orders_by_subsets(W: np.ndarray) -> np.ndarray:
    """Return the best order of the labels for each (m, m) preference matrix W, for small m.

    The best order has the largest Σ_{i before j} W_ij. It is found by dynamic programming over
    subsets: best[S], the largest such sum over the orders of a subset S, is the maximum over the
    label that comes last. Sums over S of preferences to a label come from tables for the two halves
    of the labels, so that the cost is O(2^m m).
    """
    orders = np.empty(W.shape[:2], dtype=np.int64)
    _fill_best_orders(W, orders)
    return orders


@parallel
def _fill_best_orders(start, stop, W, orders):
    """Write the order with the largest Σ_{i before j} W_ij, for each matrix W[t], into `orders`."""
    m = W.shape[1]
    half = m // 2
    mask = (1 << half) - 1
    for t in range(start, stop):
        low, high = _subset_sums(W[t, :half]), _subset_sums(W[t, half:])
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
def _subset_sums(rows: np.ndarray) -> np.ndarray:
    """Return the sum of every subset of the rows; bit i of its index says if row i is included."""
    sums = np.zeros((1 << rows.shape[0], rows.shape[1]))
    for i in range(rows.shape[0]):
        for S in range(1 << i):
            sums[S | (1 << i)] = sums[S] + rows[i]
    return sums


def majority_orders(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return orders of the labels by pairwise wins, and whether each is the best order.

    There is one order for each preference matrix W[t]. Label i wins against label j if
    W[t, i, j] > 0. An order in which no label loses against a later one is the best. If the wins
    have no cycle, the order by number of wins is such an order.
    """
    orders = np.argsort(-(W > 0).sum(axis=2), axis=1, kind="stable")
    rows = np.arange(len(W))[:, None, None]
    sorted_W = W[rows, orders[:, :, None], orders[:, None, :]]
    i, j = np.triu_indices(W.shape[1], 1)
    return orders, np.all(sorted_W[:, i, j] >= 0, axis=1)


def best_order(W: np.ndarray, time_limit: float | None) -> tuple[np.ndarray, bool]:
    """Return the best order for preferences W, and whether it is proved to be the best.

    The best order has the largest Σ_{i before j} W_ij. The strong components of the graph of wins
    (W_ij > 0) have an order in which no component loses against a later one, so that each component
    can be ordered on its own.
    """
    count, member = connected_components(csr_array(W > 0), directed=True, connection="strong")
    components = [np.flatnonzero(member == c) for c in range(count)]
    inside = np.eye(count)[member]
    wins = inside.T @ (W > 0) @ inside > 0
    parts, all_proved = [], True
    for component in (components[c] for c in _topological_order(wins)):
        order, proved = _component_order(W[np.ix_(component, component)], time_limit)
        parts.append(component[order])
        all_proved &= proved
    return np.concatenate(parts), all_proved


def _topological_order(wins: np.ndarray) -> list[int]:
    """Return an order in which i comes before j wherever wins[i, j] is True, for i ≠ j."""
    np.fill_diagonal(wins, False)
    losses = wins.sum(axis=0)
    order: list[int] = []
    while len(order) < len(wins):
        order.append(int(np.flatnonzero(losses == 0)[0]))
        losses -= wins[order[-1]]
        losses[order[-1]] = -1
    return order


def _component_order(W: np.ndarray, time_limit: float | None) -> tuple[np.ndarray, bool]:
    """Return the best order in a strong component of the wins, and whether it is proved."""
    if len(W) <= SUBSETS:
        return best_orders_by_subsets(W[None])[0], True
    return order_by_integer_programme(W, time_limit)


def order_by_integer_programme(W: np.ndarray, time_limit: float | None) -> tuple[np.ndarray, bool]:
    """Return the best order for preferences W by integer programming, and whether it is proved.

    The variables are x_ij = 1 where i is before j, and no three labels may make a cycle. Cycles are
    forbidden one by one, as solutions contain them, first with real variables, then with integers.
    An order that reaches the value of a relaxed programme is optimal. `time_limit` is in seconds.
    """
    best = np.argsort(W.sum(axis=0), kind="stable")
    if len(W) > PROGRAMME:
        return best, False
    end = np.inf if time_limit is None else time.monotonic() + time_limit
    programme, integral = _OrderingProgramme(W), False
    while (left := end - time.monotonic()) > 0:
        solution = programme.solve(integral, left)
        if solution is None:
            break
        X, bound = solution
        order = np.argsort(-X.sum(axis=1), kind="stable")
        best = max(best, order, key=lambda order: order_value(W, order))
        if order_value(W, best) >= bound - ORDER_TOLERANCE * np.abs(W).sum():
            return best, True
        if not programme.forbid_cycles(X):
            if integral:
                return best, True
            integral = True
    return best, False


class _OrderingProgramme:
    """The linear ordering programme, with constraints against the 3-cycles seen so far."""

    def __init__(self, W: np.ndarray):
        self.m = len(W)
        self.pairs = np.triu_indices(self.m, 1)
        self.number = np.zeros((self.m, self.m), dtype=int)
        self.number[self.pairs] = np.arange(len(self.pairs[0]))
        self.least = float(W.T[self.pairs].sum())
        self.gain = W[self.pairs] - W.T[self.pairs]
        self.triples = np.zeros((0, 3), dtype=int)

    def solve(self, integral: bool, seconds: float) -> tuple[np.ndarray, float] | None:
        """Return the optimal variables x_ij (is i before j?) and their value; None if out of time.

        With `integral` the variables are integers, else real numbers in [0, 1]. `seconds` is the
        time limit.
        """
        solution = milp(
            -self.gain,
            integrality=np.full(len(self.gain), int(integral)),
            bounds=Bounds(0, 1),
            constraints=self._constraints() if len(self.triples) else (),
            options={"mip_rel_gap": 0.0} | ({"time_limit": seconds} if seconds < np.inf else {}),
        )
        if solution.status != 0:
            return None
        X = np.zeros((self.m, self.m))
        X[self.pairs] = solution.x
        X.T[self.pairs] = 1.0 - solution.x
        return X, self.least - solution.fun

    def _constraints(self) -> LinearConstraint:
        """Return the linear constraints that forbid the stored 3-cycles."""
        a, b, c = self.triples.T
        columns = np.stack([self.number[a, b], self.number[b, c], self.number[a, c]], axis=1)
        rows, shape = np.repeat(np.arange(len(a)), 3), (len(a), len(self.gain))
        signs = np.tile([1.0, 1.0, -1.0], len(a))
        return LinearConstraint(csr_array((signs, (rows, columns.ravel())), shape), 0.0, 1.0)

    def forbid_cycles(self, X: np.ndarray) -> int:
        """Add constraints against the 3-cycles of a solution X; return how many.

        For each pair of labels a < c only the worst 3-cycle (a, b, c) is forbidden. Labels
        a < b < c make no cycle if 0 ≤ x_ab + x_bc - x_ac ≤ 1.
        """
        cycles = []
        for a in range(self.m - 2):
            after, rest = X[a, a + 1 :], X[a + 1 :, a + 1 :]
            sums = after[:, None] + rest - after[None, :]
            excess = np.triu(np.maximum(-sums, sums - 1.0), 1)
            b = excess.argmax(axis=0)
            c = np.flatnonzero(excess.max(axis=0) > 1e-6)
            cycles.append(np.column_stack([np.full(len(c), a), a + 1 + b[c], a + 1 + c]))
        new = np.concatenate(cycles)
        self.triples = np.concatenate([self.triples, new])
        return len(new)


def order_value(W: np.ndarray, order: np.ndarray) -> float:
    """Return the value of an order for preferences W: Σ W_ij over all i before j."""
    return float(np.triu(W[np.ix_(order, order)], 1).sum())
