from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from .._base.arrays import Items, as_items, host, is_foreign, single_column
from .base import Space
from .moves import SequenceMoves


class Sequences(Space):
    """Sequences of symbols (strings, or lists of tokens) or of real vectors.

    Parameters
    ----------
    vectors : bool, default=False
        Whether the items of a sequence are real vectors of one length, rather than symbols.

    Examples
    --------
    >>> from mercer.spaces import Sequences
    >>> Sequences().check(["cat", ["ch", "at"]])
    array(['cat', list(['ch', 'at'])], dtype=object)
    """

    name = "sequences"

    def __init__(self, vectors: bool = False):
        self.vectors = vectors

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """Check sequences; return them in an object array, sequences of vectors as matrices."""
        return as_matrices(A, name) if self.vectors else as_sequences(A, name)

    def moves(self, y: Items) -> SequenceMoves | None:
        """Return the edits of sequences of symbols; None for sequences of vectors."""
        return None if self.vectors else SequenceMoves(y)

    def key(self, item: Any) -> Hashable:
        """Return a string unchanged; for another sequence, a hashable key with its type."""
        if isinstance(item, str):
            return item
        if self.vectors:
            return super().key(item)
        return type(item).__name__, tuple(item)


def as_sequences(A: Items, name: str = "X") -> np.ndarray:
    """Check sequences of symbols, which may be empty; return them in a 1-D object array.

    Examples
    --------
    >>> from mercer.spaces import as_sequences
    >>> as_sequences(["ab", ("c", "d")]).tolist()
    ['ab', ('c', 'd')]
    """
    A = single_column(A)
    if is_foreign(A) or (isinstance(A, np.ndarray) and A.dtype != object):
        A = list(host(A)) if A.ndim > 1 else A.tolist()  # rows, or plain strings
    items = as_items(A, name)
    for i, item in enumerate([] if all_texts(items) else items):
        if not isinstance(item, str):
            _check_symbols(item, i, name)
    return items


def all_texts(items: Items) -> bool:
    """Return whether all items are strings."""
    return set(map(type, items)) <= {str}


def _check_symbols(item: Any, i: int, name: str) -> None:
    """Raise an error unless item i is a sequence of hashable symbols."""
    is_row = isinstance(item, np.ndarray) and item.ndim == 1
    if not (is_row or isinstance(item, list | tuple)):
        raise ValueError(
            f"{name}[{i}] must be a sequence of symbols (a string, or a list or tuple of tokens), "
            f"got {describe_item(item)}. Remove it, or make it a sequence."
        )
    try:
        hash(tuple(item))
    except TypeError:
        raise ValueError(
            f"{name}[{i}] holds symbols that cannot be compared by value (lists, arrays, sets): "
            "make each symbol a string, a number or a tuple."
        ) from None


def describe_item(item: Any) -> str:
    """Return a short description of an item, for error messages."""
    shape = f" of shape {item.shape}" if isinstance(item, np.ndarray) else f" {item!r:.40}"
    return type(item).__name__ + shape


def as_matrices(A: Items, name: str) -> np.ndarray:
    """Check sequences of vectors; return them as float64 matrices, one row per position."""
    if isinstance(A, np.ndarray) and A.dtype != object:
        A = list(A)
    items = as_items(A, name)
    checked = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        checked[i] = _as_matrix(item, i, name)
    widths = [item.shape[1] for item in checked if len(item)]
    for i, item in enumerate(checked):
        if len(item) and item.shape[1] != widths[0]:
            raise ValueError(
                f"{name}[{i}] holds vectors of length {item.shape[1]}, the items before it of "
                f"length {widths[0]}: all must have one length."
            )
    return checked


def _as_matrix(item: Any, i: int, name: str) -> np.ndarray:
    """Check item i, a sequence of vectors; return it as a matrix, one row per position."""
    try:
        matrix = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(())
    if matrix.size == 0 and matrix.ndim >= 1:
        return np.zeros((0, 0))
    if matrix.ndim < 2 or not np.isfinite(matrix).all():
        raise ValueError(
            f"{name}[{i}] must be a sequence of finite real vectors of one length (or of images), "
            f"got {describe_item(item)}."
        )
    return matrix.reshape(len(matrix), -1)
