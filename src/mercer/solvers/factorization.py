"""A ridge problem, factored once: solutions, left-out predictions, variances for every α."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .._arrays import Array, Items, like, namespace
from ..embedding import Embedding, PointMap
from ..features import FeatureMap
from ..losses import Loss
from ..operators import OperatorKernel
from ..problem import Problem
from .weights import LeastWeights

LeftOutModels = Callable[[Items, Sequence[np.ndarray]], Embedding]
"""From inputs, and the training examples that each of them leaves out, to points."""


@dataclass(frozen=True)
class Solution:
    """The map g at one ridge, and how it was found.

    Attributes
    ----------
    points
        The map from inputs to points of the output feature space.
    kernel
        The operator-valued kernel, fitted.
    loss
        The loss with its threshold settled; None for the square.
    n_iter, residual
        Rounds of conjugate gradients and the relative residual that they left; None where the
        equation was solved directly.
    """

    points: PointMap
    kernel: OperatorKernel
    loss: Loss | None = None
    n_iter: int | None = None
    residual: float | None = None


@dataclass(frozen=True)
class LeftOut:
    """Predictions of every training example by a model that did not see it, at one ridge.

    Attributes
    ----------
    alpha
        The ridge.
    sqlengths
        ‖Φ(y_i) - prediction‖², one an example.
    embed
        A function that returns the predicted points.
    """

    alpha: float
    sqlengths: Array
    embed: Callable[[], Embedding] = field(repr=False)

    def risk(self, weights: np.ndarray | None = None) -> float:
        """The (weighted) mean of the squared lengths."""
        xp = namespace(self.sqlengths)
        if weights is None:
            return float(xp.mean(self.sqlengths))
        return float(like(weights / weights.sum(), self.sqlengths) @ self.sqlengths)


class Refused(ValueError):
    """What was asked of a factorisation that has no closed form for it."""


class Factorization:
    """What all factorisations offer; what one cannot do it refuses with a sentence."""

    problem: Problem
    outputs: Any

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        raise NotImplementedError

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Left-out predictions for every α; `averaged` for generalised cross-validation."""
        raise Refused(f"{self.problem.kernel} solved so has no left-out predictions.")

    def left_out_points(self, E: Array) -> Embedding:
        """Points whose left-out residuals are E."""
        return self.outputs.points(self.outputs.coordinates - E, self.problem)

    def _point_map(self, map: FeatureMap, offset: Array | None) -> PointMap:
        """The points of a map, weighed on the training outputs by the least weights."""
        frame = self.outputs.frame
        return PointMap(map, offset, frame, LeastWeights(frame, self.problem.outputs.items))

    def _residuals_at(self, alpha: float, E: Array) -> LeftOut:
        """Left-out predictions of residuals E; points are made when they are asked for."""
        lengths = namespace(E).sum(E * E, axis=1)
        return LeftOut(alpha, lengths, partial(self.left_out_points, E))

    def left_out_quickly(self, alpha: float) -> LeftOut:
        """Left-out predictions at one α, at a lower rank where that is enough to compare."""
        return next(iter(self.left_out([alpha])))

    def compared(self, plain: Factorization) -> tuple[Factorization, Factorization]:
        """Both this and the same without symmetries, smaller where that is enough to compare."""
        return self, plain

    def moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """How leaving each example's group out moves the points of new inputs."""
        raise Refused(f"{self.problem.kernel} has no closed form for left-out models.")

    def without(self, alpha: float) -> LeftOutModels:
        """Points of new inputs by models that leave training examples out, each input its own."""
        raise Refused(f"{self.problem.kernel} has no closed form for left-out models.")

    def evidence(self, alpha: float) -> float:
        """The log evidence of the ridge, its scale profiled out, up to a constant."""
        raise Refused(f"{self.problem.kernel} solved so has no evidence.")

    def density(self, alpha: float) -> float:
        """The log density of every output given all others, summed."""
        raise Refused(f"{self.problem.kernel} solved so has no density of left-out outputs.")

    def variance(self, X: Items, alpha: float) -> Array:
        """The posterior variance of g(x) along the directions of the operator, for unit noise."""
        raise Refused(f"{self.problem.kernel} solved so has no posterior variance.")

    @property
    def scale(self) -> float:
        """The unit of relative ridges: (tr K_x / n) · tr(B S_vv) / tr S_vv."""
        raise NotImplementedError

    @property
    def nbytes(self) -> float:
        """How much memory it holds."""
        return 0.0
