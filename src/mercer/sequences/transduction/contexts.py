"""What the emission of a chunk is learnt from: windows of the input, and the output so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._checks import Limits, bounded, must
from ...kernels import LocalWindow
from ...kernels._sequences import Codes
from .alignment import Alignment

NEAR = 1
"""How far the windows reach that the last output symbols are paired with."""


@dataclass(frozen=True)
class Contexts:
    """The features of positions: a key each, and a weight for each kind.

    To the windows of `LocalWindow` come, for h = 1, …, history, the last h output symbols paired
    with the windows that hold the position and reach one symbol at most, of kernel weight
    decay^(h + span): output symbols count as if they stood beside the position.

    Attributes
    ----------
    kernel
        The windows.
    history
        The largest number of last output symbols.
    """

    kernel: LocalWindow
    history: int

    def check_loaded(self, limits: Limits) -> None:
        """Windows, and a history that is not too long."""
        must(isinstance(self.kernel, LocalWindow), "kernel is no LocalWindow")
        bounded(self.history, "history", 0, limits.steps)

    def window_weights(self) -> np.ndarray:
        """The weights of the features that the input alone has."""
        return self.kernel.windows()[1]

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """(number of last symbols, window) of each feature of the output so far; weights."""
        ends, weights = self.kernel.windows()
        near = (ends[:, 0] >= -NEAR) & (ends[:, 0] <= 0) & (ends[:, 1] >= 0) & (ends[:, 1] <= NEAR)
        kinds = [(h, f) for h in range(1, self.history + 1) for f in np.flatnonzero(near)]
        pairs = np.array(kinds, dtype=np.int64).reshape(-1, 2)
        return pairs, weights[pairs[:, 1]] * float(self.kernel.decay) ** (pairs[:, 0] / 2.0)

    def windows(self, source: Codes) -> np.ndarray:
        """Keys of the windows around every position, (positions, windows)."""
        return self.kernel.keys(source, source.rows, source.positions)

    def histories(self, last: np.ndarray) -> np.ndarray:
        """Keys of the last h symbols, h = 1, …, history; 0 where there are not so many."""
        from ._search_loops import history_keys

        keys = np.zeros((len(last), self.history), dtype=np.uint64)
        history_keys(last, keys)
        return keys

    def joint(self, windows: np.ndarray, histories: np.ndarray) -> np.ndarray:
        """Keys of the features of the output so far, (positions, pairs); 0 for none."""
        from ._search_loops import joint_keys

        pairs, _ = self.pairs()
        keys = np.zeros((len(windows), len(pairs)), dtype=np.uint64)
        joint_keys(windows, histories, pairs, keys)
        return keys


def last_symbols(alignment: Alignment, mark: int, history: int) -> np.ndarray:
    """For every input symbol the outputs before its chunk, right-aligned, -1 where none.

    `mark` stands for the start of the output.
    """
    source, target, lengths = alignment.source, alignment.target, alignment.lengths
    begin = np.cumsum(lengths) - lengths  # chunks lie end to end as the outputs do
    first = target.starts[source.rows]
    last = np.full((len(lengths), max(history, 1)), -1, dtype=np.int64)
    for h in range(1, history + 1):
        place = begin - h
        inside = place >= first
        last[inside, -h] = target.flat[place[inside]]
        last[place == first - 1, -h] = mark
    return last
