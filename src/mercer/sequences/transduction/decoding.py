"""From inputs to ranked outputs: free, from a list for each input, or from one lexicon."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ..._base.arrays import Items, take
from ..._base.checks import Limits, bounded, finite, must
from ...decoders.base import Ranked
from ...kernels._sequences import Alphabet, as_given, as_sequences
from .inputs import InputCoder, reverse_if_backward
from .model import NO_TRIE, Model
from .side_information import take_context
from .trie import prefix_tree

SYMBOLS = 1 << 16
"""Input symbols that are decoded at once."""
LISTED = 4
"""The best outputs of a model that are compared."""
WIDER = 8
"""How many times the beam of a search through a lexicon is that of a free one."""
Scores = dict[tuple, float]
"""The scores of outputs, by the tuple of their symbols."""


@dataclass(frozen=True)
class Decoding:
    """A fitted model of one direction, with its encoder and the settings of its search.

    Attributes
    ----------
    model, coder
        The model, and how inputs and outputs become numbers.
    temperature, weight, beam
        Of the softmax, of the n-gram model, and of the search.
    sample
        An output, of whose kind all are.
    joint_weight
        Of the joint n-gram model, by which the best outputs are compared.
    """

    model: Model
    coder: InputCoder
    temperature: float
    weight: float
    beam: int | None
    sample: Any
    joint_weight: float = 0.0

    def check_loaded(self, limits: Limits) -> None:
        """Check the search settings of a loaded model, so that a search with them ends."""
        must(finite(self.temperature, "temperature") > 0, "temperature is not positive")
        finite(self.weight, "weight")
        finite(self.joint_weight, "joint_weight")
        bounded(1 if self.beam is None else self.beam, "beam", 1, limits.size)

    def prepared(self, X: np.ndarray, context: Items) -> Batch:
        """Encode inputs with their context, and compute the scores that do not need outputs."""
        coded = self.coder.encode(X, context)
        return Batch(self, self.model.prepare(coded, self.temperature), coded.new)

    def trie(self, words: np.ndarray) -> np.ndarray:
        """Return the prefix tree of the words that consist of known output symbols."""
        targets = self.coder.targets
        known = [w for w in words if all(symbol in targets.number for symbol in w)]
        if not known:
            raise ValueError("no output of the lexicon consists of symbols met in training.")
        return prefix_tree(
            reverse_if_backward(targets.encode(known), self.coder.backward), len(targets)
        )


@dataclass(frozen=True)
class Batch:
    """Encoded inputs that are decoded together.

    Attributes
    ----------
    decoding
        The fitted model.
    inputs
        What `Model.prepare` returned for the inputs.
    new
        Symbols of the inputs that outputs may have although no training output has them.
    """

    decoding: Decoding
    inputs: Any
    new: list

    @cached_property
    def targets(self) -> Alphabet:
        """The alphabet of outputs, with the new symbols that can be copied from these inputs."""
        return Alphabet([*self.decoding.coder.targets.symbols, *self.new])

    def search(self, k: int, trie: np.ndarray, times: int) -> list[Scores]:
        """Return the `k` best outputs of each input; the beam is `times` as wide as usual."""
        fitted = self.decoding
        many = max(k, LISTED) if fitted.joint_weight else k
        beam = None if fitted.beam is None else max(fitted.beam, 2 * many) * times
        found = fitted.model.search(self.inputs, fitted.weight, many, beam, trie)
        values = found.values
        if fitted.joint_weight:
            values = values + fitted.joint_weight * fitted.model.joint_of_found(self.inputs, found)
        return [
            {
                self._symbols(out[i, : sizes[i]]): float(row[i])
                for i in np.argsort(-row, kind="stable")[:k]
                if row[i] > -np.inf
            }
            for out, sizes, row in zip(found.symbols, found.sizes, values, strict=True)
        ]

    def _symbols(self, codes: np.ndarray) -> tuple:
        """Convert the symbol numbers of an output to symbols, in reading order."""
        symbols = self.targets.symbols
        return tuple(symbols[c] for c in (codes[::-1] if self.decoding.coder.backward else codes))

    def add_scores(self, known: list[Scores], lists: list[Any]) -> None:
        """Add to `known` the scores of the outputs in `lists` that are missing there, per input."""
        missing = [
            (i, output)
            for i, (own, outputs) in enumerate(zip(known, lists, strict=True))
            for output in outputs
            if tuple(output) not in own
        ]
        if missing:
            owners, outputs = zip(*missing, strict=True)
            scores = self._scores(owners, outputs)
            for i, output, score in zip(owners, outputs, scores, strict=True):
                known[i][tuple(output)] = float(score)

    def _scores(self, owners: tuple[int, ...], outputs: tuple) -> np.ndarray:
        """Return the scores of outputs; output i belongs to input owners[i]."""
        fitted, numbers = self.decoding, np.array(owners, dtype=np.int64)
        codes = reverse_if_backward(self.targets.encode(outputs), fitted.coder.backward)
        exact = fitted.beam is None
        scores = fitted.model.score(self.inputs, fitted.weight, codes, numbers, exact)
        if fitted.joint_weight:
            scores += fitted.joint_weight * fitted.model.joint_scores(self.inputs, codes, numbers)
        return scores


def best_outputs(
    models: list[Decoding],
    X: np.ndarray,
    k: int,
    context: Items,
    candidates: Items,
    lexicon: Items,
) -> list[Ranked]:
    """Return the best `k` outputs of each input by the mean score of all models.

    The outputs are those that any model has among its best, or the candidates given.
    """
    words = None if lexicon is None else as_sequences(lexicon, "lexicon")
    tries = [NO_TRIE if words is None else model.trie(words) for model in models]
    many, times = (max(k, LISTED) if len(models) > 1 else k), (1 if words is None else WIDER * k)
    ranked: list[Ranked] = []
    for rows in _blocks(X):
        batches = [model.prepared(take(X, rows), take_context(context, rows)) for model in models]
        if candidates is not None:
            scores = [[Scores() for _ in rows] for _ in models]
            lists: list[Any] = [_candidate_list(candidates, i) for i in rows]
        else:
            scores = [b.search(many, trie, times) for b, trie in zip(batches, tries, strict=True)]
            lists = [_found_outputs(own, models[0].sample) for own in zip(*scores, strict=True)]
        if words is not None:  # a beam can lose all words, and some are longer than any output
            lists = [outputs or list(words) for outputs in lists]
        for batch, own in zip(batches, scores, strict=True):
            batch.add_scores(own, lists)
        by_input = zip(lists, zip(*scores, strict=True), strict=True)
        ranked += [_ranked(outputs, own)[:k] for outputs, own in by_input]
    return ranked


def _found_outputs(scores: tuple[Scores, ...], sample: Any) -> list:
    """Return all distinct outputs that some model has found, in the container type of `sample`."""
    return [as_given(symbols, sample) for symbols in dict.fromkeys(chain(*scores))]


def _candidate_list(candidates: Items, i: int) -> np.ndarray:
    """Return the candidate outputs of input i after a check."""
    outputs = as_sequences(candidates[i], f"candidates[{i}]")
    if not len(outputs):
        raise ValueError(f"input {i} has an empty list of candidates.")
    return outputs


def _ranked(outputs: Items, scores: tuple[Scores, ...]) -> Ranked:
    """Return the distinct outputs with their mean scores over all models, best first."""
    distinct = {tuple(output): output for output in outputs}
    means = {key: sum(own[key] for own in scores) / len(scores) for key in distinct}
    order = sorted(means, key=means.__getitem__, reverse=True)
    return [(distinct[key], means[key]) for key in order]


def check_prediction_arguments(
    coder: InputCoder, X: np.ndarray, context: Items, candidates: Items, lexicon: Items
) -> None:
    """Check that context, candidates and lexicon suit the model and the inputs."""
    if coder.context is not None and context is None:
        raise ValueError("the model was fitted with a context: pass context=… here too.")
    if coder.context is None and context is not None:
        raise ValueError("the model was fitted without a context: leave context out here.")
    if candidates is not None and lexicon is not None:
        raise ValueError("give candidates for each input or a lexicon for all, not both.")
    if candidates is not None and len(candidates) != len(X):
        raise ValueError(
            f"candidates must have a list for each of {len(X)} inputs, got {len(candidates)}: "
            "one list for all of them is lexicon=…."
        )


def _blocks(X: np.ndarray) -> list[np.ndarray]:
    """Split the indices of inputs into blocks of about `SYMBOLS` symbols."""
    total = np.cumsum([len(x) + 1 for x in X])
    cuts = np.flatnonzero(np.diff(total // SYMBOLS)) + 1
    return np.split(np.arange(len(X)), cuts)
