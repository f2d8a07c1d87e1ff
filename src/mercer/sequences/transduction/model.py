"""A learnt transduction: local map, n-gram model and the search that joins them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._checks import Limits, indices, must
from ...kernels._sequences import Codes
from .contexts import Contexts
from .emission import Emissions
from .inputs import Inputs
from .joint import JointNGram
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
        tiers = self.contexts.tiers
        symbols = len(self.emissions.width)
        if tiers is not None:
            must(len(tiers.source) == symbols, "tiers are of other inputs")
            must(len(tiers.target) == self.ngram.end, "tiers are of other outputs")
        for joint in filter(None, (self.joint, self.outline)):
            chunks = len(self.emissions.chunk)
            must(len(joint.number) > chunks, "joint models are of other chunks")

    def language(self, weight: float, trie: np.ndarray = NO_TRIE) -> Any:
        """Argument of the compiled loops: n-gram model and tier, empty where there is none."""
        from ._search_loops import Language

        tiers, ngram = self.contexts.tiers, self.ngram
        tier = (np.zeros(0, bool), np.zeros(0, bool), np.zeros(3))
        if tiers is not None and tiers.depth:
            tier = tiers.target, tiers.once, tiers.closing
        histories = self.contexts.histories(ngram.last)
        return Language(
            ngram.logp, ngram.next, int(ngram.start), histories, *tier, float(weight), trie
        )

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
        kept = EVERYTHING if beam is None else int(beam)
        language = self.language(weight, trie)
        search_all(inputs, language, float(temperature), k, kept, out, sizes, values)
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
            inputs, self.language(weight),
            *self.contexts.output_histories(outputs, self.ngram.end),
            float(temperature), outputs.flat, outputs.starts, owner, values,
        )  # fmt: skip
        return values

    def joint_scores(self, inputs: Any, outputs: Codes, owner: np.ndarray) -> np.ndarray:
        """Log-probabilities of given outputs with their inputs, summed over the joint models."""
        from ._joint_loops import Counts, joint_scores

        total = np.zeros(len(owner))
        for joint in filter(None, (self.joint, self.outline)):
            counts = Counts(joint.keys, joint.table, joint.values, joint.size, joint.number)
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
        starts = np.concatenate([[0], np.cumsum(sizes[there])])
        flat = out[there][np.arange(out.shape[2]) < sizes[there][:, None]].astype(np.int64)
        language, joint = np.zeros(values.shape), np.zeros(values.shape)
        language[there] = language_scores(flat, starts, self.language(0.0))
        joint[there] = self.joint_scores(inputs, Codes(flat, starts), np.nonzero(there)[0].copy())
        return language, joint
