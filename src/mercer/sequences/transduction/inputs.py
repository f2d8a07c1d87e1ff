"""Inputs as numbers: their tokens, contexts and character classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ..._base.arrays import Items
from ...kernels import Alphabet, Codes
from .side_information import KernelContext, LabelContext

BEGIN_TOKEN, END_TOKEN = ("begin of the input",), ("end of the input",)
LABEL_TOKEN = "label of the context"
"""Tokens for the ends of an input and for labels, which are not symbols of any input."""
SEPARATOR, LOWER, UPPER, DIGIT = range(4)
"""Classes of characters; tokens that are not strings count as `LOWER`."""


@dataclass(frozen=True)
class EncodedInputs:
    """Inputs as numbers: tokens, hash keys of contexts, and character classes.

    Attributes
    ----------
    source
        The tokens: the sequence, and with a context its ends and the labels.
    first, last
        Where the sequence begins and ends among the tokens of each input.
    context
        Hash keys of the context of each input, (inputs, kinds); 0 for none.
    copied
        The output symbol that equals each token; -1 if there is none. Numbers beyond the output
        alphabet stand for `new`.
    classes
        The class of each token as a character, such as `DIGIT`.
    new
        Symbols of these inputs that the training inputs and outputs do not have.
    values
        The coordinates that go with the keys, (inputs, kinds); None if all are one.
    """

    source: Codes
    first: np.ndarray
    last: np.ndarray
    context: np.ndarray
    copied: np.ndarray
    classes: np.ndarray
    new: list
    values: np.ndarray | None = None

    @property
    def inside(self) -> np.ndarray:
        """A mask of the tokens of the sequence itself, without end marks and context labels."""
        position, rows = self.source.positions, self.source.rows
        return (position >= self.first[rows]) & (position < self.last[rows])

    def take(self, rows: np.ndarray) -> EncodedInputs:
        """Return the encoded inputs with the indices `rows`."""
        values = None if self.values is None else self.values[rows]
        source, positions = select_sequences(self.source, rows)
        return EncodedInputs(
            source, self.first[rows], self.last[rows], self.context[rows], self.copied[positions],
            self.classes[positions], self.new, values,
        )  # fmt: skip


def select_sequences(codes: Codes, rows: np.ndarray) -> tuple[Codes, np.ndarray]:
    """Return the sequences with indices `rows`, and their symbols' positions in `codes.flat`."""
    lengths = codes.lengths[rows]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    positions = np.repeat(codes.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
    return Codes(codes.flat[positions], starts), positions


def preceding_symbols(codes: Codes, width: int, mark: int, outside: int = -1) -> np.ndarray:
    """Return the `width` symbols before each symbol of each sequence, and before its end.

    `mark` stands for the start of a sequence, `outside` for what is before that. The symbols before
    symbol j of sequence p, counted from 0, are in row starts[p] + p + j.
    """
    starts = codes.starts[:-1] + width * np.arange(len(codes.lengths))
    tokens = np.full(len(codes.flat) + width * len(starts), outside, dtype=np.int64)
    tokens[starts + width - 1] = mark
    tokens[width * (codes.rows + 1) + np.arange(len(codes.flat))] = codes.flat
    rows = np.repeat(np.arange(len(starts)), codes.lengths + 1)
    return tokens[((width - 1) * rows + np.arange(len(rows)))[:, None] + np.arange(width)]


@dataclass(frozen=True)
class InputCoder:
    """Encoder of input sequences and their contexts as numbers.

    Attributes
    ----------
    symbols
        The alphabet of tokens.
    targets
        The alphabet of outputs.
    context
        The encoder of contexts; None if there are none.
    backward
        Whether sequences are read from their end.
    """

    symbols: Alphabet
    targets: Alphabet
    context: LabelContext | KernelContext | None = None
    backward: bool = False

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        targets: Alphabet,
        context: LabelContext | KernelContext | None,
        contexts: Items,
        backward: bool,
    ) -> InputCoder:
        """Return the encoder with the alphabet of the training inputs X and their contexts."""
        bare = cls(Alphabet([]), targets, context, backward)
        return cls(Alphabet.of(bare.tokens(X, contexts)), targets, context, backward)

    @cached_property
    def copies(self) -> np.ndarray:
        """The number of the output symbol that equals each token; -1 if there is none."""
        number = self.targets.number
        return np.array([number.get(s, -1) for s in self.symbols.symbols], dtype=np.int64)

    @cached_property
    def classes(self) -> np.ndarray:
        """The character class of each token, such as `DIGIT`."""
        return np.array([character_class(s) for s in self.symbols.symbols], dtype=np.int64)

    def _copies_and_classes(self, codes: Codes, tokens: Any) -> tuple[np.ndarray, np.ndarray, list]:
        """Return for each token the equal output symbol and the character class; and new symbols.

        `codes` are the numbers of the tokens. New symbols are in no alphabet; they have the numbers
        after the alphabet of outputs.
        """
        copied = np.append(self.copies, -1)[codes.flat]
        classes = np.append(self.classes, LOWER)[codes.flat]
        new: dict[Any, int] = {}
        for at in np.flatnonzero(codes.flat < 0):
            symbol = tokens[codes.rows[at]][codes.positions[at]]
            if self.context is None or not isinstance(symbol, tuple):  # tuples: labels and ends
                known = self.targets.number.get(symbol)
                number = new.setdefault(symbol, len(self.targets) + len(new))
                copied[at] = number if known is None else known
                classes[at] = character_class(symbol)
        return copied, classes, list(new)

    def tokens(self, X: np.ndarray, contexts: Items) -> Items:
        """Return the sequences X with end marks and with the labels of their contexts.

        Labels that are not in the training data are ignored. Without a context, the sequences are
        returned unchanged.
        """
        if self.context is None:
            return X
        new = self.unknown_labels(contexts) if len(self.symbols) else []
        return [
            (
                BEGIN_TOKEN,
                *x,
                END_TOKEN,
                *((LABEL_TOKEN, label) for label in labels if label not in new),
            )
            for x, labels in zip(X, self.context.tokens(contexts), strict=True)
        ]

    def unknown_labels(self, contexts: Items) -> list:
        """Return the labels in contexts that are not in the training data."""
        if self.context is None:
            return []
        labels = dict.fromkeys(chain.from_iterable(self.context.tokens(contexts)))
        return [label for label in labels if (LABEL_TOKEN, label) not in self.symbols.number]

    def encode(self, X: np.ndarray, contexts: Items = None) -> EncodedInputs:
        """Return the sequences X with their contexts as numbers."""
        n = np.array([len(x) for x in X], dtype=np.int64)
        ahead = int(self.context is not None)
        first = np.full(len(n), ahead)
        tokens = self.tokens(X, contexts)
        codes = self.symbols.encode(tokens)
        copied, classes, new = self._copies_and_classes(codes, tokens)
        if self.backward:
            copied, classes = (
                reversed_codes(Codes(each, codes.starts)).flat for each in (copied, classes)
            )
            codes = reversed_codes(codes)
            first = codes.lengths - ahead - n
        keys, values = np.zeros((len(n), 0), dtype=np.uint64), None
        if self.context is not None:
            keys, values = self.context.keys(contexts)
        return EncodedInputs(codes, first, first + n, keys, copied, classes, new, values)

    def display_token(self, number: int) -> Any:
        """Return the token with the given number as shown to users: "<" and ">" for the ends."""
        symbol = self.symbols.symbols[number]
        if symbol in (BEGIN_TOKEN, END_TOKEN):
            return "<" if symbol == BEGIN_TOKEN else ">"
        is_label = (
            self.context is not None and isinstance(symbol, tuple) and symbol[0] == LABEL_TOKEN
        )
        return symbol[1] if is_label else symbol


