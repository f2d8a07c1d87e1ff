"""The parts of a choice of parameters: the data, a trial, and what judges it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from .._arrays import Items, host
from .._same import fingerprint
from ..decoders import Decoder
from ..embedding import Embedding
from ..kernels import Kernel
from ..losses import Loss
from ..operators import Operator, OperatorKernel, Separable
from ..solvers import LeftOut
from .regression import Equation


@dataclass(frozen=True)
class Pairs:
    """The training data: checked inputs and outputs, group labels, and the inputs as given."""

    X: Items
    y: Items
    labels: np.ndarray
    given: Items


@dataclass(frozen=True)
class Trial:
    """One choice of kernel and alpha, with its leave-one-out risk and, where asked for, score."""

    equation: Equation
    loo: LeftOut
    decoder: Decoder
    alpha: float
    risk: float
    score: float

    def row(self) -> dict[str, Any]:
        """What is reported of it."""
        return {
            "kernel": self.equation.names[0],
            "output_kernel": self.equation.names[1],
            "loss": str(self.equation.loss),
            "alpha": self.alpha,
            "risk": self.risk,
            "score": self.score,
        }


def calibrated(decoder: Decoder, points: Embedding, y: Items) -> Decoder:
    """A decoder with what it leaves open chosen on left-out points; the one given stays as is."""
    return copy.copy(decoder).calibrate(points, y) if decoder.calibrates else decoder


class Told(RegressorMixin, BaseEstimator):
    """A stand-in that predicts what it was told, so that any scorer can judge it."""

    def __init__(self, predictions: Items = None):
        self.predictions = predictions

    def fit(self, X: Items, y: Items) -> Told:
        """Nothing to learn."""
        return self

    def predict(self, X: Items) -> Items:
        """What it was told."""
        return host(self.predictions)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def by_scalar(kernels: list[Separable]) -> list[tuple[Kernel, list[Operator]]]:
    """Kernels gathered by scalar kernel, which is factored once."""
    gathered: dict[str, tuple[Kernel, list[Operator]]] = {}
    for kernel in kernels:
        key = fingerprint(kernel.scalar)
        gathered.setdefault(key, (kernel.scalar, []))[1].append(kernel.operator)
    return list(gathered.values())


def check_combination(
    kernels: list[OperatorKernel], losses: list[Loss | None], criterion: str, waves: bool
) -> None:
    """Refuse what has no left-out predictions: learnt or robust under GCV, or without spectra."""
    learnt = any(kernel.separable and kernel.separated().operator.learnt for kernel in kernels)
    robust = losses != [None]
    if criterion == "gcv" and (learnt or robust):
        raise ValueError(
            'criterion="gcv" is for the square loss and operators that are not learnt: use "loo".'
        )
    coupled = [kernel for kernel in kernels if waves or not kernel.separable]
    if coupled and (learnt or robust):
        raise ValueError(
            f"{coupled[0]} is not solved as a scalar kernel times an operator, and cannot be "
            "compared with a learnt operator or fitted with a robust loss: choose without it."
        )
