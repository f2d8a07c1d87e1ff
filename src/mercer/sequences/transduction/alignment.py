"""Alignment of sequence pairs by expectation-maximisation: each input symbol emits a chunk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._base.memory import GIB, SHARE, available
from ...kernels._sequences import Codes

GUESS = 0.3
"""Factor in the initial weight of a chunk for each symbol by which its length differs from the
mean."""
ROUNDS, TOLERANCE = 20, 1e-4
"""Rounds of EM at most, and the relative gain below which they stop."""
PRIOR = 1.0
"""How many observations the probabilities of a symbol count for those of finer symbols."""
Separators = tuple[np.ndarray, np.ndarray]
"""Which input symbols separate words, and which output symbols."""
CELL_BYTES = 40.0
"""Memory for each cell of the lattice while the cells are numbered."""


def check_memory(n: np.ndarray, m: np.ndarray, longest: int) -> None:
    """Raise an error if the alignment lattice of the pairs does not fit into memory.

    n and m are the input and output lengths; `longest` is the longest chunk.
    """
    cells = float((n * (m + 1.0)).sum()) * (longest + 1)
    need, free = CELL_BYTES * cells, SHARE * available()
    if need > free:
        i = int(np.argmax(n * m))
        raise MemoryError(
            f"aligning these pairs takes {need / GIB:.1f} GiB, and {max(free, 0) / GIB:.1f} GiB "
            "are free. It grows with the length of the input times that of the output: the "
            f"largest pair has {n[i]} and {m[i]} symbols. Cut long sequences into shorter ones, "
            "or lower max_chunk."
        )


@dataclass(frozen=True)
class AlignmentGrid:
    """The places between the output symbols of all pairs, pairs with long inputs first.

    Attributes
    ----------
    pair, place
        The pair of each place, and the number of output symbols before it.
    left
        The number of output symbols from each place on.
    active
        For each step i, the number of leading places whose pairs have more than i input symbols.
    ends
        The last place of each pair.
    """

    pair: np.ndarray
    place: np.ndarray
    left: np.ndarray
    active: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, n: np.ndarray, m: np.ndarray) -> AlignmentGrid:
        """Return the grid of pairs with n input symbols and m output symbols (arrays)."""
        order = np.argsort(-n, kind="stable")
        sizes = m[order] + 1
        stops = np.cumsum(sizes)
        pair = np.repeat(order, sizes)
        place = np.arange(len(pair)) - np.repeat(stops - sizes, sizes)
        longer = np.searchsorted(-n[order], -np.arange(int(n.max(initial=0))), side="left")
        ends = np.empty(len(n), dtype=np.int64)
        ends[order] = stops - 1
        return cls(pair, place, m[pair] - place, np.concatenate([[0], stops])[longer], ends)

    def arrivals(self, arcs: np.ndarray) -> np.ndarray:
        """Return arc values by the place where arcs end, (lengths, places), longest first."""
        arrived = np.full(arcs.shape[::-1], -np.inf)
        for row, k in enumerate(range(arcs.shape[1] - 1, -1, -1)):
            arrived[row, k:] = arcs[: len(arcs) - k, k]
        return arrived


def log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    """Return log Σ exp(values) along an axis; -inf if all values are -inf."""
    top = values.max(axis=axis)
    level = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - np.expand_dims(level, axis)).sum(axis=axis)) + level


@dataclass(frozen=True)
class Lattice:
    """All segmentations of the outputs into chunks, one chunk for each input symbol.

    The recursions treat all pairs at once, input symbol by input symbol, in logarithms.

    Attributes
    ----------
    source, target
        Codes of the inputs and outputs.
    longest
        The longest chunk, L.
    grid
        The places of the outputs.
    cells
        For each step, the type of the chunk of length k that starts at a place, (places, L + 1);
        the number of types where no complete alignment has it.
    symbols, chunks
        Input symbol and key of the chunk of each type.
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
        """Return the lattice of pairs; number the distinct (input symbol, chunk) types."""
        n, m = source.lengths, target.lengths
        base = int(target.flat.max(initial=0)) + 2
        room = base**longest
        if room * (int(source.flat.max(initial=0)) + 1) > 2**62:
            raise ValueError(
                f"chunks of {longest} out of {base - 1} output symbols have no 64-bit key: "
                "lower max_chunk."
            )
        check_memory(n, m, longest)
        grid = AlignmentGrid.of(n, m)
        starts = target.starts[grid.pair] + grid.place
        lengths, chunks = np.arange(longest + 1), np.zeros((len(starts), longest + 1), np.int64)
        for k in range(1, longest + 1):
            symbols = np.append(target.flat, 0)[np.minimum(starts + k - 1, len(target.flat))]
            chunks[:, k] = chunks[:, k - 1] * base + symbols + 1
        keys, used = [], []
        for i, size in enumerate(grid.active):
            pair, after = grid.pair[:size], grid.left[:size, None] - lengths
            use = (after >= 0) & (after <= (n[pair, None] - i - 1) * longest)
            use &= grid.place[:size, None] <= i * longest
            own = source.flat[source.starts[pair] + i, None] * room + chunks[:size]
            used.append(use)
            keys.append(own[use])
        types, number = np.unique(np.concatenate([[], *keys]).astype(np.int64), return_inverse=True)
        cells = [np.full(use.shape, len(types), dtype=np.int32) for use in used]
        for cell, use, part in zip(
            cells, used, np.split(number, np.cumsum(list(map(len, keys)))[:-1]), strict=True
        ):
            cell[use] = part
        return cls(source, target, longest, grid, cells, types // room, types % room)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The length of the chunk of each type."""
        base = int(self.target.flat.max(initial=0)) + 2
        return sum((self.chunks >= base**k).astype(float) for k in range(self.longest))

    def initial_weights(self, separators: Separators | None = None) -> np.ndarray:
        """Return the initial EM weight of each type, smaller if its length is far from the mean.

        Types in which either the symbol or the chunk is a separator, but not both, have less too.
        """
        far = np.abs(self.sizes - len(self.target.flat) / len(self.source.flat))
        if separators is not None:
            far = far + (separators[0][self.symbols] != self._chunk_contains(separators[1]))
        return GUESS**far

    def _chunk_contains(self, marked: np.ndarray) -> np.ndarray:
        """Return a mask of the types whose chunk contains a marked output symbol."""
        base = int(self.target.flat.max(initial=0)) + 2
        inside = np.concatenate([[False], marked])
        digits = [self.chunks // base**k % base for k in range(self.longest)]
        return np.any([inside[digit] for digit in digits], axis=0)

    def _logarithms(self, probability: np.ndarray) -> np.ndarray:
        """Return the log-probability of each type, followed by -inf for impossible chunks."""
        with np.errstate(divide="ignore"):
            return np.append(np.log(probability), -np.inf)

    def expected_counts(self, probability: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the expected count of each type (E step of EM), and the log-likelihood."""
        logp, grid = self._logarithms(probability), self.grid
        before = [np.where(grid.place == 0, 0.0, -np.inf)]
        for cells, size in zip(self.cells, grid.active, strict=True):
            after = before[-1].copy()
            after[:size] = log_sum(grid.arrivals(before[-1][:size, None] + logp[cells]), 0)
            before.append(after)
        gained = before.pop()[grid.ends]
        behind = np.full(len(grid.pair) + self.longest, -np.inf)
        behind[grid.ends] = 0.0
        counts = np.zeros(len(logp))
        for cells, size, here in zip(
            self.cells[::-1], grid.active[::-1], before[::-1], strict=True
        ):
            reached = [behind[k : size + k] for k in range(self.longest + 1)]
            arcs = logp[cells] + np.stack(reached, axis=1)
            posterior = np.exp(arcs + (here[:size] - gained[grid.pair[:size]])[:, None])
            counts += np.bincount(cells.ravel(), posterior.ravel(), minlength=len(counts))
            behind[:size] = log_sum(arcs, 1)
        return counts[:-1], float(gained.sum())

    def best_lengths(self, probability: np.ndarray) -> np.ndarray:
        """Return the chunk lengths of the most probable segmentation of every pair."""
        logp, grid = self._logarithms(probability), self.grid
        values, choices = np.where(grid.place == 0, 0.0, -np.inf), []
        for cells, size in zip(self.cells, grid.active, strict=True):
            arrived = grid.arrivals(values[:size, None] + logp[cells])
            values[:size] = arrived.max(axis=0)
            choices.append((self.longest - np.argmax(arrived, axis=0)).astype(np.int8))
        out, at = np.zeros(len(self.source.flat), dtype=np.int64), grid.ends.copy()
        for i in range(len(choices) - 1, -1, -1):
            pairs = np.flatnonzero(self.source.lengths > i)
            lengths = choices[i][at[pairs]].astype(np.int64)
            out[self.source.starts[pairs] + i] = lengths
            at[pairs] -= lengths
        return out

    def from_coarser(self, other: Lattice, probability: np.ndarray) -> np.ndarray:
        """Return the probability that a lattice with coarser input symbols gives each type.

        Each symbol here stands for one of the other's symbols.
        """
        coarser = np.zeros(int(self.source.flat.max(initial=0)) + 1, dtype=np.int64)
        coarser[self.source.flat] = other.source.flat
        room = int(other.chunks.max(initial=0)) + 1
        known, own = other.symbols * room + other.chunks, coarser[self.symbols] * room + self.chunks
        return probability[np.searchsorted(known, own)]

    def learn(self, start: np.ndarray, prior: Any = 0.0) -> tuple[np.ndarray, list[float]]:
        """Return type probabilities by EM from `start`, and the log-likelihood before each round.

        `prior` is added to the expected counts.
        """
        probability, history = self.normalise(start), list[float]()
        for _ in range(ROUNDS):
            counts, gained = self.expected_counts(probability)
            history.append(gained)
            probability = self.normalise(counts + prior)
            if len(history) > 1 and history[-1] - history[-2] < TOLERANCE * abs(history[-1]):
                break
        return probability, history

    def normalise(self, counts: np.ndarray) -> np.ndarray:
        """Return p(chunk | symbol) of each type: its count divided by the total of its symbol."""
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
        The length of the chunk that each input symbol emits, inputs end to end.
    log_likelihoods
        The log-likelihood of all pairs before each round of EM; it never falls.
    """

    source: Codes
    target: Codes
    lengths: np.ndarray
    log_likelihoods: list[float]

    def chunks(self, p: int) -> list[np.ndarray]:
        """Return the chunks of the output of pair p."""
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
    """Learn p(chunk | symbol) by EM, and cut each output into its most probable chunks.

    Every input symbol emits 0 to `longest` consecutive output symbols; the chunks of a pair,
    joined, are its output. All chunks of a length start with the same weight, lengths near the
    mean number of output symbols for an input symbol with a larger one. A round counts the
    expected emissions of each type over all cuts by the forward-backward recursion and normalises
    them by symbol; rounds stop when the log-likelihood gains less than `TOLERANCE` of itself.

    `finer` has the same inputs in symbols that say more, such as the word that a letter stands in:
    p(chunk | finer symbol) is then learnt with p(chunk | symbol) as its prior, one after the other.
    """
    lattice = Lattice.of(source, target, longest)
    probability, history = lattice.learn(lattice.initial_weights(separators))
    for symbols in finer:
        fine = Lattice.of(symbols, target, longest)
        prior = fine.from_coarser(lattice, probability)
        lattice, (probability, _) = fine, fine.learn(prior, PRIOR * prior)
    return Alignment(source, target, lattice.best_lengths(probability), history)
