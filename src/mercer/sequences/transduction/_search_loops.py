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
Language = namedtuple("Language", "logp nexts start member once closing")
"""The n-gram model and the tier of outputs."""


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
def advance(symbols, state, key, tier, node, language, trie):
    """State, key of the output, tier, node of the trie and log-probability after a chunk."""
    gain = 0.0
    for symbol in symbols:
        gain += language.logp[state, symbol]
        state = language.nexts[state, symbol]
        key = mixed(key, symbol + 2)
        if len(language.member):
            tier = tier_after(tier, symbol, language.member, language.once)
        if len(trie) and node >= 0:
            node = trie[node, symbol]
    return state, key, tier, node, gain


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
def search(
    local, places, language, histories, trie, temperature, weight, k, beam, out, sizes, best
):
    """Write the `k` best outputs of one input, at some places: symbols, lengths and scores.

    Hypotheses are partial outputs with the state of the n-gram model, of the tier and of the trie
    that they end in; since what comes depends on these only, the k best of each are all that can
    be among the k best in the end. Without a beam the search is exact.
    """
    n_symbols = language.logp.shape[1] - 1
    states, totals = np.array([language.start]), np.zeros(1)
    outputs = np.array([SEED])
    tiers, nodes = np.zeros(1, np.int64), np.zeros(1, np.int64)
    parents, emitted = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    for i in places:
        first, q = local.first[local.symbols[i]], local.width[local.symbols[i]]
        size = len(states) * q
        new_states, new_totals = np.empty(size, np.int64), np.empty(size)
        new_outputs, merged = np.empty(size, np.uint64), np.empty(size, np.uint64)
        new_tiers, new_nodes = np.empty(size, np.int64), np.empty(size, np.int64)
        for b in range(len(states)):
            known = histories[states[b]]
            scores = position_scores(local, i, known, tiers[b], n_symbols, temperature)
            for c in range(q):
                chunk, e = local.chunks[first + c, : local.lengths[first + c]], b * q + c
                state, output, tier, node, gain = advance(
                    chunk, states[b], outputs[b], tiers[b], nodes[b], language, trie
                )
                new_states[e], new_outputs[e], new_tiers[e] = state, output, tier
                new_nodes[e] = node
                merged[e] = mixed(mixed(mixed(SEED, state), tier), node + 2)
                gained = totals[b] + scores[c] + weight * gain
                new_totals[e] = gained if node >= 0 else -np.inf
        kept = selected(new_totals, merged, new_outputs, k, beam)
        states, totals, outputs = new_states[kept], new_totals[kept], new_outputs[kept]
        tiers, nodes = new_tiers[kept], new_nodes[kept]
        parents.append(kept // q)
        emitted.append(first + kept % q)
    totals = totals + weight * language.logp[states, -1] + language.closing[tiers % 3]
    if len(trie):
        for b in range(len(totals)):
            if trie[nodes[b], -1] < 0:
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
def search_all(
    start, stop, local, language, histories, trie, temperature, weight, k, beam, out, sizes, best
):
    """The search for every input; sizes are 0 before."""
    for p in range(start, stop):
        places = np.arange(local.starts[p], local.starts[p + 1])
        search(
            local, places, language, histories, trie, temperature, weight, k, beam,
            out[p], sizes[p], best[p],
        )  # fmt: skip
