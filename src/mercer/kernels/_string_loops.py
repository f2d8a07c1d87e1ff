"""Compiled loops of the string kernels; imported when first used."""

import numpy as np

from .._base.loops import compiled, parallel


@parallel
def add_shared_ngrams(
    start, stop, starts, grams, front, back, value, columns, rows, their_front, their_back, kappa,
    out,
):  # fmt: skip
    """Add the weights of n-grams that sequences i and j share at near positions to out[i, j].

    A pair of occurrences adds value[gram] (κ(difference of positions from the front) + κ(difference
    from the back)) / 2. The occurrences of sequence i are starts[i]:starts[i + 1] of grams, front
    and back; those of n-gram g in the other batch are columns[g]:columns[g + 1] of rows,
    their_front and their_back. kappa[d] is κ(d).
    """
    for i in range(start, stop):
        for a in range(starts[i], starts[i + 1]):
            gram = grams[a]
            half = 0.5 * value[gram]
            for b in range(columns[gram], columns[gram + 1]):
                near = kappa[abs(front[a] - their_front[b])] + kappa[abs(back[a] - their_back[b])]
                out[i, rows[b]] += half * near


@compiled
def _shifted_run_weight(s, t, shift, weight_by_length):
    """Return the total weight of runs of equal symbols of s and t, where s[i] = t[i + shift].

    It is the sum of weight_by_length[r] over positions i, with r the length of the run that ends
    at i.
    """
    total = 0.0
    run = 0
    for i in range(max(0, -shift), min(len(s), len(t) - shift)):
        run = run + 1 if s[i] == t[i + shift] else 0
        total += weight_by_length[min(run, len(weight_by_length) - 1)]
    return total


@parallel
def fill_self_matches(start, stop, flat, starts, weight_by_length, out):
    """Set out[i] to the total weight of runs of equal symbols between sequence i and itself.

    Sequence i is flat[starts[i]:starts[i + 1]], and weight_by_length[r] is the weight of the end of
    a run of length r.
    """
    for i in range(start, stop):
        s = flat[starts[i] : starts[i + 1]]
        total = _shifted_run_weight(s, s, 0, weight_by_length)
        for shift in range(1, len(s)):
            total += 2.0 * _shifted_run_weight(s, s, shift, weight_by_length)
        out[i] = total


@parallel
def fill_weighted_degree(
    start, stop, flat, starts, their_flat, their_starts, weight_by_length, gamma, symmetric, out
):
    """Write the weighted-degree kernel with shifts of all pairs of sequences to out.

    Sequence i is flat[starts[i]:starts[i + 1]]. weight_by_length[r] is the weight of the end of a
    run of r equal symbols, and gamma[|shift|] the weight of a shift. `their_flat` and
    `their_starts` describe the other batch. If `symmetric`, both batches are the same and half of
    the pairs is computed.
    """
    for i in range(start, stop):
        s = flat[starts[i] : starts[i + 1]]
        for j in range(i if symmetric else 0, out.shape[1]):
            t = their_flat[their_starts[j] : their_starts[j + 1]]
            total = _shifted_run_weight(s, t, 0, weight_by_length) * gamma[0]
            for shift in range(1, len(gamma)):
                both = _shifted_run_weight(s, t, shift, weight_by_length) + _shifted_run_weight(
                    s, t, -shift, weight_by_length
                )
                total += gamma[shift] * both
            out[i, j] = total
            if symmetric:
                out[j, i] = total


@compiled
def _subsequence_kernel(s, t, n, decay, first):
    """Return the gap-weighted subsequence kernel of s and t, summed over lengths first to n.

    before[m, j] is K'_m of Lodhi et al. (2002) for the symbols of s so far and t[:j].
    """
    totals = np.full(n + 1, 0.0 * decay)  # complex for a complex-step derivative
    before = np.full((n, len(t) + 1), 0.0 * decay)
    before[0], square = 1.0, decay * decay
    for i in range(len(s)):
        for m in range(min(n, i + 1), 0, -1):  # length m needs m - 1 as it was before s[i]
            along, total, symbol = 0.0 * decay, totals[m], s[i]
            for j in range(len(t)):
                along *= decay
                if symbol == t[j]:
                    ended = square * before[m - 1, j]
                    total += ended
                    along += ended
                if m < n:
                    before[m, j + 1] = decay * before[m, j + 1] + along
            totals[m] = total
    return totals[first:].sum()


@parallel
def fill_subsequence_gram(
    start, stop, flat, starts, their_flat, their_starts, n, decay, first, symmetric, out
):
    """Write the gap-weighted subsequence kernel of all pairs of sequences to out.

    Sequence i is flat[starts[i]:starts[i + 1]]; `their_flat` and `their_starts` describe the other
    batch. Subsequences of `first` to n symbols count, and each symbol covered has the factor
    `decay`. If `symmetric`, both batches are the same and half of the pairs is computed.
    """
    for i in range(start, stop):
        s = flat[starts[i] : starts[i + 1]]
        for j in range(i if symmetric else 0, out.shape[1]):
            t = their_flat[their_starts[j] : their_starts[j + 1]]
            out[i, j] = _subsequence_kernel(s, t, n, decay, first)
            if symmetric:
                out[j, i] = out[i, j]


@parallel
def fill_subsequence_diag(start, stop, flat, starts, n, decay, first, out):
    """Write the gap-weighted subsequence kernel of each sequence with itself to out.

    The arguments are those of `fill_subsequence_gram`.
    """
    for i in range(start, stop):
        s = flat[starts[i] : starts[i + 1]]
        out[i] = _subsequence_kernel(s, s, n, decay, first)
