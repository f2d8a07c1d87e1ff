"""Ranked outputs of inputs: of all outputs, of candidates for each input, or of a lexicon."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ..._base.arrays import Items, take
from ..._base.checks import Limits, bounded, finite, must
from ..._base.memory import GIB
from ...decoders import Ranked
from ...kernels import Alphabet, Codes, restore_container
from ...spaces import as_sequences
from .inputs import InputCoder, reverse_if_backward
from .model import NO_TRIE, Model, Prepared
from .ngram import TABLE_BYTES
from .side_information import take_context

SYMBOLS = 1 << 16
"""The number of input symbols that are decoded at once."""
RESCORED_OUTPUTS = 4
"""The smallest number of best outputs of a model that are scored by further models."""
WIDER = 8
"""The factor by which a beam is wider in a search through a lexicon."""
Scores = dict[tuple, float]
"""The scores of outputs, by the tuple of their symbols."""


@dataclass(frozen=True)
class Decoding:
    """A fitted model of one reading direction, with its encoder and search settings.

    Attributes
    ----------
    model, coder
        The model, and the encoder of inputs and outputs as numbers.
    temperature, weight, beam
        The temperature of the softmax, the weight of the n-gram model, and the beam of the search.
    sample
        An output, whose type all predictions have.
    joint_weight
        The weight of the joint n-gram models, with which the best outputs are scored again.
    """

    model: Model
    coder: InputCoder
    temperature: float
    weight: float
    beam: int | None
    sample: Any
    joint_weight: float = 0.0

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the search settings are valid."""
        must(finite(self.temperature, "temperature") > 0, "temperature is not positive")
        finite(self.weight, "weight")
        finite(self.joint_weight, "joint_weight")
        bounded(1 if self.beam is None else self.beam, "beam", 1, limits.size)

    def encode_batch(self, X: np.ndarray, context: Items) -> Batch:
        """Return inputs and contexts as a `Batch`, which can be searched for outputs."""
        coded = self.coder.encode(X, context)
        return Batch(self, self.model.prepare(coded, self.temperature), coded.new)

    def prefix_tree(self, words: np.ndarray) -> np.ndarray:
        """Return the prefix tree of the words that consist of known output symbols."""
        targets = self.coder.targets
        known = [w for w in words if all(symbol in targets.number for symbol in w)]
        if not known:
            raise ValueError("no output of the lexicon consists of symbols of training outputs.")
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
        The value of `Model.prepare` for the inputs.
    new
        Symbols of the inputs that no training output has, but that outputs may copy.
    """

    decoding: Decoding
    inputs: Prepared
    new: list

    @cached_property
    def targets(self) -> Alphabet:
        """The alphabet of outputs, with the new symbols that outputs may copy from these inputs."""
        return Alphabet([*self.decoding.coder.targets.symbols, *self.new])

    def search(self, k: int, trie: np.ndarray, times: int) -> list[Scores]:
        """Return the `k` best outputs of each input, with a beam `times` as wide as usual."""
        fitted = self.decoding
        many = max(k, RESCORED_OUTPUTS) if fitted.joint_weight else k
        beam = None if fitted.beam is None else max(fitted.beam, 2 * many) * times
        found = fitted.model.search(self.inputs, fitted.weight, many, beam, trie)
        values = found.values
        if fitted.joint_weight:
            values = values + fitted.joint_weight * fitted.model.joint_scores_of_found(
                self.inputs, found
            )
        return [
            {
                self._decode_symbols(out[i, : sizes[i]]): float(row[i])
                for i in np.argsort(-row, kind="stable")[:k]
                if row[i] > -np.inf
            }
            for out, sizes, row in zip(found.symbols, found.sizes, values, strict=True)
        ]

    def _decode_symbols(self, codes: np.ndarray) -> tuple:
        """Return the symbols with the numbers `codes`, in the order of the output."""
        symbols = self.targets.symbols
        return tuple(symbols[c] for c in (codes[::-1] if self.decoding.coder.backward else codes))

    def add_scores(self, scores: list[Scores], lists: list[Any]) -> None:
        """Add the scores of the outputs in `lists` that are missing in `scores`, for each input."""
        missing = [
            (i, output)
            for i, (scores_of_input, outputs) in enumerate(zip(scores, lists, strict=True))
            for output in outputs
            if tuple(output) not in scores_of_input
        ]
        if missing:
            owners, outputs = zip(*missing, strict=True)
            for i, output, score in zip(
                owners, outputs, self._scores(owners, outputs), strict=True
            ):
                scores[i][tuple(output)] = float(score)

    def _scores(self, owners: tuple[int, ...], outputs: tuple) -> np.ndarray:
        """Return the score of each output for its input, with the index owners[i]."""
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
    """Return the best `k` outputs of each input, by the mean score of all models.

    They are the best of the candidates, or of the outputs that any model has among its best.
    """
    words = None if lexicon is None else as_sequences(lexicon, "lexicon")
    tries = [NO_TRIE if words is None else model.prefix_tree(words) for model in models]
    many, times = (
        (max(k, RESCORED_OUTPUTS) if len(models) > 1 else k),
        (1 if words is None else WIDER * k),
    )
    ranked: list[Ranked] = []
    for rows in _blocks(X):
        batches = [
            model.encode_batch(take(X, rows), take_context(context, rows)) for model in models
        ]
        if candidates is not None:
            scores = [[Scores() for _ in rows] for _ in models]
            lists: list[Any] = [_candidate_list(candidates, i) for i in rows]
        else:
            scores = [b.search(many, trie, times) for b, trie in zip(batches, tries, strict=True)]
            lists = [_found_outputs(some, models[0].sample) for some in zip(*scores, strict=True)]
        if words is not None:  # the beam may have dropped all words
            lists = [outputs or list(words) for outputs in lists]
        for batch, scores_of_model in zip(batches, scores, strict=True):
            batch.add_scores(scores_of_model, lists)
        by_input = zip(lists, zip(*scores, strict=True), strict=True)
        ranked += [_ranked_by_mean_score(outputs, of_models)[:k] for outputs, of_models in by_input]
    return ranked


def _found_outputs(scores: tuple[Scores, ...], sample: Any) -> list:
    """Return the distinct outputs that any model found, in the container type of `sample`."""
    return [restore_container(symbols, sample) for symbols in dict.fromkeys(chain(*scores))]


def _candidate_list(candidates: Items, i: int) -> np.ndarray:
    """Return the candidates of input i as sequences; raise an error if there are none."""
    outputs = as_sequences(candidates[i], f"candidates[{i}]")
    if not len(outputs):
        raise ValueError(f"input {i} has an empty list of candidates.")
    return outputs


def _ranked_by_mean_score(outputs: Items, scores: tuple[Scores, ...]) -> Ranked:
    """Return the distinct outputs with their mean scores over all models, best first.

    scores[i] has the scores of model i.
    """
    distinct = {tuple(output): output for output in outputs}
    means = {key: sum(of_model[key] for of_model in scores) / len(scores) for key in distinct}
    order = sorted(means, key=means.__getitem__, reverse=True)
    return [(distinct[key], means[key]) for key in order]


def check_prediction_arguments(
    coder: InputCoder, X: np.ndarray, context: Items, candidates: Items, lexicon: Items
) -> None:
    """Raise an error unless context, candidates and lexicon suit the model and the inputs."""
    if coder.context is not None and context is None:
        raise ValueError("the model was fitted with a context: pass context=… to this method too.")
    if coder.context is None and context is not None:
        raise ValueError("the model was fitted without a context: do not pass context=….")
    if candidates is not None and lexicon is not None:
        raise ValueError("pass candidates for each input or a lexicon for all inputs, not both.")
    if candidates is not None and len(candidates) != len(X):
        raise ValueError(
            f"candidates must have a list for each of {len(X)} inputs, got {len(candidates)}. "
            "Pass one list for all inputs as lexicon=…."
        )


def _blocks(X: np.ndarray) -> list[np.ndarray]:
    """Return the indices of inputs in blocks of about `SYMBOLS` symbols."""
    total = np.cumsum([len(x) + 1 for x in X])
    cuts = np.flatnonzero(np.diff(total // SYMBOLS)) + 1
    return np.split(np.arange(len(X)), cuts)


def prefix_tree(codes: Codes, symbols: int) -> np.ndarray:
    """Return the prefix tree of sequences as an array of row numbers; -1 for no prefix.

    The array has the shape (prefixes, symbols + 1). Entry (p, s) is the row of prefix p followed by
    symbol s; row 0 is the empty prefix. The last column is 0 where a sequence ends, -1 elsewhere.
    """
    starts, lengths = codes.starts[:-1], codes.lengths
    node = np.zeros(len(lengths), dtype=np.int64)
    edges_by_depth: list[tuple[np.ndarray, np.ndarray]] = []
    size = 1
    for depth in range(int(lengths.max(initial=0))):
        deeper = np.flatnonzero(lengths > depth)
        edges = node[deeper] * symbols + codes.flat[starts[deeper] + depth]
        distinct, number = np.unique(edges, return_inverse=True)
        edges_by_depth.append((distinct, size + np.arange(len(distinct))))
        node[deeper] = size + number
        size += len(distinct)
    if 4.0 * size * (symbols + 1) > TABLE_BYTES:
        raise MemoryError(
            f"the lexicon has {size} prefixes over {symbols} symbols, too many for "
            f"{TABLE_BYTES / GIB:.0f} GiB. Pass a list of outputs for each input as candidates=…."
        )
    tree = np.full((size, symbols + 1), -1, dtype=np.int32)
    for edges, children in edges_by_depth:
        tree[edges // symbols, edges % symbols] = children
    tree[node, symbols] = 0
    return tree
