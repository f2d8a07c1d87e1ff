"""A fitted model: the local map, the n-gram models, and the search for the best outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...kernels import Codes
from .contexts import Contexts
from .emission import Emissions
from .inputs import EncodedInputs
from .joint import JointNGram
from .ngram import UNSEEN, NGram

EVERYTHING = 2**62
"""A beam that keeps all hypotheses."""
SEGMENTATION_MARGIN = -1.5 * UNSEEN
"""Partial segmentations of a given output that are worse than the best by more are dropped."""
NO_TRIE = np.zeros((0, 1), dtype=np.int32)
"""The prefix tree that allows all outputs."""


class Prepared(NamedTuple):
    """Encoded inputs and the scores of their output chunks, as tuples for the compiled loops."""

    positions: Any
    local: Any


@dataclass(frozen=True)
class FoundOutputs:
    """The k best outputs of each input, as arrays.

    Attributes
    ----------
    symbols, sizes
        The symbols of the outputs, (inputs, k, length), and their lengths, (inputs, k).
    values
        The scores of the outputs, (inputs, k); -inf if there are fewer than k.
    """

    symbols: np.ndarray
    sizes: np.ndarray
    values: np.ndarray

    @property
    def codes(self) -> Codes:
        """The symbols of all outputs as numbers, concatenated."""
        exists = np.isfinite(self.values)
        sizes, symbols = self.sizes[exists], self.symbols[exists]
        flat = symbols[np.arange(symbols.shape[1]) < sizes[:, None]].astype(np.int64)
        return Codes(flat, np.concatenate([[0], np.cumsum(sizes)]))


@dataclass(frozen=True)
class Model:
    """A fitted model that scores outputs in one reading direction.

    The score of an output that is segmented into the chunks c_1, c_2, … of the symbols of the input
    x is Σ_i log p(c_i | x, i, c_1 … c_{i-1}) + w log p(output).

    p(c_i | …) is the softmax of the ridge scores over a temperature, and p(output) is the n-gram
    model. The best outputs are scored again with joint n-gram models: `joint` of all symbols, and
    `outline`, in which all symbols except vowels are merged.
    """

    contexts: Contexts
    emissions: Emissions
    ngram: NGram
    joint: JointNGram | None = None
    outline: JointNGram | None = None

    @cached_property
    def _histories(self) -> np.ndarray:
        """The hash keys of the last output symbols in each state of the n-gram model."""
        return self.contexts.histories(self.ngram.last)

    def language(self, weight: float, trie: np.ndarray = NO_TRIE) -> Any:
        """Return the n-gram model, its weight, the output tier and the prefix tree as a tuple."""
        from ._search_loops import Language

        tiers, ngram = self.contexts.tiers, self.ngram
        tier = np.zeros(0, np.int64)
        if tiers is not None and tiers.kinds:
            tier = tiers.symbol_kinds
        return Language(
            ngram.logp, ngram.next, int(ngram.start), self._histories, tier, float(weight),
            trie,
        )  # fmt: skip

    def prepare(self, inputs: EncodedInputs, temperature: float) -> Prepared:
        """Return inputs with all scores that do not depend on outputs, for the compiled loops.

        `temperature` is that of the softmax over chunks.
        """
        from ._search_loops import InputPositions, LocalScores

        E, source = self.emissions, inputs.source
        # The last symbol of the emissions stands for unknown symbols.
        symbols = np.where(source.flat < 0, len(E.width) - 1, source.flat)
        features, contexts = self.contexts.features(inputs), self.contexts
        weights = contexts.templates.weights
        base, starts = E.scores(symbols, features.keys, weights, features.values, features.shared)
        base = base / temperature + E.prior_at(symbols, starts)
        pairs, pair_weights = contexts.pairs
        positions = InputPositions(source.starts, symbols, inputs.copied, *E.layout)
        return Prepared(positions, LocalScores(
            features.keys, features.values, base, starts, pairs, pair_weights / temperature,
            E.keys, E.table, E.offset, E.coef,
        ))  # fmt: skip

    def search(
        self,
        inputs: Prepared,
        weight: float,
        k: int,
        beam: int | None,
        trie: np.ndarray = NO_TRIE,
    ) -> FoundOutputs:
        """Return the `k` best outputs of each input, by beam search.

        `weight` is that of the n-gram model; outputs must be in the prefix tree `trie`.
        """
        from ._search_loops import search_all

        lengths = np.diff(inputs.positions.starts)
        shape = (len(lengths), k)
        longest = int(lengths.max(initial=0)) * self.emissions.chunks.symbols.shape[1]
        out = np.zeros((*shape, longest), dtype=np.int32)
        sizes, values = np.zeros(shape, dtype=np.int64), np.full(shape, -np.inf)
        kept = EVERYTHING if beam is None else int(beam)
        language = self.language(weight, trie)
        search_all(inputs.positions, inputs.local, language, k, kept, out, sizes, values)
        return FoundOutputs(out, sizes, values)

    def score(
        self,
        inputs: Prepared,
        weight: float,
        outputs: Codes,
        owner: np.ndarray,
        exact: bool,
    ) -> np.ndarray:
        """Return the score of each output for its input; output i belongs to input owner[i].

        Unless `exact`, partial segmentations that are far worse than the best one are dropped.
        """
        from ._rescoring_loops import score_outputs

        values = np.empty(len(owner))
        histories, states = self.contexts.output_histories(outputs, self.ngram.end)
        given = inputs.positions, inputs.local, histories, states, self.ngram.end
        margin = np.inf if exact else SEGMENTATION_MARGIN
        score_outputs(*given, margin, outputs.flat, outputs.starts, owner, values)
        if not np.isfinite(values).all():  # all segmentations of an output were dropped
            score_outputs(*given, np.inf, outputs.flat, outputs.starts, owner, values)
        values += weight * self.ngram.log_probability(outputs)
        return values

    def joint_scores(self, inputs: Prepared, outputs: Codes, owner: np.ndarray) -> np.ndarray:
        """Return the log-probability of each output with its input by the joint n-gram models.

        The log-probabilities of the models are summed. Output i belongs to input owner[i].
        """
        from ._rescoring_loops import JointCounts, joint_scores

        total = np.zeros(len(owner))
        for joint in filter(None, (self.joint, self.outline)):
            counts = JointCounts(joint.keys, joint.table, joint.values, joint.size, joint.number)
            values = np.empty(len(owner))
            joint_scores(inputs.positions, counts, outputs.flat, outputs.starts, owner, values)
            total += values
        return total

    def joint_scores_of_found(self, inputs: Prepared, found: FoundOutputs) -> np.ndarray:
        """Return the joint log-probability of each output; 0 after the last one of an input."""
        owner, rank = np.nonzero(np.isfinite(found.values))
        scores = np.zeros(found.values.shape)
        scores[owner, rank] = self.joint_scores(inputs, found.codes, owner)
        return scores
