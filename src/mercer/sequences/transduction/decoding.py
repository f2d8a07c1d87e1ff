"""From inputs to ranked outputs: free, from a list for each input, or from one lexicon."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._base.arrays import Items, take
from ..._base.checks import Limits, bounded, finite, must
from ...decoders.base import Ranked
from ...kernels._sequences import Alphabet, as_given, as_sequences
from .inputs import InputCoder, directed
from .model import NO_TRIE, Model
from .side_information import taken
from .trie import prefix_tree

SYMBOLS = 1 << 16
"""Input symbols that are decoded at once."""
LISTED = 6
"""The best outputs of a model that are compared."""
WIDER = 8
"""How many times the beam of a search through a lexicon is that of a free one."""


@dataclass(frozen=True)
class Decoding:
    """A fitted model with what it needs to read inputs and to write outputs.

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
        """Refuse numbers with which a search would not end, or would not be one."""
        must(finite(self.temperature, "temperature") > 0, "temperature is not positive")
        finite(self.weight, "weight")
        finite(self.joint_weight, "joint_weight")
        bounded(1 if self.beam is None else self.beam, "beam", 1, limits.size)

    def top(
        self, X: np.ndarray, k: int, context: Items, candidates: Items, lexicon: Items
    ) -> list[Ranked]:
        """Return the best `k` outputs of each input with their scores."""
        self.check(X, context, candidates, lexicon)
        words = None if lexicon is None else as_sequences(lexicon, "lexicon")
        trie = NO_TRIE if words is None else self._trie(words)
        ranked: list[Ranked] = []
        for rows in _blocks(X):
            coded = self.coder.encode(take(X, rows), taken(context, rows))
            batch = Batch(self, self.model.prepare(coded, self.temperature), coded.new)
            if candidates is not None:
                lists = [as_sequences(candidates[i], f"candidates[{i}]") for i in rows]
                ranked.extend(batch.chosen(lists, k))
            else:
                ranked.extend(batch.searched(k, trie, words))
        return ranked

    def check(self, X: np.ndarray, context: Items, candidates: Items, lexicon: Items) -> None:
        """Refuse what does not go together, or has not one item for each input."""
        if self.coder.context is not None and context is None:
            raise ValueError("the model was fitted with a context: pass context=… here too.")
        if self.coder.context is None and context is not None:
            raise ValueError("the model was fitted without a context: leave context out here.")
        if candidates is not None and lexicon is not None:
            raise ValueError("give candidates for each input or a lexicon for all, not both.")
        if candidates is not None and len(candidates) != len(X):
            raise ValueError(
                f"candidates must have a list for each of {len(X)} inputs, got {len(candidates)}: "
                "one list for all of them is lexicon=…."
            )

    def _trie(self, words: np.ndarray) -> np.ndarray:
        """Return the prefix tree of all words without unknown symbols."""
        targets = self.coder.targets
        known = [w for w in words if all(symbol in targets.number for symbol in w)]
        if not known:
            raise ValueError("no output of the lexicon consists of symbols met in training.")
        return prefix_tree(directed(targets.encode(known), self.coder.backward), len(targets))


