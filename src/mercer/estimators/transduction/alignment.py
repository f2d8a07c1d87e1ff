"""Alignment of sequence pairs by expectation-maximisation: each input symbol emits a chunk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .encoding import Ragged


@dataclass(frozen=True)
class Lattice:
    """Every way of cutting the outputs of a set of pairs into chunks, one an input symbol.

    Attributes
    ----------
    source, target
        Codes of the inputs and outputs.
    longest
        The longest chunk, L.
    start
        Where the cells of each pair begin. Input symbol i of a pair that starts its chunk at
        output position j and gives it length k is cell (i (m + 1) + j)(L + 1) + k.
    cells
        The number of the (symbol, chunk) type of each cell, -1 where no whole alignment passes.
    symbols, chunks
        Input symbol and chunk (a key of `chunk_keys`) of each type.
    """

    source: Ragged
    target: Ragged
    longest: int
    start: np.ndarray
    cells: np.ndarray
    symbols: np.ndarray
    chunks: np.ndarray

    @classmethod
    def of(cls, source: Ragged, target: Ragged, longest: int) -> Lattice:
        """Number the distinct (symbol, chunk) types of all pairs."""
        from ._alignment_loops import cell_keys

        n, m = source.lengths, target.lengths
        start = np.concatenate([[0], np.cumsum(n * (m + 1) * (longest + 1))])
        base = int(target.codes.max(initial=0)) + 2
        room = base**longest
        if room * (int(source.codes.max(initial=0)) + 1) > 2**62:
            raise ValueError(
                f"chunks of {longest} out of {base - 1} output symbols have no 64-bit key: "
                "lower max_chunk."
            )
        keys = np.full(start[-1], -1, dtype=np.int64)
        cell_keys(
            source.codes, source.start, target.codes, target.start, longest, base, start, keys
        )
        types, cells = np.unique(keys, return_inverse=True)
        absent = int(len(types) > 0 and types[0] == -1)
        types = types[absent:]
        return cls(
            source, target, longest, start, (cells - absent).astype(np.int32),
            types // room, types % room,
        )  # fmt: skip


@dataclass(frozen=True)
class Alignment:
    """Chunk probabilities learnt by EM, and the most probable cuts under them.

    Attributes
    ----------
    lattice
        What was aligned.
    probability
        p(chunk | symbol) of each type.
    log_likelihoods
        The log-likelihood of all pairs before each round; it never falls.
    """

    lattice: Lattice
    probability: np.ndarray
    log_likelihoods: list[float]

    def lengths(self) -> np.ndarray:
        """The length of the chunk that each input symbol emits, inputs end to end."""
        from ._alignment_loops import viterbi

        with np.errstate(divide="ignore"):
            scores = np.log(self.probability)
        s, t = self.lattice.source, self.lattice.target
        out = np.zeros(len(s.codes), dtype=np.int64)
        viterbi(
            s.start, t.start, self.lattice.longest, self.lattice.start, self.lattice.cells,
            scores, out,
        )  # fmt: skip
        return out


def align(
    source: Ragged, target: Ragged, longest: int, rounds: int = 20, tolerance: float = 1e-4
) -> Alignment:
    """Learn p(chunk | symbol) by EM from the uniform start.

    Every input symbol emits 0 to `longest` consecutive output symbols; the chunks of a pair,
    joined, are its output. A round counts the expected emissions of each type over all cuts by
    the forward-backward recursion and normalises them by symbol; rounds stop when the
    log-likelihood gains less than `tolerance` of itself.
    """
    from ._alignment_loops import expected_counts

    lattice = Lattice.of(source, target, longest)
    probability = _normalised(np.ones(len(lattice.symbols)), lattice.symbols)
    history: list[float] = []
    for _ in range(rounds):
        counts = np.zeros(len(probability))
        gained = expected_counts(
            source.start, target.start, longest, lattice.start, lattice.cells, probability, counts
        )
        history.append(float(gained))
        probability = _normalised(counts, lattice.symbols)
        if len(history) > 1 and history[-1] - history[-2] < tolerance * abs(history[-1]):
            break
    return Alignment(lattice, probability, history)


def _normalised(counts: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    totals = np.bincount(symbols, weights=counts) if len(symbols) else counts
    return counts / np.maximum(totals[symbols], np.finfo(float).tiny)
