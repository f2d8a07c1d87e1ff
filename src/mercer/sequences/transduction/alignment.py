"""Alignment of sequence pairs by expectation-maximisation: each input symbol emits a chunk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._base.memory import GIB, PLANNED_FRACTION, available
from ...kernels import Codes

LENGTH_FACTOR = 0.3
"""The factor of a chunk's initial weight for each symbol by which its length is off the mean."""
EM_ROUNDS, EM_GAIN = 20, 1e-4
"""The largest number of rounds of EM, and the relative gain below which they stop."""
SYMBOL_PRIOR = 1.0
"""The weight of a symbol's probabilities in those of its finer symbols, in observations."""
Separators = tuple[np.ndarray, np.ndarray]
"""Masks of the input symbols and of the output symbols that separate words."""
CELL_BYTES = 40.0
"""The bytes that each cell of the lattice takes while the cells are numbered."""


def check_lattice_memory(n: np.ndarray, m: np.ndarray, longest: int) -> None:
    """Raise an error if the alignment lattice of the pairs does not fit into memory.

    n and m are the input and output lengths; `longest` is the longest chunk.
    """
    cells = float((n * (m + 1.0)).sum()) * (longest + 1)
    need, free = CELL_BYTES * cells, PLANNED_FRACTION * available()
    if need > free:
        i = int(np.argmax(n * m))
        raise MemoryError(
            f"aligning these pairs takes {need / GIB:.1f} GiB, but {max(free, 0) / GIB:.1f} GiB "
            "are free. The memory grows with the length of the input times that of the output: the "
            f"largest pair has {n[i]} and {m[i]} symbols. Cut long sequences into shorter ones, "
            "or lower max_chunk."
        )


@dataclass(frozen=True)
class AlignmentGrid:
    """The boundaries before, between and after the output symbols of all pairs.

    Pairs with longer inputs come first.

    Attributes
    ----------
    pair, offset
        The pair of each boundary, and the number of output symbols before it.
    left
        The number of output symbols after each boundary.
    active
        For each i, the number of boundaries of pairs with more than i input symbols; these come
        first.
    ends
        The last boundary of each pair.
    """

    pair: np.ndarray
    offset: np.ndarray
    left: np.ndarray
    active: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, n: np.ndarray, m: np.ndarray) -> AlignmentGrid:
        """Return the grid of pairs with inputs of lengths n and outputs of lengths m (arrays)."""
        order = np.argsort(-n, kind="stable")
        sizes = m[order] + 1
        stops = np.cumsum(sizes)
        pair = np.repeat(order, sizes)
        offset = np.arange(len(pair)) - np.repeat(stops - sizes, sizes)
        longer = np.searchsorted(-n[order], -np.arange(int(n.max(initial=0))), side="left")
        ends = np.empty(len(n), dtype=np.int64)
        ends[order] = stops - 1
        return cls(pair, offset, m[pair] - offset, np.concatenate([[0], stops])[longer], ends)

    def by_end(self, arcs: np.ndarray) -> np.ndarray:
        """Return the values of output chunks by the boundary where they end.

        `arcs` has the values by the boundary where the chunks begin, (boundaries, lengths),
        shortest chunks first. The result has the shape (lengths, boundaries), longest chunks first.
        """
        arrived = np.full(arcs.shape[::-1], -np.inf)
        for row, k in enumerate(range(arcs.shape[1] - 1, -1, -1)):
            arrived[row, k:] = arcs[: len(arcs) - k, k]
        return arrived


def log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    """Return log Σ exp(values) along an axis; -inf if all values are -inf."""
    top = values.max(axis=axis)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - np.expand_dims(shift, axis)).sum(axis=axis)) + shift


