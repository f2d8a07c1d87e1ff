"""The recursions of alignment, compiled."""

from __future__ import annotations

import numpy as np

from ..._loops import compiled
from ...kernels._window_loops import SEED, mixed
from ._key_loops import entered

LONG = 300
"""Inputs up to this length are safe from underflow."""


@compiled
def feasible(n: int, m: int, longest: int, i: int, j: int) -> bool:
    """Whether j output symbols can be emitted by the first i of n, and the rest by the rest."""
    return j <= i * longest and m - j <= (n - i) * longest


@compiled
def cell_types(source, s_start, target, t_start, longest, base, start):
    """Number the (symbol, chunk) types of every cell that a whole alignment can use.

    Returns the number of each cell's type, -1 where no alignment passes, and the keys of the
    types: symbol · base^longest + chunk.
    """
    room = base**longest
    cells = np.full(start[-1], -1, dtype=np.int32)
    keys, table, known = np.empty(1024, np.uint64), np.full(4096, -1, np.int32), 0
    types = [0]  # numba wants to know the type of a list
    for p in range(len(s_start) - 1):
        n, m = s_start[p + 1] - s_start[p], t_start[p + 1] - t_start[p]
        for i in range(n):
            for j in range(m + 1):
                if not feasible(n, m, longest, i, j):
                    continue
                chunk = 0
                for k in range(min(longest, m - j) + 1):
                    if k > 0:
                        chunk = chunk * base + target[t_start[p] + j + k - 1] + 1
                    if not feasible(n, m, longest, i + 1, j + k):
                        continue
                    key = source[s_start[p] + i] * room + chunk
                    number, keys, table = entered(keys, table, known, mixed(SEED, key))
                    if number == known:
                        types.append(key)
                        known += 1
                    cells[start[p] + (i * (m + 1) + j) * (longest + 1) + k] = number
    return cells, np.array(types[1:], dtype=np.int64)


@compiled
def tilted(n, m, longest, cells, probability):
    """Factors θ^k of chunks of length k with which a cut taken at random is about m long.

    All cuts of a pair gain θ^m alike. Without, the cuts that fit are rare beside those that
    forward probabilities are spread over, and in long pairs lost to underflow.
    """
    share, lengths = np.zeros(longest + 1), np.arange(longest + 1)
    for c in range(len(cells)):
        if cells[c] >= 0:
            share[c % (longest + 1)] += probability[cells[c]]
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
def forward(n, m, longest, first, cells, probability, tilt, A):
    """Scaled forward probabilities: A[i, j] over the ways to emit j symbols by the first i."""
    A[: n + 1, : m + 1] = 0.0
    A[0, 0] = 1.0
    total = 0.0
    for i in range(n):
        mass = 0.0
        for j in range(m + 1):
            if A[i, j] == 0.0:
                continue
            cell = first + (i * (m + 1) + j) * (longest + 1)
            for k in range(min(longest, m - j) + 1):
                if cells[cell + k] >= 0:
                    step = A[i, j] * probability[cells[cell + k]] * tilt[k]
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
def expected_counts(s_start, t_start, longest, start, cells, probability, counts):
    """Add the expected number of uses of each type to `counts`; return the log-likelihood."""
    n_max, m_max = _longest(s_start), _longest(t_start)
    A, B = np.zeros((n_max + 1, m_max + 1)), np.zeros((n_max + 1, m_max + 1))
    total = 0.0
    for p in range(len(s_start) - 1):
        n, m, first = s_start[p + 1] - s_start[p], t_start[p + 1] - t_start[p], start[p]
        tilt = np.ones(longest + 1)
        if n > LONG:
            tilt = tilted(n, m, longest, cells[first : start[p + 1]], probability)
        total += forward(n, m, longest, first, cells, probability, tilt, A) - m * np.log(tilt[1])
        if total == -np.inf:
            return total
        # B is scaled so that Σ_j A[i, j] B[i, j] = 1: each row of posteriors sums to one.
        B[n, : m + 1] = 0.0
        B[n, m] = 1.0 / A[n, m]
        for i in range(n - 1, -1, -1):
            mass = 0.0
            for j in range(m + 1):
                B[i, j] = 0.0
                cell = first + (i * (m + 1) + j) * (longest + 1)
                for k in range(min(longest, m - j) + 1):
                    if cells[cell + k] >= 0:
                        B[i, j] += probability[cells[cell + k]] * tilt[k] * B[i + 1, j + k]
                mass += A[i, j] * B[i, j]
            for j in range(m + 1):
                cell = first + (i * (m + 1) + j) * (longest + 1)
                for k in range(min(longest, m - j) + 1):
                    t = cells[cell + k]
                    if t >= 0:
                        counts[t] += A[i, j] * probability[t] * tilt[k] * B[i + 1, j + k] / mass
                B[i, j] /= mass
    return total


@compiled
def viterbi(s_start, t_start, longest, start, cells, scores, out):
    """Write the chunk lengths of the best cut of every pair."""
    n_max, m_max = _longest(s_start), _longest(t_start)
    A = np.zeros((n_max + 1, m_max + 1))
    back = np.zeros((n_max + 1, m_max + 1), dtype=np.int64)
    for p in range(len(s_start) - 1):
        n, m, first = s_start[p + 1] - s_start[p], t_start[p + 1] - t_start[p], start[p]
        A[: n + 1, : m + 1] = -np.inf
        A[0, 0] = 0.0
        for i in range(n):
            for j in range(m + 1):
                if A[i, j] == -np.inf:
                    continue
                cell = first + (i * (m + 1) + j) * (longest + 1)
                for k in range(min(longest, m - j) + 1):
                    t = cells[cell + k]
                    if t >= 0 and A[i, j] + scores[t] > A[i + 1, j + k]:
                        A[i + 1, j + k] = A[i, j] + scores[t]
                        back[i + 1, j + k] = k
        j = m
        for i in range(n, 0, -1):
            out[s_start[p] + i - 1] = back[i, j]
            j -= back[i, j]
