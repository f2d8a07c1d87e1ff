"""Tiers of outputs, compiled.

The state of an output tier is an integer: with n output symbols, the last two members a, b of the
tier (0 for none), the harmony class h of the last member that has one (0 to 8) and the number s of
symbols of the class that occurs once (2 for more), it is ((a (n + 1) + b) 9 + h) 3 + s.
"""

from __future__ import annotations

from ..._base.loops import compiled
from ...kernels._window_loops import SEED, mixed


@compiled
def tier_after(state, symbol, kinds):
    """Return the state after one more output symbol; `kinds` are those of `Tiers.symbol_kinds`."""
    kind = kinds[symbol]
    seen, harmony, last = state % 3, (state // 3) % 9, state // 27
    if kind & 2:
        seen = min(seen + 1, 2)
    if kind & 1:
        room = len(kinds) + 1
        last = (last % room) * room + symbol + 1
        first, second = (kind >> 2) % 3, (kind >> 2) // 3
        first = first if first else harmony % 3
        second = second if second else harmony // 3
        harmony = first + 3 * second
    return (last * 9 + harmony) * 3 + seen


@compiled
def tier_key(state, symbols, kind):
    """Return the feature key of one part of the state of an output tier.

    `kind` selects the part: the last member of the tier (1), its last two members (2), the harmony
    class (3) or the number of symbols of the class that occurs once (4). `symbols` is the number of
    output symbols.
    """
    value = state % 3
    if kind == 1:
        value = (state // 27) % (symbols + 1)
    elif kind == 2:
        value = state // 27
    elif kind == 3:
        value = (state // 3) % 9
    return mixed(mixed(SEED, 1000 + kind), value)
