"""Compiled loops over the features of positions.

A tier is a class of symbols whose nearest members are features at any distance: the vowels. The
state of an output tier is an integer: with n output symbols, the last two members a, b of the
tier (0 for none), and the harmony classes f, s of the last members that have one in the first and
in the second partition (0 to 2), it is (a (n + 1) + b) 9 + f + 3 s.
"""

from __future__ import annotations

from ..._base._window_loops import OUTSIDE, SEED, extend_hash
from ..._base.loops import compiled, parallel

ABSENT = -(1 << 62)
"""The value of a column at positions that lack the features with this column."""


@parallel
def template_keys(start, stop, columns, starts, rows, parts, stops, kinds, keys):
    """Write the hash key of each feature template (column) at each position (row) into `keys`.

    Template f combines the values at parts[stops[f]:stops[f + 1]], pairs of a column and a distance
    from the position. Its key is 0 where a value is absent. Templates of one kind have
    equal keys where their values are equal.
    """
    for n in range(start, stop):
        first, last = starts[rows[n]], starts[rows[n] + 1]
        for f in range(len(stops) - 1):
            key = extend_hash(SEED, kinds[f] + 1)
            for part in range(stops[f], stops[f + 1]):
                position = n + parts[part, 1]
                if position < first:
                    value = OUTSIDE + min(first - position, 2)
                elif position >= last:
                    value = OUTSIDE + min(position - last + 1, 2)
                else:
                    value = columns[position, parts[part, 0]]
                if value == ABSENT:
                    key = SEED ^ SEED
                    break
                key = extend_hash(key, value)
            keys[n, f] = key


@compiled
def nearest_members(values, starts, member, nearest):
    """Write the values at the nearest two members of a class on either side of each position.

    `member` is a mask of the positions whose symbol is in the class. `nearest` has the columns
    left, second left, right, second right, and is not changed where there is no such member.
    """
    for p in range(len(starts) - 1):
        for side in range(2):
            one, two = -1, -1
            for step in range(starts[p + 1] - starts[p]):
                i = starts[p] + step if side == 0 else starts[p + 1] - 1 - step
                if one >= 0:
                    nearest[i, 2 * side] = values[one]
                if two >= 0:
                    nearest[i, 2 * side + 1] = values[two]
                if member[i]:
                    one, two = i, one


@compiled
def next_tier_state(state, symbol, kinds):
    """Return the state of an output tier (the last vowels) after one more output symbol.

    `kinds` is `Tiers.symbol_kinds`.
    """
    if kinds[symbol] == 0:
        return state
    size, new, old = len(kinds) + 1, kinds[symbol] // 2, state % 9
    first = new % 3 if new % 3 else old % 3
    second = new // 3 if new // 3 else old // 3
    last = (state // 9 % size) * size + symbol + 1
    return last * 9 + first + 3 * second


@compiled
def tier_feature_key(state, symbols, kind):
    """Return the hash key of one feature of a tier state: the last vowels, or harmony classes.

    `kind` selects the part: the last member of the tier (1), its last two members (2) or the
    harmony classes (3). `symbols` is the number of output symbols.
    """
    value = state % 9
    if kind == 1:
        value = (state // 9) % (symbols + 1)
    elif kind == 2:
        value = state // 9
    return extend_hash(extend_hash(SEED, 1000 + kind), value)


@compiled
def tier_states(flat, starts, kinds, states):
    """Write the tier state (the last vowels) before each symbol and at the end of each output.

    Output p is flat[starts[p]:starts[p + 1]], and its symbol j has row starts[p] + p + j. Unknown
    symbols leave the state unchanged. `kinds` is `Tiers.symbol_kinds`.
    """
    for p in range(len(starts) - 1):
        state = 0
        for i in range(starts[p], starts[p + 1]):
            states[i + p] = state
            if 0 <= flat[i] < len(kinds):
                state = next_tier_state(state, flat[i], kinds)
        states[starts[p + 1] + p] = state


@compiled
def history_keys(pairs, features, histories, states, n_symbols, keys):
    """Write the hash key of each (output history, input feature) pair at each position.

    The rows of `pairs` are (history, column of `features`). `histories` and `states` are those of
    `Contexts.output_histories` at each position, and `n_symbols` is the number of output symbols.
    """
    for n in range(len(features)):
        for f in range(len(pairs)):
            h, window = pairs[f, 0], features[n, pairs[f, 1]]
            keys[n, f] = history_key(h, window, histories[n], states[n], n_symbols)


@compiled
def history_key(h, window, histories, state, n_symbols):
    """Return the hash key of an output history h with an input feature; 0 if one is absent.

    `window` is the key of the input feature. Histories 1, 2, … are the last output symbols; those
    beyond are features of the tier's state.
    """
    if h <= len(histories):
        history = histories[h - 1]
    else:
        history = tier_feature_key(state, n_symbols, h - len(histories))
    if window == 0 or history == 0:
        return SEED ^ SEED
    return extend_hash(extend_hash(history, 1), window)
