"""Hashes of blocks, by which a source that returns other pairs when read again is recognised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from zlib import crc32

import joblib
import numpy as np
from scipy.sparse import issparse

from .._base.arrays import host, is_foreign, is_table
from .blocks import number_of_pairs


@dataclass(frozen=True)
class Progress:
    """How many blocks and pairs have been read so far, and hashes of their contents.

    Attributes
    ----------
    values
        Hashes of the arrays, texts and numbers in X, in y and in the weights. They do not depend
        on how the pairs are divided into blocks.
    digest
        The same with all other objects included; empty without a checkpoint.
    """

    blocks: int = 0
    pairs: int = 0
    values: tuple[int, ...] = ()
    digest: tuple[int, ...] = ()

    def plus(self, block: Any, objects: bool) -> Progress:
        """Return the progress after one more block; hash objects of any type too if `objects`."""
        values = block_hashes(block, self.values, False)
        digest = block_hashes(block, self.digest, True) if objects else ()
        return Progress(self.blocks + 1, self.pairs + number_of_pairs(block), values, digest)


def block_hashes(block: Any, before: tuple[int, ...], objects: bool) -> tuple[int, ...]:
    """Return hashes of X, y and weights that continue the hashes of the blocks before.

    Objects other than texts, numbers and numpy arrays count if `objects` is True.
    """
    starts = (*before, 0, 0, 0)
    return tuple(content_hash(part, starts[i], objects) for i, part in enumerate(block))


def content_hash(value: Any, start: int = 0, objects: bool = True) -> int:
    """Return a hash of a batch (CRC-32), which is equal for equal values in every process.

    Parameters
    ----------
    value
        A batch or an item.
    start
        The hash of the batches before this one.
    objects
        Whether objects other than texts, numbers and numpy arrays count. Pickling them takes time,
        and so does copying arrays from a device.
    """
    if isinstance(value, str | bytes | int | float):
        return crc32(repr(value).encode(), start)
    if issparse(value):
        value = value.toarray()
    elif is_table(value):
        value = value.to_numpy()
    elif objects and is_foreign(value):
        value = host(value)
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OUS":
        return crc32(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data, start)
    if isinstance(value, list | tuple | np.ndarray):
        for item in value:
            start = content_hash(item, start, objects)
        return start
    return crc32(joblib.hash(value).encode(), start) if objects else start
