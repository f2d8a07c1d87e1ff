"""Arrays of 64-bit hash keys of features."""

from __future__ import annotations

from typing import Any

import numpy as np


def extend_hashes(keys: Any, values: Any) -> np.ndarray:
    """Return the 64-bit hash keys with one of the integers `values` hashed into each."""
    with np.errstate(over="ignore"):
        keys = np.asarray(keys, dtype=np.uint64) ^ np.asarray(values).astype(np.uint64)
        keys = keys * np.uint64(0x9E3779B97F4A7C15)
        return keys ^ (keys >> np.uint64(29))


def feature_seed(kind: int) -> np.ndarray:
    """Return the hash key from which the keys of features of one kind are computed."""
    from ..._base._window_loops import SEED  # compiled loops are loaded when first used

    return extend_hashes(SEED, kind)


def make_hash_table(keys: np.ndarray) -> np.ndarray:
    """Return the hash table of distinct keys, with at most two thirds of its slots in use."""
    from ._key_loops import hash_table

    return hash_table(keys, 1 << max(int(np.ceil(np.log2(1.5 * len(keys) + 2))), 1))
