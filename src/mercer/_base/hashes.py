"""Hashes of Python values that are the same in every process."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

import numpy as np


@cache
def text_hash(text: str) -> np.uint64:
    """Return a 64-bit BLAKE2 hash of a text, the same in every Python process."""
    return np.uint64(int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little"))
