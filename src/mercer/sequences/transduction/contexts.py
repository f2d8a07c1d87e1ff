"""What the emission of a chunk is learnt from: the input around a position, the output so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.checks import Limits, bounded, must
from ...kernels import LocalWindow
from ...kernels._sequences import Codes
from ._keys import mix, seed
from .inputs import EncodedInputs, before_places
from .sharing import shared_keys
from .tiers import DEPTH, Tiers
from .words import word_features

NEAR = 1
"""How far the windows reach that are paired with the last output symbols and with the context."""
OUTLINE = LocalWindow(radius=4, decay=0.6)
"""Windows that distinguish only the symbols of a tier: what matters of *ate* in *late*, *rate* and
*dame* is an open syllable. They count half."""


REACH = {1: 1, 2: 2, 3: 1, 4: 3}
"""As how many output symbols the kinds of keys of the output tier count."""


@dataclass(frozen=True)
class Columns:
    """Kinds of features of every position: their keys, weights and values.

    Attributes
    ----------
    keys
        (positions, kinds); 0 where a position has no feature of that kind.
    weights
        The weight of each kind.
    values
        (positions, kinds), or (1, kinds) where all positions have the same.
    paired
        The kinds that are paired with the last output symbols.
    """

    keys: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    paired: np.ndarray


@dataclass(frozen=True)
class Contexts:
    """The features of positions: a key each, and a weight for each kind.

    The windows of `LocalWindow`; the nearest members of each tier, alone and with the windows that
    reach one symbol at most; windows in which all symbols but the members of a tier are one; the
    first and last symbols of the sequence; and the product of the near ones of all these with the
    context. To them come, for h = 1, …, history, the last h output symbols, and the last members of
    the output's tier, paired with the windows that hold the position and reach one symbol at most
    and with the context: output symbols count as if they were next to the position, each one
    with weight `decay`.

    Attributes
    ----------
    kernel
        The windows.
    history
        The largest number of last output symbols.
    tiers
        The tiers, None for none.
    ends
        How many of the first and of the last symbols of a sequence each position sees.
    backward
        Whether sequences are read from their end.
    words
        Whether positions see the words of the input, such as those between spaces.
    """

    kernel: LocalWindow
    history: int
    tiers: Tiers | None
    ends: int
    backward: bool
    words: bool

    def check_loaded(self, limits: Limits) -> None:
        """Check the windows and the length of the history."""
        must(isinstance(self.kernel, LocalWindow), "kernel is not a LocalWindow")
        bounded(self.history, "history", 0, limits.steps)
        bounded(self.ends, "ends", 0, limits.steps)

    def columns(self, inputs: EncodedInputs) -> Columns:
        """Return the features that the input alone has."""
        collected = _Collected(self, inputs)
        if self.tiers is not None:
            for c in range(self.tiers.source.shape[1]):
                collected.add_tier(self.tiers, c)
                collected.add_outlines(self.tiers, c)
            if self.tiers.source_harmony.any():
                collected.add_harmony(self.tiers)
        if self.ends:
            collected.add_ends(self.ends, self.backward)
        if self.words:
            collected.add(*word_features(inputs, self.kernel.decay))
        if inputs.context.shape[1]:
            collected.add_context()
        return collected.columns()

    def shared(self, inputs: EncodedInputs) -> np.ndarray:
        """Return the features of positions that do not name their letter."""
        symbols = int(inputs.source.flat.max(initial=0)) + 2
        vowels: np.ndarray = np.zeros(symbols, bool)
        if self.tiers is not None:
            vowels = np.asarray(np.any(self.tiers.source, axis=1))
        return shared_keys(inputs, vowels)

    def pairs(self, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        """Return (history, kind) of each feature of the output so far, and its weight."""
        last = [(h, h) for h in range(1, self.history + 1)]
        if self.tiers is not None:  # the output tier follows the last symbols
            last += [(self.history + kind, REACH[kind]) for kind in self.tiers.kinds]
        kinds = [(h, f, reach) for h, reach in last for f in columns.paired]
        table = np.array(kinds, dtype=np.int64).reshape(-1, 3)
        weights = columns.weights[table[:, 1]] * float(self.kernel.decay) ** (table[:, 2] / 2.0)
        return np.ascontiguousarray(table[:, :2]), weights

    def histories(self, last: np.ndarray) -> np.ndarray:
        """Return keys of the last h symbols, h = 1, …, history; 0 if there are fewer."""
        keys = np.zeros((len(last), self.history), dtype=np.uint64)
        for h in range(1, self.history + 1):
            key = np.full(len(last), seed(h))
            for symbols in last[:, -h:].T:
                key = mix(key, symbols + 2)
            keys[:, h - 1] = np.where(last[:, -h] < 0, np.uint64(0), key)
        return keys

    def output_histories(self, outputs: Codes, mark: int) -> tuple[np.ndarray, np.ndarray]:
        """Return keys of the output before each place, and the states of its tier.

        The rows are those of `before_places`; `mark` stands for the start of an output.
        """
        keys = self.histories(before_places(outputs, max(self.history, 1), mark))
        if self.tiers is None:
            return keys, np.zeros(len(keys), dtype=np.int64)
        states = self.tiers.before(outputs)
        return np.hstack([keys, self.tiers.history_keys(states)]), states

    def joint(self, columns: Columns, histories: np.ndarray) -> np.ndarray:
        """Return keys of the features of the output so far, (positions, pairs); 0 for none."""
        pairs, _ = self.pairs(columns)
        keys = np.zeros((len(columns.keys), len(pairs)), dtype=np.uint64)
        for f, (h, kind) in enumerate(pairs):
            window, history = columns.keys[:, kind], histories[:, h - 1]
            there = (window != 0) & (history != 0)
            keys[:, f] = np.where(there, mix(mix(history, 1), window), np.uint64(0))
        return keys


class _Collected:
    """Kinds of features, collected one after the other."""

    def __init__(self, contexts: Contexts, inputs: EncodedInputs):
        self.inputs, self.codes = inputs, inputs.source
        self.decay = float(contexts.kernel.decay)
        ends, weights = contexts.kernel.windows()
        self.parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.size = 0
        windows = contexts.kernel.keys(self.codes, self.codes.rows, self.codes.positions)
        self.add(windows, weights)
        near = (ends[:, 0] >= -NEAR) & (ends[:, 0] <= 0) & (ends[:, 1] >= 0) & (ends[:, 1] <= NEAR)
        self.paired: list[int] = [int(f) for f in np.flatnonzero(near)]
        # The position alone comes first: it is what the context is paired with the output by.
        alone_first = sorted(self.paired, key=lambda f: ends[f, 1] - ends[f, 0])
        self.near = [(windows[:, f], weights[f]) for f in alone_first]
        self.with_context = list(self.near)

    def add(self, keys: np.ndarray, weights: Any, values: np.ndarray | None = None) -> int:
        """Add a kind, or several: keys (positions, kinds) of which each has a weight.

        Return the number of the last.
        """
        own = np.ones((1, 1)) if values is None else values[:, None]
        columns = keys[:, None] if keys.ndim == 1 else keys
        self.parts.append((columns, np.atleast_1d(weights), own))
        self.size += len(self.parts[-1][1])
        return self.size - 1

    def _symbols(self, kind: int) -> np.ndarray:
        """Return the first keys of a kind of features, made of the symbol at each position."""
        return mix(seed(kind), self.codes.flat + 2)

    def add_tier(self, tiers: Tiers, c: int) -> None:
        """Add the nearest members of a class: to either side, to both, and with near windows."""
        nearest = tiers.nearest(self.codes, c) + 2
        one = self.decay**0.5
        firsts = []
        for side in range(2):
            keys, weight = self._symbols(500 + 10 * c + side), 1.0
            for j in range(DEPTH):
                keys, weight = mix(keys, nearest[:, side * DEPTH + j]), weight * one
                self.add(keys, weight)
                if j == 0:
                    firsts.append((keys, weight))
        self.with_context.append(firsts[0])
        self.add(mix(firsts[0][0], nearest[:, DEPTH]), self.decay)
        for keys, weight in self.near[1:]:
            for side in range(2):
                kind = mix(keys, 502 + 10 * c + side)
                self.add(mix(kind, nearest[:, side * DEPTH]), weight * one)

    def add_harmony(self, tiers: Tiers) -> None:
        """Add the harmony classes to either side, alone and with near windows."""
        around, one = tiers.harmony_around(self.codes), self.decay**0.5
        for side in range(2):
            keys = mix(self._symbols(520 + side), around[:, side])
            self.add(keys, one)
            self.with_context.append((keys, one))
            for near, weight in self.near[1:]:
                self.add(mix(mix(near, 522 + side), around[:, side]), weight * one)

    def add_outlines(self, tiers: Tiers, c: int) -> None:
        """Add windows around the position that distinguish only the members of a class."""
        codes = self.codes
        others = np.where(self.inputs.inside, 1, 0)
        outline = Codes(np.where(tiers.members(codes, c), codes.flat + 2, others), codes.starts)
        ends, weights = OUTLINE.windows()
        chosen = (ends[:, 0] <= 0) & (ends[:, 1] >= 0) & (ends[:, 1] - ends[:, 0] > 1)
        keys = OUTLINE.keys(outline, codes.rows, codes.positions)[:, chosen]
        self.add(mix(keys, self._symbols(504 + 10 * c)[:, None]), weights[chosen] / 2.0)

    def add_ends(self, n: int, backward: bool) -> None:
        """Add the last 1, …, n symbols of the sequence, and the first."""
        inputs, rows = self.inputs, self.codes.rows
        for kind, at_last in ((600, not backward), (601, backward)):
            keys, weight = self._symbols(kind), 1.0
            for j in range(n):
                local = inputs.last - 1 - j if at_last else inputs.first + j
                inside = (local >= inputs.first) & (local < inputs.last)
                symbols = np.ones(len(local), dtype=np.int64)
                symbols[inside] = self.codes.flat[(self.codes.starts[:-1] + local)[inside]] + 5
                keys, weight = mix(keys, symbols[rows]), weight * self.decay**0.5
                self.add(keys, weight)
                if kind == 600:
                    self.with_context.append((keys, weight))

    def add_context(self) -> None:
        """Add the product of the context with what is near, with the tiers and with the end."""
        inputs, rows = self.inputs, self.codes.rows
        for j in range(inputs.context.shape[1]):
            own = inputs.context[rows, j]
            values = None if inputs.values is None else inputs.values[rows, j]
            for number, (keys, base) in enumerate(self.with_context):
                joined = np.where(own == 0, np.uint64(0), mix(keys, own))
                kind = self.add(joined, base, values)
                if number == 0:
                    self.paired.append(kind)

    def columns(self) -> Columns:
        """Return what was collected."""
        keys, weights, values = zip(*self.parts, strict=True)
        rows = 1 if all(len(v) == 1 for v in values) else len(self.codes.flat)
        spread = [np.broadcast_to(v, (rows, len(w))) for v, w in zip(values, weights, strict=True)]
        return Columns(
            np.ascontiguousarray(np.hstack(keys)),  # other layouts are compiled anew
            np.concatenate(weights),
            np.hstack(spread).astype(np.float32, order="C"),
            np.array(self.paired, dtype=np.int64),
        )
