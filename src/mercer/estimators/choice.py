"""The parts of a choice of parameters: a trial, and what judges it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, RegressorMixin

from .._arrays import Items, host
from ..decoders import Decoder
from ..embedding import Embedding
from ..losses import Loss
from ..operators import OperatorKernel
from ..problem import Problem
from ..solvers import Factorization


@dataclass(frozen=True)
class Trial:
    """One choice of kernel and alpha, with its left-out risk and, where asked for, score."""

    problem: Problem
    factorization: Factorization
    decoder: Decoder
    alpha: float
    risk: float
    score: float
    names: tuple[str, str]
    """Both kernels in words, spelt once: that is slow, and there is a trial for every α."""
    evidence: float = float("nan")
    """The log evidence, or with criterion="density" the log density of left-out outputs."""

    def row(self) -> dict[str, Any]:
        """What is reported of it."""
        return {
            "kernel": self.names[0],
            "output_kernel": self.names[1],
            "loss": str(self.problem.loss),
            "alpha": self.alpha,
            "risk": self.risk,
            "score": self.score,
            "evidence": self.evidence,
        }


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
