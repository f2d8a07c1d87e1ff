"""Compiled loops over the labellings of chains: their scores, and the best labelling.

A chain has scores nodes[t, c] of label c at position t and edges[b, c] of label c after label b.
"""

from __future__ import annotations

import numpy as np

from mercer._base.loops import compiled


@compiled
def best_path(nodes, edges, path):
    """Write the best labelling of a chain into `path`, and return its score (Viterbi).

    `nodes` (positions, labels) are scores of labels, `edges` (labels, labels) of label bigrams.
    """
    length, size = nodes.shape
    if length == 0:
        return 0.0
    value, before = nodes[0].copy(), np.zeros((length, size), dtype=np.int64)
    for t in range(1, length):
        reached = np.full(size, -np.inf)
        for b in range(size):
            for c in range(size):
                if value[b] + edges[b, c] > reached[c]:
                    reached[c] = value[b] + edges[b, c]
                    before[t, c] = b
        value = reached + nodes[t]
    best = np.argmax(value)
    path[length - 1] = best
    for t in range(length - 1, 0, -1):
        path[t - 1] = before[t, path[t]]
    return value[best]


@compiled
def path_value(nodes, edges, path):
    """Return the score of a labelling `path`: the sum of its node and edge scores."""
    total = 0.0
    for t in range(len(nodes)):
        total += nodes[t, path[t]]
        if t > 0:
            total += edges[path[t - 1], path[t]]
    return total


@compiled
def add_loss(nodes, gold):
    """Add one to the node score of each label but the true one at each position, in place.

    `gold` has the true labels.
    """
    for t in range(len(gold)):
        for c in range(nodes.shape[1]):
            if c != gold[t]:
                nodes[t, c] += 1.0


@compiled
def best_paths(nodes, edges, starts, paths):
    """Write the best labelling of each chain into `paths`; chain i is starts[i]:starts[i + 1].

    `nodes` and `edges` are the scores of `best_path`, for all chains end to end.
    """
    for i in range(len(starts) - 1):
        here = slice(starts[i], starts[i + 1])
        best_path(nodes[here], edges, paths[here])


@compiled
def total_hinge(nodes, edges, starts, gold):
    """Return the sum over chains of the hinge loss max_y Δ(y_i, y) + score(y) - score(y_i).

    y_i is the true labelling of chain i, in `gold`, and Δ the Hamming loss. The other arguments
    are those of `best_paths`.
    """
    total = 0.0
    path = np.empty(len(gold), dtype=gold.dtype)
    for i in range(len(starts) - 1):
        here = slice(starts[i], starts[i + 1])
        scores = nodes[here].copy()
        total -= path_value(scores, edges, gold[here])
        add_loss(scores, gold[here])
        total += best_path(scores, edges, path)
    return total
