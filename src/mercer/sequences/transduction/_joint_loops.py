"""Scores of given outputs by the joint n-gram model, compiled."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..._loops import compiled, inlined, parallel
from ...kernels._window_loops import SEED, mixed
from ._key_loops import found
from ._rescoring_loops import UNSEEN, puts_out
from .joint import BEGIN, CONTEXT, END, EVENT, ORDER

KEPT = 3
"""Hypotheses kept at a place of the output."""
Counts = namedtuple("Counts", "keys table values size number")
"""The joint model, as in `JointNGram`."""


@compiled
def log_probability(model, history, event):
    """Log p(event | history), the last event of the history last."""
    p = 1.0 / model.size
    key = mixed(SEED, CONTEXT)
    for length in range(ORDER):
        if length:
            key = mixed(key, history[ORDER - 1 - length])
        context = mixed(key, length)
        at = found(model.keys, model.table, context)
        if at < 0:
            break
        there = found(model.keys, model.table, mixed(mixed(context, EVENT), event))
        p = model.values[at] * p + (model.values[there] if there >= 0 else 0.0)
    return np.log(p)


@inlined
def joint_score(local, places, model, y):
    """The log-probability of the best cut of an output, KEPT histories at a place."""
    n, m = len(places), len(y)
    value = np.full((m + 1, KEPT), -np.inf)
    past = np.full((m + 1, KEPT, ORDER - 1), BEGIN)
    value[0, 0] = 0.0
    for i in places:
        s = local.symbols[i]
        after = np.full((m + 1, KEPT), -np.inf)
        then = np.full((m + 1, KEPT, ORDER - 1), BEGIN)
        for j in range(m + 1):
            if value[j, 0] == -np.inf:
                continue
            for c in range(local.first[s], local.first[s] + local.width[s]):
                if not puts_out(local, c, y, j):
                    continue
                to, event = j + local.lengths[c], model.number[c] + 2
                for k in range(KEPT):
                    if value[j, k] == -np.inf:
                        break
                    v = value[j, k] + log_probability(model, past[j, k], event)
                    if v <= after[to, KEPT - 1]:
                        continue
                    at = KEPT - 1
                    while at > 0 and after[to, at - 1] < v:
                        after[to, at] = after[to, at - 1]
                        then[to, at] = then[to, at - 1]
                        at -= 1
                    after[to, at] = v
                    then[to, at, : ORDER - 2] = past[j, k, 1:]
                    then[to, at, ORDER - 2] = event
        value, past = after, then
    best = UNSEEN * (n + 1)
    for k in range(KEPT):
        if value[m, k] > -np.inf:
            best = max(best, value[m, k] + log_probability(model, past[m, k], END))
    return best


@parallel
def joint_scores(start, stop, local, model, y, y_starts, owner, out):
    """The log-probability of every given output with the input that owns it."""
    for p in range(start, stop):
        places = np.arange(local.starts[owner[p]], local.starts[owner[p] + 1])
        out[p] = joint_score(local, places, model, y[y_starts[p] : y_starts[p + 1]])
