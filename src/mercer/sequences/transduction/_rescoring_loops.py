"""Scores of given outputs, compiled."""

from __future__ import annotations

import numpy as np

from ..._base.loops import compiled, parallel
from ._search_loops import position_scores
from .emission import COPY
from .ngram import UNSEEN


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
    """Write the score of the best segmentation of each given output; owner[i] is its input.

    Partial cuts that are more than `margin` behind the best at their position are dropped.
    `histories` and `tiers` belong to each place of the outputs, as `output_histories` gives them.
    """
    longest = places.chunks.shape[1] - 1
    for p in range(start, stop):
        own, shift = y[y_starts[p] : y_starts[p + 1]], y_starts[p] + p
        begin, end, m = places.starts[owner[p]], places.starts[owner[p] + 1], len(own)
        now = np.full(m + 1, -np.inf)
        now[0] = 0.0
        for i in range(begin, end):
            least = -np.inf
            for j in range(m + 1):
                least = max(least, now[j] - margin)
            after = np.full(m + 1, -np.inf)
            first, width = places.spans[places.symbols[i], 0], places.spans[places.symbols[i], 1]
            scores = np.empty(width)
            for j in range(m + 1):
                if now[j] == -np.inf or now[j] < least or m - j > (end - i) * longest:
                    continue
                at = shift + j
                position_scores(local, i, histories[at], tiers[at], n_symbols, scores)
                for size in range(min(longest, m - j) + 1):
                    after[j + size] = max(after[j + size], now[j] + UNSEEN)
                for c in range(width):
                    if emits(places, i, first + c, own, j):
                        to = j + places.chunks[first + c, 0]
                        after[to] = max(after[to], now[j] + scores[c])
            now = after
        out[p] = now[m]
