"""Compiled local scores, and the search for the best outputs.

Loops are written out instead of numpy functions, because most of those take longer to compile.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..._base._window_loops import SEED, extend_hash
from ..._base.loops import compiled, inlined, parallel
from ._feature_loops import history_key, next_tier_state
from ._key_loops import find_key, find_slot
from ._ngram_loops import ngram_step
from .emission import COPY

InputPositions = namedtuple("InputPositions", "starts symbols copied spans chunks")
"""The positions of inputs, and the output chunks that their symbols may emit.

Input p has the positions starts[p]:starts[p + 1]. `symbols` are the input symbols, and `copied`
the equal output symbols. `spans` and `chunks` are `Emissions.layout`.
"""
LocalScores = namedtuple(
    "LocalScores",
    "features values base base_starts pairs pair_weights keys table offset coef",
)
"""The features of positions with their scores, their pairs with histories, and the local map.

Scores and weights of pairs are divided by the temperature.
"""
Language = namedtuple("Language", "logp nexts start histories tier weight trie")
"""The n-gram model of outputs with its weight and histories, the output tier, a prefix tree."""


@inlined
def add_coefficients(key, weight, keys, table, offset, coef, scores):
    """Add `weight` times the coefficients of the feature `key` to the scores of output chunks.

    `keys`, `table`, `offset` and `coef` are those of `Emissions`.
    """
    row = find_key(keys, table, key)
    if row >= 0:
        for c in range(min(len(scores), len(coef) - offset[row])):
            scores[c] += weight * coef[offset[row] + c]


@parallel
def local_scores(start, stop, weights, values, keys, table, offset, coef, starts, scores, features):
    """Add the scores of output chunks at the positions start, …, stop - 1 to `scores`.

    A chunk is the output that one input symbol emits. Those of position n have
    scores[starts[n]:starts[n + 1]]. Feature f of position n has the key features[n, f] and the
    value weights[f] · values[n, f]. The other arguments are those of `add_coefficients`.
    """
    for n in range(start, stop):
        of_chunks, of_features = scores[starts[n] : starts[n + 1]], values[n % len(values)]
        for f in range(len(weights)):
            if features[n, f] != 0:
                weight = weights[f] * of_features[f]
                add_coefficients(features[n, f], weight, keys, table, offset, coef, of_chunks)


@compiled
def position_scores(local, i, histories, tier, n_symbols, scores):
    """Write the log-probabilities of the output chunks at position i into `scores`.

    They depend on the output so far: `histories` are the keys of its last symbols, and `tier` is
    its tier state (the last vowels). `local` is a `LocalScores`.
    """
    begin, size = local.base_starts[i], len(scores)
    for c in range(size):
        scores[c] = local.base[begin + c]
    values = local.values[i % len(local.values)]
    for f in range(len(local.pairs)):
        h, kind = local.pairs[f, 0], local.pairs[f, 1]
        key = history_key(h, local.features[i, kind], histories, tier, n_symbols)
        if key != 0:
            weight = local.pair_weights[f] * values[kind]
            add_coefficients(key, weight, local.keys, local.table, local.offset, local.coef, scores)
    top, total = -np.inf, 0.0
    for c in range(size):
        top = max(top, scores[c])
    for c in range(size):
        total += np.exp(scores[c] - top)
    for c in range(size):
        scores[c] -= top + np.log(total)


@compiled
def advance_hypothesis(positions, i, c, at, key, language):
    """Return the state and the gain in language score of a hypothesis after one more chunk.

    Position i of the input emits chunk c. `at` holds the state of the n-gram model, the state of
    the tier and the node of the prefix tree before the chunk, and `key` the hash of the output.
    The results are these four after the chunk (node -1 if the output is not possible), and the
    log-probability of the chunk in the n-gram model.
    """
    state, tier, node, total = at[0], at[1], at[2], 0.0
    known = language.logp.shape[1] - 1
    for a in range(1, positions.chunks[c, 0] + 1):
        symbol = positions.chunks[c, a]
        if symbol == COPY:
            symbol = positions.copied[i]
        key = extend_hash(key, symbol + 2)
        gain, state = ngram_step(language.logp, language.nexts, state, symbol)
        total += gain
        inside = 0 <= symbol < known
        if inside and len(language.tier):
            tier = next_tier_state(tier, symbol, language.tier)
        if symbol < 0:
            node = -1
        elif len(language.trie) and node >= 0:
            node = np.int64(language.trie[node, symbol]) if inside else -1
    return state, tier, node, key, total


@compiled
def argsort_descending(values):
    """Return the indices that sort values in descending order, by a stable merge sort."""
    n, width = len(values), 1
    order, other = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        order[i] = i
    while width < n:
        for low in range(0, n, 2 * width):
            a, b = low, min(low + width, n)
            middle, high = b, min(low + 2 * width, n)
            for to in range(low, high):
                if a < middle and (b >= high or values[order[a]] >= values[order[b]]):
                    other[to] = order[a]
                    a += 1
                else:
                    other[to] = order[b]
                    b += 1
        order, other = other, order
        width *= 2
    return order


@compiled
def select_hypotheses(scores, merged, outputs, k, beam):
    """Return the indices of the best hypotheses: at most `k` per state, and `beam` in total.

    Hypothesis e has the score scores[e]. Hypotheses are in the same state if their keys in `merged`
    are equal. Of hypotheses with equal keys in `outputs`, only the best is returned.
    """
    n, size = 0, 2
    while size < 2 * len(scores):
        size *= 2
    groups, by_output = np.empty(size, np.int64), np.empty(size, np.int64)
    for at in range(size):
        groups[at], by_output[at] = -1, -1
    count, kept = np.empty(len(scores), np.int64), np.empty(min(beam, len(scores)), np.int64)
    for e in range(len(scores)):
        count[e] = 0
    for e in argsort_descending(scores):
        if scores[e] == -np.inf or n == len(kept):
            break
        at = find_slot(merged, groups, merged[e])
        if groups[at] < 0:
            groups[at] = e
        slot = find_slot(outputs, by_output, outputs[e])
        if count[groups[at]] < k and by_output[slot] < 0:
            by_output[slot] = e
            count[groups[at]] += 1
            kept[n] = e
            n += 1
    return kept[:n]


@compiled
def write_output(positions, begin, end, trace, stops, b, rank, out, sizes):
    """Write the output symbols of the final hypothesis b into row `rank` of `out`.

    trace[stops[i - 1] + b] has the hypothesis that precedes b after i input symbols, and the chunk
    that was added to it. sizes[rank] gets the number of output symbols. The input is begin:end of
    `positions`.
    """
    at, total = b, 0
    for i in range(end - begin, 0, -1):
        total += positions.chunks[trace[stops[i - 1] + at, 1], 0]
        at = trace[stops[i - 1] + at, 0]
    sizes[rank], at = total, b
    for i in range(end - begin, 0, -1):
        chunk = trace[stops[i - 1] + at, 1]
        total -= positions.chunks[chunk, 0]
        for a in range(positions.chunks[chunk, 0]):
            symbol = positions.chunks[chunk, a + 1]
            out[rank, total + a] = positions.copied[begin + i - 1] if symbol == COPY else symbol
        at = trace[stops[i - 1] + at, 0]


@inlined
def search(positions, local, begin, end, language, k, beam, out, sizes, best):
    """Write the `k` best outputs of one input, at positions begin:end, by beam search.

    A hypothesis is a partial output with the states of the n-gram model, the tier and the trie at
    its end. Further scores depend on these states only, so that the k best hypotheses of each
    combination of states suffice. Without a beam the search is exact. `local` is a `LocalScores`
    and `language` a `Language`. The symbols, lengths and scores of the outputs are written into
    `out`, `sizes` and `best`.
    """
    n_symbols = language.logp.shape[1] - 1
    ends, totals, outputs = np.empty((1, 3), np.int64), np.empty(1), np.empty(1, np.uint64)
    ends[0, 0], ends[0, 1], ends[0, 2] = language.start, 0, 0
    totals[0], outputs[0] = 0.0, SEED
    trace, stops = np.empty((1024, 2), np.int64), np.empty(end - begin + 1, np.int64)
    stops[0] = 1
    for i in range(begin, end):
        first, q = (
            positions.spans[positions.symbols[i], 0],
            positions.spans[positions.symbols[i], 1],
        )
        size = len(ends) * q
        new_ends, new_totals = np.empty((size, 3), np.int64), np.empty(size)
        new_outputs, merged = np.empty(size, np.uint64), np.empty(size, np.uint64)
        scores = np.empty((len(ends), q))
        for b in range(len(ends)):
            known = language.histories[ends[b, 0]]
            same = -1
            for a in range(b):
                if same < 0 and ends[a, 1] == ends[b, 1]:
                    same = a
                    for h in range(len(known)):
                        if language.histories[ends[a, 0], h] != known[h]:
                            same = -1
            if same < 0:
                position_scores(local, i, known, ends[b, 1], n_symbols, scores[b])
            else:
                for c in range(q):
                    scores[b, c] = scores[same, c]
            for c in range(q):
                e = b * q + c
                state, tier, node, key, gain = advance_hypothesis(
                    positions, i, first + c, ends[b], outputs[b], language
                )
                new_ends[e, 0], new_ends[e, 1], new_ends[e, 2] = state, tier, node
                merged[e] = extend_hash(extend_hash(extend_hash(SEED, state), tier), node + 2)
                new_outputs[e] = key
                gained = totals[b] + scores[b, c] + language.weight * gain
                new_totals[e] = gained if node >= 0 else -np.inf
        kept = select_hypotheses(new_totals, merged, new_outputs, k, beam)
        stop = stops[i - begin]
        stops[i - begin + 1] = stop + len(kept)
        if stop + len(kept) > len(trace):
            wider = np.empty((2 * (stop + len(kept)), 2), np.int64)
            for at in range(stop):
                wider[at, 0], wider[at, 1] = trace[at, 0], trace[at, 1]
            trace = wider
        ends, totals = np.empty((len(kept), 3), np.int64), np.empty(len(kept))
        outputs = np.empty(len(kept), np.uint64)
        for b in range(len(kept)):
            e = kept[b]
            ends[b, 0], ends[b, 1], ends[b, 2] = new_ends[e, 0], new_ends[e, 1], new_ends[e, 2]
            totals[b], outputs[b] = new_totals[e], new_outputs[e]
            trace[stop + b, 0], trace[stop + b, 1] = e // q, first + e % q
    for b in range(len(ends)):
        totals[b] += language.weight * language.logp[ends[b, 0], n_symbols]
        if len(language.trie) and language.trie[ends[b, 2], n_symbols] < 0:
            totals[b] = -np.inf
    order = argsort_descending(totals)
    for rank in range(min(k, len(order))):
        best[rank] = totals[order[rank]]
        write_output(positions, begin, end, trace, stops, order[rank], rank, out, sizes)


@parallel
def search_all(start, stop, positions, local, language, k, beam, out, sizes, best):
    """Write the `k` best outputs of inputs start, …, stop - 1, by beam search.

    Their symbols, lengths and scores are written into `out`, `sizes` and `best`. The other
    arguments are those of `search`.
    """
    for p in range(start, stop):
        search(
            positions, local, positions.starts[p], positions.starts[p + 1], language, k, beam,
            out[p], sizes[p], best[p],
        )  # fmt: skip