@dataclass(frozen=True)
class Batch:
    """Inputs that are decoded together.

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
        """The symbols that outputs may have."""
        return Alphabet([*self.decoding.coder.targets.symbols, *self.new])

    def searched(self, k: int, trie: np.ndarray, words: np.ndarray | None) -> list[Ranked]:
        """Return the best outputs that a search finds, of a lexicon if one is given."""
        fitted = self.decoding
        many = max(k, LISTED) if fitted.joint_weight else k
        beam = fitted.beam
        if beam is not None:
            beam = max(beam, 2 * many) * (1 if words is None else WIDER * k)
        out, sizes, values = fitted.model.search(self.inputs, fitted.weight, many, beam, trie)
        if fitted.joint_weight:
            joint = fitted.model.of_found(self.inputs, out, sizes, values)[1]
            values = values + fitted.joint_weight * joint
        ranked = [self._ranked(*row)[:k] for row in zip(out, sizes, values, strict=True)]
        if words is not None:  # the beam can lose all words, and some are longer than any output
            for i in [i for i, row in enumerate(ranked) if not row]:
                ranked[i] = _sorted(words, self._scores([i] * len(words), words))[:k]
        return ranked

    def chosen(self, lists: list[np.ndarray], k: int) -> list[Ranked]:
        """Return the best of a list of outputs for each input."""
        for i, outputs in enumerate(lists):
            if not len(outputs):
                raise ValueError(f"input {i} has an empty list of candidates.")
        owner = [i for i, outputs in enumerate(lists) for _ in outputs]
        flat = [output for outputs in lists for output in outputs]
        scores = self._scores(owner, flat)
        ends = np.cumsum([len(outputs) for outputs in lists])[:-1]
        parts = zip(lists, np.split(scores, ends), strict=True)
        return [_sorted(outputs, values)[:k] for outputs, values in parts]

    def _scores(self, owner: list[int], outputs: Items) -> np.ndarray:
        fitted, numbers = self.decoding, np.array(owner, dtype=np.int64)
        codes = directed(self.targets.encode(outputs), fitted.coder.backward)
        exact = fitted.beam is None
        scores = fitted.model.score(self.inputs, fitted.weight, codes, numbers, exact)
        if fitted.joint_weight:
            joint = fitted.model.joint_scores(self.inputs, codes, numbers)
            scores += fitted.joint_weight * joint
        return scores

    def _ranked(self, out: np.ndarray, sizes: np.ndarray, values: np.ndarray) -> Ranked:
        """Return the outputs that a search found, best first."""
        return [
            (self._output(out[i, : sizes[i]]), float(values[i]))
            for i in np.argsort(-values, kind="stable")
            if values[i] > -np.inf
        ]

    def _output(self, codes: np.ndarray) -> Any:
        fitted = self.decoding
        return output_of(codes, self.targets, fitted.coder.backward, fitted.sample)


def top_of_both(
    forward: Decoding, backward: Decoding, X: np.ndarray, k: int, *given: Items
) -> list[Ranked]:
    """Return the best `k` outputs of each input by the mean score of two models.

    The outputs are those that either model has among its best, or the candidates given.
    """
    context, candidates, _ = given
    models, most = (forward, backward), k
    if candidates is not None:
        most = max(len(outputs) for outputs in candidates)
    tops = [model.top(X, max(most, LISTED), *given) for model in models]
    scores = [[{tuple(o): score for o, score in row} for row in top] for top in tops]
    outputs = [{tuple(o): o for o, _ in (*a, *b)} for a, b in zip(*tops, strict=True)]
    for model, own in zip(models, scores, strict=True):  # what only the other model has found
        missing = [[o for t, o in row.items() if t not in known]
                   for row, known in zip(outputs, own, strict=True)]  # fmt: skip
        rows = np.flatnonzero([bool(each) for each in missing])
        if len(rows):
            lists = [missing[i] for i in rows]
            rest = take(X, rows), max(map(len, lists)), taken(context, rows), lists, None
            for i, row in zip(rows, model.top(*rest), strict=True):
                own[i].update((tuple(o), score) for o, score in row)
    return [
        sorted(((o, (a[t] + b[t]) / 2.0) for t, o in row.items()), key=lambda each: -each[1])[:k]
        for row, a, b in zip(outputs, *scores, strict=True)
    ]


def output_of(codes: np.ndarray, targets: Alphabet, backward: bool, sample: Any) -> Any:
    """Return numbers of symbols as a sequence, in the container of the training outputs."""
    symbols = [targets.symbols[c] for c in (codes[::-1] if backward else codes)]
    return as_given(symbols, sample)


def _sorted(outputs: Items, scores: np.ndarray) -> Ranked:
    """Return distinct outputs with their scores, best first."""
    ranked: Ranked = []
    seen = set()
    for i in np.argsort(-scores, kind="stable"):
        key = tuple(outputs[i])
        if key not in seen:
            seen.add(key)
            ranked.append((outputs[i], float(scores[i])))
    return ranked


def _blocks(X: np.ndarray) -> list[np.ndarray]:
    """Split inputs into blocks of about `SYMBOLS` symbols, at least one input each."""
    total = np.cumsum([len(x) + 1 for x in X])
    cuts = np.flatnonzero(np.diff(total // SYMBOLS)) + 1
    return np.split(np.arange(len(X)), cuts)
