"""Keys of output histories, local scores and the search for the best outputs, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from ..._loops import parallel
from ...kernels._window_loops import SEED, mixed
from ._key_loops import found
from ._tier_loops import tier_after, tier_key


@njit(cache=True)
def history_keys(last, keys):
    """Write the key of the last h symbols of each row, h = 1, …; 0 where there are fewer."""
    for n in range(len(last)):
        for h in range(1, keys.shape[1] + 1):
            key = mixed(SEED, h)
            for j in range(last.shape[1] - h, last.shape[1]):
                key = mixed(key, last[n, j] + 2)
            if last[n, last.shape[1] - h] >= 0:
                keys[n, h - 1] = key


@njit(cache=True)
def joint_key(window, history):
    """The key of a window together with a history."""
    return mixed(mixed(history, 1), window)


@njit(cache=True)
def joint_keys(windows, histories, pairs, keys):
    """Write the key of each pair of a history and a window; 0 where the history is none."""
    for n in range(len(windows)):
        for f in range(len(pairs)):
            window, history = windows[n, pairs[f, 1]], histories[n, pairs[f, 0] - 1]
            if history != 0 and window != 0:
                keys[n, f] = joint_key(window, history)


@njit(cache=True)
def tier_keys(states, symbols, keys):
    """Write the keys of the last one and two members of the output's tier."""
    for n in range(len(states)):
        for d in range(keys.shape[1]):
            keys[n, d] = tier_key(states[n], symbols, d + 1)


@njit(cache=True)
def add_row(key, weight, keys, table, offset, coef, scores):
    """Add the coefficients of a feature, if it was learnt, to the scores of the chunks."""
    row = found(keys, table, key)
    if row >= 0:
        for c in range(min(len(scores), len(coef) - offset[row])):
            scores[c] += weight * coef[offset[row] + c]


@parallel
def local_scores(features, weights, values, keys, table, offset, coef, starts, scores):
    """Add the scores of all chunks at every position; position n has starts[n]:starts[n + 1]."""
    for p in prange(len(features)):
        n = np.int64(p)  # numba's index has no sign, and does not mix with numbers that have one
        mine, own = scores[starts[n] : starts[n + 1]], values[n % len(values)]
        for f in range(len(weights)):
            if features[n, f] != 0:
                add_row(features[n, f], weights[f] * own[f], keys, table, offset, coef, mine)


@njit(cache=True)
def position_scores(
    base, features, values, pairs, pair_weights, histories, tier, n_symbols, keys, table, offset,
    coef, prior, temperature,
):  # fmt: skip
    """Log-probabilities of the chunks of one position after one history.

    `histories` are the keys of the last 1, 2, … symbols, `tier` the state of the output's tier;
    numbers of histories beyond the former are depths of the latter.
    """
    scores = base.copy()
    for f in range(len(pairs)):
        window, h = features[pairs[f, 1]], pairs[f, 0]
        if window == 0:
            continue
        if h <= len(histories):
            history = histories[h - 1]
        else:
            history = tier_key(tier, n_symbols, h - len(histories))
        if history != 0:
            weight = pair_weights[f] * values[pairs[f, 1]]
            add_row(joint_key(window, history), weight, keys, table, offset, coef, scores)
    log_softmax(scores, temperature, prior)
    return scores


@njit(cache=True)
def log_softmax(scores, temperature, prior):
    """Write log(exp(s / T + prior) / Σ) in place of the scores."""
    scores /= temperature
    scores += prior
    scores -= scores.max()
    scores -= np.log(np.exp(scores).sum())


@njit(cache=True)
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


@njit(cache=True)
def advance(symbols, length, state, key, tier, node, logp, nexts, member, once, trie):
    """State, key of the output, tier, node of the trie and log-probability after a chunk."""
    gain = 0.0
    for j in range(length):
        symbol = symbols[j]
        gain += logp[state, symbol]
        state = nexts[state, symbol]
        key = mixed(key, symbol + 2)
        if len(member):
            tier = tier_after(tier, symbol, member, once)
        if len(trie) and node >= 0:
            node = trie[node, symbol]
    return state, key, tier, node, gain


