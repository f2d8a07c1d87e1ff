"""Decoders of sequences under `Positions`: the best symbol at each position, or the best path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Array, Items, object_array
from .._base.checks import Limits, array, bounded, must
from .._base.parameters import parameters
from ..embedding import Embedding
from ..kernels import Kernel, Positions
from ._sequence_decoding import best_value, feature_blocks, is_automatic, required_lengths
from .base import Decoder, unsuited_kernel

POSITION_BONUSES = tuple(np.round(np.linspace(-1.0, 1.0, 21), 2).tolist())
POSITION_WEIGHTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The values of `bonus` and `weight` that calibration tries."""


class PositionDecoder(Decoder):
    """A decoder of sequences from scores of symbols at positions, for the kernel `Positions`.

    The score of symbol c at position p is 2 g_pc - 1, with g_pc the coordinate of a point.

    Attributes
    ----------
    chosen, grid
        The name of the parameter that may be "auto", and the values that calibration tries.
    """

    length: Any
    chosen: ClassVar[str]
    grid: ClassVar[Sequence[float]]

    @property
    def calibrates(self) -> bool:  # type: ignore[override]
        """Whether `calibrate` chooses the parameter of the decoder."""
        return is_automatic(self._value, self.chosen)

    @property
    def _value(self) -> float | str:
        """The parameter that `calibrate` may choose: a number or "auto"."""
        raise NotImplementedError

    def calibrate(self, points: Embedding, y: Items) -> PositionDecoder:
        """Choose the value of the parameter that recovers most of the outputs y."""
        scores, fixed = self._scores(points), required_lengths(points, self.length)
        self.value_ = best_value(
            self.grid, lambda value: self._best(scores, fixed, value), y, points.counts
        )
        return self

    def decode(self, points: Embedding) -> np.ndarray:
        """Return the sequence with the highest score at each predicted point."""
        return self._best(self._scores(points), required_lengths(points, self.length), self.value_)

    def _best(self, scores: np.ndarray, fixed: np.ndarray | None, value: float) -> np.ndarray:
        """Return the best sequences for scores of shape (points, positions, symbols).

        The sequences have the lengths `fixed`; lengths are free if it is None. `value` is the bonus
        per symbol (`PerPosition`) or the weight of transitions (`Viterbi`).
        """
        raise NotImplementedError

    def fit(self, kernel: Kernel, y: Items) -> PositionDecoder:
        """Store the kernel and one training output, whose type predictions will have."""
        core = kernel.multiple.kernel
        if not isinstance(core, Positions) or core.features is None:
            raise unsuited_kernel(self, kernel, "Positions() of symbols")
        self.kernel_: Any = kernel
        self.value_ = 0.0 if isinstance(self._value, str) else float(self._value)
        self.like_ = y[0]
        return self

    @property
    def _kernel(self) -> Any:
        """The fitted kernel `Positions`, without its scale."""
        return self.kernel_.multiple.kernel

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the kernel is `Positions`."""
        known = vars(self).get("kernel_", Positions())
        must(isinstance(known, Kernel), "kernel_ is not a kernel")
        kernel = known.multiple.kernel
        must(
            isinstance(kernel, Positions) and kernel.kernel is None,
            "kernel_ is not Positions() of symbols",
        )

    def _scores(self, points: Embedding) -> np.ndarray:
        """Return the scores of symbols as an array (points, positions, symbols)."""
        shape = self._kernel.longest_, len(self._kernel.alphabet_)
        parts = [
            2.0 * T.reshape(len(T), *shape) - 1.0 for _, T in feature_blocks(points, self.kernel_)
        ]
        return np.concatenate(parts)

    def _as_sequences(self, codes: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Convert symbol codes to sequences of lengths `ends`, in the training outputs' form."""
        spell = self._kernel.spell
        return object_array(
            [spell(row[:end], self.like_) for row, end in zip(codes, ends, strict=True)]
        )


@parameters
class PerPosition(PositionDecoder):
    """A decoder that chooses the best symbol at each position independently.

    For `Positions` the pre-image objective is a sum over positions p of 2 g_pc - 1, with c the
    symbol at p. The best symbols are therefore found by an argmax at each position, and the best
    length by the largest prefix sum, exactly.

    Parameters
    ----------
    length : "input", callable or None, default=None
        None for the best length under the objective; "input" for as many symbols as the input
        has; or a function of x. Outputs are at most as long as the longest training output.
    bonus : float or "auto", default=0.0
        Added for every symbol where the length is open; "auto" chooses it on left-out points.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import PerPosition
    >>> from mercer.kernels import Positions
    >>> model = KernelDependency(Positions(), Positions(), alpha=0.1, decoder=PerPosition("input"))
    >>> model.fit(["001", "10", "110"], ["aab", "ba", "bba"]).predict(["011", "1"]).tolist()
    ['abb', 'b']
    """

    chosen, grid = "bonus", POSITION_BONUSES

    length: str | Callable[[Any], int] | None = None
    bonus: float | str = 0.0

    @property
    def calibrates(self) -> bool:  # type: ignore[override]
        """Whether `calibrate` chooses the bonus, which needs sequences of free length."""
        return super().calibrates and self.length is None

    @property
    def _value(self) -> float | str:
        """The bonus per symbol, a number or "auto"."""
        return self.bonus

    def _best(self, scores: np.ndarray, fixed: np.ndarray | None, bonus: float) -> np.ndarray:
        """Return the sequences of the best symbols, with the best length or the length `fixed`."""
        codes = scores.argmax(axis=2)
        if fixed is None:
            gains = np.cumsum(scores.max(axis=2) + bonus, axis=1)
            fixed = np.column_stack([np.zeros(len(gains)), gains]).argmax(axis=1)
        return self._as_sequences(codes, fixed)


