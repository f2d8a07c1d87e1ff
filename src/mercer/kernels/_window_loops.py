"""Keys of windows around positions, compiled."""

import numpy as np

from .._base.loops import compiled, parallel

SEED = np.uint64(0x243F6A8885A308D3)
OUTSIDE = 1 << 40
"""Added to the distance of a position beyond an end: no symbol has such a number."""


@compiled
def mixed(key, value):
    """Return a 64-bit key into which one more integer is hashed."""
    key = (key ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))


@compiled
def _symbol_code(flat, first, last, position):
    """Return flat[position] + 2, or a reserved number for a position outside first to last - 1."""
    if position < first:
        return OUTSIDE + min(first - position, 2)
    if position >= last:
        return OUTSIDE + min(position - last + 1, 2)
    return flat[position] + 2


@parallel
def window_keys(start, stop, flat, starts, rows, positions, windows, keys):
    """Write a 64-bit key of each window around each position to keys[position, window].

    Keys are equal where the symbol at the position, the window and the symbols in it are.
    """
    for n in range(start, stop):
        first, last = starts[rows[n]], starts[rows[n] + 1]
        here = first + positions[n]
        for f in range(len(windows)):
            key = mixed(mixed(SEED, f + 1), flat[here] + 2)
            for position in range(here + windows[f, 0], here + windows[f, 1] + 1):
                key = mixed(key, _symbol_code(flat, first, last, position))
            keys[n, f] = key
