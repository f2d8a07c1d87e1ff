"""Temperature and n-gram weight, chosen on pairs that the model has not seen."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..._progress import Steps
from ...kernels._sequences import Codes
from .confidence import Confidence
from .emission import Ridge
from .inputs import sliced
from .model import Aligned, Model

TEMPERATURES = np.geomspace(0.03, 1.0, 22)
WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
ENOUGH = 2400
"""Pairs left out that settle two numbers; of a large set not every fold is needed."""
LISTS, LISTED = 1200, 5
"""Left-out pairs on which probabilities are calibrated, and the best outputs that are listed."""


@dataclass(frozen=True)
class Calibration:
    """What was chosen, and the share of left-out pairs whose output was found with it."""

    temperature: float = 0.15
    weight: float = 0.1
    accuracy: float | None = None
    confidence: Confidence = field(default_factory=Confidence)


@dataclass(frozen=True)
class Trial:
    """Models fitted without some of the pairs, and tried on those.

    Attributes
    ----------
    pairs
        All pairs, aligned.
    ridge, order, beam
        How models are fitted, and outputs searched for.
    steps
        Who is told of them.
    """

    pairs: Aligned
    ridge: Ridge
    order: int
    beam: int | None
    steps: Steps

    def calibrate(
        self,
        labels: np.ndarray,
        folds: int,
        seed: int | None,
        temperature: float | None,
        weight: float | None,
    ) -> Calibration:
        """Choose what is None: the temperature by likelihood, the weight by exact matches."""
        groups, labels = np.unique(labels, return_inverse=True)
        if temperature is not None and weight is not None:
            return Calibration(temperature, weight)
        if len(groups) < 2:  # nothing can be left out
            default = Calibration()
            return Calibration(
                default.temperature if temperature is None else temperature,
                default.weight if weight is None else weight,
            )
        folds = min(folds, len(groups))
        deal = np.random.default_rng(seed).permutation(len(groups))[labels] % folds
        models = self._models(deal, folds)
        if temperature is None:
            temperature = self._likeliest(models)
        tried = WEIGHTS if weight is None else (weight,)
        told = self.steps(models, "decoding left-out pairs")
        hits = np.sum([self._hits(*trial, temperature, tried) for trial in told], axis=0)
        best, total = int(np.argmax(hits)), sum(len(words) for _, words in models)
        weight = float(tried[best])
        confidence = self._confidence(models, temperature, weight)
        return Calibration(temperature, weight, float(hits[best]) / total, confidence)

    def accuracy(self, labels: np.ndarray, seed: int | None, n: int) -> float:
        """The share of a third of the pairs that a model of the others decodes rightly.

        Temperature and weight are the best of a few. Of the n pairs those that could not be
        aligned count as wrong.
        """
        groups, labels = np.unique(labels, return_inverse=True)
        deal = np.random.default_rng(seed).permutation(len(groups))[labels] % 3
        rest, out = np.flatnonzero(deal != 0), np.flatnonzero(deal == 0)
        model = self.pairs.fit(rest, self.ridge, self.order)
        temperature = self._likeliest([(model, out)])
        hits = max(self._hits(model, out, temperature, (0.05, 0.15, 0.3)))
        return hits / len(out) * len(labels) / n

    def _confidence(
        self, models: list[tuple[Model, np.ndarray]], temperature: float, weight: float
    ) -> Confidence:
        """Fit probabilities on lists of the best outputs of left-out pairs."""
        scores, lengths, right = [], [], []
        for model, words in models:
            words = words[: max(LISTS // len(models), 1)]
            inputs = self.pairs.inputs.take(words)
            beam = None if self.beam is None else max(self.beam, 2 * LISTED)
            out, sizes, values = model.search(
                model.prepare(inputs), temperature, weight, LISTED, beam
            )
            target, _ = sliced(self.pairs.alignment.target, words)
            hits = np.stack([_matches(target, out, sizes, k) for k in range(LISTED)], axis=1)
            hits = np.hstack([hits & np.isfinite(values), np.ones((len(words), 1), dtype=bool)])
            scores.append(values)
            lengths.append(inputs.last - inputs.first)
            right.append(np.argmax(hits, axis=1))
        return Confidence.fitted(*map(np.concatenate, (scores, lengths, right)))

    def _models(self, deal: np.ndarray, folds: int) -> list[tuple[Model, np.ndarray]]:
        """Models without a fold and the pairs of that fold, until enough were left out."""
        models: list[tuple[Model, np.ndarray]] = []
        for fold in self.steps(range(folds), "leaving pairs out"):
            if sum(len(words) for _, words in models) >= ENOUGH:
                break
            rest, out = np.flatnonzero(deal != fold), np.flatnonzero(deal == fold)
            if self.pairs.alignment.source.lengths[rest].sum():
                models.append((self.pairs.fit(rest, self.ridge, self.order), out[:ENOUGH]))
        return models

    def _likeliest(self, models: list[tuple[Model, np.ndarray]]) -> float:
        gains = [len(out) * self.pairs.likelihood(m, out, TEMPERATURES) for m, out in models]
        return float(TEMPERATURES[np.argmax(np.sum(gains, axis=0))])

    def _hits(
        self, model: Model, words: np.ndarray, temperature: float, weights: tuple
    ) -> list[int]:
        """How many of the pairs are decoded into their output, at each weight."""
        inputs = model.prepare(self.pairs.inputs.take(words))
        target, _ = sliced(self.pairs.alignment.target, words)
        found = [model.search(inputs, temperature, w, 1, self.beam) for w in weights]
        return [int(_matches(target, out, sizes, 0).sum()) for out, sizes, _ in found]


def _matches(target: Codes, out: np.ndarray, sizes: np.ndarray, k: int) -> np.ndarray:
    """Whether the output of rank k is the true one, for every pair."""
    same = sizes[:, k] == target.lengths
    for p in np.flatnonzero(same):
        y = target.flat[target.starts[p] : target.starts[p + 1]]
        same[p] = np.array_equal(out[p, k, : len(y)], y)
    return same
