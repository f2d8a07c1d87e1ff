"""A learnt transduction: local map, n-gram model and the search that joins them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...kernels._sequences import Codes
from .contexts import Contexts
from .emission import Emissions
from .inputs import EncodedInputs
from .joint import JointNGram
from .ngram import UNSEEN, NGram

EVERYTHING = 2**62
"""A beam that keeps all hypotheses."""
MARGIN = -1.5 * UNSEEN
"""How far behind the best a cut of a given output is dropped."""
NO_TRIE = np.zeros((0, 1), dtype=np.int32)


class Prepared(NamedTuple):
    """Inputs as the compiled loops take them: `Places` and `LocalScores`."""

    places: Any
    local: Any


@dataclass(frozen=True)
class Model:
    """What decodes an input: argmax Σ_i log p(c_i | x, i, c_1 … c_{i-1}) + w log p(output).

    The first part is the softmax of the ridge scores over a temperature, the second the n-gram
    model of outputs. The best few are compared by joint n-gram models too: one of all symbols, and
    one of outlines, which distinguishes only vowels.
    """

    contexts: Contexts
    emissions: Emissions
    ngram: NGram
    joint: JointNGram | None = None
    outline: JointNGram | None = None

    def language(self, weight: float, trie: np.ndarray = NO_TRIE) -> Any:
        """Return what the compiled loops need of outputs: n-gram model, tier and trie."""
        from ._search_loops import Language

        tiers, ngram = self.contexts.tiers, self.ngram
        tier, closing = np.zeros(0, np.int64), np.zeros(3)
        if tiers is not None and tiers.kinds:
            tier, closing = tiers.symbol_kinds, tiers.closing
        histories = self.contexts.histories(ngram.last)
        return Language(
            ngram.logp, ngram.next, int(ngram.start), histories, tier, closing, float(weight), trie
        )

    def prepare(self, inputs: EncodedInputs, temperature: float) -> Any:
        """Return what the compiled loops need of inputs: positions, and their local scores."""
        from ._search_loops import LocalScores, Places

        E, source = self.emissions, inputs.source
        # The last symbol of the emissions stands for those never seen.
        symbols = np.where(source.flat < 0, len(E.width) - 1, source.flat)
        columns = self.contexts.columns(inputs)
        shared = self.contexts.shared(inputs)
        base, starts = E.scores(symbols, columns.keys, columns.weights, columns.values, shared)
        base = base / temperature + E.expanded_prior(symbols, starts)
        pairs, weights = self.contexts.pairs(columns)
        spans = np.column_stack([E.first, E.width])
        chunks = np.column_stack([E.chunks.lengths, E.chunks.symbols])[E.chunk]
        places = Places(source.starts, symbols, inputs.copied, spans, chunks)
        return Prepared(places, LocalScores(
            columns.keys, columns.values, base, starts, pairs, weights / temperature,
            E.keys, E.table, E.offset, E.coef,
        ))  # fmt: skip

    def search(
        self,
        inputs: Any,
        weight: float,
        k: int,
        beam: int | None,
        trie: np.ndarray = NO_TRIE,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the `k` best outputs of each input: symbols, lengths, scores (-inf for none)."""
        from ._search_loops import search_all

        lengths = np.diff(inputs.places.starts)
        shape = (len(lengths), k)
        longest = int(lengths.max(initial=0)) * self.emissions.chunks.symbols.shape[1]
        out = np.zeros((*shape, longest), dtype=np.int32)
        sizes, values = np.zeros(shape, dtype=np.int64), np.full(shape, -np.inf)
        kept = EVERYTHING if beam is None else int(beam)
        language = self.language(weight, trie)
        search_all(inputs.places, inputs.local, language, k, kept, out, sizes, values)
        return out, sizes, values

    def score(
        self,
        inputs: Any,
        weight: float,
        outputs: Codes,
        owner: np.ndarray,
        exact: bool,
    ) -> np.ndarray:
        """Return scores of given outputs, each for the input whose number is in `owner`.

        Unless they must be exact, cuts far behind the best are dropped: they could only win by
        two chunks that were never seen.
        """
        from ._rescoring_loops import score_all

        values = np.empty(len(owner))
        histories, states = self.contexts.output_histories(outputs, self.ngram.end)
        given = inputs.places, inputs.local, histories, states, self.ngram.end
        margin = np.inf if exact else MARGIN
        score_all(*given, margin, outputs.flat, outputs.starts, owner, values)
        if not np.isfinite(values).all():  # all cuts that reach the end were dropped
            score_all(*given, np.inf, outputs.flat, outputs.starts, owner, values)
        values += weight * self.ngram.log_probability(outputs)
        if self.contexts.tiers is not None:
            last = outputs.starts[1:] + np.arange(len(owner))
            values += self.contexts.tiers.closing[states[last] % 3]
        return values

    def joint_scores(self, inputs: Any, outputs: Codes, owner: np.ndarray) -> np.ndarray:
        """Return log-probabilities of outputs with their inputs, summed over the joint models."""
        from ._joint_loops import Counts, joint_scores

        total = np.zeros(len(owner))
        for joint in filter(None, (self.joint, self.outline)):
            counts = Counts(joint.keys, joint.table, joint.values, joint.size, joint.number)
            values = np.empty(len(owner))
            joint_scores(inputs.places, counts, outputs.flat, outputs.starts, owner, values)
            total += values
        return total

    def of_found(
        self, inputs: Any, out: np.ndarray, sizes: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of found outputs by the n-gram model and by the joint models.

        Both are (inputs, k), and 0 where there is no output.
        """
        there = np.isfinite(values)
        starts = np.concatenate([[0], np.cumsum(sizes[there])])
        flat = out[there][np.arange(out.shape[2]) < sizes[there][:, None]].astype(np.int64)
        language, joint = np.zeros(values.shape), np.zeros(values.shape)
        outputs = Codes(flat, starts)
        language[there] = self.ngram.log_probability(outputs)
        joint[there] = self.joint_scores(inputs, outputs, np.nonzero(there)[0].copy())
        return language, joint
