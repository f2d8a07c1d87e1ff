"""The local map: scores of the chunks that an input symbol emits, by a ridge regression each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from ..._base.checks import Limits, array, indices, must
from ..._base.threads import map_in_threads
from ...operators import Moments, Operator
from ...solvers import ConjugateGradient
from ._keys import make_hash_table

EMISSION_TOLERANCE = 3e-3
"""The relative tolerance of the ridge equations; a tenth of it gives the same predictions."""
NEGLIGIBLE_SCORE = 0.006
"""Features that change no score by this much are dropped from the model."""
COPY = -2
"""The number that stands in a chunk for a copy of the input symbol."""
RARE = 1e-4
"""Chunks that are a smaller fraction of the chunks of a symbol are not learnt."""


@dataclass(frozen=True)
class Chunks:
    """The distinct chunks of an alignment; a chunk is the output that one input symbol emits.

    Attributes
    ----------
    symbols
        The symbols of each chunk, padded with -1; `COPY` for a copy of the input symbol.
    lengths
        The number of symbols of each chunk.
    """

    symbols: np.ndarray
    lengths: np.ndarray

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the symbols of the chunks agree with their lengths."""
        n, longest = array(self.symbols, "symbols", np.int64, None, None).shape
        indices(self.lengths, "lengths", 0, longest + 1, n)
        filled = np.arange(longest) < self.lengths[:, None]
        must(((self.symbols != -1) == filled).all(), "symbols do not fit lengths")

    @classmethod
    def of(
        cls, flat: np.ndarray, lengths: np.ndarray, longest: int, copied: np.ndarray
    ) -> tuple[Chunks, np.ndarray]:
        """Return the distinct chunks of a segmented sequence, and the number of each of its chunks.

        `flat` has the symbols of all chunks, end to end, and `lengths` their lengths. Symbols of
        chunk i that equal copied[i] are written as `COPY`.
        """
        begin = np.cumsum(lengths) - lengths
        rows = np.full((len(lengths), longest), -1, dtype=np.int64)
        for j in range(longest):
            has = lengths > j
            rows[has, j] = flat[begin[has] + j]
        rows[(rows == copied[:, None]) & (rows >= 0)] = COPY
        distinct, number = np.unique(rows, axis=0, return_inverse=True)
        return cls(distinct, (distinct != -1).sum(axis=1)), number.ravel()


