"""Keys of output histories, local scores and the search for the best outputs, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from ..._loops import parallel
from ...kernels._window_loops import SEED, mixed


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
            history = histories[n, pairs[f, 0] - 1]
            if history != 0:
                keys[n, f] = joint_key(windows[n, pairs[f, 1]], history)


@njit(cache=True)
def found(keys, key):
    """The place of a key among sorted keys, or -1."""
    place = np.searchsorted(keys, key)
    return place if place < len(keys) and keys[place] == key else -1


@njit(cache=True)
def add_row(key, weight, keys, offset, coef, scores):
    """Add the coefficients of a feature, if it was learnt, to the scores of the chunks."""
    row = found(keys, key)
    if row >= 0:
        for c in range(min(len(scores), len(coef) - offset[row])):
            scores[c] += weight * coef[offset[row] + c]


@parallel
def local_scores(features, weights, keys, offset, coef, starts, scores):
    """Add the scores of all chunks at every position; position n has starts[n]:starts[n + 1]."""
    for n in prange(len(features)):
        mine = scores[starts[n] : starts[n + 1]]
        for f in range(len(weights)):
            if features[n, f] != 0:
                add_row(features[n, f], weights[f], keys, offset, coef, mine)


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
def advance(symbols, length, state, key, logp, nexts):
    """State, key of the output and log-probability after a chunk."""
    gain = 0.0
    for j in range(length):
        gain += logp[state, symbols[j]]
        state = nexts[state, symbols[j]]
        key = mixed(key, symbols[j] + 2)
    return state, key, gain


@njit(cache=True)
def selected(scores, states, outputs, seen, k, beam):
    """The best candidates: of each state the `k` best different outputs, `beam` in all."""
    kept = np.zeros(min(beam, len(scores)), dtype=np.int64)
    size = 0
    for e in np.argsort(-scores, kind="mergesort"):
        if seen[states[e]] >= k:
            continue
        again = False
        if k > 1 and seen[states[e]] > 0:
            for other in kept[:size]:
                again |= outputs[other] == outputs[e]
        if again:
            continue
        kept[size] = e
        seen[states[e]] += 1
        size += 1
        if size == len(kept):
            break
    for e in kept[:size]:
        seen[states[e]] = 0
    return kept[:size]


@njit(cache=True)
def search(
    symbols, windows, base, base_starts, pairs, pair_weights, keys, offset, coef,
    first, width, prior, lengths, chunks, histories, logp, nexts, start,
    temperature, weight, k, beam, out, sizes, values,
):  # fmt: skip
    """Write the `k` best outputs of one input: symbols, lengths and scores.

    Hypotheses are partial outputs with the state of the n-gram model that they end in; since what
    comes depends on the state only, the k best of each state are all that can be among the k best
    in the end. Without a beam the search is exact.
    """
    n = len(symbols)
    states, totals = np.array([start]), np.zeros(1)
    outputs = np.array([SEED])
    parents, emitted = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    seen = np.zeros(len(logp), dtype=np.int64)
    for i in range(n):
        s, q = symbols[i], width[symbols[i]]
        size = len(states) * q
        new_states, new_totals = np.empty(size, np.int64), np.empty(size)
        new_outputs = np.empty(size, np.uint64)
        for b in range(len(states)):
            scores = base[base_starts[i] : base_starts[i + 1]].copy()
            for f in range(len(pairs)):
                history = histories[states[b], pairs[f, 0] - 1]
                if history != 0:
                    key = joint_key(windows[i, pairs[f, 1]], history)
                    add_row(key, pair_weights[f], keys, offset, coef, scores)
            log_softmax(scores, temperature, prior[first[s] : first[s] + q])
            for c in range(q):
                chunk = first[s] + c
                state, output, gain = advance(
                    chunks[chunk], lengths[chunk], states[b], outputs[b], logp, nexts
                )
                e = b * q + c
                new_states[e], new_outputs[e] = state, output
                new_totals[e] = totals[b] + scores[c] + weight * gain
        kept = selected(new_totals, new_states, new_outputs, seen, k, beam)
        states, totals, outputs = new_states[kept], new_totals[kept], new_outputs[kept]
        parents.append(kept // q)
        emitted.append(first[s] + kept % q)
    totals = totals + weight * logp[states, -1]
    for rank, b in enumerate(np.argsort(-totals, kind="mergesort")[:k]):
        values[rank] = totals[b]
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
    flat, starts, windows, base, base_starts, pairs, pair_weights, keys, offset, coef,
    first, width, prior, lengths, chunks, histories, logp, nexts, start,
    temperature, weight, k, beam, out, sizes, values,
):  # fmt: skip
    """The search for every input."""
    for p in prange(len(starts) - 1):
        here = slice(starts[p], starts[p + 1])
        search(
            flat[here], windows[here], base, base_starts[starts[p] : starts[p + 1] + 1],
            pairs, pair_weights, keys, offset, coef,
            first, width, prior, lengths, chunks, histories, logp, nexts, start,
            temperature, weight, k, beam, out[p], sizes[p], values[p],
        )  # fmt: skip
