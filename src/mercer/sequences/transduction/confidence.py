"""Probabilities of the best outputs, calibrated on pairs left out of the fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from ..._base.checks import Limits, finite
from ...decoders import Ranked

LARGEST_DIFFERENCE = 20.0
"""The largest difference of the two best scores that counts."""
TYPICAL_VALUES = np.array([0.0, 1.0, 0.0, 0.0, -0.4])
"""Typical values of log β, γ, δ, ε and ζ, towards which the fit is shrunk."""
START_PENALTY = 0.3 * np.array([1.0, 1.0, 0.1, 100.0, 25.0])
"""The weights of the squared distances from `TYPICAL_VALUES` in the penalty."""


@dataclass(frozen=True)
class Confidence:
    """Map from the scores of the best outputs of an input to probabilities.

    For the scores s_1 ≥ s_2 ≥ …,

        p_k ∝ exp(β (s_k - s_1)),
        p(none of them) ∝ exp(γ + δ s_1 / (n + 1) + ε s_1 + ζ min(s_1 - s_2, LARGEST_DIFFERENCE)),

    n being the length of the input.

    Attributes
    ----------
    sharpness, rest, slope, total, margin
        β, γ, δ, ε and ζ, fitted by penalised maximum likelihood.
    """

    sharpness: float = 1.0
    rest: float = -1.0
    slope: float = 0.0
    total: float = 0.0
    margin: float = 0.0

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless all numbers are finite."""
        for name, value in vars(self).items():
            finite(value, name)

    def log_probabilities(self, scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return log-probabilities of the listed outputs; the last column is for all others.

        Row i of `scores` has the scores of input i, best first, and -inf after the last output.
        lengths[i] is the length of input i.
        """
        top = np.where(np.isfinite(scores[:, :1]), scores[:, :1], 0.0)
        second = np.hstack([scores, np.full_like(top, -np.inf)])[:, 1:2]
        listed = self.sharpness * (scores - top)
        none = self.rest + (self.slope / (lengths[:, None] + 1.0) + self.total) * top
        none = none + self.margin * np.minimum(top - second, LARGEST_DIFFERENCE)
        logits = np.hstack([listed, none])
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)

    @classmethod
    def fitted(cls, scores: np.ndarray, lengths: np.ndarray, right: np.ndarray) -> Confidence:
        """Return the map fitted to the scores of left-out inputs by penalised likelihood.

        `right` is the index of the true output in each row of `scores`, or the number of columns if
        it is not listed.
        """

        def confidence(v: np.ndarray) -> Confidence:
            """Return the map whose parameters are v, the first as its logarithm."""
            return cls(float(np.exp(v[0])), *map(float, v[1:]))

        def loss(v: np.ndarray) -> float:
            """Return the penalised negative log-likelihood."""
            logp = confidence(v).log_probabilities(scores, lengths)
            penalty = (START_PENALTY * (v - TYPICAL_VALUES) ** 2).sum()
            return float(penalty - logp[np.arange(len(right)), right].sum())

        bounds = [(-4.0, 4.0), *[(-50.0, 50.0)] * 4]
        return confidence(minimize(loss, TYPICAL_VALUES, method="L-BFGS-B", bounds=bounds).x)


def replace_scores_by_probabilities(
    ranked: list[Ranked], confidence: Confidence, lengths: list[int], closed: bool
) -> list[Ranked]:
    """Return ranked outputs with calibrated probabilities in place of scores.

    `lengths` are those of the inputs. If the lists are `closed`, no other output is possible, and
    the probabilities of a list sum to one.
    """
    with_probabilities = []
    for row, length in zip(ranked, lengths, strict=True):
        scores = np.array([[score for _, score in row]])
        if closed and not np.isfinite(scores).any():  # none is possible: all are equally likely
            scores = np.zeros_like(scores)
        logp = confidence.log_probabilities(scores, np.array([length]))[0, :-1]
        p = np.exp(logp - np.logaddexp.reduce(logp)) if closed else np.exp(logp)
        with_probabilities.append(
            [(output, float(q)) for (output, _), q in zip(row, p, strict=True)]
        )
    return with_probabilities
