"""Batches of sequences as arrays of integers, and alphabets of symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Items, object_array
from .._base.checks import Limits, must
from ..spaces.base import python_scalar
from ..spaces.sequences import all_texts


@dataclass(frozen=True)
class Codes:
    """A batch of integer sequences, end to end: sequence i is flat[starts[i]:starts[i + 1]].

    A symbol that the alphabet lacks is -1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Codes
    >>> codes = Codes(np.array([0, 1, 1]), np.array([0, 2, 3]))
    >>> codes.lengths, codes.rows
    (array([2, 1]), array([0, 0, 1]))
    """

    flat: np.ndarray
    starts: np.ndarray

    @cached_property
    def lengths(self) -> np.ndarray:
        """The length of each sequence."""
        return np.diff(self.starts)

    @cached_property
    def rows(self) -> np.ndarray:
        """The index of the sequence of each entry of `flat`."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)

    @cached_property
    def positions(self) -> np.ndarray:
        """The position of each entry of `flat` in its sequence."""
        return np.arange(len(self.flat)) - np.repeat(self.starts[:-1], self.lengths)

    @cached_property
    def remaining(self) -> np.ndarray:
        """The number of symbols from each entry of `flat` to the end of its sequence, inclusive."""
        return np.repeat(self.starts[1:], self.lengths) - np.arange(len(self.flat))


class Alphabet:
    """The distinct symbols of a batch of sequences; symbol symbols[i] has the number i.

    Examples
    --------
    >>> from mercer.kernels import Alphabet
    >>> alphabet = Alphabet.of(["abba", "cab"])
    >>> alphabet.symbols, alphabet.encode(["bad"]).flat
    (['a', 'b', 'c'], array([ 1,  0, -1]))
    """

    def __init__(self, symbols: Iterable[Any]):
        self.symbols = list(dict.fromkeys(symbols))
        self.number = {symbol: i for i, symbol in enumerate(self.symbols)}

    @classmethod
    def of(cls, items: Items) -> Alphabet:
        """Return the alphabet of a batch, sorted if possible, else in order of appearance."""
        if all_texts(items):
            return cls(sorted(set("".join(items))))
        symbols = list(dict.fromkeys(python_scalar(symbol) for item in items for symbol in item))
        try:
            return cls(sorted(symbols))
        except TypeError:
            return cls(symbols)

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the symbols are distinct; restore their numbers."""
        must(isinstance(self.symbols, list), "symbols is not a list")
        self.number = {symbol: i for i, symbol in enumerate(self.symbols)}
        must(len(self.number) == len(self.symbols), "symbols are not distinct")

    def __len__(self) -> int:
        return len(self.symbols)

    def encode(self, items: Items) -> Codes:
        """Return a batch of sequences as symbol numbers, with -1 for unknown symbols."""
        starts = np.concatenate([[0], np.cumsum([len(item) for item in items], dtype=np.int64)])
        if all_texts(items) and self._has_only_characters:
            return Codes(self._encode_text("".join(items)), starts.astype(np.int64))
        find = self.number.get
        flat = [find(symbol, -1) for item in items for symbol in item]
        if len(flat) != starts[-1]:
            raise ValueError(
                "each item must be a sequence, got one whose length is not its number of symbols."
            )
        return Codes(np.array(flat, dtype=np.int64), starts.astype(np.int64))

    @property
    def _has_only_characters(self) -> bool:
        """Whether all symbols are single characters."""
        return all(isinstance(symbol, str) and len(symbol) == 1 for symbol in self.symbols)

    def _encode_text(self, text: str) -> np.ndarray:
        """Return the symbol number of each character by a lookup table, -1 if it is unknown."""
        points = _code_points(text)
        known = _code_points("".join(self.symbols))
        table = np.full(max(points.max(initial=0), known.max(initial=0)) + 1, -1, dtype=np.int64)
        table[known] = np.arange(len(known))
        return table[points]


def _code_points(text: str) -> np.ndarray:
    """Return the Unicode code points of a text as an array of integers."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(int)


def restore_container(symbols: Sequence[Any], like: Any) -> Any:
    """Return symbols as a sequence of the type of `like`: a string, tuple, list or array.

    Examples
    --------
    >>> from mercer.kernels import restore_container
    >>> restore_container(["a", "b"], "text"), restore_container(["a", "b"], ("t",))
    ('ab', ('a', 'b'))
    """
    if isinstance(like, str):
        return "".join(symbols)
    if isinstance(like, np.ndarray):
        return (
            np.array(symbols, dtype=like.dtype) if like.dtype != object else object_array(symbols)
        )
    return tuple(symbols) if isinstance(like, tuple) else list(symbols)
