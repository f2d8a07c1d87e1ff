"""The temperature and the weights of n-gram models, chosen on left-out pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..._base.folds import fold_numbers
from ..._base.progress import Steps
from .aligned import Aligned
from .confidence import Confidence
from .inputs import select_sequences
from .model import Model

TEMPERATURES = np.geomspace(0.03, 1.0, 22)
"""The temperatures that are tried."""
NGRAM_WEIGHTS = (0.1, 0.0, 0.05, 0.15, 0.2, 0.3, 0.4, 0.6)
"""The weights of the n-gram model that are tried; left-out pairs are decoded with the first."""
FOLDS_BY_GROUPS, FEWEST_FOLDS = ((300, 20), (1000, 10)), 5
"""(largest number of groups, number of folds), and the number of folds for more groups."""
LEFT_OUT_PAIRS = 2400
"""The number of left-out pairs after which no further fold is left out."""
JOINT_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.1)
"""The weights of the joint n-gram models that are tried."""
Weights = tuple[float, float]
"""The weights of the n-gram model of outputs and of the joint n-gram models."""
CALIBRATED_OUTPUTS = 5
"""The number of best outputs of a left-out pair on which probabilities are calibrated."""


@dataclass(frozen=True)
class Calibration:
    """The chosen temperature and n-gram weights, left-out accuracy, and map to probabilities."""

    temperature: float = 0.15
    weight: float = 0.1
    accuracy: float | None = None
    confidence: Confidence = field(default_factory=Confidence)
    joint_weight: float = 0.0


@dataclass(frozen=True)
class BestLists:
    """The best outputs of left-out inputs with their scores, arrays (inputs, number of outputs).

    Attributes
    ----------
    local, language, joint
        Their scores by the local map, by the n-gram model and by the joint models.
    lengths
        The lengths of the inputs, (inputs,).
    right
        A mask of the outputs that are right.
    """

    local: np.ndarray
    language: np.ndarray
    joint: np.ndarray
    lengths: np.ndarray
    right: np.ndarray

    def _scores(self, weights: Weights) -> np.ndarray:
        """Return the weighted sums of local, language-model and joint-model scores."""
        return self.local + weights[0] * self.language + weights[1] * self.joint

    def log_likelihood(self, weights: Weights) -> float:
        """Return the mean log-probability of the true outputs in the lists, at the best scale."""
        some = self.right.any(axis=1)
        scores, right = self._scores(weights)[some], self.right[some]
        if not len(scores):
            return 0.0
        true = scores[right]

        def loss(scale: float) -> float:
            """Return minus the mean log-probability if scores are multiplied by `scale`."""
            return float((np.logaddexp.reduce(scale * scores, axis=1) - scale * true).mean())

        return -minimize_scalar(loss, bounds=(0.05, 5.0), method="bounded").fun

    def accuracy_and_confidence(self, weights: Weights) -> tuple[float, Confidence]:
        """Return the accuracy with the n-gram weights, and the map from scores to probabilities."""
        scores = self._scores(weights)
        order = np.argsort(-scores, axis=1, kind="stable")
        scores, right = (np.take_along_axis(a, order, axis=1) for a in (scores, self.right))
        or_none = np.hstack([right, np.ones((len(right), 1), dtype=bool)])
        confidence = Confidence.fitted(scores, self.lengths, np.argmax(or_none, axis=1))
        return float(right[:, 0].mean()), confidence


LeftOut = list[tuple[Model, np.ndarray]]
"""Models, each with the indices of pairs that it was not fitted to."""


def calibrate(model: Any, pairs: Aligned, steps: Steps) -> Calibration:
    """Return the temperature and n-gram weights with the largest likelihood of left-out pairs.

    The result is the default `Calibration()` if no pair can be left out: if `model.folds` is None,
    or if all pairs are of one group.

    Parameters
    ----------
    model
        The `SequenceTransducer`, for its parameters.
    pairs
        The aligned training pairs.
    steps
        The progress of the fit, to which each fitted and each decoded left-out model is reported.
    """
    labels = np.unique(pairs.labels, return_inverse=True)[1].reshape(-1)
    groups = int(labels.max()) + 1
    if model.folds is None or groups < 2:  # nothing can be left out
        return Calibration()
    random = np.random.default_rng(model.random_state)
    fold_of = fold_numbers(labels, number_of_folds(model.folds, groups), random)
    folds = steps(range(int(fold_of.max()) + 1), "leaving pairs out")
    models = _fit_left_out_models(pairs, fold_of, folds)
    return _choose_weights(pairs, models, steps, model.beam)


def number_of_folds(folds: int | str, groups: int) -> int:
    """Return the number of folds for a number of groups and the parameter `folds`."""
    if not isinstance(folds, str):
        return folds
    return next((many for most, many in FOLDS_BY_GROUPS if groups <= most), FEWEST_FOLDS)


def _fit_left_out_models(pairs: Aligned, fold_of: np.ndarray, folds: Iterable[int]) -> LeftOut:
    """Return models that are fitted without one fold each, and the pairs in that fold.

    Pair i is in fold fold_of[i]. No more models are fitted once `LEFT_OUT_PAIRS` pairs were left
    out.
    """
    models: LeftOut = []
    for fold in folds:
        if sum(len(out) for _, out in models) >= LEFT_OUT_PAIRS:
            break
        rest, out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        if pairs.alignment.source.lengths[rest].sum():
            models.append((pairs.fit(rest), out[:LEFT_OUT_PAIRS]))
    return models


def _choose_weights(pairs: Aligned, models: LeftOut, steps: Steps, beam: int | None) -> Calibration:
    """Return the temperature of the largest likelihood, and the best n-gram weights for it."""
    gains = [len(out) * pairs.log_likelihood(m, out, TEMPERATURES) for m, out in models]
    temperature = float(TEMPERATURES[np.argmax(np.sum(gains, axis=0))])
    decoded = steps(models, "decoding left-out pairs")
    lists = _best_lists(pairs, decoded, temperature, NGRAM_WEIGHTS[0], beam)
    best = max(product(NGRAM_WEIGHTS, JOINT_WEIGHTS), key=lists.log_likelihood)
    accuracy, confidence = lists.accuracy_and_confidence(best)
    return Calibration(temperature, best[0], accuracy, confidence, best[1])


def _best_lists(
    pairs: Aligned,
    models: Iterable[tuple[Model, np.ndarray]],
    temperature: float,
    weight: float,
    beam: int | None,
) -> BestLists:
    """Return the best outputs of the left-out pairs of each model, with their scores.

    `weight` is that of the n-gram model, and `beam` the beam of the search.
    """
    parts = []
    beam = None if beam is None else max(beam, 2 * CALIBRATED_OUTPUTS)
    for model, left_out in models:
        inputs = pairs.inputs.take(left_out)
        prepared = model.prepare(inputs, temperature)
        found = model.search(prepared, weight, CALIBRATED_OUTPUTS, beam)
        out, sizes, values = found.symbols, found.sizes, found.values
        joint, language = model.joint_scores_of_found(prepared, found), np.zeros(values.shape)
        language[np.isfinite(values)] = model.ngram.log_probability(found.codes)
        target, _ = select_sequences(pairs.alignment.target, left_out)
        padded = np.zeros((len(left_out), out.shape[2]), dtype=out.dtype)
        padded[target.rows, target.positions] = target.flat
        right = (sizes == target.lengths[:, None]) & (out == padded[:, None]).all(axis=2)
        right &= np.isfinite(values)
        lengths = inputs.last - inputs.first
        parts.append((values - weight * language, language, joint, lengths, right))
    return BestLists(*(np.concatenate(part) for part in zip(*parts, strict=True)))
