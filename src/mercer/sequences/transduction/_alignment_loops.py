"""The recursions of alignment, compiled.

Input symbol i of a pair emits a chunk of k output symbols from place j on. `rows` says where the
cells of each input symbol begin, `cells` has the number of each cell's (symbol, chunk) type.
"""

from __future__ import annotations

import numpy as np

from ..._loops import compiled, generator
from ...kernels._window_loops import SEED, mixed
from ._key_loops import entered

LONG = 300
"""Inputs up to this length are safe from underflow."""


@generator
def arcs(n, m, longest, i, row):
    """(place, length, cell) of all chunks that symbol i of n emits in some cut of m symbols."""
    first, last = max(0, m - (n - i) * longest), min(m, i * longest)
    least, most = max(0, m - (n - i - 1) * longest), min(m, (i + 1) * longest)
    for j in range(first, last + 1):
        for k in range(max(0, least - j), min(longest, most - j) + 1):
            yield j, k, row + (j - first) * (longest + 1) + k


@compiled
def cell_types(source, s_start, target, t_start, longest, base, rows):
    """Number the (symbol, chunk) types of every cell that a whole alignment can use.

    Returns the number of each cell's type, and the keys of the types:
    symbol · base^longest + chunk.
    """
    room = base**longest
    cells = np.empty(rows[-1], dtype=np.int32)
    keys, table, known = np.empty(1024, np.uint64), np.full(4096, -1, np.int32), 0
    types = [0]  # numba wants to know the type of a list
    for p in range(len(s_start) - 1):
        n, m = s_start[p + 1] - s_start[p], t_start[p + 1] - t_start[p]
        for i in range(n):
            for j, k, cell in arcs(n, m, longest, i, rows[s_start[p] + i]):
                key = 0
                for a in range(t_start[p] + j, t_start[p] + j + k):
                    key = key * base + target[a] + 1
                key += source[s_start[p] + i] * room
                number, keys, table = entered(keys, table, known, mixed(SEED, key))
                if number == known:
                    types.append(key)
                    known += 1
                cells[cell] = number
    return cells, np.array(types[1:], dtype=np.int64)


@compiled
def tilted(n, m, longest, rows, cells, probability):
    """Factors θ^k of chunks of length k with which a cut taken at random is about m long.

    All cuts of a pair gain θ^m alike. Without, the cuts that fit are rare beside those that
    forward probabilities are spread over, and in long pairs lost to underflow.
    """
    share, lengths = np.zeros(longest + 1), np.arange(longest + 1)
    for i in range(n):
        for _, k, cell in arcs(n, m, longest, i, rows[i]):
            share[k] += probability[cells[cell]]
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        weights = share * np.exp(middle * lengths - max(0.0, middle * longest))
        if (lengths * weights).sum() * n < m * weights.sum():
            low = middle
        else:
            high = middle
    return np.exp(low * lengths)


@compiled
def forward(n, m, longest, rows, cells, probability, tilt, A):
    """Scaled forward probabilities: A[i, j] over the ways to emit j symbols by the first i."""
    A[: n + 1, : m + 1] = 0.0
    A[0, 0] = 1.0
    total = 0.0
    for i in range(n):
        mass = 0.0
        for j, k, cell in arcs(n, m, longest, i, rows[i]):
            step = A[i, j] * probability[cells[cell]] * tilt[k]
            A[i + 1, j + k] += step
            mass += step
        if mass <= 0.0:
            return -np.inf
        A[i + 1, : m + 1] /= mass
        total += np.log(mass)
    return total


@compiled
def _longest(starts):
    """The length of the longest sequence: np.diff takes a second to compile."""
    longest = 0
    for p in range(len(starts) - 1):
        longest = max(longest, starts[p + 1] - starts[p])
    return longest


@compiled
def expected_counts(s_start, t_start, longest, rows, cells, probability, counts):
    """Add the expected number of uses of each type to `counts`; return the log-likelihood."""
    n_max, m_max = _longest(s_start), _longest(t_start)
    A, B = np.zeros((n_max + 1, m_max + 1)), np.zeros((n_max + 1, m_max + 1))
    total = 0.0
    for p in range(len(s_start) - 1):
        n, m, own = s_start[p + 1] - s_start[p], t_start[p + 1] - t_start[p], rows[s_start[p] :]
        tilt = np.ones(longest + 1)
        if n > LONG:
            tilt = tilted(n, m, longest, own, cells, probability)
        total += forward(n, m, longest, own, cells, probability, tilt, A) - m * np.log(tilt[1])
        if total == -np.inf:
            return total
        # B is scaled so that Σ_j A[i, j] B[i, j] = 1: each row of posteriors sums to one.
        B[: n + 1, : m + 1] = 0.0
        B[n, m] = 1.0 / A[n, m]
        for i in range(n - 1, -1, -1):
            for j, k, cell in arcs(n, m, longest, i, own[i]):
                B[i, j] += probability[cells[cell]] * tilt[k] * B[i + 1, j + k]
            mass = 0.0
            for j in range(m + 1):
                mass += A[i, j] * B[i, j]
            for j, k, cell in arcs(n, m, longest, i, own[i]):
                t = cells[cell]
                counts[t] += A[i, j] * probability[t] * tilt[k] * B[i + 1, j + k] / mass
            B[i, : m + 1] /= mass
    return total


@compiled
def viterbi(s_start, t_start, longest, rows, cells, scores, out):
    """Write the chunk lengths of the best cut of every pair."""
    n_max, m_max = _longest(s_start), _longest(t_start)
    A = np.zeros((n_max + 1, m_max + 1))
    back = np.zeros((n_max + 1, m_max + 1), dtype=np.int64)
    for p in range(len(s_start) - 1):
        n, m = s_start[p + 1] - s_start[p], t_start[p + 1] - t_start[p]
        A[: n + 1, : m + 1] = -np.inf
        A[0, 0] = 0.0
        for i in range(n):
            for j, k, cell in arcs(n, m, longest, i, rows[s_start[p] + i]):
                value = A[i, j] + scores[cells[cell]]
                if value > A[i + 1, j + k]:
                    A[i + 1, j + k] = value
                    back[i + 1, j + k] = k
        j = m
        for i in range(n, 0, -1):
            out[s_start[p] + i - 1] = back[i, j]
            j -= back[i, j]
