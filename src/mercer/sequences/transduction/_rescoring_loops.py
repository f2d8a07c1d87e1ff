"""Compiled scores of given outputs, by the local map and by joint n-gram models."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..._base._window_loops import SEED, extend_hash
from ..._base.loops import compiled, inlined, parallel
from ._key_loops import find_key
from ._search_loops import position_scores
from .emission import COPY
from .joint import BEGIN_EVENT, CONTEXT_SEED, END_EVENT, EVENT, EVENT_ORDER
from .ngram import UNSEEN

HYPOTHESES = 3
"""The number of hypotheses of a joint model that are kept at each position of an output."""
JointCounts = namedtuple("JointCounts", "keys table values size number")
"""The arrays of a `JointNGram`."""


@compiled
def emits(positions, i, c, y, j):
    """Return whether output chunk c at input position i equals the symbols y[j], y[j + 1], …."""
    size = positions.chunks[c, 0]
    if j + size > len(y):
        return False
    for a in range(size):
        symbol = positions.chunks[c, a + 1]
        if symbol == COPY:
            symbol = positions.copied[i]
        if symbol < 0 or symbol != y[j + a]:
            return False
    return True


@parallel
def score_outputs(
    start, stop, positions, local, histories, tiers, n_symbols, margin, y, y_starts, owner, out
):
    """Write the score of the best segmentation of each given output into chunks into `out`.

    Output p is y[y_starts[p]:y_starts[p + 1]] and belongs to input owner[p]. Partial segmentations
    that score lower than the best one by more than `margin` are dropped. `histories` and `tiers`
    are those of `Contexts.output_histories` for the outputs.
    """
    longest = positions.chunks.shape[1] - 1
    for p in range(start, stop):
        output, shift = y[y_starts[p] : y_starts[p + 1]], y_starts[p] + p
        begin, end, m = positions.starts[owner[p]], positions.starts[owner[p] + 1], len(output)
        value = np.full(m + 1, -np.inf)
        value[0] = 0.0
        for i in range(begin, end):
            least = -np.inf
            for j in range(m + 1):
                least = max(least, value[j] - margin)
            after = np.full(m + 1, -np.inf)
            first, width = (
                positions.spans[positions.symbols[i], 0],
                positions.spans[positions.symbols[i], 1],
            )
            scores = np.empty(width)
            for j in range(m + 1):
                if value[j] == -np.inf or value[j] < least or m - j > (end - i) * longest:
                    continue
                at = shift + j
                position_scores(local, i, histories[at], tiers[at], n_symbols, scores)
                for size in range(min(longest, m - j) + 1):
                    after[j + size] = max(after[j + size], value[j] + UNSEEN)
                for c in range(width):
                    if emits(positions, i, first + c, output, j):
                        to = j + positions.chunks[first + c, 0]
                        after[to] = max(after[to], value[j] + scores[c])
            value = after
        out[p] = value[m]


@compiled
def joint_log_probability(model, history, event):
    """Return log p(event | history) under a joint n-gram model.

    The events of `history` are in order, the oldest first.
    """
    p = 1.0 / model.size
    key = extend_hash(SEED, CONTEXT_SEED)
    for length in range(EVENT_ORDER):
        if length:
            key = extend_hash(key, history[EVENT_ORDER - 1 - length])
        context = extend_hash(key, length)
        at = find_key(model.keys, model.table, context)
        if at < 0:
            break
        there = find_key(model.keys, model.table, extend_hash(extend_hash(context, EVENT), event))
        p = model.values[at] * p + (model.values[there] if there >= 0 else 0.0)
    return np.log(p)


@inlined
def insert_hypothesis(v, event, past, values, pasts):
    """Insert a hypothesis of score v into the best ones, if it is among them.

    `values` and `pasts` are the scores and the last events of the best hypotheses, best first. The
    last events of the new one are `past` followed by `event`.
    """
    if v > values[HYPOTHESES - 1]:
        at = HYPOTHESES - 1
        while at > 0 and values[at - 1] < v:
            values[at] = values[at - 1]
            for h in range(EVENT_ORDER - 1):
                pasts[at, h] = pasts[at - 1, h]
            at -= 1
        values[at] = v
        for h in range(EVENT_ORDER - 2):
            pasts[at, h] = past[h + 1]
        pasts[at, EVENT_ORDER - 2] = event


@parallel
def joint_scores(start, stop, positions, model, y, y_starts, owner, out):
    """Write the joint log-probability of each output with its input, at the best segmentation.

    Output p is y[y_starts[p]:y_starts[p + 1]], and its input is number owner[p] of `positions`. The
    search is a beam search that keeps
    `HYPOTHESES` histories at each position of an output.
    """
    for p in range(start, stop):
        output = y[y_starts[p] : y_starts[p + 1]]
        begin, end, m = positions.starts[owner[p]], positions.starts[owner[p] + 1], len(output)
        value = np.full((m + 1, HYPOTHESES), -np.inf)
        past = np.full((m + 1, HYPOTHESES, EVENT_ORDER - 1), BEGIN_EVENT)
        value[0, 0] = 0.0
        for i in range(begin, end):
            first, width = (
                positions.spans[positions.symbols[i], 0],
                positions.spans[positions.symbols[i], 1],
            )
            after = np.full((m + 1, HYPOTHESES), -np.inf)
            then = np.full((m + 1, HYPOTHESES, EVENT_ORDER - 1), BEGIN_EVENT)
            for j in range(m + 1):
                if value[j, 0] == -np.inf:
                    continue
                for c in range(first, first + width):
                    if emits(positions, i, c, output, j):
                        to, event = j + positions.chunks[c, 0], np.int64(model.number[c] + 2)
                        for k in range(HYPOTHESES):
                            if value[j, k] > -np.inf:
                                v = value[j, k] + joint_log_probability(model, past[j, k], event)
                                insert_hypothesis(v, event, past[j, k], after[to], then[to])
            value, past = after, then
        best, event = UNSEEN * (end - begin + 1), np.int64(END_EVENT)
        for k in range(HYPOTHESES):
            if value[m, k] > -np.inf:
                best = max(best, value[m, k] + joint_log_probability(model, past[m, k], event))
        out[p] = best