@parameters
class Viterbi(PositionDecoder):
    r"""A decoder of the best sequence by scores of symbols at positions and of transitions.

    Maximises :math:`\sum_p (2 g_{p c_p} - 1) + \text{weight} \sum_p
    \text{transition}(\text{context}, c_p)`, where the context is the `order` symbols before and the
    end of the sequence is a symbol of its own; exactly, by dynamic programming over the (|alphabet|
    + 1)^order contexts.

    Parameters
    ----------
    order : int, default=1
        How many symbols a context has.
    transitions : array or None, default=None
        None to learn log-probabilities from the training outputs; or scores, an array of `order`
        + 1 axes over the alphabet in its order (no scores then for the beginning and the end).
    weight : float or "auto", default="auto"
        The weight of the transitions; "auto" chooses it on left-out points.
    length : "input", callable or None, default=None
        As in `PerPosition`.
    bonus : float, default=0.0
        Added for every symbol where the length is open.
    smoothing : float, default=0.1
        Added to every count before log-probabilities are taken.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Viterbi
    >>> from mercer.kernels import Positions
    >>> model = KernelDependency(Positions(), Positions(), alpha=0.1, decoder=Viterbi(weight=0.1))
    >>> model.fit(["001", "10", "110"], ["aab", "ba", "bba"]).predict(["001"]).tolist()
    ['aab']
    """

    chosen, grid = "weight", POSITION_WEIGHTS

    @property
    def constants(self) -> tuple[str, ...]:
        """Descriptions of what all training outputs determine: transitions and their weight."""
        return (() if self.transitions is not None else ("the transitions",)) + super().constants

    order: int = 1
    transitions: Array | None = None
    weight: float | str = "auto"
    length: str | Callable[[Any], int] | None = None
    bonus: float = 0.0
    smoothing: float = 0.1

    @property
    def _value(self) -> float | str:
        """The weight of the transitions, a number or "auto"."""
        return self.weight

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless transitions have a row per context, a column per symbol."""
        super().check_loaded(limits)
        if "transitions_" in vars(self):
            size = len(self._kernel.alphabet_) + 1
            states = array(self.transitions_, "transitions_", np.float64, None, size).shape[0]
            must(
                states == size ** bounded(self.order, "order", 0, 64),
                "order does not match transitions_",
            )
            must(states * self._kernel.longest_ <= limits.size // 2, "there are too many contexts")

    uses_sample_weight = True

    def fit(self, kernel: Kernel, y: Items, sample_weight: Array | None = None) -> Viterbi:
        """Learn the transitions from the training outputs, unless they are given."""
        super().fit(kernel, y)
        if not isinstance(self.order, int) or self.order < 0:
            raise ValueError(f"order must be an integer ≥ 0, got {self.order!r}.")
        given = self.transitions is not None
        counts = np.ones(len(y)) if sample_weight is None else sample_weight
        self.transitions_ = (
            self._check_transitions() if given else self._learn_transitions(y, counts)
        )
        return self

    def _check_transitions(self) -> np.ndarray:
        """Check `transitions`; return them as (contexts, symbols), 0 at the ends of sequences."""
        size = len(self._kernel.alphabet_)
        table = np.asarray(self.transitions, dtype=np.float64)
        if table.shape != (size,) * (self.order + 1):
            raise ValueError(
                f"transitions must have shape {(size,) * (self.order + 1)} for {size} symbols and "
                f"order {self.order}, got {table.shape}."
            )
        full = np.zeros((size + 1,) * (self.order + 1))
        full[(slice(0, size),) * (self.order + 1)] = table
        return full.reshape(-1, size + 1)

    def _learn_transitions(self, y: Items, weights: np.ndarray) -> np.ndarray:
        """Return log-probabilities (contexts, symbols) of symbols after contexts in outputs y.

        Output i counts `weights[i]` times.
        """
        size = len(self._kernel.alphabet_)
        codes = self._kernel.alphabet_.encode(y)
        counts = np.full(((size + 1) ** self.order, size + 1), float(self.smoothing))
        for start, end, weight in zip(codes.starts[:-1], codes.starts[1:], weights, strict=True):
            state = len(counts) - 1  # every digit is the border symbol
            for c in [*codes.flat[start:end], size]:
                counts[state, c] += weight
                state = (state * (size + 1) + c) % len(counts)
        return np.log(counts / counts.sum(axis=1, keepdims=True))

    def _best(self, scores: np.ndarray, fixed: np.ndarray | None, weight: float) -> np.ndarray:
        """Return the best sequences under scores and transitions, by dynamic programming."""
        from ._path_loops import viterbi

        longest = scores.shape[1]
        required = np.full(len(scores), -1) if fixed is None else np.minimum(fixed, longest)
        codes = np.zeros((len(scores), longest), dtype=np.int64)
        ends = np.zeros(len(scores), dtype=np.int64)
        table = weight * self.transitions_
        viterbi(scores + float(self.bonus), table, required.astype(np.int64), codes, ends)
        return self._as_sequences(codes, ends)
