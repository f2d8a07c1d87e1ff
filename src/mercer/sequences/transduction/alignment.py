"""Alignment of sequence pairs by expectation-maximisation: each input symbol emits a chunk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._memory import GIB, SHARE, available
from ...kernels._sequences import Codes

GUESS = 0.3
"""What a symbol more or less than the mean costs a chunk at the start of EM."""


def check_room(n: np.ndarray, m: np.ndarray, cells: int) -> None:
    """Refuse pairs whose lattice does not fit into memory: a number a cell, and two tables."""
    tables = 24.0 * (int(n.max(initial=0)) + 1) * (int(m.max(initial=0)) + 1)
    need, free = 4.0 * cells + tables, SHARE * available()
    if need > free:
        i = int(np.argmax(n * m))
        raise MemoryError(
            f"aligning these pairs takes {need / GIB:.1f} GiB, and {max(free, 0) / GIB:.1f} GiB "
            "are free. It grows with the length of the input times that of the output: the "
            f"largest pair has {n[i]} and {m[i]} symbols. Cut long sequences into shorter ones, "
            "or lower max_chunk."
        )


@dataclass(frozen=True)
class Lattice:
    """Every way of cutting the outputs of a set of pairs into chunks, one an input symbol.

    Attributes
    ----------
    source, target
        Codes of the inputs and outputs.
    longest
        The longest chunk, L.
    rows
        Where the cells of each input symbol begin. One that starts its chunk at the j-th place
        that whole alignments allow, and gives it length k, has cell j (L + 1) + k of these.
    cells
        The number of the (symbol, chunk) type of each cell that whole alignments use.
    symbols, chunks
        Input symbol and key of the chunk of each type.
    """

    source: Codes
    target: Codes
    longest: int
    rows: np.ndarray
    cells: np.ndarray
    symbols: np.ndarray
    chunks: np.ndarray

    @classmethod
    def of(cls, source: Codes, target: Codes, longest: int) -> Lattice:
        """Number the distinct (symbol, chunk) types of all pairs."""
        from ._alignment_loops import cell_types

        n, m = source.lengths, target.lengths
        left, whole = source.left * longest, m[source.rows]
        first, last = np.maximum(0, whole - left), np.minimum(whole, source.positions * longest)
        widths = np.maximum(last - first + 1, 0) * (longest + 1)
        rows = np.concatenate([[0], np.cumsum(widths)])
        base = int(target.flat.max(initial=0)) + 2
        room = base**longest
        if room * (int(source.flat.max(initial=0)) + 1) > 2**62:
            raise ValueError(
                f"chunks of {longest} out of {base - 1} output symbols have no 64-bit key: "
                "lower max_chunk."
            )
        check_room(n, m, int(rows[-1]))
        cells, types = cell_types(
            source.flat, source.starts, target.flat, target.starts, longest, base, rows
        )
        return cls(source, target, longest, rows, cells, types // room, types % room)

    def first_guess(self) -> np.ndarray:
        """A weight for each type: less the farther its length is from the mean."""
        base = int(self.target.flat.max(initial=0)) + 2
        sizes = sum((self.chunks >= base**k).astype(float) for k in range(self.longest))
        return GUESS ** np.abs(sizes - len(self.target.flat) / len(self.source.flat))

    def expected(self, probability: np.ndarray) -> tuple[np.ndarray, float]:
        """Expected uses of each type over all cuts of all pairs, and their log-likelihood."""
        from ._alignment_loops import expected_counts

        counts = np.zeros(len(probability))
        gained = expected_counts(
            self.source.starts, self.target.starts, self.longest, self.rows, self.cells,
            probability, counts,
        )  # fmt: skip
        if np.isnan(gained):
            raise ValueError(
                f"some pair is too long to be aligned (up to {self.source.lengths.max()} input "
                "symbols): cut long pairs into shorter ones."
            )
        return counts, float(gained)

    def best(self, probability: np.ndarray) -> np.ndarray:
        """The chunk lengths of the most probable cut of every pair."""
        from ._alignment_loops import viterbi

        with np.errstate(divide="ignore"):
            scores = np.log(probability)
        out = np.zeros(len(self.source.flat), dtype=np.int64)
        viterbi(
            self.source.starts, self.target.starts, self.longest, self.rows, self.cells,
            scores, out,
        )  # fmt: skip
        return out

    def normalised(self, counts: np.ndarray) -> np.ndarray:
        """Counts of types as probabilities given the symbol."""
        totals = np.bincount(self.symbols, weights=counts)
        return counts / np.maximum(totals[self.symbols], np.finfo(float).tiny)


@dataclass(frozen=True)
class Alignment:
    """Pairs of sequences with their outputs cut into chunks, one an input symbol.

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
        """The chunks of one pair."""
        here = slice(self.source.starts[p], self.source.starts[p + 1])
        y = self.target.flat[self.target.starts[p] : self.target.starts[p + 1]]
        return np.split(y, np.cumsum(self.lengths[here])[:-1]) if self.lengths[here].size else []


def align(
    source: Codes, target: Codes, longest: int, rounds: int = 20, tolerance: float = 1e-4
) -> Alignment:
    """Learn p(chunk | symbol) by EM, and cut every output at its best.

    Every input symbol emits 0 to `longest` consecutive output symbols; the chunks of a pair,
    joined, are its output. All chunks of a length start alike, lengths near the mean number of
    output symbols for an input symbol ahead. A round counts the expected emissions of each type
    over all cuts by the forward-backward recursion and normalises them by symbol; rounds stop when
    the log-likelihood gains less than `tolerance` of itself.
    """
    lattice = Lattice.of(source, target, longest)
    probability = lattice.normalised(lattice.first_guess())
    history: list[float] = []
    for _ in range(rounds):
        counts, gained = lattice.expected(probability)
        history.append(gained)
        probability = lattice.normalised(counts)
        if len(history) > 1 and history[-1] - history[-2] < tolerance * abs(history[-1]):
            break
    return Alignment(source, target, lattice.best(probability), history)
