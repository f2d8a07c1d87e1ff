"""Compiled loops of the n-gram model of outputs."""

from __future__ import annotations

import numpy as np

from ..._base.loops import compiled
from .ngram import UNSEEN


@compiled
def ngram_step(logp, nexts, state, symbol):
    """Return the log-probability of a symbol in a state of an n-gram model, and the next state.

    `logp` and `nexts` are tables of log-probabilities and next states, (states, symbols). A symbol
    beyond the alphabet, which is copied from an input, has the uniform probability and is followed
    by the empty context. A negative one has the log-probability `UNSEEN`.
    """
    end = logp.shape[1] - 1
    if symbol < 0:
        return UNSEEN, state
    if symbol >= end:
        return -np.log(end + 1.0), 0
    return logp[state, symbol], np.int64(nexts[state, symbol])


@compiled
def log_probabilities(logp, nexts, start, flat, starts, total):
    """Write the n-gram log-probability of each sequence, with that of its end, into `total`.

    Sequence p is flat[starts[p]:starts[p + 1]], and `start` is the state before it. `logp` and
    `nexts` are the tables of `ngram_step`.
    """
    for p in range(len(starts) - 1):
        state, total[p] = np.int64(start), 0.0
        for i in range(starts[p], starts[p + 1]):
            logp_symbol, state = ngram_step(logp, nexts, state, flat[i])
            total[p] += logp_symbol
        total[p] += logp[state, logp.shape[1] - 1]
