"""Scores of given outputs by the joint n-gram model, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from ..._loops import parallel
from ...kernels._window_loops import SEED, mixed
from ._key_loops import found
from .joint import BEGIN, CONTEXT, END, EVENT, ORDER

KEPT = 3
"""Hypotheses kept at a place of the output."""
UNSEEN = -20.0
"""The log-probability of an event, where an output cannot be cut into known chunks."""


@njit(cache=True)
def log_probability(keys, table, values, size, history, event):
    """Log p(event | history), the last event of the history last."""
    p = 1.0 / size
    key = mixed(SEED, CONTEXT)
    for length in range(ORDER):
        if length:
            key = mixed(key, history[ORDER - 1 - length])
        context = mixed(key, length)
        at = found(keys, table, context)
        if at < 0:
            break
        there = found(keys, table, mixed(mixed(context, EVENT), event))
        p = values[at] * p + (values[there] if there >= 0 else 0.0)
    return np.log(p)


@njit(cache=True)
def joint_score(symbols, y, first, width, lengths, chunks, keys, table, values, size):
    """The log-probability of the best cut of an output, KEPT histories at a place."""
    n, m = len(symbols), len(y)
    value = np.full((m + 1, KEPT), -np.inf)
    past = np.full((m + 1, KEPT, ORDER - 1), BEGIN)
    value[0, 0] = 0.0
    for i in range(n):
        s = symbols[i]
        after = np.full((m + 1, KEPT), -np.inf)
        then = np.full((m + 1, KEPT, ORDER - 1), BEGIN)
        for j in range(m + 1):
            if value[j, 0] == -np.inf:
                continue
            for c in range(first[s], first[s] + width[s]):
                to = j + lengths[c]
                same = to <= m
                for a in range(lengths[c] if same else 0):
                    same &= chunks[c, a] == y[j + a]
                if not same:
                    continue
                for k in range(KEPT):
                    if value[j, k] == -np.inf:
                        break
                    v = value[j, k] + log_probability(keys, table, values, size, past[j, k], c + 2)
                    if v <= after[to, KEPT - 1]:
                        continue
                    at = KEPT - 1
                    while at > 0 and after[to, at - 1] < v:
                        after[to, at] = after[to, at - 1]
                        then[to, at] = then[to, at - 1]
                        at -= 1
                    after[to, at] = v
                    then[to, at, : ORDER - 2] = past[j, k, 1:]
                    then[to, at, ORDER - 2] = c + 2
        value, past = after, then
    best = UNSEEN * (n + 1)
    for k in range(KEPT):
        if value[m, k] > -np.inf:
            last = log_probability(keys, table, values, size, past[m, k], END)
            best = max(best, value[m, k] + last)
    return best


@parallel
def joint_scores(
    flat, starts, first, width, lengths, chunks, keys, table, values, size, y, y_starts, owner, out
):
    """The log-probability of every given output with the input that owns it."""
    for p in prange(len(owner)):
        out[p] = joint_score(
            flat[starts[owner[p]] : starts[owner[p] + 1]], y[y_starts[p] : y_starts[p + 1]],
            first, width, lengths, chunks, keys, table, values, size,
        )  # fmt: skip
