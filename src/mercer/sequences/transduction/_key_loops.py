"""Keys of features numbered, and found again, compiled."""

from __future__ import annotations

import numpy as np

from ..._loops import compiled


@compiled
def slot(key, size):
    """Return the place in a hash table where the search for a key begins."""
    return (key ^ (key >> np.uint64(32))) & np.uint64(size - 1)


@compiled
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


@compiled
def found(keys, table, key):
    """Return the number of a key, or -1."""
    return table[place_of(keys, table, key)]


@compiled
def entered(keys, table, n, key):
    """Return the number of a key, n and so entered where it is new; keys and table may grow."""
    at = place_of(keys, table, key)
    number = table[at]
    if number < 0:
        number = n
        if n == len(keys):
            keys = np.concatenate((keys, np.empty(n, np.uint64)))
        keys[n] = key
        table[at] = n
        if 3 * n > 2 * len(table):
            table = hash_table(keys[: n + 1], 2 * len(table))
    return number, keys, table


@compiled
def numbered(keys):
    """Number the distinct keys in order of appearance; key 0 is none and has number -1."""
    numbers = np.full(keys.shape, -1, dtype=np.int32)
    distinct = np.empty(1024, dtype=np.uint64)
    table = np.full(4096, -1, dtype=np.int32)
    n = 0
    for i in range(keys.shape[0]):
        for f in range(keys.shape[1]):
            if keys[i, f] != 0:
                number, distinct, table = entered(distinct, table, n, keys[i, f])
                numbers[i, f] = number
                n = max(n, number + 1)
    return numbers, distinct[:n].copy()
