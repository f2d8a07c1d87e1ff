"""Keys of features numbered, and found again, compiled."""

from __future__ import annotations

import numpy as np

from ..._base.loops import compiled, inlined


@inlined
def slot(key, size):
    """Return the place in a hash table where the search for a key begins."""
    return (key ^ (key >> np.uint64(32))) & np.uint64(size - 1)


@inlined
def place_of(keys, table, key):
    """Return the place of a key in a table, or the free one where it belongs."""
    at = slot(key, len(table))
    while table[at] >= 0 and keys[table[at]] != key:
        at = (at + np.uint64(1)) & np.uint64(len(table) - 1)
    return at


@compiled
def hash_table(keys, size):
    """Return a table of the numbers of distinct keys, -1 where free."""
    table = np.full(size, -1, dtype=np.int32)
    for i in range(len(keys)):
        table[place_of(keys, table, keys[i])] = i
    return table


@inlined
def found(keys, table, key):
    """Return the number of a key, or -1."""
    return table[place_of(keys, table, key)]


@compiled
def numbered(keys):
    """Return numbers of keys in order of appearance (-1 for key 0), and the distinct keys."""
    numbers = np.full(keys.shape, -1, dtype=np.int32)
    distinct, n = np.empty(1024, dtype=np.uint64), 0
    table = np.full(4096, -1, dtype=np.int32)
    for i in range(keys.shape[0]):
        for f in range(keys.shape[1]):
            key = keys[i, f]
            if key != 0:
                at = place_of(distinct, table, key)
                if table[at] < 0:
                    distinct[n], table[at] = key, n
                    n += 1
                numbers[i, f] = table[at]
                if n == len(distinct):  # the table is four times as large
                    wider = np.empty(2 * n, dtype=np.uint64)
                    for a in range(n):
                        wider[a] = distinct[a]
                    distinct = wider
                    table = hash_table(distinct[:n], 4 * len(distinct))
    return numbers, distinct[:n]
