"""What the emission of a chunk is learnt from: the input around a position, the output so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._base.checks import Limits, bounded, must
from ...kernels import LocalWindow
from ...kernels._sequences import Codes
from . import templates as made
from ._keys import mix, seed
from .columns import input_columns
from .inputs import EncodedInputs, preceding_symbols
from .templates import Templates
from .tiers import Tiers

REACH = {1: 1, 2: 2, 3: 1}
"""As how many output symbols the kinds of keys of the output tier count."""
MOST = 64
"""Output symbols, and symbols at the ends of inputs, that a model file can ask for at most."""


@dataclass(frozen=True)
class PositionFeatures:
    """Hashed features of the positions of inputs.

    Attributes
    ----------
    keys
        (positions, templates); 0 where a position has no feature of a template.
    values
        (positions, templates), or (1, templates) where all positions have the same.
    shared
        Keys of the features that do not name the letter, (positions, shared templates).
    """

    keys: np.ndarray
    values: np.ndarray
    shared: np.ndarray


@dataclass(frozen=True)
class Contexts:
    """The feature map of positions, which gives hash keys and weights of all templates.

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
    coordinates
        The number of coordinates of the context, 0 without one.
    """

    kernel: LocalWindow
    history: int
    tiers: Tiers | None
    ends: int
    backward: bool
    words: bool
    coordinates: int

    def check_loaded(self, limits: Limits) -> None:
        """Check the kernel and the sizes of a loaded feature map."""
        must(isinstance(self.kernel, LocalWindow), "kernel is not a LocalWindow")
        bounded(self.history, "history", 0, MOST)
        bounded(self.ends, "ends", 0, MOST)
        bounded(self.coordinates, "coordinates", 0, limits.steps)

    @cached_property
    def templates(self) -> Templates:
        """The templates of the features that depend on the input only."""
        decay = float(self.kernel.decay)
        found = made.window_templates(self.kernel)
        near = made.near_windows(found)
        with_context = list(near)
        if self.tiers is not None:
            for c in range(self.tiers.source.shape[1]):
                own = made.tier_templates(c, near, decay)
                with_context.append(own[0])
                found += [*own, *made.outline_templates(c)]
            if self.tiers.source_harmony.any():
                own = made.harmony_templates(near, decay)
                with_context += own[:2]
                found += own
        own = made.end_templates(self.ends, decay)
        found += own
        with_context += own[: self.ends]
        if self.words:
            found += made.word_templates(decay)
        return Templates([*found, *made.context_templates(with_context, self.coordinates)])

    @cached_property
    def shared_templates(self) -> Templates:
        """The templates of the features that leave out the letter at the position."""
        return Templates(made.shared_templates(self.coordinates))

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The (output history, template) pairs that are combined to features, and their weights."""
        last = [(h, h) for h in range(1, self.history + 1)]
        if self.tiers is not None:  # the output tier follows the last symbols
            last += [(self.history + kind, REACH[kind]) for kind in self.tiers.kinds]
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
        """Return the values of the features: coordinates of the context, and 1 for all others."""
        if inputs.values is None:
            return np.ones((1, len(self.templates)), dtype=np.float32)
        ones = np.ones((len(inputs.values), 1))
        by_context = np.hstack([inputs.values, ones])[:, self.templates.contexts]
        return by_context.astype(np.float32)[inputs.source.rows]

    def histories(self, last: np.ndarray) -> np.ndarray:
        """Return hash keys of the last 1, …, `history` symbols in each row; 0 for none."""
        keys = np.zeros((len(last), self.history), dtype=np.uint64)
        for h in range(1, self.history + 1):
            key = np.full(len(last), seed(h))
            for symbols in last[:, -h:].T:
                key = mix(key, symbols + 2)
            keys[:, h - 1] = np.where(last[:, -h] < 0, np.uint64(0), key)
        return keys

    def output_histories(self, outputs: Codes, mark: int) -> tuple[np.ndarray, np.ndarray]:
        """Return hash keys of the output symbols before each place, and the tier states there.

        The rows are those of `preceding_symbols`; `mark` stands for the start of an output.
        """
        keys = self.histories(preceding_symbols(outputs, max(self.history, 1), mark))
        if self.tiers is None:
            return keys, np.zeros(len(keys), dtype=np.int64)
        return keys, self.tiers.states(outputs)

    def history_features(
        self, features: PositionFeatures, outputs: Codes, places: np.ndarray, mark: int
    ) -> np.ndarray:
        """Return hash keys of the features with the output so far, (positions, pairs); 0 for none.

        `places` has the place of the output that each position has reached.
        """
        from ._feature_loops import history_keys

        histories, states = (rows[places] for rows in self.output_histories(outputs, mark))
        pairs, _ = self.pairs
        keys = np.empty((len(places), len(pairs)), dtype=np.uint64)
        history_keys(pairs, features.keys, histories, states, mark, keys)
        return keys
