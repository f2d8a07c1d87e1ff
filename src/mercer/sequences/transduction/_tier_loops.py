"""Tiers of inputs and outputs, compiled.

The state of an output tier is a whole number: 3 ((second last member + 1)(symbols + 1) + last
member + 1) + the number of symbols of the class that occurs once, 2 for more.
"""

from __future__ import annotations

import numpy as np

from ..._loops import compiled
from ...kernels._window_loops import SEED, mixed


@compiled
def nearest_members(flat, starts, member, out):
    """Write the nearest members to the left of each position, then those to the right."""
    depth = out.shape[1] // 2
    last = np.empty(depth, dtype=np.int64)
    for p in range(len(starts) - 1):
        for side in range(2):
            last[:] = -1
            for step in range(starts[p + 1] - starts[p]):
                i = starts[p] + step if side == 0 else starts[p + 1] - 1 - step
                for d in range(depth):
                    out[i, side * depth + d] = last[d]
                if member[flat[i]]:
                    for d in range(depth - 1, 0, -1):
                        last[d] = last[d - 1]
                    last[0] = flat[i]


@compiled
def tier_after(state, symbol, member, once):
    """Return the state after one more output symbol."""
    room = len(member) + 1
    seen, last = state % 3, state // 3
    if once[symbol]:
        seen = min(seen + 1, 2)
    if member[symbol]:
        last = (last % room) * room + symbol + 1
    return 3 * last + seen


@compiled
def tier_key(state, symbols, depth):
    """Return the key of the last member (depth 1), the last two (2) or what was seen once (3)."""
    if depth == 1:
        return mixed(mixed(SEED, 1001), (state // 3) % (symbols + 1))
    if depth == 2:
        return mixed(mixed(SEED, 1002), state // 3)
    return mixed(mixed(SEED, 1003), state % 3)


@compiled
def states_before(flat, starts, member, once, states):
    """Write the state before each symbol of every output, and after its last."""
    at = 0
    for p in range(len(starts) - 1):
        state = 0
        for i in range(starts[p], starts[p + 1]):
            states[at] = state
            if flat[i] >= 0:
                state = tier_after(state, flat[i], member, once)
            at += 1
        states[at] = state
        at += 1
