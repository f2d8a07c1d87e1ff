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


@compiled
def repeated_columns(numbers, rows, values, weights, count):
    """Return some rows as a sparse matrix of the features that occur in two of them at least.

    `count` has a zero for each feature, before and after. Returns indptr, indices, data and the
    features of the columns.
    """
    kinds = numbers.shape[1]
    for r in rows:
        for f in range(kinds):
            if numbers[r, f] >= 0:
                count[numbers[r, f]] += 1
    entries, used = 0, 0
    for r in rows:
        for f in range(kinds):
            i = numbers[r, f]
            if i >= 0:
                if count[i] > 1:
                    used += 1
                    count[i] = -used  # column used - 1 from here on
                elif count[i] == 1:
                    count[i] = 0
                entries += count[i] < 0
    indptr, indices = np.zeros(len(rows) + 1, np.int32), np.empty(entries, np.int32)
    data, features = np.empty(entries, np.float32), np.empty(used, np.int32)
    at = 0
    for k, r in enumerate(rows):
        v = values[r % len(values)]
        for f in range(kinds):
            i = numbers[r, f]
            if i >= 0 and count[i] < 0:
                indices[at], data[at] = -count[i] - 1, v[f] * weights[f]
                features[-count[i] - 1] = i
                at += 1
        indptr[k + 1] = at
    for i in features:
        count[i] = 0
    return indptr, indices, data, features
