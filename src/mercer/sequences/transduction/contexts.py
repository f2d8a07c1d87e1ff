"""Features of positions: of the input around a position, and of the output so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._base.checks import Limits, bounded, must
from ...kernels import Codes, LocalWindow
from . import templates as of
from ._keys import extend_hashes, feature_seed
from .columns import input_columns
from .inputs import EncodedInputs, preceding_symbols
from .templates import Templates
from .tiers import Tiers

COUNTED_SYMBOLS = {1: 1, 2: 2, 3: 1}
"""The number of output symbols that each kind of tier feature counts as, for its weight."""
LONGEST_HISTORY = 64
"""The largest `history` and `ends` that a model file may have."""


@dataclass(frozen=True)
class PositionFeatures:
    """Hashed features of the positions of inputs.

    Attributes
    ----------
    keys
        The key of each template's feature, (positions, templates); 0 where there is none.
    values
        The value of each feature, (positions, templates), or (1, templates) if all positions have
        the same values.
    shared
        The keys of the features without the letter at the position, (positions, shared templates).
    """

    keys: np.ndarray
    values: np.ndarray
    shared: np.ndarray


@dataclass(frozen=True)
class Contexts:
    """The feature map of positions: from the input around a position and the output so far.

    Features of the input are the windows of `LocalWindow`; the nearest members of each tier, alone
    and with windows of radius one; windows in which all symbols except the members of a tier are
    merged; the first and last symbols of the sequence; and products of the nearest of these with
    the context. Features of the output so far are the last 1, …, `history` output symbols and the
    last members of the output's tier, each combined with windows of radius one and with the
    context. Each output symbol has the weight `decay`, as a symbol next to the position has.

    Attributes
    ----------
    kernel
        The windows.
    history
        The largest number of last output symbols.
    tiers
        The tiers; None if there are none.
    ends
        The number of first and of last symbols of a sequence that are features.
    backward
        Whether sequences are read from their end.
    words
        Whether the words of the input, such as those between spaces, are features.
    coordinates
        The number of coordinates of the context; 0 without a context.
    """

    kernel: LocalWindow
    history: int
    tiers: Tiers | None
    ends: int
    backward: bool
    words: bool
    coordinates: int

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the kernel and the sizes are valid."""
        must(isinstance(self.kernel, LocalWindow), "kernel is not a LocalWindow")
        bounded(self.history, "history", 0, LONGEST_HISTORY)
        bounded(self.ends, "ends", 0, LONGEST_HISTORY)
        bounded(self.coordinates, "coordinates", 0, limits.steps)

    @cached_property
    def templates(self) -> Templates:
        """The templates of the features that depend on the input only."""
        decay = float(self.kernel.decay)
        templates = of.window_templates(self.kernel)
        near = of.near_windows(templates)
        with_context = list(near)
        if self.tiers is not None:
            for c in range(self.tiers.source.shape[1]):
                more = of.tier_templates(c, near, decay)
                with_context.append(more[0])
                templates += [*more, *of.outline_templates(c)]
            if self.tiers.source_harmony.any():
                more = of.harmony_templates(near, decay)
                with_context += more[:2]
                templates += more
        more = of.end_templates(self.ends, decay)
        templates += more
        with_context += more[: self.ends]
        if self.words:
            templates += of.word_templates(decay)
        return Templates([*templates, *of.context_templates(with_context, self.coordinates)])

    @cached_property
    def shared_templates(self) -> Templates:
        """The templates of the features that all letters share, which omit the letter itself."""
        return Templates(of.shared_templates(self.coordinates))

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The (output history, template) pairs whose products are features, and their weights."""
        last = [(h, h) for h in range(1, self.history + 1)]
        if self.tiers is not None:  # the output tier follows the last symbols
            last += [(self.history + kind, COUNTED_SYMBOLS[kind]) for kind in self.tiers.kinds]
        kinds = [(h, f, reach) for h, reach in last for f in self.templates.paired]
        table = np.array(kinds, dtype=np.int64).reshape(-1, 3)
        decay = float(self.kernel.decay)
        weights = self.templates.weights[table[:, 1]] * decay ** (table[:, 2] / 2.0)
        return np.ascontiguousarray(table[:, :2]), weights

    def features(self, inputs: EncodedInputs) -> PositionFeatures:
        """Return the features of all positions that depend on the input only."""
        if inputs.context.shape[1] != self.coordinates:
            raise ValueError(
                f"contexts must have {self.coordinates} coordinates, got {inputs.context.shape[1]}."
            )
        columns = input_columns(inputs, self.tiers, self.ends, self.backward, self.words)
        where = inputs.source.starts, inputs.source.rows
        return PositionFeatures(
            self.templates.keys(columns, *where),
            self._values(inputs),
            self.shared_templates.keys(columns, *where),
        )

    def _values(self, inputs: EncodedInputs) -> np.ndarray:
        """Return the feature values: the coordinates of contexts, and 1 for all other features."""
        if inputs.values is None:
            return np.ones((1, len(self.templates)), dtype=np.float32)
        ones = np.ones((len(inputs.values), 1))
        by_context = np.hstack([inputs.values, ones])[:, self.templates.contexts]
        return by_context.astype(np.float32)[inputs.source.rows]

    def histories(self, last: np.ndarray) -> np.ndarray:
        """Return hash keys of the last 1, 2, … symbols of each row of output symbols; 0 for none.

        `last` has the last symbols before a position of an output, and -1 where there are fewer.
        """
        keys = np.zeros((len(last), self.history), dtype=np.uint64)
        for h in range(1, self.history + 1):
            key = np.full(len(last), feature_seed(h))
            for symbols in last[:, -h:].T:
                key = extend_hashes(key, symbols + 2)
            keys[:, h - 1] = np.where(last[:, -h] < 0, np.uint64(0), key)
        return keys

    def output_histories(self, outputs: Codes, mark: int) -> tuple[np.ndarray, np.ndarray]:
        """Return hash keys of the last symbols, and the tier state, at each boundary of outputs.

        The rows are those of `preceding_symbols`; `mark` stands for the start of an output.
        """
        keys = self.histories(preceding_symbols(outputs, max(self.history, 1), mark))
        if self.tiers is None:
            return keys, np.zeros(len(keys), dtype=np.int64)
        return keys, self.tiers.states(outputs)

    def history_features(
        self, features: PositionFeatures, outputs: Codes, boundaries: np.ndarray, mark: int
    ) -> np.ndarray:
        """Return hash keys of the features that combine each position with the output so far.

        They have the shape (positions, pairs), and are 0 where there is no feature. Position n
        begins its chunk at the boundary boundaries[n] of the outputs.
        """
        from ._feature_loops import history_keys

        histories, states = (rows[boundaries] for rows in self.output_histories(outputs, mark))
        pairs, _ = self.pairs
        keys = np.empty((len(boundaries), len(pairs)), dtype=np.uint64)
        history_keys(pairs, features.keys, histories, states, mark, keys)
        return keys