@dataclass(frozen=True)
class Lattice:
    """All segmentations of the outputs into chunks, one chunk for each input symbol.

    The recursions treat all pairs at once, input symbol by input symbol, in logarithms. A type is
    a pair of an input symbol and a chunk.

    Attributes
    ----------
    source, target
        Codes of the inputs and outputs.
    longest
        The length L of the longest chunk.
    grid
        The boundaries in the outputs.
    cells
        For each input position, an array (boundaries, L + 1): the type of the chunk of length k
        that starts at a boundary, or the number of types if no complete alignment has that chunk.
    symbols, chunks
        The input symbol and the key of the chunk of each type.
    """

    source: Codes
    target: Codes
    longest: int
    grid: AlignmentGrid
    cells: list[np.ndarray]
    symbols: np.ndarray
    chunks: np.ndarray

    @classmethod
    def of(cls, source: Codes, target: Codes, longest: int) -> Lattice:
        """Return the lattice of encoded inputs and outputs, with chunks of up to `longest`."""
        n, m = source.lengths, target.lengths
        base = int(target.flat.max(initial=0)) + 2
        room = base**longest
        if room * (int(source.flat.max(initial=0)) + 1) > 2**62:
            raise ValueError(
                f"chunks of up to {longest} of {base - 1} output symbols are too many for 64-bit "
                "keys: lower max_chunk."
            )
        check_lattice_memory(n, m, longest)
        grid = AlignmentGrid.of(n, m)
        starts = target.starts[grid.pair] + grid.offset
        lengths, chunks = np.arange(longest + 1), np.zeros((len(starts), longest + 1), np.int64)
        for k in range(1, longest + 1):
            symbols = np.append(target.flat, 0)[np.minimum(starts + k - 1, len(target.flat))]
            chunks[:, k] = chunks[:, k - 1] * base + symbols + 1
        keys, used = [], []
        for i, size in enumerate(grid.active):
            pair, after = grid.pair[:size], grid.left[:size, None] - lengths
            use = (after >= 0) & (after <= (n[pair, None] - i - 1) * longest)
            use &= grid.offset[:size, None] <= i * longest
            key = source.flat[source.starts[pair] + i, None] * room + chunks[:size]
            used.append(use)
            keys.append(key[use])
        types, number = np.unique(np.concatenate([[], *keys]).astype(np.int64), return_inverse=True)
        cells = [np.full(use.shape, len(types), dtype=np.int32) for use in used]
        for cell, use, part in zip(
            cells, used, np.split(number, np.cumsum(list(map(len, keys)))[:-1]), strict=True
        ):
            cell[use] = part
        return cls(source, target, longest, grid, cells, types // room, types % room)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The length of the output chunk of each type, an (input symbol, chunk) pair."""
        base = int(self.target.flat.max(initial=0)) + 2
        return sum((self.chunks >= base**k).astype(float) for k in range(self.longest))

    def initial_weights(self, separators: Separators | None = None) -> np.ndarray:
        """Return the initial EM weight of each (symbol, chunk), smaller for unusual lengths.

        The weight is also smaller if only the symbol or only the chunk has a separator of words.
        """
        far = np.abs(self.sizes - len(self.target.flat) / len(self.source.flat))
        if separators is not None:
            far = far + (separators[0][self.symbols] != self._chunk_is_marked(separators[1]))
        return LENGTH_FACTOR**far

    def _chunk_is_marked(self, marked: np.ndarray) -> np.ndarray:
        """Return a mask of the (symbol, chunk) pairs whose output chunk has a marked symbol."""
        base = int(self.target.flat.max(initial=0)) + 2
        inside = np.concatenate([[False], marked])
        digits = [self.chunks // base**k % base for k in range(self.longest)]
        return np.any([inside[digit] for digit in digits], axis=0)

    def _log_probability(self, probability: np.ndarray) -> np.ndarray:
        """Return the log-probability of each (symbol, chunk), and -inf as the last entry.

        The last entry stands for chunks that are impossible in the lattice.
        """
        with np.errstate(divide="ignore"):
            return np.append(np.log(probability), -np.inf)

    def expected_counts(self, probability: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the expected count of each (symbol, chunk) (E step), and the log-likelihood.

        `probability` is p(chunk | symbol) of each of them.
        """
        logp, grid = self._log_probability(probability), self.grid
        before = [np.where(grid.offset == 0, 0.0, -np.inf)]
        for cells, size in zip(self.cells, grid.active, strict=True):
            after = before[-1].copy()
            after[:size] = log_sum(grid.by_end(before[-1][:size, None] + logp[cells]), 0)
            before.append(after)
        likelihoods = before.pop()[grid.ends]
        behind = np.full(len(grid.pair) + self.longest, -np.inf)
        behind[grid.ends] = 0.0
        counts = np.zeros(len(logp))
        for cells, size, here in zip(
            self.cells[::-1], grid.active[::-1], before[::-1], strict=True
        ):
            reached = [behind[k : size + k] for k in range(self.longest + 1)]
            arcs = logp[cells] + np.stack(reached, axis=1)
            posterior = np.exp(arcs + (here[:size] - likelihoods[grid.pair[:size]])[:, None])
            counts += np.bincount(cells.ravel(), posterior.ravel(), minlength=len(counts))
            behind[:size] = log_sum(arcs, 1)
        return counts[:-1], float(likelihoods.sum())

    def best_lengths(self, probability: np.ndarray) -> np.ndarray:
        """Return the chunk lengths of the most probable segmentation of every output.

        `probability` is p(chunk | symbol) of each (symbol, chunk).
        """
        logp, grid = self._log_probability(probability), self.grid
        values, choices = np.where(grid.offset == 0, 0.0, -np.inf), []
        for cells, size in zip(self.cells, grid.active, strict=True):
            arrived = grid.by_end(values[:size, None] + logp[cells])
            values[:size] = arrived.max(axis=0)
            choices.append((self.longest - np.argmax(arrived, axis=0)).astype(np.int8))
        out, at = np.zeros(len(self.source.flat), dtype=np.int64), grid.ends.copy()
        for i in range(len(choices) - 1, -1, -1):
            pairs = np.flatnonzero(self.source.lengths > i)
            lengths = choices[i][at[pairs]].astype(np.int64)
            out[self.source.starts[pairs] + i] = lengths
            at[pairs] -= lengths
        return out

    def probability_from_coarser(self, other: Lattice, probability: np.ndarray) -> np.ndarray:
        """Return for each (symbol, chunk) the probability of the coarser symbol and the same chunk.

        `other` is the lattice of the same pairs with coarser input symbols, and `probability` that
        of each (symbol, chunk) there.
        """
        coarser = np.zeros(int(self.source.flat.max(initial=0)) + 1, dtype=np.int64)
        coarser[self.source.flat] = other.source.flat
        room = int(other.chunks.max(initial=0)) + 1
        known = other.symbols * room + other.chunks
        return probability[np.searchsorted(known, coarser[self.symbols] * room + self.chunks)]

    def learn(self, start: np.ndarray, prior: Any = 0.0) -> tuple[np.ndarray, list[float]]:
        """Return (symbol, chunk) probabilities by EM from `start`, and the log-likelihoods.

        The log-likelihoods are those before each round. `prior` is added to the expected counts.
        """
        probability, history = self.normalise(start), list[float]()
        for _ in range(EM_ROUNDS):
            counts, likelihood = self.expected_counts(probability)
            history.append(likelihood)
            probability = self.normalise(counts + prior)
            if len(history) > 1 and history[-1] - history[-2] < EM_GAIN * abs(history[-1]):
                break
        return probability, history

    def normalise(self, counts: np.ndarray) -> np.ndarray:
        """Return p(chunk | symbol): each count divided by the total count of its symbol."""
        totals = np.bincount(self.symbols, weights=counts)
        return counts / np.maximum(totals[self.symbols], np.finfo(float).tiny)


@dataclass(frozen=True)
class Alignment:
    """Pairs of sequences with each output segmented into one chunk per input symbol.

    Attributes
    ----------
    source, target
        Codes of the inputs and outputs.
    lengths
        The length of the chunk that each input symbol emits, for all inputs end to end.
    log_likelihoods
        The log-likelihood of all pairs before each round of EM; it never falls.
    """

    source: Codes
    target: Codes
    lengths: np.ndarray
    log_likelihoods: list[float]

    def chunks(self, p: int) -> list[np.ndarray]:
        """Return the output chunk of each input symbol of pair p, as arrays of symbols."""
        here = slice(self.source.starts[p], self.source.starts[p + 1])
        y = self.target.flat[self.target.starts[p] : self.target.starts[p + 1]]
        return np.split(y, np.cumsum(self.lengths[here])[:-1]) if self.lengths[here].size else []


def align(
    source: Codes,
    target: Codes,
    longest: int,
    finer: Iterable[Codes] = (),
    separators: Separators | None = None,
) -> Alignment:
    """Return the most probable alignment of sequence pairs, with p(chunk | symbol) learnt by EM.

    Every input symbol emits a chunk of 0 to `longest` output symbols; the chunks of a pair,
    concatenated, are its output. At first the weight of a chunk depends on its length only, and is
    larger for lengths near the mean number of output symbols per input symbol. A round of EM
    computes the expected number of each (symbol, chunk) over all segmentations by the
    forward-backward recursion. The rounds stop when the log-likelihood gains less than `EM_GAIN`
    of its value.

    `finer` has the same inputs in finer symbols, such as a letter with its word. For each of them,
    p(chunk | finer symbol) is learnt with the probabilities of the coarser symbols as a prior.

    `separators` are masks of the input and of the output symbols that separate words. They lower
    the initial weight of chunks that align a separator with other symbols; None for no such change.
    """
    lattice = Lattice.of(source, target, longest)
    probability, history = lattice.learn(lattice.initial_weights(separators))
    for symbols in finer:
        fine = Lattice.of(symbols, target, longest)
        prior = fine.probability_from_coarser(lattice, probability)
        lattice, (probability, _) = fine, fine.learn(prior, SYMBOL_PRIOR * prior)
    return Alignment(source, target, lattice.best_lengths(probability), history)
