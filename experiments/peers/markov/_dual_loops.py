"""Compiled block-coordinate Frank–Wolfe with pairwise steps over the labellings found so far.

A block is a chain. Its dual variables are the weights of its active labellings, which sum to one.
The arguments `paths`, `weights` and `sizes` are the active labellings of each chain, their weights
and their number.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from mercer._base.loops import compiled

from ._chain_loops import add_loss, best_path, path_value

GAP_FRACTION = 0.3
"""Pairwise steps stop when their gap is at most this fraction of the gap that Viterbi found."""
NO_ROOM = -1.0
"""The value of a gap that says that `paths` has no room for another labelling."""


Dual = namedtuple("Dual", "rows gram C transitions A W edges")
"""The arrays and numbers of a `DualProblem` and of a `DualPoint`, which the loops update.

The score of each label at each position is an entry of K A, which is W.T if `rows` is the Gram
matrix K (`gram` is True), else rows @ W.T.
"""


@compiled
def node_scores(dual, first, last):
    """Return the score of each label (column) at each position first, …, last - 1 (row)."""
    if dual.gram:
        return dual.W[:, first:last].T.copy()
    return np.dot(dual.rows[first:last], dual.W.T)


@compiled
def chain_gram(dual, first, last):
    """Return the Gram matrix of the positions first, …, last - 1 of one chain."""
    if dual.gram:
        return dual.rows[first:last, first:last].copy()
    return np.dot(dual.rows[first:last], dual.rows[first:last].T)


@compiled
def sqdistance(u, v, K, transitions):
    """Return the squared distance of the labellings u and v of one chain in the feature space.

    K is the Gram matrix of the positions, and `transitions` the weight of label bigrams.
    """
    total = 0.0
    for t in range(len(u)):
        node = u[t] != v[t]
        edge = t > 0 and (node or u[t - 1] != v[t - 1])
        for r in range(len(u)):
            if node and u[r] != v[r]:
                alike = int(u[t] == u[r]) + int(v[t] == v[r])
                total += (alike - int(u[t] == v[r]) - int(v[t] == u[r])) * K[t, r]
            if edge and r > 0:
                alike = int(u[t - 1] == u[r - 1] and u[t] == u[r])
                alike += int(v[t - 1] == v[r - 1] and v[t] == v[r])
                alike -= int(u[t - 1] == v[r - 1] and u[t] == v[r])
                alike -= int(v[t - 1] == u[r - 1] and v[t] == u[r])
                total += alike * transitions
    return total


@compiled
def move_weight(u, v, step, K, transitions, nodes, edges, change):
    """Move dual weight `step` from labelling v to u, and update the scores of labels in place.

    The scores are `nodes` and `edges`; `change` collects the change of the coefficients A.
    """
    for t in range(len(u)):
        if u[t] != v[t]:
            change[t, u[t]] -= step
            change[t, v[t]] += step
            for r in range(len(u)):
                nodes[r, u[t]] -= step * K[r, t]
                nodes[r, v[t]] += step * K[r, t]
        if t > 0:
            edges[u[t - 1], u[t]] -= step * transitions
            edges[v[t - 1], v[t]] += step * transitions


@compiled
def copy_labelling(path, to):
    """Copy a labelling into `to`; a slice assignment would take a second to compile."""
    for t in range(len(path)):
        to[t] = path[t]


@compiled
def index_of_labelling(path, paths):
    """Return the index of a labelling in `paths`, or len(paths) if it is absent."""
    for a in range(len(paths)):
        differs = False
        for t in range(len(path)):
            differs |= paths[a, t] != path[t]
        if not differs:
            return a
    return len(paths)


@compiled
def take_pairwise_steps(paths, weights, values, gap, dual, K, nodes, change, steps):
    """Move dual weight from the worst to the best active labelling by exact line searches.

    `values` are the scores of the labellings with their loss, `gap` is the gap that Viterbi found,
    and `steps` the largest number of steps. `nodes` are the scores of labels in this chain, K is
    its Gram matrix, and `change` collects the change of A.
    """
    for step in range(steps):
        best, worst = np.argmax(values), -1
        for a in range(len(weights)):
            if weights[a] > 0.0 and (worst < 0 or values[a] < values[worst]):
                worst = a
        gain = values[best] - values[worst]
        if gain <= 0.0 or (step > 0 and dual.C * gain <= GAP_FRACTION * gap):
            return
        u, v = paths[best], paths[worst]
        moved, curvature = weights[worst], dual.C * sqdistance(u, v, K, dual.transitions)
        if curvature * moved > gain:
            moved = gain / curvature
        weights[best] += moved
        weights[worst] -= moved  # exactly zero where all of it was taken
        move_weight(u, v, dual.C * moved, K, dual.transitions, nodes, dual.edges, change)
        for a in range(len(weights)):
            values[a] = path_value(nodes, dual.edges, paths[a])


@compiled
def drop_unused_labellings(paths, weights, size):
    """Remove labellings without dual weight from the first `size`; return how many remain."""
    kept = 0
    for a in range(size):
        if weights[a] > 0.0:
            copy_labelling(paths[a], paths[kept])
            weights[kept] = weights[a]
            kept += 1
    return kept


@compiled
def apply_change(dual, first, change):
    """Add the change of the coefficients of the chain at position `first` to A; update W."""
    rows, A, W = dual.rows, dual.A, dual.W  # the inner loop takes longer with the fields of a tuple
    for c in range(change.shape[1]):
        for t in range(change.shape[0]):
            step = change[t, c]
            if step != 0.0:
                A[first + t, c] += step
                for j in range(rows.shape[1]):
                    W[c, j] += step * rows[first + t, j]


@compiled
def update_chain(dual, gold, first, paths, weights, size, small, steps):
    """Improve the dual variables of one chain; return its gap and number of active labellings.

    The gap is the chain's part of the duality gap. If it is at most `small`, nothing changes. It is
    `NO_ROOM` if `paths` is full. The chain begins at position `first` and has the true labels
    `gold`; `size` is its number of active labellings, and `steps` the number of pairwise steps.
    """
    last = first + len(gold)
    nodes = node_scores(dual, first, last)
    add_loss(nodes, gold)
    path = np.empty(len(gold), dtype=paths.dtype)
    best, mean = best_path(nodes, dual.edges, path), 0.0
    values = np.empty(size + 1)
    for a in range(size):
        values[a] = path_value(nodes, dual.edges, paths[a])
        mean += weights[a] * values[a]
    gap = dual.C * (best - mean)
    if gap <= small:
        return max(gap, 0.0), size
    new = index_of_labelling(path, paths[:size])
    if new == len(paths):
        return NO_ROOM, size
    if new == size:
        copy_labelling(path, paths[new])
        weights[new], values[new] = 0.0, best
        size += 1
    K, change = chain_gram(dual, first, last), np.zeros(nodes.shape)
    active = paths[:size], weights[:size], values[:size]
    take_pairwise_steps(*active, gap, dual, K, nodes, change, steps)
    apply_change(dual, first, change)
    return gap, drop_unused_labellings(paths, weights, size)


@compiled
def update_chains(order, dual, starts, gold, paths, weights, sizes, small, steps):
    """Improve the dual variables of chains in the given order; return how many were updated.

    It stops early when `paths` has no room for another labelling. The arguments are those of
    `update_chain`, for all chains: chain i has the positions starts[i]:starts[i + 1].
    """
    for done, i in enumerate(order):
        first, last = starts[i], starts[i + 1]
        active = paths[i, :, : last - first], weights[i], sizes[i]
        gap, sizes[i] = update_chain(dual, gold[first:last], first, *active, small, steps)
        if gap == NO_ROOM:
            return done
    return len(order)
