"""Aligned training pairs with their features, to which models are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels import Codes
from ...operators import Operator
from .alignment import Alignment
from .contexts import Contexts, PositionFeatures
from .emission import Chunks, Emissions, NumberedFeatures, fit_emissions
from .inputs import EncodedInputs, InputCoder, concatenate_codes, select_sequences
from .joint import JointNGram, outline_events
from .model import Model
from .ngram import NGram
from .sharing import fit_shared_map

NGRAM_ORDER = 4
"""The order of the n-gram model of outputs."""


@dataclass(frozen=True)
class Aligned:
    """Aligned training pairs with their features, to which models are fitted.

    Attributes
    ----------
    alignment
        The alignment of the pairs.
    inputs, contexts
        The inputs of the pairs, and their features.
    coder
        The encoder of inputs and outputs as numbers.
    keep, labels
        The indices of the pairs that could be aligned, and the group of each.
    operator, alpha, longest
        The operator on chunks, the ridge, and the length of the longest chunk.
    more_outputs
        Outputs without an input, to which the n-gram model is fitted too.
    """

    alignment: Alignment
    inputs: EncodedInputs
    contexts: Contexts
    coder: InputCoder
    keep: np.ndarray
    labels: np.ndarray
    operator: Operator
    alpha: float
    longest: int
    more_outputs: Codes | None = None

    @cached_property
    def _chunks(self) -> tuple[Chunks, np.ndarray]:
        """The distinct output chunks, and the number of the chunk that each position emits.

        A chunk is the output symbols that one input symbol emits.
        """
        cut = self.alignment
        return Chunks.of(cut.target.flat, cut.lengths, self.longest, self.inputs.copied)

    @cached_property
    def _input_features(self) -> PositionFeatures:
        """The features of each position that depend on the input only."""
        return self.contexts.features(self.inputs)

    @cached_property
    def features(self) -> NumberedFeatures:
        """The features of each position: of the input, and of the input with the output so far."""
        from ._key_loops import number_keys

        cut, mark = self.alignment, len(self.coder.targets)
        boundaries = np.cumsum(cut.lengths) - cut.lengths + cut.source.rows
        so_far = self.contexts.history_features(self._input_features, cut.target, boundaries, mark)
        numbers, distinct = number_keys(np.hstack([self._input_features.keys, so_far]))
        # Every feature includes the symbol of its position: number those of a symbol consecutively.
        symbols = np.zeros(len(distinct) + 1, dtype=np.int64)  # the last entry is for number -1
        symbols[numbers] = cut.source.flat[:, None]
        order = np.argsort(symbols[:-1], kind="stable")
        new_number = np.full(len(symbols), -1, dtype=np.int32)
        new_number[order] = np.arange(len(order))
        numbers, distinct = new_number[numbers], distinct[order]
        pairs, pair_weights = self.contexts.pairs
        values = np.hstack(
            [self._input_features.values, self._input_features.values[:, pairs[:, 1]]]
        )
        weights = np.concatenate([self.contexts.templates.weights, pair_weights])
        return NumberedFeatures(numbers, distinct, weights, values)

    def fit(self, pairs: np.ndarray | None = None) -> Model:
        """Return a model fitted to the training pairs with the indices `pairs`; None for all."""
        pairs = np.arange(len(self.keep)) if pairs is None else pairs
        source, positions = select_sequences(self.alignment.source, pairs)
        chunks, numbers = self._chunks
        keys = self._input_features.shared[positions]
        shared = fit_shared_map(keys, source.rows, numbers[positions], chunks, self.alpha)
        base = None if shared is None else shared.scores(keys)
        emissions = fit_emissions(
            self.features, positions, source.flat, numbers[positions], chunks,
            len(self.coder.symbols), self.operator, self.alpha, shared, base,
        )  # fmt: skip
        outputs = concatenate_codes(
            select_sequences(self.alignment.target, pairs)[0], self.more_outputs
        )
        ngram = NGram.of(
            outputs, len(self.coder.targets), max(NGRAM_ORDER, self.contexts.history + 1)
        )
        return Model(
            self.contexts, emissions, ngram, *self._joint_models(emissions, source, positions)
        )

    def _joint_models(
        self, emissions: Emissions, source: Codes, positions: np.ndarray
    ) -> list[JointNGram]:
        """Return joint n-gram models of input symbols with the output chunks that they emit.

        They are fitted to the inputs `source`, whose symbols have the positions `positions`.
        """
        index = emissions.chunk_indices(source.flat, self._chunks[1][positions])
        rare = len(emissions.chunk)
        events = np.where(index < 0, rare, emissions.first[source.flat] + index)
        codes = Codes(events, source.starts)
        outlines = outline_events(emissions, self.coder.copies, self.contexts.tiers)
        numbers = [np.arange(rare + 1), *([] if outlines is None else [outlines])]
        return [JointNGram.of(codes, number) for number in numbers]

    def log_likelihood(
        self, model: Model, pairs: np.ndarray, temperatures: np.ndarray
    ) -> np.ndarray:
        """Return the mean log-probability of the chunks that pairs emit, for each temperature."""
        source, positions = select_sequences(self.alignment.source, pairs)
        E, F = model.emissions, self.features
        keys = np.where(F.numbers[positions] < 0, np.uint64(0), F.keys[F.numbers[positions]])
        values = F.values[positions] if len(F.values) > 1 else F.values
        scores, starts = E.scores(
            source.flat, keys, F.weights, values, self._input_features.shared[positions]
        )
        gold = E.chunk_indices(source.flat, self._chunks[1][positions])
        known = np.flatnonzero(gold >= 0)
        prior = E.prior_at(source.flat, starts)
        means = []
        for T in temperatures:
            z = scores / T + prior
            top = np.maximum.reduceat(z, starts[:-1])
            total = np.add.reduceat(np.exp(z - np.repeat(top, np.diff(starts))), starts[:-1])
            true = z[starts[:-1][known] + gold[known]]
            means.append((true - top[known] - np.log(total[known])).sum() / max(len(known), 1))
        return np.array(means)