@dataclass(frozen=True)
class Emissions:
    """The fitted linear map from features of a position to scores of output chunks.

    The input symbol at the position determines which chunks. Symbol s has chunks first[s], …,
    first[s] + width[s] - 1 of the list `chunk`; a feature with key keys[d] adds coef[offset[d]:] to
    their scores. The last symbol stands for all unknown ones.

    Attributes
    ----------
    keys, offset, coef
        The sorted keys of the features, where the coefficients of each begin, and the coefficients.
    first, width, chunk
        The chunks of each symbol, as numbers of `chunks`.
    prior
        What is added to the score of each chunk: the log-frequency of the chunk for symbols without
        training positions, else 0.
    chunks
        The distinct chunks.
    shared
        The map that all letters share; None if there is none.
    """

    keys: np.ndarray
    offset: np.ndarray
    coef: np.ndarray
    first: np.ndarray
    width: np.ndarray
    chunk: np.ndarray
    prior: np.ndarray
    chunks: Chunks
    shared: Any

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the arrays have matching sizes."""
        features, symbols = len(self.keys), len(self.width)
        array(self.keys, "keys", np.uint64, None)
        must((self.keys[1:] > self.keys[:-1]).all(), "keys are not in order")
        array(self.coef, "coef", np.float32, None)
        indices(self.offset, "offset", 0, len(self.coef) + 1, features)
        indices(self.chunk, "chunk", 0, len(self.chunks.lengths))
        array(self.prior, "prior", np.float64, len(self.chunk))
        indices(self.width, "width", 1, len(self.chunk) + 1)
        indices(self.first, "first", 0, len(self.chunk), symbols)
        must((self.first + self.width <= len(self.chunk)).all(), "width goes beyond the chunks")
        if self.shared is not None:
            must(len(self.shared.column) == len(self.chunks.lengths), "shared has other chunks")

    @cached_property
    def table(self) -> np.ndarray:
        """The hash table from the feature keys to their indices in `keys`."""
        return make_hash_table(self.keys)

    @cached_property
    def layout(self) -> tuple[np.ndarray, np.ndarray]:
        """Arrays of (first chunk, number of chunks) by symbol, and (length, symbols) by chunk."""
        chunks = np.column_stack([self.chunks.lengths, self.chunks.symbols])
        return np.column_stack([self.first, self.width]), chunks[self.chunk]

    def scores(
        self,
        symbols: np.ndarray,
        keys: np.ndarray,
        weights: np.ndarray,
        values: np.ndarray,
        shared_keys: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of all output chunks at all positions, and where each position starts.

        The positions have input symbols `symbols` and features with keys (positions, kinds),
        weights (kinds) and values (positions or 1, kinds); `shared_keys` are for the shared map.
        """
        from ._search_loops import local_scores

        starts = np.concatenate([[0], np.cumsum(self.width[symbols])])
        scores = np.zeros(starts[-1])
        if self.shared is not None:
            positions = np.repeat(np.arange(len(symbols)), self.width[symbols])
            chunks = self.chunk[self._chunk_entries(symbols, starts)]
            scores += self.shared.scores(shared_keys)[positions, self.shared.column[chunks]]
        learnt = self.keys, self.table, self.offset, self.coef
        local_scores(weights, values, *learnt, starts, scores, keys)
        return scores, starts

    def prior_at(self, symbols: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the prior of each entry of `scores` for the given input symbols.

        `starts` is the second result of `scores`.
        """
        return self.prior[self._chunk_entries(symbols, starts)]

    def _chunk_entries(self, symbols: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the index in `chunk` of each entry of `scores` for the given input symbols.

        `scores` is the flat array of the scores of all chunks of symbols[0], then of symbols[1],
        and so on; those of symbols[i] begin at starts[i].
        """
        shifts = np.repeat(self.first[symbols] - starts[:-1], self.width[symbols])
        return np.arange(starts[-1]) + shifts

    def chunk_indices(self, symbols: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return the index of each output chunk among those of its input symbol; -1 if absent.

        Chunk numbers[i] belongs to symbols[i].
        """
        symbol = np.repeat(np.arange(len(self.width)), self.width)
        known = symbol * len(self.chunks.lengths) + self.chunk  # ascending, as both parts are
        keys = symbols * len(self.chunks.lengths) + numbers
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[at] == keys, at - self.first[symbols], -1)


@dataclass(frozen=True)
class NumberedFeatures:
    """The features of training positions, with each distinct hash key numbered.

    Attributes
    ----------
    numbers
        The number of each feature, (positions, kinds), or -1 if there is none. The features of a
        symbol have consecutive numbers.
    keys
        The distinct keys.
    weights, values
        The weights of the kinds and the values at the positions, as in `PositionFeatures`.
    """

    numbers: np.ndarray
    keys: np.ndarray
    weights: np.ndarray
    values: np.ndarray

    def repeated_features(self, positions: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return a sparse matrix of the features that occur at least twice, and their keys.

        The rows are `positions`, the positions of one input symbol.
        """
        numbers = self.numbers[positions]
        kept = numbers >= 0
        present = numbers[kept]
        first = present.min()
        repeated = np.bincount(present - first) > 1
        kept[kept] = repeated[present - first]
        columns = (np.cumsum(repeated) - 1)[numbers[kept] - first]
        values = self.values[positions] if len(self.values) > 1 else self.values
        data = np.broadcast_to(values * self.weights, kept.shape)[kept]
        matrix = sparse_rows(kept, columns, int(repeated.sum()), data)
        return matrix, self.keys[first + np.flatnonzero(repeated)]


def sparse_rows(kept: np.ndarray, columns: np.ndarray, width: int, data: Any = 1.0) -> Any:
    """Return a sparse matrix with one row per position and one entry per kept feature.

    `kept` is a mask, (positions, kinds); `columns` has the columns of its entries, row by row, and
    `data` their values. `width` is the number of columns.
    """
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    entries = np.full(len(columns), data, dtype=np.float32)
    return sparse.csr_array((entries, columns, indptr), (len(kept), width))


def fit_emissions(
    features: NumberedFeatures,
    positions: np.ndarray,
    symbols: np.ndarray,
    numbers: np.ndarray,
    chunks: Chunks,
    n_symbols: int,
    operator: Operator,
    alpha: float,
    shared: Any = None,
    base: np.ndarray | None = None,
) -> Emissions:
    """Fit the map to scores of output chunks: one ridge regression for each input symbol.

    Parameters
    ----------
    features
        The features of all positions.
    positions
        The positions to learn from.
    symbols, numbers
        The input symbol at each of them, and the number of the chunk that it emits.
    chunks
        All chunks.
    n_symbols
        The number of input symbols; one more, the unknown, is added.
    operator, alpha
        The operator on chunks, and the ridge.
    shared, base
        A map that was fitted to all symbols together, and its scores at the positions. Each symbol
        is fitted to the residual; the unknown symbol has the scores of `shared` alone.
    """
    counts = np.bincount(numbers, minlength=len(chunks.lengths))
    common = np.flatnonzero(counts)
    fallback = np.log(counts[common] / len(numbers))
    if shared is not None:
        common, fallback = shared.chunks, np.zeros(len(shared.chunks))
    order = np.argsort(symbols, kind="stable")
    cuts = np.searchsorted(symbols[order], np.arange(n_symbols + 2))
    groups = [order[a:b] for a, b in pairwise(cuts)]
    lists = [_common_chunks(numbers[rows]) if len(rows) else common for rows in groups]
    priors = [
        np.zeros(len(listed)) if len(rows) else fallback
        for rows, listed in zip(groups, lists, strict=True)
    ]

    def solve(system: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys and the coefficients of the features of one symbol."""
        rows, listed = system
        U, keys = features.repeated_features(positions[rows])
        V = (numbers[rows][:, None] == listed).astype(np.float32)
        spectrum, length, tolerance = _spectrum(operator, V), np.linalg.norm(V), EMISSION_TOLERANCE
        if base is not None:
            V -= base[rows][:, shared.column[listed]]
            residual = max(float(np.linalg.norm(V)), 1e-30)
            tolerance = min(EMISSION_TOLERANCE * float(length) / residual, 0.1)
        coef = ConjugateGradient(tolerance, warn=False).solve(U, V, alpha, spectrum)
        kept = (
            abs(U).max(axis=0).toarray() * np.abs(coef).max(axis=1, initial=0.0) >= NEGLIGIBLE_SCORE
        )
        return keys[kept], coef[kept]

    systems = [(rows, listed) for rows, listed in zip(groups, lists, strict=True) if len(rows)]
    return _assemble_emissions(map_in_threads(solve, systems), lists, priors, chunks, shared)


def _spectrum(operator: Operator, V: np.ndarray) -> np.ndarray:
    """Return the diagonal of the operator on output chunks, given as the one-hot rows of V.

    Their second moments are a diagonal matrix of frequencies, so that the operator is diagonal too.
    """
    totals = V.sum(axis=0, dtype=np.float64)
    B = operator.matrix(Moments(len(V), np.zeros(1), totals[:, None], totals))
    return B if B.ndim == 1 else B.diagonal()


def _common_chunks(numbers: np.ndarray) -> np.ndarray:
    """Return the distinct output chunks of a symbol, without very rare ones.

    Rare chunks are left out because their number would grow with the number of pairs.
    """
    distinct, counts = np.unique(numbers, return_counts=True)
    return distinct[counts >= RARE * len(numbers)]


def _assemble_emissions(
    blocks: list, lists: list, priors: list, chunks: Chunks, shared: Any
) -> Emissions:
    """Return the `Emissions` made of the (keys, coefficients) in `blocks`, one per symbol.

    `lists` and `priors` have the chunks of each symbol and their priors; `shared` is the map that
    all letters share, or None.
    """
    offsets, total = [], 0
    for keys, coef in blocks:
        offsets.append(total + np.arange(len(keys)) * coef.shape[1])
        total += coef.size
    keys = np.concatenate([keys for keys, _ in blocks])
    order = np.argsort(keys)
    width = np.array([len(listed) for listed in lists])
    return Emissions(
        keys[order],
        np.concatenate(offsets)[order],
        np.concatenate([coef.ravel() for _, coef in blocks]),
        np.cumsum(width) - width,
        width,
        np.concatenate(lists),
        np.concatenate(priors),
        chunks,
        shared,
    )
