"""What all letters have in common: when they are copied, dropped or followed by an ending."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._base.checks import Limits, array, indices, must
from ...kernels._sequences import Codes
from ...solvers import ConjugateGradient
from ._keys import mix, seed
from .emission import COPY, Chunks, sparse_rows
from .inputs import SEPARATOR, EncodedInputs

COPIED = 0.5
"""Fraction of letters that must be copied for letters to share anything."""
TOLERANCE = 1e-2
"""Of the ridge equation: each symbol is fitted to what is left."""
PAIRS = 1000
"""Training pairs that the shared map is fitted on; it has few features."""
OFTEN = 2
"""How often a chunk, or a feature, must occur."""
FAR = 5
"""Distances to an end of the input from here on count as one."""


@dataclass(frozen=True)
class SharedMap:
    """Scores of chunks that do not depend on the letter at the position.

    Attributes
    ----------
    keys, coef
        Sorted keys of the features, and the coefficients of each, (features, columns).
    column
        The column of each chunk of the model; -1 for those without a score.
    """

    keys: np.ndarray
    coef: np.ndarray
    column: np.ndarray

    def check_loaded(self, limits: Limits) -> None:
        """Check that there is a row of coefficients for each key, and that columns exist."""
        array(self.keys, "keys", np.uint64, None)
        must((self.keys[1:] > self.keys[:-1]).all(), "keys are not in order")
        width = array(self.coef, "coef", np.float32, len(self.keys), None).shape[1]
        indices(self.column, "column", -1, width)

    @property
    def chunks(self) -> np.ndarray:
        """The numbers of the chunks that have a score."""
        return np.flatnonzero(self.column >= 0)

    def scores(self, keys: np.ndarray) -> np.ndarray:
        """Return the scores at positions with the given features, one more column of zeros last."""
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = (self.keys[at] == keys) & (keys != 0)
        U = sparse_rows(known, at[known], len(self.keys))
        return np.hstack([U @ self.coef, np.zeros((len(keys), 1), np.float32)])


def shared_keys(inputs: EncodedInputs, vowels: np.ndarray) -> np.ndarray:
    """Return the features of positions that do not name their letter, (positions, kinds).

    They are the letters around the position, whether it is a vowel, the distance to the ends, the
    word and the place in it, the classes of characters around it, and products with the context.
    Labels and marks of the ends have no features. `vowels` says which input symbols are vowels.
    """
    codes, rows = inputs.source, inputs.source.rows
    around = {offset: _shifted(codes, codes.flat, offset) for offset in (-2, -1, 1, 2, 3)}
    classes = [_shifted(codes, inputs.classes, offset) for offset in range(-2, 3)]
    vowel = vowels[codes.flat].astype(np.int64)
    to_end = np.minimum(inputs.last[rows] - codes.positions, FAR)
    between = inputs.classes == SEPARATOR
    before = np.concatenate([[0], np.cumsum(between)])
    word = np.minimum((before[1:] - before[codes.starts[rows]]) + 1, FAR)
    breaks = np.where(between | (codes.positions == 0), np.arange(len(between)), 0)
    in_word = np.minimum(np.arange(len(between)) - np.maximum.accumulate(breaks), 3)
    to_begin = np.minimum(codes.positions - inputs.first[rows], FAR)
    kinds = [
        (), (to_end,), (around[1],), (around[1], around[2]),
        (vowel,), (around[1], around[2], around[3]), (around[-1],), (around[-1], around[-2]),
        (around[-1], around[1]), (vowel, around[1]), (vowel, around[-1]), (to_begin,),
        (word,), (word, in_word), (word, around[1]),
        tuple(classes[1:4]), tuple(classes[2:]), tuple(classes[:3]), tuple(classes),
    ]  # fmt: skip
    keys = []
    for kind, parts in enumerate(kinds):
        key = np.full(len(codes.flat), seed(700 + kind))
        for part in parts:
            key = mix(key, part)
        keys.append(key)
    with_context = [
        np.where(own == 0, np.uint64(0), mix(key, own))
        for own in inputs.context[rows].T
        for key in keys[:4]
    ]
    return np.where(inputs.inside[:, None], np.column_stack([*keys, *with_context]), np.uint64(0))


def _shifted(codes: Codes, values: np.ndarray, offset: int) -> np.ndarray:
    """Return the value of the symbol at a distance from each, plus 10; 1 beyond the sequence."""
    place = codes.positions + offset
    inside = (place >= 0) & (place < codes.lengths[codes.rows])
    at = np.clip(np.arange(len(values)) + offset, 0, max(len(values) - 1, 0))
    return np.where(inside, values[at], -9) + 10


def fit_shared(
    keys: np.ndarray, rows: np.ndarray, numbers: np.ndarray, chunks: Chunks, alpha: float
) -> SharedMap | None:
    """Fit the map to the chunks of positions; None where letters are not mostly copied.

    Parameters
    ----------
    keys
        The features of the positions; all 0 for tokens that are not letters.
    rows
        The pair of each position, in order.
    numbers
        The chunk that each position emits.
    chunks
        All chunks.
    alpha
        The ridge.
    """
    letters = np.flatnonzero(keys[:, 0] != 0)
    if not len(letters):
        return None
    copies = (chunks.symbols == COPY).any(axis=1)
    if copies[numbers[letters]].mean() < COPIED:
        return None
    letters = letters[rows[letters] < rows[letters[0]] + PAIRS]
    counts = np.bincount(numbers[letters], minlength=len(chunks.lengths))
    common = np.flatnonzero(counts >= OFTEN)
    column = np.full(len(chunks.lengths), -1)
    column[common] = np.arange(len(common))
    names, at, often = np.unique(keys[letters], return_inverse=True, return_counts=True)
    kept = (often >= OFTEN) & (names != 0)
    new = np.cumsum(kept) - 1
    at = at.reshape(len(letters), -1)
    there = kept[at]
    U = sparse_rows(there, new[at[there]], int(kept.sum()))
    V = (numbers[letters][:, None] == common).astype(np.float32)
    coef = ConjugateGradient(TOLERANCE, warn=False).solve(U, V, alpha, np.ones(len(common)))
    return SharedMap(names[kept], np.asarray(coef, dtype=np.float32), column)