@njit(cache=True)
def selected(scores, merged, outputs, k, beam):
    """The best candidates: of those that may be merged the `k` best different, `beam` in all."""
    kept = np.zeros(min(beam, len(scores)), dtype=np.int64)
    room = 4
    while room < 2 * len(kept):
        room *= 2
    groups, counts = np.full(room, -1), np.zeros(room, dtype=np.int64)
    known = np.full(room, -1)
    size, wrap = 0, np.uint64(room - 1)
    for e in np.argsort(-scores, kind="mergesort"):
        if scores[e] == -np.inf:
            break
        at = merged[e] & wrap
        while groups[at] >= 0 and merged[groups[at]] != merged[e]:
            at = (at + np.uint64(1)) & wrap
        if counts[at] >= k:
            continue
        place = mixed(merged[e], 1) ^ outputs[e]
        place = place & wrap
        again = False
        while k > 1 and known[place] >= 0:
            other = known[place]
            again |= outputs[other] == outputs[e] and merged[other] == merged[e]
            place = (place + np.uint64(1)) & wrap
        if again:
            continue
        groups[at] = e
        counts[at] += 1
        known[place] = e
        kept[size] = e
        size += 1
        if size == len(kept):
            break
    return kept[:size]


@njit(cache=True)
def search(
    symbols, windows, values, base, base_starts, pairs, pair_weights, keys, table, offset, coef,
    first, width, prior, lengths, chunks, histories, member, once, closing, trie,
    logp, nexts, start,
    temperature, weight, k, beam, out, sizes, best,
):  # fmt: skip
    """Write the `k` best outputs of one input: symbols, lengths and scores.

    Hypotheses are partial outputs with the state of the n-gram model, of the tier and of the trie
    that they end in; since what comes depends on these only, the k best of each are all that can
    be among the k best in the end. Without a beam the search is exact.
    """
    n, n_symbols = len(symbols), logp.shape[1] - 1
    states, totals = np.array([start]), np.zeros(1)
    outputs = np.array([SEED])
    tiers, nodes = np.zeros(1, np.int64), np.zeros(1, np.int64)
    parents, emitted = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    for i in range(n):
        s, q = symbols[i], width[symbols[i]]
        size = len(states) * q
        new_states, new_totals = np.empty(size, np.int64), np.empty(size)
        new_outputs, merged = np.empty(size, np.uint64), np.empty(size, np.uint64)
        new_tiers, new_nodes = np.empty(size, np.int64), np.empty(size, np.int64)
        for b in range(len(states)):
            scores = position_scores(
                base[base_starts[i] : base_starts[i + 1]], windows[i],
                values[i % len(values)], pairs, pair_weights, histories[states[b]],
                tiers[b], n_symbols, keys, table, offset, coef, prior[first[s] : first[s] + q],
                temperature,
            )  # fmt: skip
            for c in range(q):
                chunk, e = first[s] + c, b * q + c
                state, output, tier, node, gain = advance(
                    chunks[chunk], lengths[chunk], states[b], outputs[b], tiers[b], nodes[b],
                    logp, nexts, member, once, trie,
                )  # fmt: skip
                new_states[e], new_outputs[e], new_tiers[e] = state, output, tier
                new_nodes[e] = node
                merged[e] = mixed(mixed(mixed(SEED, state), tier), node + 2)
                gained = totals[b] + scores[c] + weight * gain
                new_totals[e] = gained if node >= 0 else -np.inf
        kept = selected(new_totals, merged, new_outputs, k, beam)
        states, totals, outputs = new_states[kept], new_totals[kept], new_outputs[kept]
        tiers, nodes = new_tiers[kept], new_nodes[kept]
        parents.append(kept // q)
        emitted.append(first[s] + kept % q)
    totals = totals + weight * logp[states, -1] + closing[tiers % 3]
    if len(trie):
        for b in range(len(totals)):
            if trie[nodes[b], -1] < 0:
                totals[b] = -np.inf
    for rank, b in enumerate(np.argsort(-totals, kind="mergesort")[:k]):
        best[rank] = totals[b]
        total, at = 0, b
        for i in range(n, 0, -1):
            total += lengths[emitted[i][at]]
            at = parents[i][at]
        sizes[rank] = total
        at = b
        for i in range(n, 0, -1):
            chunk = emitted[i][at]
            for j in range(lengths[chunk] - 1, -1, -1):
                total -= 1
                out[rank, total] = chunks[chunk, j]
            at = parents[i][at]


@parallel
def search_all(
    flat, starts, windows, values, base, base_starts, pairs, pair_weights, keys, table, offset,
    coef, first, width, prior, lengths, chunks, histories, member, once, closing, trie,
    logp, nexts, start,
    temperature, weight, k, beam, out, sizes, best,
):  # fmt: skip
    """The search for every input."""
    for p in prange(len(starts) - 1):
        here = slice(starts[p], starts[p + 1])
        own = values[here] if len(values) > 1 else values
        search(
            flat[here], windows[here], own, base, base_starts[starts[p] : starts[p + 1] + 1],
            pairs, pair_weights, keys, table, offset, coef,
            first, width, prior, lengths, chunks, histories, member, once, closing, trie,
            logp, nexts, start,
            temperature, weight, k, beam, out[p], sizes[p], best[p],
        )  # fmt: skip
