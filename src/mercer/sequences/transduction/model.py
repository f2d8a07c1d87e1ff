"""A learnt transduction: local map, n-gram model and the search that joins them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._checks import Limits, indices, must
from ...kernels._sequences import Codes
from .alignment import Alignment
from .contexts import Contexts
from .emission import Chunks, Emissions, Numbered, Ridge
from .inputs import Inputs, sliced
from .joint import JointNGram, outlined
from .ngram import NGram

EVERYTHING = 2**62
"""A beam that keeps all hypotheses."""
NO_TRIE = np.zeros((0, 1), dtype=np.int32)


@dataclass(frozen=True)
class Model:
    """What decodes an input: argmax Σ_i log p(c_i | x, i, c_1 … c_{i-1}) + w log p(output).

    The first part is the softmax of the ridge scores over a temperature, the second the n-gram
    model of outputs. The best few are compared by joint n-gram models too: one of all symbols, and
    one of outlines, in which only vowels are told apart.
    """

    contexts: Contexts
    emissions: Emissions
    ngram: NGram
    joint: JointNGram | None = None
    outline: JointNGram | None = None

    def check_loaded(self, limits: Limits) -> None:
        """Chunks of symbols that the n-gram model knows, and contexts as long as the history."""
        must(self.ngram.last.shape[1] >= self.contexts.history, "contexts are too short")
        shape = self.emissions.chunks.symbols.shape
        indices(self.emissions.chunks.symbols, "symbols", -1, self.ngram.end, *shape)
        tiers, similar = self.contexts.tiers, self.contexts.similar
        symbols = len(self.emissions.width)
        if tiers is not None:
            must(len(tiers.source) == symbols, "tiers are of other inputs")
            must(len(tiers.target) == self.ngram.end, "tiers are of other outputs")
        must(similar is None or len(similar.coordinates) == symbols, "similar is of other inputs")
        for joint in filter(None, (self.joint, self.outline)):
            chunks = len(self.emissions.chunk)
            must(len(joint.events(chunks)) > chunks, "joint models are of other chunks")

    @property
    def language(self) -> Any:
        """Argument of the compiled loops: n-gram model and tier, empty where there is none."""
        from ._search_loops import Language

        tiers, ngram = self.contexts.tiers, self.ngram
        tier = (np.zeros(0, bool), np.zeros(0, bool), np.zeros(3))
        if tiers is not None and tiers.depth:
            tier = tiers.target, tiers.once, tiers.closing
        return Language(ngram.logp, ngram.next, int(ngram.start), *tier)

    def prepare(self, inputs: Inputs) -> Any:
        """Argument of the compiled loops: positions with their scores, and the local map."""
        from ._search_loops import LocalScores

        E, source = self.emissions, inputs.source
        # The last symbol of the emissions stands for those never seen.
        symbols = np.where(source.flat < 0, len(E.width) - 1, source.flat)
        columns = self.contexts.columns(inputs)
        base, starts = E.scores(symbols, columns.keys, columns.weights, columns.values)
        return LocalScores(
            symbols, source.starts, columns.keys, columns.values, base, starts,
            *self.contexts.pairs(columns), E.keys, E.table, E.offset, E.coef, E.first, E.width,
            E.prior, E.chunks.lengths[E.chunk], E.chunks.symbols[E.chunk],
        )  # fmt: skip

    def search(
        self,
        inputs: Any,
        temperature: float,
        weight: float,
        k: int,
        beam: int | None,
        trie: np.ndarray = NO_TRIE,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The `k` best outputs of each input: symbols, lengths and scores (-inf for none)."""
        from ._search_loops import search_all

        lengths = np.diff(inputs.starts)
        shape = (len(lengths), k)
        longest = int(lengths.max(initial=0)) * self.emissions.chunks.symbols.shape[1]
        out = np.zeros((*shape, longest), dtype=np.int32)
        sizes, values = np.zeros(shape, dtype=np.int64), np.full(shape, -np.inf)
        search_all(
            inputs, self.language, self.contexts.histories(self.ngram.last), trie,
            float(temperature), float(weight), k, EVERYTHING if beam is None else int(beam),
            out, sizes, values,
        )  # fmt: skip
        return out, sizes, values

    def score(
        self,
        inputs: Any,
        temperature: float,
        weight: float,
        outputs: Codes,
        owner: np.ndarray,
    ) -> np.ndarray:
        """Scores of given outputs, each for the input whose number is in `owner`."""
        from ._rescoring_loops import score_all

        values = np.empty(len(owner))
        score_all(
            inputs, self.language, *self.contexts.output_histories(outputs, self.ngram.end),
            temperature, weight, outputs.flat, outputs.starts, owner, values,
        )  # fmt: skip
        return values

    def joint_scores(self, inputs: Any, outputs: Codes, owner: np.ndarray) -> np.ndarray:
        """Log-probabilities of given outputs with their inputs, summed over the joint models."""
        from ._joint_loops import Counts, joint_scores

        total = np.zeros(len(owner))
        for joint in filter(None, (self.joint, self.outline)):
            events = joint.events(len(self.emissions.chunk))
            counts = Counts(joint.keys, joint.table, joint.values, joint.size, events)
            values = np.empty(len(owner))
            joint_scores(inputs, counts, outputs.flat, outputs.starts, owner, values)
            total += values
        return total

    def of_found(
        self, inputs: Any, out: np.ndarray, sizes: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The scores of outputs that a search found by the n-gram model and by the joint one.

        Both are (inputs, k), and 0 where there is no output.
        """
        from ._rescoring_loops import language_scores

        there = np.isfinite(values)
        rows = [row[:size] for row, size in zip(out[there], sizes[there], strict=True)]
        starts = np.concatenate([[0], np.cumsum(sizes[there])])
        flat = np.concatenate(rows).astype(np.int64) if rows else np.zeros(0, dtype=np.int64)
        language, joint = np.zeros(values.shape), np.zeros(values.shape)
        language[there] = language_scores(flat, starts, self.language)
        joint[there] = self.joint_scores(inputs, Codes(flat, starts), np.nonzero(there)[0].copy())
        return language, joint


@dataclass(frozen=True)
class Aligned:
    """Training pairs, cut: what models are fitted on, all of them or some.

    Attributes
    ----------
    alignment
        The pairs, cut.
    inputs
        The inputs of the pairs.
    longest
        The longest chunk allowed.
    n_sources, n_targets
        The numbers of input and output symbols.
    contexts
        The features.
    more_outputs
        Outputs without an input, which the n-gram model is learnt from too.
    """

    alignment: Alignment
    inputs: Inputs
    longest: int
    n_sources: int
    n_targets: int
    contexts: Contexts
    more_outputs: Codes | None = None

    @cached_property
    def _chunks(self) -> tuple[Chunks, np.ndarray]:
        return Chunks.of(self.alignment.target.flat, self.alignment.lengths, self.longest)

    @cached_property
    def features(self) -> Numbered:
        """All features of all positions, those of the input alone first."""
        columns = self.contexts.columns(self.inputs)
        cut = self.alignment
        places = np.cumsum(cut.lengths) - cut.lengths + cut.source.rows
        histories = self.contexts.output_histories(cut.target, self.n_targets)[0][places]
        pairs, pair_weights = self.contexts.pairs(columns)
        keys = np.hstack([columns.keys, self.contexts.joint(columns, histories)])
        from ._key_loops import numbered

        numbers, distinct = numbered(keys)
        values = np.hstack([columns.values, columns.values[:, pairs[:, 1]]])
        weights = np.concatenate([columns.weights, pair_weights])
        return Numbered(numbers, distinct, weights, values)

    def fit(self, words: np.ndarray, ridge: Ridge, order: int) -> Model:
        """A model of some of the pairs."""
        source, places = sliced(self.alignment.source, words)
        chunks, numbers = self._chunks
        emissions = ridge.fit(
            self.features, places, source.flat, numbers[places], chunks, self.n_sources
        )
        outputs = joined(sliced(self.alignment.target, words)[0], self.more_outputs)
        ngram = NGram.of(outputs, self.n_targets, max(order, self.contexts.history + 1))
        return Model(self.contexts, emissions, ngram, *self._joint(emissions, source, places))

    def _joint(self, E: Emissions, source: Codes, places: np.ndarray) -> list[JointNGram]:
        """The joint n-gram models of some pairs; very rare chunks are one event."""
        place = E.places(source.flat, self._chunks[1][places])
        events = np.where(place < 0, len(E.chunk), E.first[source.flat] + place)
        codes, outlines = Codes(events, source.starts), outlined(E, self.contexts.tiers)
        numbers = [np.arange(len(E.chunk) + 1), *([] if outlines is None else [outlines])]
        return [JointNGram.of(codes, number) for number in numbers]

    def likelihood(self, model: Model, words: np.ndarray, temperatures: np.ndarray) -> np.ndarray:
        """The mean log-probability of the chunks of some pairs, at each temperature."""
        from ._search_loops import gold_likelihood

        source, places = sliced(self.alignment.source, words)
        E, numbers = model.emissions, self._chunks[1][places]
        F = self.features
        keys = np.where(F.numbers[places] < 0, np.uint64(0), F.keys[F.numbers[places]])
        values = F.values[places] if len(F.values) > 1 else F.values
        scores, starts = E.scores(source.flat, keys, F.weights, values)
        gold = E.places(source.flat, numbers)
        return np.array(
            [
                gold_likelihood(scores, starts, gold, E.prior, E.first, source.flat, T)
                for T in temperatures
            ]
        )


def joined(codes: Codes, more: Codes | None) -> Codes:
    """Two batches as one."""
    if more is None:
        return codes
    starts = np.concatenate([codes.starts, codes.starts[-1] + more.starts[1:]])
    return Codes(np.concatenate([codes.flat, more.flat]), starts)
