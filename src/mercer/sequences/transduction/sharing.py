"""The local map that all letters share: when they are copied, dropped or followed by an ending."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._base.checks import Limits, array, indices, must
from ...solvers import ConjugateGradient
from ._keys import make_hash_table
from .emission import COPY, Chunks, sparse_rows

COPIED = 0.5
"""The fraction of letters that must be copied for a shared map to be fitted."""
SHARED_TOLERANCE = 1e-2
"""The relative tolerance of the ridge equation; each symbol is fitted to the residual."""
SHARED_PAIRS = 1000
"""The largest number of training pairs that the shared map is fitted to; it has few features."""
FEWEST_OCCURRENCES = 2
"""The number of times that a chunk or a feature must occur."""


@dataclass(frozen=True)
class SharedMap:
    """A linear map to scores of output chunks that all letters share.

    Attributes
    ----------
    keys, coef
        The sorted keys of the features, and the coefficients of each, (features, columns).
    column
        The column of each chunk of the model. Chunks without a score have the last, which is zero.
    """

    keys: np.ndarray
    coef: np.ndarray
    column: np.ndarray

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the arrays have matching sizes."""
        array(self.keys, "keys", np.uint64, None)
        must((self.keys[1:] > self.keys[:-1]).all(), "keys are not in order")
        width = array(self.coef, "coef", np.float32, len(self.keys), None).shape[1]
        indices(self.column, "column", 0, width)

    @property
    def chunks(self) -> np.ndarray:
        """The numbers of the output chunks that the map scores."""
        return np.flatnonzero(self.column < self.coef.shape[1] - 1)

    @cached_property
    def table(self) -> np.ndarray:
        """The hash table from the feature keys to their indices in `keys`."""
        return make_hash_table(self.keys)

    def scores(self, keys: np.ndarray) -> np.ndarray:
        """Return the scores (positions, columns) of positions that have the given feature keys."""
        from ._search_loops import local_scores

        n, width = len(keys), self.coef.shape[1]
        scores, starts = np.zeros(n * width), width * np.arange(n + 1)
        ones = np.ones((1, keys.shape[1]), dtype=np.float32)
        offset = width * np.arange(len(self.keys))
        learnt = self.keys, self.table, offset, self.coef.ravel()
        local_scores(ones[0].astype(float), ones, *learnt, starts, scores, keys)
        return scores.reshape(n, width)


def fit_shared_map(
    keys: np.ndarray, rows: np.ndarray, numbers: np.ndarray, chunks: Chunks, alpha: float
) -> SharedMap | None:
    """Fit a map to output-chunk scores for all letters; None if most letters are not copied.

    Parameters
    ----------
    keys
        The keys of the features of positions; all 0 for tokens that are not letters.
    rows
        The index of the pair of each position, ascending.
    numbers
        The number of the chunk that each position emits.
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
    letters = letters[rows[letters] < rows[letters[0]] + SHARED_PAIRS]
    counts = np.bincount(numbers[letters], minlength=len(chunks.lengths))
    common = np.flatnonzero(counts >= FEWEST_OCCURRENCES)
    column = np.full(len(chunks.lengths), len(common))
    column[common] = np.arange(len(common))
    distinct, number, often = np.unique(keys[letters], return_inverse=True, return_counts=True)
    kept = (often >= FEWEST_OCCURRENCES) & (distinct != 0)
    new_number = np.cumsum(kept) - 1
    number = number.reshape(len(letters), -1)
    present = kept[number]
    U = sparse_rows(present, new_number[number[present]], int(kept.sum()))
    V = (numbers[letters][:, None] == common).astype(np.float32)
    coef = ConjugateGradient(SHARED_TOLERANCE, warn=False).solve(U, V, alpha, np.ones(len(common)))
    coef = np.pad(np.asarray(coef, dtype=np.float32), ((0, 0), (0, 1)))
    return SharedMap(distinct[kept], coef, column)
