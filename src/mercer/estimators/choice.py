"""The parts of a choice of parameters: a trial, and what judges it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from .._arrays import Items, host
from ..decoders import Decoder
from ..embedding import Embedding
from ..kernels import Kernel
from ..losses import Loss
from ..operators import OperatorKernel
from ..problem import Problem
from ..solvers import Factorization
from ..spaces import LabelSets, Rankings


@dataclass(frozen=True)
class Trial:
    """One choice of kernel and alpha, with its left-out risk and, where asked for, score."""

    problem: Problem
    factorization: Factorization
    decoder: Decoder
    names: tuple[str, str, str]
    """Both kernels and the decoder in words, spelt once for all ridges: that is slow."""
    alpha: float
    risk: float
    score: float
    evidence: float = float("nan")
    """The log evidence, or with criterion="density" the log density of left-out outputs."""

    def row(self) -> dict[str, Any]:
        """What is reported of it."""
        return {
            "kernel": self.names[0],
            "output_kernel": self.names[1],
            "decoder": self.names[2],
            "loss": str(self.problem.loss),
            "alpha": self.alpha,
            "risk": self.risk,
            "score": self.score,
            "evidence": self.evidence,
        }


LIKELIHOODS = ("evidence", "density")
CRITERIA = ("loo", "gcv", *LIKELIHOODS)
AUTO = "auto"
"""The default of `scoring`: the metric of the outputs' space where that is not the risk."""


def judges(scoring: Any, kernel: Kernel, decoders: int = 1) -> bool:
    """Whether decoded predictions are scored, rather than points by their risk.

    By themselves only label sets and rankings are: for other outputs the risk says as much. To
    choose between decoders, all are.
    """
    if scoring != AUTO:
        return scoring is not None
    return decoders > 1 or isinstance(kernel.space, LabelSets | Rankings)


def own_score(
    decoder: Decoder, points: Embedding, kernel: Kernel, truth: Items, weights: np.ndarray | None
) -> float:
    """The metric of the outputs' space of left-out points; of thresholds that which they are for.

    Greater is better, whatever the metric.
    """
    decoder = calibrated(copy.copy(decoder), points, truth)  # decoding may leave traces
    if weights is None and hasattr(decoder, "calibration_"):
        return float(decoder.calibration_)
    space = kernel.space
    values = space.metric(truth, decoder.decode(points), average=False)
    return (1.0 if space.greater_is_better else -1.0) * float(np.average(values, weights=weights))


def some_rows(labels: np.ndarray, size: int, seed: int = 0) -> np.ndarray:
    """About so many rows drawn at random, whole groups, in their order."""
    drawn = np.random.RandomState(seed).permutation(int(labels.max()) + 1)
    sizes = np.cumsum(np.bincount(labels)[drawn])
    kept = drawn[: max(2, int(np.searchsorted(sizes, size, side="right")))]
    return np.flatnonzero(np.isin(labels, kept))


def beyond_luck(gains: np.ndarray, weights: np.ndarray | None = None) -> bool:
    """Whether the mean of what is gained on each row exceeds its standard error."""
    mean = np.average(gains, weights=weights)
    spread = np.sqrt(np.average((gains - mean) ** 2, weights=weights))
    return bool(mean > spread / np.sqrt(len(gains)))


def calibrated(decoder: Decoder, points: Embedding, y: Items) -> Decoder:
    """A decoder with what it leaves open chosen on left-out points; the one given stays as is."""
    return copy.copy(decoder).calibrate(points, y) if decoder.calibrates else decoder


class Told(RegressorMixin, BaseEstimator):
    """Stub with fixed predictions, for scikit-learn's scorers."""

    def __init__(self, predictions: Items = None):
        self.predictions = predictions

    def fit(self, X: Items, y: Items) -> Told:
        """Nothing to learn."""
        return self

    def predict(self, X: Items) -> Items:
        """The fixed predictions."""
        return host(self.predictions)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def check_combination(
    kernels: list[OperatorKernel],
    losses: list[Loss | None],
    criterion: str,
    operator_features: bool,
) -> None:
    """Refuse what has no left-out predictions: learnt or robust under GCV, or without spectra."""
    learnt = any(kernel.separable and kernel.separated().operator.learnt for kernel in kernels)
    robust = losses != [None]
    if criterion != "loo" and (learnt or robust):
        raise ValueError(
            f'criterion="{criterion}" is for the square loss and operators that are not learnt: '
            'use "loo".'
        )
    coupled = [kernel for kernel in kernels if operator_features or not kernel.separable]
    if coupled and (learnt or robust):
        raise ValueError(
            f"{coupled[0]} is not solved as a scalar kernel times an operator, and cannot be "
            "compared with a learnt operator or fitted with a robust loss: choose without it."
        )
