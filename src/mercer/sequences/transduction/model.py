"""A learnt transduction: local map, n-gram model and the search that joins them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._checks import Limits, indices, must
from ...kernels._sequences import Codes
from .alignment import Alignment
from .contexts import Contexts, last_symbols
from .emission import Chunks, Emissions, Ridge
from .ngram import NGram


def sliced(codes: Codes, words: np.ndarray) -> tuple[Codes, np.ndarray]:
    """Some of the sequences, and where their symbols were."""
    lengths = codes.lengths[words]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(codes.starts[words] - starts[:-1], lengths) + np.arange(starts[-1])
    return Codes(codes.flat[places], starts), places


@dataclass(frozen=True)
class Prepared:
    """Inputs with the keys of their windows, and the scores of all chunks by the windows alone.

    The scores of position n are base[starts[n]:starts[n + 1]].
    """

    source: Codes
    symbols: np.ndarray
    windows: np.ndarray
    base: np.ndarray
    starts: np.ndarray


@dataclass(frozen=True)
class Model:
    """What decodes an input: argmax Σ_i log p(c_i | x, i, c_1 … c_{i-1}) + w log p(output).

    The first part is the softmax of the ridge scores over a temperature, the second the n-gram
    model of outputs.
    """

    contexts: Contexts
    emissions: Emissions
    ngram: NGram

    def check_loaded(self, limits: Limits) -> None:
        """Chunks of symbols that the n-gram model knows, and contexts as long as the history."""
        must(self.ngram.last.shape[1] >= self.contexts.history, "contexts are too short")
        shape = self.emissions.chunks.symbols.shape
        indices(self.emissions.chunks.symbols, "symbols", -1, self.ngram.end, *shape)

    def prepare(self, source: Codes) -> Prepared:
        """What the search needs to know of inputs, whatever its parameters."""
        # The last symbol of the emissions stands for those never seen.
        symbols = np.where(source.flat < 0, len(self.emissions.width) - 1, source.flat)
        windows = self.contexts.windows(source)
        base, starts = self.emissions.scores(symbols, (windows, self.contexts.window_weights()))
        return Prepared(source, symbols, windows, base, starts)

    def search(
        self, inputs: Prepared, temperature: float, weight: float, k: int, beam: int | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The `k` best outputs of each input: symbols, lengths and scores (-inf for none)."""
        from ._search_loops import search_all

        E = self.emissions
        pairs, pair_weights = self.contexts.pairs()
        lengths = inputs.source.lengths
        shape = (len(lengths), k)
        longest = int(lengths.max(initial=0)) * E.chunks.symbols.shape[1]
        out = np.zeros((*shape, longest), dtype=np.int32)
        sizes, values = np.zeros(shape, dtype=np.int64), np.full(shape, -np.inf)
        search_all(
            inputs.symbols, inputs.source.starts, inputs.windows, inputs.base, inputs.starts,
            pairs, pair_weights, E.keys, E.offset, E.coef, E.first, E.width, E.prior,
            E.chunks.lengths[E.chunk], E.chunks.symbols[E.chunk],
            self.contexts.histories(self.ngram.last),
            self.ngram.logp, self.ngram.next, int(self.ngram.start), float(temperature),
            float(weight), k, 2**62 if beam is None else int(beam), out, sizes, values,
        )  # fmt: skip
        return out, sizes, values


@dataclass(frozen=True)
class Aligned:
    """Training pairs, cut: what models are fitted on, all of them or some.

    Attributes
    ----------
    alignment
        The pairs, cut.
    longest
        The longest chunk allowed.
    n_sources, n_targets
        The numbers of input and output symbols.
    contexts
        The features.
    """

    alignment: Alignment
    longest: int
    n_sources: int
    n_targets: int
    contexts: Contexts

    @cached_property
    def _chunks(self) -> tuple[Chunks, np.ndarray]:
        return Chunks.of(self.alignment.target.flat, self.alignment.lengths, self.longest)

    @cached_property
    def features(self) -> np.ndarray:
        """Keys of all features of all positions, windows first."""
        contexts = self.contexts
        windows = contexts.windows(self.alignment.source)
        last = last_symbols(self.alignment, self.n_targets, contexts.history)
        return np.hstack([windows, contexts.joint(windows, contexts.histories(last))])

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the kinds of features."""
        return np.concatenate([self.contexts.window_weights(), self.contexts.pairs()[1]])

    def fit(self, words: np.ndarray, ridge: Ridge, order: int) -> Model:
        """A model of some of the pairs."""
        source, places = sliced(self.alignment.source, words)
        chunks, numbers = self._chunks
        emissions = ridge.fit(
            self.features[places], self.weights, source.flat, numbers[places], chunks,
            self.n_sources,
        )  # fmt: skip
        outputs, _ = sliced(self.alignment.target, words)
        ngram = NGram.of(outputs, self.n_targets, max(order, self.contexts.history + 1))
        return Model(self.contexts, emissions, ngram)

    def likelihood(self, model: Model, words: np.ndarray, temperatures: np.ndarray) -> np.ndarray:
        """The mean log-probability of the chunks of some pairs, at each temperature."""
        from ._search_loops import gold_likelihood

        source, places = sliced(self.alignment.source, words)
        E, numbers = model.emissions, self._chunks[1][places]
        scores, starts = E.scores(source.flat, (self.features[places], self.weights))
        gold = np.full(len(numbers), -1, dtype=np.int64)
        for n, s in enumerate(source.flat):
            own = E.chunk[E.first[s] : E.first[s] + E.width[s]]
            at = np.searchsorted(own, numbers[n])
            gold[n] = at if at < len(own) and own[at] == numbers[n] else -1
        return np.array(
            [
                gold_likelihood(scores, starts, gold, E.prior, E.first, source.flat, T)
                for T in temperatures
            ]
        )
