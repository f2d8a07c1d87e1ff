"""Probabilities of the best outputs, calibrated on pairs left out of the fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from ..._base.checks import Limits, finite
from ...decoders.base import Ranked

FAR = 20.0
"""Leads over the second output that are larger say no more."""


@dataclass(frozen=True)
class Confidence:
    """Turns the scores s_1 ≥ s_2 ≥ … of the best outputs of an input into probabilities.

        p_k ∝ exp(β (s_k - s_1)),
        p(none of them) ∝ exp(γ + δ s_1 / (n + 1) + ε s_1 + ζ min(s_1 - s_2, FAR)),

    n being the length of the input.

    Attributes
    ----------
    sharpness, rest, slope, total, margin
        β, γ, δ, ε and ζ, fitted by maximum likelihood.
    """

    sharpness: float = 1.0
    rest: float = -1.0
    slope: float = 0.0
    total: float = 0.0
    margin: float = 0.0

    def check_loaded(self, limits: Limits) -> None:
        """Check that all numbers are finite."""
        for name, value in vars(self).items():
            finite(value, name)

    def log_probabilities(self, scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return log-probabilities of the outputs and, last, of none: (inputs, outputs + 1).

        Scores of outputs that are not there are -inf.
        """
        top = np.where(np.isfinite(scores[:, :1]), scores[:, :1], 0.0)
        second = np.hstack([scores, np.full_like(top, -np.inf)])[:, 1:2]
        listed = self.sharpness * (scores - top)
        none = self.rest + (self.slope / (lengths[:, None] + 1.0) + self.total) * top
        none = none + self.margin * np.minimum(top - second, FAR)
        logits = np.hstack([listed, none])
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)

    @classmethod
    def fitted(cls, scores: np.ndarray, lengths: np.ndarray, right: np.ndarray) -> Confidence:
        """Fit on lists of which output `right` is the true one; the last column stands for none."""
        start = np.array([0.0, -1.0, 0.0, 0.0, 0.0])
        units = np.array([1.0, 1.0, 1.0, 1.0, FAR])  # leads are that large

        def made(v: np.ndarray) -> Confidence:
            return cls(float(np.exp(v[0])), *map(float, v[1:]))

        def loss(v: np.ndarray) -> float:
            found = made(v).log_probabilities(scores, lengths)[np.arange(len(right)), right]
            # A weak pull to the start keeps the fit finite where all lists are right.
            return float(-found.sum() + 0.01 * ((units * (v - start)) ** 2).sum())

        bounds = [(-4.0, 4.0), *[(-50.0, 50.0)] * 4]
        return made(minimize(loss, start, method="L-BFGS-B", bounds=bounds).x)


def with_probabilities(
    ranked: list[Ranked], confidence: Confidence, lengths: list[int], closed: bool
) -> list[Ranked]:
    """Put probabilities in the place of scores; of a whole `closed` list they sum to one."""
    found = []
    for row, length in zip(ranked, lengths, strict=True):
        scores = np.array([[score for _, score in row]])
        if closed and not np.isfinite(scores).any():  # none is possible: all are alike
            scores = np.zeros_like(scores)
        logp = confidence.log_probabilities(scores, np.array([length]))[0, :-1]
        p = np.exp(logp - np.logaddexp.reduce(logp)) if closed else np.exp(logp)
        found.append([(output, float(q)) for (output, _), q in zip(row, p, strict=True)])
    return found
