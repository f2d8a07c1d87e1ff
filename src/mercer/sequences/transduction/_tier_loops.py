"""Tiers of outputs, compiled.

The state of an output tier is a whole number: 3 ((second last member + 1)(symbols + 1) + last
member + 1) + the number of symbols of the class that occurs once, 2 for more.
"""

from __future__ import annotations

from ..._loops import compiled
from ...kernels._window_loops import SEED, mixed


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
