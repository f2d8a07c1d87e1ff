"""Compiled hash keys of the windows of symbols around positions."""

import numpy as np

from .loops import compiled, parallel

SEED = np.uint64(0x243F6A8885A308D3)
"""The hash with which each key starts."""
OUTSIDE = 1 << 40
"""Codes of positions outside the sequence start here, above the numbers of all symbols."""


@compiled
def extend_hash(key, value):
    """Return the 64-bit hash `key` with one more integer hashed into it."""
    key = (key ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))


@compiled
def _symbol_code(flat, first, last, position):
    """Return flat[position] + 2, or a reserved code if the position is not in [first, last)."""
    if position < first:
        return OUTSIDE + min(first - position, 2)
    if position >= last:
        return OUTSIDE + min(position - last + 1, 2)
    return flat[position] + 2


@parallel
def window_keys(start, stop, flat, starts, rows, positions, windows, keys):
    """Write a 64-bit key of each window around each position to keys[position, window].

    Position n is at positions[n] in sequence rows[n]; sequence i is flat[starts[i]:starts[i + 1]].
    Two keys are equal if the symbols at the positions, the windows and the symbols in the windows
    are equal.
    """
    for n in range(start, stop):
        first, last = starts[rows[n]], starts[rows[n] + 1]
        here = first + positions[n]
        for f in range(len(windows)):
            key = extend_hash(extend_hash(SEED, f + 1), flat[here] + 2)
            for position in range(here + windows[f, 0], here + windows[f, 1] + 1):
                key = extend_hash(key, _symbol_code(flat, first, last, position))
            keys[n, f] = key
