"""Temperature and n-gram weight, chosen on pairs that the model has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._progress import Steps
from ...kernels._sequences import Codes
from .emission import Ridge
from .model import Aligned, Model, sliced

TEMPERATURES = np.geomspace(0.03, 1.0, 22)
WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
ENOUGH = 4000
"""Pairs left out that settle two numbers; of a large set not every fold is needed."""


@dataclass(frozen=True)
class Calibration:
    """What was chosen, and the share of left-out pairs whose output was found with it."""

    temperature: float = 0.15
    weight: float = 0.1
    accuracy: float | None = None


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
        return Calibration(temperature, float(tried[best]), float(hits[best]) / total)

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
        inputs = model.prepare(sliced(self.pairs.alignment.source, words)[0])
        target, _ = sliced(self.pairs.alignment.target, words)
        return [
            _matches(target, *model.search(inputs, temperature, w, 1, self.beam)) for w in weights
        ]


def _matches(target: Codes, out: np.ndarray, sizes: np.ndarray, values: np.ndarray) -> int:
    """How many of the best outputs are the true ones."""
    same = sizes[:, 0] == target.lengths
    for p in np.flatnonzero(same):
        y = target.flat[target.starts[p] : target.starts[p + 1]]
        same[p] = np.array_equal(out[p, 0, : len(y)], y)
    return int(same.sum())
