"""Local scores and the search for the best outputs, compiled."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..._loops import compiled, inlined, parallel
from ...kernels._window_loops import SEED, mixed
from ._key_loops import found
from ._tier_loops import tier_after, tier_key

LocalScores = namedtuple(
    "LocalScores",
    "symbols starts features values base base_starts pairs pair_weights "
    "keys table offset coef first width prior lengths chunks",
)
"""The positions of inputs with their features, pairs of features and histories, the local map."""
Language = namedtuple("Language", "logp nexts start histories member once closing weight trie")
"""What outputs are like: n-gram model with its weight and histories, tier, and a trie or none."""


@compiled
def joint_key(window, history):
    """The key of a window together with a history."""
    return mixed(mixed(history, 1), window)


@compiled
def add_row(key, weight, keys, table, offset, coef, scores):
    """Add the coefficients of a feature, if it was learnt, to the scores of the chunks."""
    row = found(keys, table, key)
    if row >= 0:
        for c in range(min(len(scores), len(coef) - offset[row])):
            scores[c] += weight * coef[offset[row] + c]


@parallel
def local_scores(start, stop, weights, values, keys, table, offset, coef, starts, scores, features):
    """Add the scores of all chunks at every position; position n has starts[n]:starts[n + 1]."""
    for n in range(start, stop):
        mine, own = scores[starts[n] : starts[n + 1]], values[n % len(values)]
        for f in range(len(weights)):
            if features[n, f] != 0:
                add_row(features[n, f], weights[f] * own[f], keys, table, offset, coef, mine)


@compiled
def position_scores(local, i, histories, tier, n_symbols, temperature):
    """Log-probabilities of the chunks of position i after one history.

    `histories` are the keys of what was put out; numbers of histories beyond them are depths of
    `tier`, the state of the output's tier.
    """
    first = local.first[local.symbols[i]]
    scores = local.base[local.base_starts[i] : local.base_starts[i + 1]].copy()
    values = local.values[i % len(local.values)]
    for f in range(len(local.pairs)):
        h, kind = local.pairs[f]
        window = local.features[i, kind]
        if window == 0:
            continue
        if h <= len(histories):
            history = histories[h - 1]
        else:
            history = tier_key(tier, n_symbols, h - len(histories))
        if history != 0:
            weight = local.pair_weights[f] * values[kind]
            key = joint_key(window, history)
            add_row(key, weight, local.keys, local.table, local.offset, local.coef, scores)
    log_softmax(scores, temperature, local.prior[first : first + len(scores)])
    return scores


@compiled
def log_softmax(scores, temperature, prior):
    """Write log(exp(s / T + prior) / Σ) in place of the scores."""
    scores /= temperature
    scores += prior
    scores -= scores.max()
    scores -= np.log(np.exp(scores).sum())


@compiled
def gold_likelihood(scores, starts, gold, prior, prior_starts, symbols, temperature):
    """The mean log-probability of the true chunks, of those that their symbol is known to emit."""
    total, count = 0.0, 0
    for n in range(len(gold)):
        if gold[n] >= 0:
            s = scores[starts[n] : starts[n + 1]].copy()
            first = prior_starts[symbols[n]]
            log_softmax(s, temperature, prior[first : first + len(s)])
            total += s[gold[n]]
            count += 1
    return total / max(count, 1)


@compiled
def advance(symbols, at, key, language):
    """State, tier and node of the trie, key of the output and log-probability after a chunk."""
    state, tier, node, gain = at[0], at[1], at[2], 0.0
    for symbol in symbols:
        gain += language.logp[state, symbol]
        state = language.nexts[state, symbol]
        key = mixed(key, symbol + 2)
        if len(language.member):
            tier = tier_after(tier, symbol, language.member, language.once)
        if len(language.trie) and node >= 0:
            node = language.trie[node, symbol]
    return state, tier, node, key, gain


@compiled
def selected(scores, merged, outputs, k, beam):
    """The best candidates: of those that may be merged the `k` best different, `beam` in all."""
    order = np.argsort(-scores, kind="mergesort")
    kept, mine = np.zeros(len(scores), np.bool_), np.empty(k, np.uint64)
    before, size = np.uint64(0), 0
    for e in order[np.argsort(merged[order], kind="mergesort")]:
        size = size if merged[e] == before else 0
        before = merged[e]
        fresh = size < k and scores[e] > -np.inf
        for a in range(size):
            fresh &= mine[a] != outputs[e]
        if fresh:
            kept[e], mine[size] = True, outputs[e]
            size += 1
    return order[kept[order]][:beam]


@inlined
def search(local, places, language, temperature, k, beam, out, sizes, best):
    """Write the `k` best outputs of one input, at some places: symbols, lengths and scores.

    Hypotheses are partial outputs with the state of the n-gram model, of the tier and of the trie
    that they end in; since what comes depends on these only, the k best of each are all that can
    be among the k best in the end. Without a beam the search is exact.
    """
    n_symbols, trie = language.logp.shape[1] - 1, language.trie
    ends, totals, outputs = np.array([[language.start, 0, 0]]), np.zeros(1), np.array([SEED])
    parents, emitted = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    for i in places:
        first, q = local.first[local.symbols[i]], local.width[local.symbols[i]]
        size = len(ends) * q
        new_ends, new_totals = np.empty((size, 3), np.int64), np.empty(size)
        new_outputs, merged = np.empty(size, np.uint64), np.empty(size, np.uint64)
        for b in range(len(ends)):
            known = language.histories[ends[b, 0]]
            scores = position_scores(local, i, known, ends[b, 1], n_symbols, temperature)
            for c in range(q):
                chunk, e = local.chunks[first + c, : local.lengths[first + c]], b * q + c
                state, tier, node, output, gain = advance(chunk, ends[b], outputs[b], language)
                new_ends[e, 0], new_ends[e, 1], new_ends[e, 2] = state, tier, node
                new_outputs[e] = output
                merged[e] = mixed(mixed(mixed(SEED, state), tier), node + 2)
                gained = totals[b] + scores[c] + language.weight * gain
                new_totals[e] = gained if node >= 0 else -np.inf
        kept = selected(new_totals, merged, new_outputs, k, beam)
        ends, totals, outputs = new_ends[kept], new_totals[kept], new_outputs[kept]
        parents.append(kept // q)
        emitted.append(first + kept % q)
    for b in range(len(ends)):
        totals[b] += language.weight * language.logp[ends[b, 0], -1]
        totals[b] += language.closing[ends[b, 1] % 3]
        if len(trie) and trie[ends[b, 2], -1] < 0:
            totals[b] = -np.inf
    for rank, b in enumerate(np.argsort(-totals, kind="mergesort")[:k]):
        best[rank] = totals[b]
        at, symbols = b, out[rank]
        for i in range(len(places), 0, -1):  # from the end, and turned round
            chunk = emitted[i][at]
            for j in range(local.lengths[chunk] - 1, -1, -1):
                symbols[sizes[rank]] = local.chunks[chunk, j]
                sizes[rank] += 1
            at = parents[i][at]
        symbols[: sizes[rank]] = symbols[: sizes[rank]][::-1].copy()


@parallel
def search_all(start, stop, local, language, temperature, k, beam, out, sizes, best):
    """The search for every input; sizes are 0 before."""
    for p in range(start, stop):
        places = np.arange(local.starts[p], local.starts[p + 1])
        search(local, places, language, temperature, k, beam, out[p], sizes[p], best[p])
