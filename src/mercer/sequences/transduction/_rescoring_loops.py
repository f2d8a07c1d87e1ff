"""Scores of given outputs, compiled."""

from __future__ import annotations

import numpy as np

from ..._loops import compiled, inlined, parallel
from ._search_loops import position_scores

UNSEEN = -20.0
"""The log-probability of a chunk that its symbol was never seen to emit."""


@compiled
def puts_out(local, c, y, j):
    """Whether chunk c is what y has from place j on."""
    size = local.lengths[c]
    same = j + size <= len(y)
    for a in range(size if same else 0):
        same &= local.chunks[c, a] == y[j + a]
    return same


@compiled
def emission(local, first, y, j, scores, by_length):
    """Write the score of the chunk of each length that would put out y from place j on."""
    by_length[:] = UNSEEN
    for c in range(len(scores)):
        if puts_out(local, first + c, y, j):
            size = local.lengths[first + c]
            by_length[size] = max(by_length[size], scores[c])


@compiled
def language_score(y, language):
    """Log-probability of an output by the n-gram model."""
    state, total = language.start, 0.0
    for symbol in y:
        if symbol < 0:
            total += UNSEEN
        else:
            total += language.logp[state, symbol]
            state = language.nexts[state, symbol]
    return total + language.logp[state, -1]


@compiled
def language_scores(y, starts, language):
    """Log-probabilities of all outputs by the n-gram model."""
    scores = np.empty(len(starts) - 1)
    for p in range(len(scores)):
        scores[p] = language_score(y[starts[p] : starts[p + 1]], language)
    return scores


@inlined
def score(local, places, language, histories, tiers, temperature, y):
    """The score of one output of one input: that of its best cut into chunks.

    `histories` and `tiers` are of each place of the output, as `output_histories` gives them.
    """
    n, m, longest = len(places), len(y), local.chunks.shape[1]
    n_symbols = language.logp.shape[1] - 1
    now, by_length = np.full(m + 1, -np.inf), np.empty(longest + 1)
    now[0] = 0.0
    for i in range(n):
        after = np.full(m + 1, -np.inf)
        for j in range(m + 1):
            if now[j] == -np.inf or m - j > (n - i) * longest:
                continue
            scores = position_scores(
                local, places[i], histories[j], tiers[j], n_symbols, temperature
            )
            emission(local, local.first[local.symbols[places[i]]], y, j, scores, by_length)
            for size in range(min(longest, m - j) + 1):
                after[j + size] = max(after[j + size], now[j] + by_length[size])
        now = after
    return now[m] + language.weight * language_score(y, language) + language.closing[tiers[m] % 3]


@parallel
def score_all(start, stop, local, language, histories, tiers, temperature, y, y_starts, owner, out):
    """The score of every given output for the input that owns it."""
    for p in range(start, stop):
        places = np.arange(local.starts[owner[p]], local.starts[owner[p] + 1])
        own, here = (
            y[y_starts[p] : y_starts[p + 1]],
            slice(y_starts[p] + p, y_starts[p + 1] + p + 1),
        )
        out[p] = score(local, places, language, histories[here], tiers[here], temperature, own)
