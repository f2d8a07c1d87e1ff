"""Temperature and weights of n-gram models, chosen on pairs that the model has not seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..._progress import Steps
from ...kernels._sequences import Codes
from .aligned import Aligned
from .confidence import Confidence
from .inputs import sliced
from .model import Model

TEMPERATURES = np.geomspace(0.03, 1.0, 22)
WEIGHTS = (0.1, 0.0, 0.05, 0.15, 0.2, 0.3, 0.4, 0.6)
"""Weights of the n-gram model that are tried; the first is that of the lists."""
ENOUGH = 2400
"""Pairs left out that settle two numbers; of a large set not every fold is needed."""
JOINT_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.1)
Weights = tuple[float, float]
"""Of the n-gram model of outputs, and of the joint one."""
LISTED = 5
"""The best outputs of left-out pairs on which probabilities are calibrated."""


@dataclass(frozen=True)
class Calibration:
    """What was chosen, and the share of left-out pairs whose output was found with it."""

    temperature: float = 0.15
    weight: float = 0.1
    accuracy: float | None = None
    confidence: Confidence = field(default_factory=Confidence)
    joint_weight: float = 0.0


@dataclass(frozen=True)
class BestLists:
    """The best outputs of left-out pairs, (pairs, `LISTED`).

    Attributes
    ----------
    local, language, joint
        Their scores by the local map, by the n-gram model and by the joint one.
    lengths
        Of the inputs.
    right
        Which of them is right.
    """

    local: np.ndarray
    language: np.ndarray
    joint: np.ndarray
    lengths: np.ndarray
    right: np.ndarray

    def _scores(self, weights: Weights) -> np.ndarray:
        return self.local + weights[0] * self.language + weights[1] * self.joint

    def likelihood(self, weights: Weights) -> float:
        """The mean log-probability of the right ones in their lists, at the best sharpness."""
        some = self.right.any(axis=1)
        scores, right = self._scores(weights)[some], self.right[some]
        if not len(scores):
            return 0.0
        own = scores[right]

        def loss(sharpness: float) -> float:
            return float((np.logaddexp.reduce(sharpness * scores, axis=1) - sharpness * own).mean())

        return -minimize_scalar(loss, bounds=(0.05, 5.0), method="bounded").fun

    def judged(self, weights: Weights) -> tuple[float, Confidence]:
        """The share of pairs whose best output is right, and the probabilities of lists."""
        scores = self._scores(weights)
        order = np.argsort(-scores, axis=1, kind="stable")
        scores, right = (np.take_along_axis(a, order, axis=1) for a in (scores, self.right))
        none = np.hstack([right, np.ones((len(right), 1), dtype=bool)])
        confidence = Confidence.fitted(scores, self.lengths, np.argmax(none, axis=1))
        return float(right[:, 0].mean()), confidence


@dataclass(frozen=True)
class Trial:
    """Models fitted without some of the pairs, and tried on those.

    Attributes
    ----------
    model
        The `SequenceTransducer`, for its parameters.
    pairs
        All pairs, aligned.
    steps
        Who is told of them.
    """

    model: Any
    pairs: Aligned
    steps: Steps

    def calibrate(self) -> Calibration:
        """Choose parameters that are None, all by likelihood of left-out pairs."""
        temperature, weight = self.model.temperature, self.model.lm_weight
        groups, labels = np.unique(self.pairs.labels, return_inverse=True)
        given = temperature is not None and weight is not None
        if given or len(groups) < 2:  # nothing is to be chosen, or can be left out
            default = Calibration()
            return Calibration(
                default.temperature if temperature is None else temperature,
                default.weight if weight is None else weight,
                joint_weight=self.model.joint_weight or 0.0,
            )
        folds = min(self.model.folds, len(groups))
        deal = self._dealt(len(groups))[labels] % folds
        models = self._models(deal, folds)
        if temperature is None:
            temperature = self._likeliest(models)
        lists, (weight, joint_weight) = self._weighed(models, temperature)
        accuracy, confidence = lists.judged((weight, joint_weight))
        return Calibration(temperature, weight, accuracy, confidence, joint_weight)

    def _weighed(
        self, models: list[tuple[Model, np.ndarray]], temperature: float
    ) -> tuple[BestLists, Weights]:
        """The best outputs of left-out pairs, and the likeliest weights of those to be tried."""
        weight, joint = self.model.lm_weight, self.model.joint_weight
        tried = WEIGHTS if weight is None else (weight,)
        lists = self._lists(self.steps(models, "decoding left-out pairs"), temperature, tried[0])
        pairs = product(tried, JOINT_WEIGHTS if joint is None else (joint,))
        return lists, max(pairs, key=lists.likelihood)

    def _dealt(self, groups: int) -> np.ndarray:
        return np.random.default_rng(self.model.random_state).permutation(groups)

    def accuracy(self, n: int) -> float:
        """The share of a third of the pairs that a model of the others decodes rightly.

        Temperature and weights are the likeliest. Of the n pairs those that could not be aligned
        count as wrong.
        """
        groups, labels = np.unique(self.pairs.labels, return_inverse=True)
        deal = self._dealt(len(groups))[labels] % 3
        rest, out = np.flatnonzero(deal != 0), np.flatnonzero(deal == 0)
        models = [(self.pairs.fit(rest), out)]
        lists, weights = self._weighed(models, self._likeliest(models))
        return lists.judged(weights)[0] * len(labels) / n

    def _lists(
        self, models: Iterable[tuple[Model, np.ndarray]], temperature: float, weight: float
    ) -> BestLists:
        """The best outputs of left-out pairs."""
        parts = []
        beam = None if self.model.beam is None else max(self.model.beam, 2 * LISTED)
        for model, words in models:
            inputs = self.pairs.inputs.take(words)
            prepared = model.prepare(inputs)
            out, sizes, values = model.search(prepared, temperature, weight, LISTED, beam)
            language, joint = model.of_found(prepared, out, sizes, values)
            target, _ = sliced(self.pairs.alignment.target, words)
            right = np.stack([_matches(target, out, sizes, k) for k in range(LISTED)], axis=1)
            lengths, right = inputs.last - inputs.first, right & np.isfinite(values)
            parts.append((values - weight * language, language, joint, lengths, right))
        return BestLists(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _models(self, deal: np.ndarray, folds: int) -> list[tuple[Model, np.ndarray]]:
        """Models without a fold and the pairs of that fold, until enough were left out."""
        models: list[tuple[Model, np.ndarray]] = []
        for fold in self.steps(range(folds), "leaving pairs out"):
            if sum(len(words) for _, words in models) >= ENOUGH:
                break
            rest, out = np.flatnonzero(deal != fold), np.flatnonzero(deal == fold)
            if self.pairs.alignment.source.lengths[rest].sum():
                models.append((self.pairs.fit(rest), out[:ENOUGH]))
        return models

    def _likeliest(self, models: list[tuple[Model, np.ndarray]]) -> float:
        gains = [len(out) * self.pairs.likelihood(m, out, TEMPERATURES) for m, out in models]
        return float(TEMPERATURES[np.argmax(np.sum(gains, axis=0))])


def _matches(target: Codes, out: np.ndarray, sizes: np.ndarray, k: int) -> np.ndarray:
    """Whether the output of rank k is the true one, for every pair."""
    same = sizes[:, k] == target.lengths
    for p in np.flatnonzero(same):
        y = target.flat[target.starts[p] : target.starts[p + 1]]
        same[p] = np.array_equal(out[p, k, : len(y)], y)
    return same
