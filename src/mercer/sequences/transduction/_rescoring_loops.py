"""Compiled scores of given outputs, by the local map and by joint n-gram models."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..._base.loops import compiled, inlined, parallel
from ...kernels._window_loops import SEED, mixed
from ._key_loops import find_key
from ._search_loops import position_scores
from .emission import COPY
from .joint import BEGIN, CONTEXT, END, EVENT, ORDER
from .ngram import UNSEEN

KEPT = 3
"""The number of hypotheses of a joint model that are kept at each position of an output."""
JointCounts = namedtuple("JointCounts", "keys table values size number")
"""The arrays of a `JointNGram`."""


@compiled
def emits(places, i, c, y, j):
    """Return whether chunk c at input position i equals the symbols of y from index j on."""
    size = places.chunks[c, 0]
    if j + size > len(y):
        return False
    for a in range(size):
        symbol = places.chunks[c, a + 1]
        if symbol == COPY:
            symbol = places.copied[i]
        if symbol < 0 or symbol != y[j + a]:
            return False
    return True


@parallel
def score_all(
    start, stop, places, local, histories, tiers, n_symbols, margin, y, y_starts, owner, out
):
    """Write the score of the best segmentation of each given output; owner[p] is its input.

    Partial segmentations that score lower than the best one by more than `margin` are dropped.
    `histories` and `tiers` are those of `Contexts.output_histories` for the outputs.
    """
    longest = places.chunks.shape[1] - 1
    for p in range(start, stop):
        output, shift = y[y_starts[p] : y_starts[p + 1]], y_starts[p] + p
        begin, end, m = places.starts[owner[p]], places.starts[owner[p] + 1], len(output)
        value = np.full(m + 1, -np.inf)
        value[0] = 0.0
        for i in range(begin, end):
            least = -np.inf
            for j in range(m + 1):
                least = max(least, value[j] - margin)
            after = np.full(m + 1, -np.inf)
            first, width = places.spans[places.symbols[i], 0], places.spans[places.symbols[i], 1]
            scores = np.empty(width)
            for j in range(m + 1):
                if value[j] == -np.inf or value[j] < least or m - j > (end - i) * longest:
                    continue
                at = shift + j
                position_scores(local, i, histories[at], tiers[at], n_symbols, scores)
                for size in range(min(longest, m - j) + 1):
                    after[j + size] = max(after[j + size], value[j] + UNSEEN)
                for c in range(width):
                    if emits(places, i, first + c, output, j):
                        to = j + places.chunks[first + c, 0]
                        after[to] = max(after[to], value[j] + scores[c])
            value = after
        out[p] = value[m]


@compiled
def log_probability(model, history, event):
    """Return log p(event | history) under a joint n-gram model; `history` is oldest first."""
    p = 1.0 / model.size
    key = mixed(SEED, CONTEXT)
    for length in range(ORDER):
        if length:
            key = mixed(key, history[ORDER - 1 - length])
        context = mixed(key, length)
        at = find_key(model.keys, model.table, context)
        if at < 0:
            break
        there = find_key(model.keys, model.table, mixed(mixed(context, EVENT), event))
        p = model.values[at] * p + (model.values[there] if there >= 0 else 0.0)
    return np.log(p)


@inlined
def insert_hypothesis(v, event, past, values, pasts):
    """Insert a hypothesis with score v into `values` and `pasts`, sorted by descending score.

    Its history is `past` followed by `event`.
    """
    if v > values[KEPT - 1]:
        at = KEPT - 1
        while at > 0 and values[at - 1] < v:
            values[at] = values[at - 1]
            for h in range(ORDER - 1):
                pasts[at, h] = pasts[at - 1, h]
            at -= 1
        values[at] = v
        for h in range(ORDER - 2):
            pasts[at, h] = past[h + 1]
        pasts[at, ORDER - 2] = event


@parallel
def joint_scores(start, stop, places, model, y, y_starts, owner, out):
    """Write the joint log-probability of the best segmentation of each output with its input.

    Output p is scored with input owner[p] of `places`. The search is a beam search that keeps
    `KEPT` histories at each position of an output.
    """
    for p in range(start, stop):
        output = y[y_starts[p] : y_starts[p + 1]]
        begin, end, m = places.starts[owner[p]], places.starts[owner[p] + 1], len(output)
        value = np.full((m + 1, KEPT), -np.inf)
        past = np.full((m + 1, KEPT, ORDER - 1), BEGIN)
        value[0, 0] = 0.0
        for i in range(begin, end):
            first, width = places.spans[places.symbols[i], 0], places.spans[places.symbols[i], 1]
            after = np.full((m + 1, KEPT), -np.inf)
            then = np.full((m + 1, KEPT, ORDER - 1), BEGIN)
            for j in range(m + 1):
                if value[j, 0] == -np.inf:
                    continue
                for c in range(first, first + width):
                    if emits(places, i, c, output, j):
                        to, event = j + places.chunks[c, 0], np.int64(model.number[c] + 2)
                        for k in range(KEPT):
                            if value[j, k] > -np.inf:
                                v = value[j, k] + log_probability(model, past[j, k], event)
                                insert_hypothesis(v, event, past[j, k], after[to], then[to])
            value, past = after, then
        best, event = UNSEEN * (end - begin + 1), np.int64(END)
        for k in range(KEPT):
            if value[m, k] > -np.inf:
                best = max(best, value[m, k] + log_probability(model, past[m, k], event))
        out[p] = best
