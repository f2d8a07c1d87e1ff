"""A list of outputs as a tree of their prefixes: what a search may put out."""

from __future__ import annotations

import numpy as np

from ..._base.memory import GIB
from ...kernels._sequences import Codes
from .ngram import LARGEST


def prefix_tree(codes: Codes, symbols: int) -> np.ndarray:
    """Return the child of each prefix for each symbol, (prefixes, symbols + 1); -1 for none.

    The last column is 0 where an output ends, -1 elsewhere. The root is row 0.
    """
    starts, lengths = codes.starts[:-1], codes.lengths
    node = np.zeros(len(lengths), dtype=np.int64)
    levels: list[tuple[np.ndarray, np.ndarray]] = []
    size = 1
    for depth in range(int(lengths.max(initial=0))):
        deeper = np.flatnonzero(lengths > depth)
        edges = node[deeper] * symbols + codes.flat[starts[deeper] + depth]
        distinct, number = np.unique(edges, return_inverse=True)
        levels.append((distinct, size + np.arange(len(distinct))))
        node[deeper] = size + number
        size += len(distinct)
    if 4.0 * size * (symbols + 1) > LARGEST:
        raise MemoryError(
            f"the lexicon has {size} prefixes over {symbols} symbols, more than "
            f"{LARGEST / GIB:.0f} GiB hold: give each input a list of its own with candidates=…."
        )
    tree = np.full((size, symbols + 1), -1, dtype=np.int32)
    for edges, children in levels:
        tree[edges // symbols, edges % symbols] = children
    tree[node, symbols] = 0
    return tree