def character_class(symbol: Any) -> int:
    """Return the character class of a token: separator, lower case, upper case or digit."""
    if not isinstance(symbol, str):
        return LOWER
    if symbol.isdigit():
        return DIGIT
    return (UPPER if symbol[:1].isupper() else LOWER) if symbol.isalnum() else SEPARATOR


def word_separators(alphabet: Alphabet) -> np.ndarray:
    """Return a mask of the symbols of an alphabet that separate words, such as spaces."""
    return np.array([character_class(s) == SEPARATOR for s in alphabet.symbols], dtype=bool)


def reversed_codes(codes: Codes) -> Codes:
    """Return the sequences with their symbols in reverse order."""
    mirrored = codes.starts[codes.rows] + codes.lengths[codes.rows] - 1 - codes.positions
    return Codes(codes.flat[mirrored], codes.starts)


def reverse_if_backward(codes: Codes, backward: bool) -> Codes:
    """Return the sequences, with their symbols in reverse order if `backward`."""
    return reversed_codes(codes) if backward else codes


def concatenate_codes(codes: Codes, more: Codes | None) -> Codes:
    """Return the sequences of both batches as one; `more` may be None."""
    if more is None:
        return codes
    starts = np.concatenate([codes.starts, codes.starts[-1] + more.starts[1:]])
    return Codes(np.concatenate([codes.flat, more.flat]), starts)
