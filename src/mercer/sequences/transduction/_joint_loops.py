"""Scores of given outputs by the joint n-gram model, compiled."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..._base.loops import compiled, inlined, parallel
from ...kernels._window_loops import SEED, mixed
from ._key_loops import find_key
from ._rescoring_loops import emits
from .joint import BEGIN, CONTEXT, END, EVENT, ORDER
from .ngram import UNSEEN

KEPT = 3
"""Hypotheses kept at a place of the output."""
Counts = namedtuple("Counts", "keys table values size number")
"""The joint model, as in `JointNGram`."""


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
    """Insert a hypothesis with score v into lists that are sorted by descending score."""
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
    """Write the log-probability of the best segmentation of each output, by beam search.

    `KEPT` histories are kept at each position of an output. `places` are the positions of the
    inputs; output p is scored with input owner[p].
    """
    for p in range(start, stop):
        own = y[y_starts[p] : y_starts[p + 1]]
        begin, end, m = places.starts[owner[p]], places.starts[owner[p] + 1], len(own)
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
                    if emits(places, i, c, own, j):
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
