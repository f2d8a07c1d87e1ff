"""Arrays of 64-bit hash keys of features."""

from __future__ import annotations

from typing import Any

import numpy as np


def mix(keys: Any, values: Any) -> np.ndarray:
    """Return 64-bit hash keys with one more integer hashed into each."""
    with np.errstate(over="ignore"):
        keys = np.asarray(keys, dtype=np.uint64) ^ np.asarray(values).astype(np.uint64)
        keys = keys * np.uint64(0x9E3779B97F4A7C15)
        return keys ^ (keys >> np.uint64(29))


def seed(number: int) -> np.ndarray:
    """Return the initial hash key for features of one kind, given by its number."""
    from ...kernels._window_loops import SEED  # compiled loops are loaded when first used

    return mix(SEED, number)


def make_hash_table(keys: np.ndarray) -> np.ndarray:
    """Return the hash table of distinct keys, with at most two thirds of its slots in use."""
    from ._key_loops import hash_table

    return hash_table(keys, 1 << max(int(np.ceil(np.log2(1.5 * len(keys) + 2))), 1))
