"""Aligned training pairs with their features: what models are fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels._sequences import Alphabet, Codes
from ...operators import Operator
from .alignment import Alignment
from .contexts import Contexts, PositionFeatures
from .emission import Chunks, Emissions, NumberedFeatures, fit_emissions
from .inputs import EncodedInputs, InputCoder, concatenate_codes, select_sequences
from .joint import JointNGram, outline_events
from .model import Model
from .ngram import NGram
from .sharing import fit_shared_map


@dataclass(frozen=True)
class Aligned:
    """Aligned training pairs, to all or some of which a model is fitted.

    Attributes
    ----------
    alignment
        The alignment of the pairs.
    inputs, contexts
        The inputs of the pairs, and their features.
    coder, targets
        How inputs and outputs become numbers.
    keep, labels
        The numbers of the pairs that could be aligned, and the group of each.
    operator, alpha, longest, order
        The operator on chunks, the ridge, the longest chunk, the order of the n-gram model.
    more_outputs
        Outputs without an input, which the n-gram model is learnt from too.
    """

    alignment: Alignment
    inputs: EncodedInputs
    contexts: Contexts
    coder: InputCoder
    targets: Alphabet
    keep: np.ndarray
    labels: np.ndarray
    operator: Operator
    alpha: float
    longest: int
    order: int
    more_outputs: Codes | None = None

    @cached_property
    def _chunks(self) -> tuple[Chunks, np.ndarray]:
        """The distinct chunks, and the number of the chunk at each position.

        A chunk is the output symbols that one input symbol emits.
        """
        cut = self.alignment
        return Chunks.of(cut.target.flat, cut.lengths, self.longest, self.inputs.copied)

    @cached_property
    def _features(self) -> PositionFeatures:
        """The features of each position that depend on the input only."""
        return self.contexts.features(self.inputs)

    @cached_property
    def features(self) -> NumberedFeatures:
        """The features of each position: of the input, and of the input with the output so far."""
        from ._key_loops import number_keys

        cut, mark = self.alignment, len(self.targets)
        places = np.cumsum(cut.lengths) - cut.lengths + cut.source.rows
        so_far = self.contexts.history_features(self._features, cut.target, places, mark)
        numbers, distinct = number_keys(np.hstack([self._features.keys, so_far]))
        # Every feature includes the symbol of its position: number those of a symbol consecutively.
        owners = np.zeros(len(distinct) + 1, dtype=np.int64)  # the last is that of none, -1
        owners[numbers] = cut.source.flat[:, None]
        order = np.argsort(owners[:-1], kind="stable")
        place = np.full(len(owners), -1, dtype=np.int32)
        place[order] = np.arange(len(order))
        numbers, distinct = place[numbers], distinct[order]
        pairs, pair_weights = self.contexts.pairs
        values = np.hstack([self._features.values, self._features.values[:, pairs[:, 1]]])
        weights = np.concatenate([self.contexts.templates.weights, pair_weights])
        return NumberedFeatures(numbers, distinct, weights, values)

    def fit(self, words: np.ndarray | None = None) -> Model:
        """Fit a model to the training pairs with the indices `words`; None for all pairs."""
        words = np.arange(len(self.keep)) if words is None else words
        source, places = select_sequences(self.alignment.source, words)
        chunks, numbers = self._chunks
        keys = self._features.shared[places]
        shared = fit_shared_map(keys, source.rows, numbers[places], chunks, self.alpha)
        base = None if shared is None else shared.scores(keys)
        emissions = fit_emissions(
            self.features, places, source.flat, numbers[places], chunks, len(self.coder.symbols),
            self.operator, self.alpha, shared, base,
        )  # fmt: skip
        outputs = concatenate_codes(
            select_sequences(self.alignment.target, words)[0], self.more_outputs
        )
        order = max(self.order, self.contexts.history + 1)
        ngram = NGram.of(outputs, len(self.targets), order)
        return Model(self.contexts, emissions, ngram, *self._joint(emissions, source, places))

    def _joint(self, E: Emissions, source: Codes, places: np.ndarray) -> list[JointNGram]:
        """Return joint n-gram models of input symbols with the chunks that they emit."""
        place = E.chunk_indices(source.flat, self._chunks[1][places])
        events = np.where(place < 0, len(E.chunk), E.first[source.flat] + place)
        codes = Codes(events, source.starts)
        outlines = outline_events(E, self.coder.copies, self.contexts.tiers)
        numbers = [np.arange(len(E.chunk) + 1), *([] if outlines is None else [outlines])]
        return [JointNGram.of(codes, number) for number in numbers]

    def likelihood(self, model: Model, words: np.ndarray, temperatures: np.ndarray) -> np.ndarray:
        """Return the mean log-probability of the chunks of pairs `words` at each temperature."""
        source, places = select_sequences(self.alignment.source, words)
        E, F = model.emissions, self.features
        keys = np.where(F.numbers[places] < 0, np.uint64(0), F.keys[F.numbers[places]])
        values = F.values[places] if len(F.values) > 1 else F.values
        scores, starts = E.scores(
            source.flat, keys, F.weights, values, self._features.shared[places]
        )
        gold = E.chunk_indices(source.flat, self._chunks[1][places])
        known = np.flatnonzero(gold >= 0)
        prior = E.prior_at(source.flat, starts)
        means = []
        for T in temperatures:
            z = scores / T + prior
            top = np.maximum.reduceat(z, starts[:-1])
            total = np.add.reduceat(np.exp(z - np.repeat(top, np.diff(starts))), starts[:-1])
            right = z[starts[:-1][known] + gold[known]]
            means.append((right - top[known] - np.log(total[known])).sum() / max(len(known), 1))
        return np.array(means)
