"""Compiled hash tables of feature keys."""

from __future__ import annotations

import numpy as np

from ..._base.loops import compiled, inlined


@inlined
def find_slot(keys, table, key):
    """Return the slot of a key in a hash table, or the free slot where it belongs."""
    at = (key ^ (key >> np.uint64(32))) & np.uint64(len(table) - 1)
    while table[at] >= 0 and keys[table[at]] != key:
        at = (at + np.uint64(1)) & np.uint64(len(table) - 1)
    return at


@compiled
def hash_table(keys, size):
    """Return a hash table of `size` slots with the index of each key; -1 in free slots."""
    table = np.full(size, -1, dtype=np.int32)
    for i in range(len(keys)):
        table[find_slot(keys, table, keys[i])] = i
    return table


@inlined
def find_key(keys, table, key):
    """Return the index of a key in `keys`, by its hash table; -1 if it is not there."""
    return table[find_slot(keys, table, key)]


@compiled
def number_keys(keys):
    """Return the number of each key, by first appearance, and the distinct keys.

    Key 0 stands for no feature and has the number -1.
    """
    numbers = np.full(keys.shape, -1, dtype=np.int32)
    distinct, n = np.empty(1024, dtype=np.uint64), 0
    table = np.full(4096, -1, dtype=np.int32)
    for i in range(keys.shape[0]):
        for f in range(keys.shape[1]):
            key = keys[i, f]
            if key != 0:
                at = find_slot(distinct, table, key)
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
