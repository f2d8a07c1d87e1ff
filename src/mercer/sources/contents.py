"""Hashes of blocks, which show whether a source returns the same values when read again."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import Items, is_table

SIZES = (1, 2, 4, 8)
"""Bytes of numbers that can be read as unsigned integers."""
MODULUS = 2**64


def content_hashes(start: int, block: Any) -> tuple[int, ...]:
    """Return the hashes of X, y and weights of a block whose first pair has number `start`.

    Hashes of consecutive blocks add up (modulo 2⁶⁴) to that of all pairs, however they are cut.
    Arrays, texts and numbers count; other objects and arrays on a device are not compared.
    """
    return tuple(_hash_of_items(items, start) for items in block)


def sum_of_hashes(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """Return the hashes of two consecutive blocks taken together."""
    if not left:
        return right
    return tuple((a + b) % MODULUS for a, b in zip(left, right, strict=True))


def _hash_of_items(items: Items, start: int) -> int:
    """Return the hash of a batch whose first item has the number `start`."""
    if issparse(items):
        return _hash_of_items(items.toarray(), start)
    if is_table(items):
        items = items.to_numpy()
    if isinstance(items, np.ndarray) and items.dtype.kind not in "OUS":
        return _hash_of_numbers(items, start)
    if not isinstance(items, list | tuple | np.ndarray):
        return 0
    return (
        sum((2 * place + 1) * _hash_of_item(item) for place, item in enumerate(items, start))
        % MODULUS
    )


def _hash_of_numbers(A: np.ndarray, start: int) -> int:
    """Return Σ_ij (2i + 1)(2j + 1) a_ij modulo 2⁶⁴, with the bits of the entries as integers."""
    if A.itemsize not in SIZES or A.ndim == 0 or A.size == 0:
        return 0
    rows = np.ascontiguousarray(A).reshape(len(A), -1).view(f"u{A.itemsize}")
    places, columns = (
        2 * np.arange(first, first + number, dtype=np.uint64) + np.uint64(1)
        for first, number in zip((start, 0), rows.shape, strict=True)
    )
    sums = np.einsum("i,ij->j", places, rows.astype(np.uint64, copy=False))
    return int((sums * columns).sum())


def _hash_of_item(item: Any) -> int:
    """Return the hash of one item; 0 for types that are not compared."""
    if isinstance(item, np.ndarray):
        return _hash_of_items(item, 0)
    return hash(item) % MODULUS if isinstance(item, str | bytes | int | float) else 0
