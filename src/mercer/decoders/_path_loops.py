"""Compiled searches for the best sequence; imported when one is first decoded."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from .._base.loops import compiled, parallel

Paths = namedtuple("Paths", "starts target chain roots length_weights kappa bonus")
"""The arrays of a `PathGraph`, and the parameters of the score.

These are the weight of n-grams by length, the similarity `kappa` of two positions by distance, and
the bonus of a symbol.
"""


@parallel
def viterbi(start, stop, scores, table, required, codes, ends):
    """Write the best sequence of points start, …, stop - 1 into `codes`, lengths into `ends`.

    scores[t, p, c] is the score of symbol c at position p of point t, and table[context, c] that of
    c after a context; c = |alphabet| stands for the end. A context is a number in base
    |alphabet| + 1 whose digits are the symbols before; at first each is |alphabet|. required[t] is
    the length of sequence t, -1 if it is free.
    """
    _, n_positions, size = scores.shape
    states = table.shape[0]
    for t in range(start, stop):
        value = np.full(states, -np.inf)
        value[states - 1] = 0.0
        before = np.zeros((n_positions, states), dtype=np.int64)
        symbol = np.zeros((n_positions, states), dtype=np.int64)
        best = -np.inf
        state = states - 1
        end = 0
        if required[t] <= 0:
            best = table[states - 1, size]
        longest = n_positions if required[t] < 0 else required[t]
        for p in range(longest):
            after = np.full(states, -np.inf)
            for a in range(states):
                if value[a] == -np.inf:
                    continue
                for c in range(size):
                    b = (a * (size + 1) + c) % states
                    new = value[a] + scores[t, p, c] + table[a, c]
                    if new > after[b]:
                        after[b] = new
                        before[p, b] = a
                        symbol[p, b] = c
            value = after
            if required[t] < 0 or p == longest - 1:
                for a in range(states):
                    if value[a] + table[a, size] > best:
                        best = value[a] + table[a, size]
                        state = a
                        end = p + 1
        ends[t] = end
        for p in range(end - 1, -1, -1):
            codes[t, p] = symbol[p, state]
            state = before[p, state]


@compiled
def _add_windows(cells, width, value, shift, out):
    """Add value · (cells[i] + … + cells[i + width - 1]) to out[i + shift], for every i."""
    total = 0.0
    for c in range(width):
        total += cells[c]
    for i in range(len(out) - shift):
        out[i + shift] += value * total
        total -= cells[i] if i < len(cells) else 0.0
        total += cells[i + width] if i + width < len(cells) else 0.0


@parallel
def edge_scores(
    start, stop, T, known, level, suffix, length_weights, offsets, width, cells, fronts, backs
):
    """Write the score of the n-grams that end with each edge into `fronts` and `backs`.

    fronts[t, e, i] has the part for point t that depends on the position i of the symbol of edge e,
    and backs[t, e, b] the part that depends on the number b of symbols after it. With width 0
    positions do not count. The n-grams that end with an edge are its own one and those of the edge
    suffix[e], which comes before e. `known`, `level` and `suffix` are those of the `PathGraph`, T
    has the features of the points, n-grams of level m have the weight length_weights[m] and numbers
    from offsets[m] on, and `cells` is the number of positions.
    """
    longest = fronts.shape[2]
    for t in range(start, stop):
        for e in range(len(known)):
            front, back, m = fronts[t, e], backs[t, e], level[e]
            for i in range(longest):
                front[i] = -length_weights[m] + (fronts[t, suffix[e], i] if m > 0 else 0.0)
                back[i] = backs[t, suffix[e], i] if m > 0 else 0.0
            if known[e] < 0 or length_weights[m] == 0.0:
                continue
            gram = offsets[m] + known[e]
            if width == 0:
                for i in range(longest):
                    front[i] += 2.0 * np.sqrt(length_weights[m]) * T[t, gram]
                continue
            value = 2.0 * np.sqrt(length_weights[m] / (2.0 * width))
            own = T[t, 2 * cells * gram : 2 * cells * (gram + 1)]
            _add_windows(own[:cells], width, value, m, front)
            _add_windows(own[cells:], width, value, 0, back)


@compiled
def _bound_remaining_score(front, back, graph, length, ahead):
    """Write upper bounds of the score from position i to the end into `ahead[i, state]`.

    The symbols follow `state`. The bounds ignore the penalty of repeated n-grams. `front` and
    `back` are the `edge_scores` of one point, and `graph` is a `Paths`.
    """
    n, roots = len(graph.roots), graph.roots
    for state in range(ahead.shape[1]):
        ahead[length, state] = 0.0
    for i in range(length - 1, -1, -1):
        level = min(i, n - 1)
        for state in range(roots[level], roots[level + 1] if level + 1 < n else ahead.shape[1]):
            best = -np.inf
            for e in range(graph.starts[state], graph.starts[state + 1]):
                gain = front[e, i] + back[e, length - 1 - i] + ahead[i + 1, graph.target[e]]
                if gain > best:
                    best = gain
            ahead[i, state] = best + graph.bonus


@compiled
def _repeat_penalty(edges, i, e, graph):
    """Return the penalty of edge e at position i for n-grams that earlier edges have too.

    `edges` are the edges of the path before position i, and `graph` is a `Paths`.
    """
    penalty, chain = 0.0, graph.chain
    for m in range(chain.shape[1]):
        gram = chain[e, m]
        if gram < 0 or graph.length_weights[m] == 0.0:
            continue
        for j in range(i):
            if chain[edges[j], m] == gram:
                penalty += 2.0 * graph.length_weights[m] * graph.kappa[i - j]
    return penalty


@compiled
def _best_path(front, back, graph, length, ahead, best, budget, edges, found):
    """Write the best path of the given length into `found`, by depth-first branch and bound.

    Only paths of a value above `best` count. Returns the best value, whether it is above `best`,
    and the number of nodes visited, at most `budget` + 1. `front` and `back` are the `edge_scores`
    of one point, `ahead` has the bounds of the remaining score, and `edges` is a buffer.
    """
    starts, target = graph.starts, graph.target
    position = np.zeros(length + 1, dtype=np.int64)
    state = np.zeros(length + 1, dtype=np.int64)
    value = np.zeros(length + 1)
    widest = 0
    for a in range(len(starts) - 1):
        widest = max(widest, starts[a + 1] - starts[a])
    order = np.zeros((length + 1, widest), dtype=np.int64)
    gains = np.zeros((length + 1, widest))
    width = np.zeros(length + 1, dtype=np.int64)
    i, nodes, improved, fresh = 0, 0, False, True
    while i >= 0:
        if fresh:
            nodes += 1
            if nodes > budget:
                return best, improved, nodes
            if i == length:
                if value[i] > best:
                    best, improved = value[i], True
                    found[:length] = edges[:length]
                i, fresh = i - 1, False
                continue
            count = 0
            for e in range(starts[state[i]], starts[state[i] + 1]):
                gain = front[e, i] + back[e, length - 1 - i] + graph.bonus
                if value[i] + gain + ahead[i + 1, target[e]] <= best:
                    continue
                gain -= _repeat_penalty(edges, i, e, graph)
                bound = value[i] + gain + ahead[i + 1, target[e]]
                if bound > best:
                    gains[i, count], order[i, count] = bound, e
                    count += 1
            ranked = np.argsort(-gains[i, :count])
            order[i, :count] = order[i, :count][ranked]
            gains[i, :count] = gains[i, :count][ranked]
            width[i], position[i] = count, 0
        if position[i] >= width[i] or gains[i, position[i]] <= best:
            i, fresh = i - 1, False
            continue
        e, bound = order[i, position[i]], gains[i, position[i]]
        position[i] += 1
        edges[i], state[i + 1] = e, target[e]
        value[i + 1] = bound - ahead[i + 1, target[e]]
        i, fresh = i + 1, True
    return best, improved, nodes


@parallel
def best_paths(start, stop, fronts, backs, graph, shortest, budget, paths, ends, values, proved):
    """Write the best path of each predicted point, over all lengths, into `paths` and `ends`.

    `ends` gets the length of the path; `values` and `proved` get the score of the path, and whether
    it is proved to be the best. Points are start, …, stop - 1. `fronts` and `backs` are those of
    `edge_scores`, `shortest` is the smallest length, and `budget` the largest number of prefixes.
    """
    longest = fronts.shape[2]
    states = len(graph.starts) - 1
    for t in range(start, stop):
        front, back = fronts[t], backs[t]
        ahead = np.full((longest + 1, longest + 1, states), -np.inf)
        bounds = np.full(longest + 1, -np.inf)
        for length in range(max(shortest, 1), longest + 1):
            _bound_remaining_score(front, back, graph, length, ahead[length])
            bounds[length] = ahead[length, 0, 0]
        best = 0.0 if shortest == 0 else -np.inf
        edges = np.zeros(longest + 1, dtype=np.int64)
        found = np.zeros(longest + 1, dtype=np.int64)
        left = budget
        complete = True
        for length in np.argsort(-bounds):
            if length < 1 or bounds[length] <= best:
                continue
            value, improved, nodes = _best_path(
                front, back, graph, length, ahead[length], best, max(left, length + 1), edges, found
            )
            if nodes > max(left, length + 1):
                complete = False
            left -= nodes
            if improved:
                best = value
                ends[t] = length
                paths[t, :length] = found[:length]
        values[t] = best
        proved[t] = complete
