"""Weights of predictions on the training outputs, and maps made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._arrays import Array, Items, count, like, namespace
from .._linalg import PositiveDefinite, ridged
from ..embedding import Embedding, Frame, SpanFrame
from ..features import FeatureMap
from ..kernels import Kernel
from ..operators import OperatorKernel
from ..problem import Problem
from ..symmetric import EPS
from .inputs import InputGram
from .left_out import divided


class RidgeFactor:
    """(√w K √w + αI)⁻¹ by one Cholesky factorisation, constants left out of K.

    Raises `numpy.linalg.LinAlgError` where α is lost in the rounding of K.
    """

    def __init__(
        self, kernel: Kernel, X: Items, alpha: float, weights: np.ndarray | None, intercept: bool
    ):
        self.gram = InputGram(kernel, X, weights, intercept)
        self.factor = factored(self.gram.reduced(), alpha)
        self.reduction = self.gram.reduction
        self.roots = self.reduction.roots

    def solve(self, T: Array) -> Array:
        """(√w K √w + αI)⁻¹ T on what is not constant."""
        return self.reduction.back(self.factor.solve(self.reduction.inside(T)))

    def map(self, T: Array) -> tuple[FeatureMap, Array | float]:
        """The map with dual coefficients √w ∘ solve(T), and its mean."""
        return self.gram.map(self.solve(T))


def factored(K: Array, alpha: float) -> PositiveDefinite:
    """Factor K + αI, `K` destroyed; LinAlgError where α is too small to keep any digits."""
    xp = namespace(K)
    scale = float(xp.max(xp.abs(xp.linalg.diagonal(K)))) if K.shape[0] else 0.0
    if not stands_out(alpha, int(K.shape[0]), scale):
        raise np.linalg.LinAlgError("alpha is lost in the rounding of the Gram matrix")
    return PositiveDefinite.of(ridged(K, alpha))


def stands_out(alpha: float, n: int, scale: float) -> bool:
    """Whether α stands out of the rounding of an n × n Gram matrix of that scale."""
    return alpha > 100 * n * EPS * scale


class DualWeights(FeatureMap):
    """√w ∘ (√w K_x √w + αI)⁻¹ (√w ∘ k_x): the weights of the identity on the training outputs."""

    sample_weight: np.ndarray | None = None

    def __init__(
        self,
        kernel: Kernel,
        X: Items,
        alpha: float,
        intercept: bool,
        sample_weight: np.ndarray | None = None,
    ):
        self.kernel = kernel
        self.X = X
        self.alpha = alpha
        self.intercept = intercept
        self.sample_weight = sample_weight

    @classmethod
    def of(cls, problem: Problem, alpha: float) -> DualWeights:
        """Those of an exact problem under a multiple of the identity."""
        side, alpha = problem.inputs, alpha / problem.uniform
        return cls(side.kernel, side.items, alpha, problem.intercept, problem.weights)

    @cached_property
    def factored(self) -> RidgeFactor:
        """The factored matrix, made when it is first used."""
        return RidgeFactor(self.kernel, self.X, self.alpha, self.sample_weight, self.intercept)

    def __getstate__(self) -> dict:
        return {k: v for k, v in self.__dict__.items() if k != "factored"}  # n², made again on use

    def transform(self, A: Items) -> Array:
        """The weights of g(a), one row an input."""
        ridge = self.factored
        K = ridge.gram.against(A)
        turn = namespace(K).matrix_transpose
        K = K if ridge.roots is None else K * turn(ridge.roots)
        C = turn(ridge.solve(turn(K)))
        C = C if ridge.roots is None else C * turn(ridge.roots)
        if not self.intercept:
            return C
        if self.sample_weight is None:
            return C + 1.0 / C.shape[1]
        return C + like(self.sample_weight / self.sample_weight.sum(), C)

    @property
    def coefficients(self) -> Array:
        """The matrix that follows the kernel's values, in full."""
        ridge = self.factored
        eye = like(np.eye(count(self.X)), ridge.factor.factor)
        if ridge.roots is None:
            return ridge.solve(eye)
        return ridge.roots * ridge.solve(eye * ridge.roots)

    def weights(self, X: Items, C: Array) -> Array:
        """As a weigher: the same."""
        return self.transform(X)

    def lean(self, map: FeatureMap) -> DualWeights:
        """Kept: the map stands on the same inputs."""
        return self


@dataclass(frozen=True)
class LeastWeights:
    """The smallest weights on the training outputs that give a point."""

    frame: Frame
    y: Items

    def weights(self, X: Items, C: Array) -> Array:
        """C V⁺; coordinates on the outputs themselves are their weights."""
        if isinstance(self.frame, SpanFrame):
            return C
        V = self.frame.evaluate(self.y)
        xp = namespace(V)
        return C @ xp.linalg.pinv(V, rtol=like(1e-10, V))

    def lean(self, map: FeatureMap) -> LeastWeights | None:
        """Kept where the map has a row for every training example anyway."""
        coefficients = getattr(map, "coefficients", None)  # not every map is linear
        kept = coefficients is None or coefficients.shape[0] >= count(self.y)
        return self if kept else None


class NoWeights:
    """A streamed model has let go of the training outputs that weights would refer to."""

    def weights(self, X: Items, C: Array) -> Array:
        """Refused."""
        raise ValueError(
            "a model of a stream keeps no weights on the training outputs: fit on arrays held "
            "whole for points.weights and points.expect."
        )

    def lean(self, map: FeatureMap) -> NoWeights:
        """Nothing to drop."""
        return self


class CoupledMap(FeatureMap):
    """G(x) = Σ_j K(x, x_j) c_j."""

    def __init__(self, kernel: OperatorKernel, X: Items, coef: Array):
        self.kernel = kernel
        self.X = X
        self.coef = coef

    def transform(self, A: Items) -> Array:
        """The points in output coordinates."""
        return self.kernel.gram(A, self.X) @ self.coef

    @property
    def coefficients(self) -> Array:
        """The c_j, one row a training example."""
        return self.coef


def weighed(points: Embedding, problem: Problem, alpha: float) -> Embedding:
    """Left-out points that tell their weights, made when somebody asks for them.

    Parameters
    ----------
    points
        The left-out points of a problem.
    problem, alpha
        The problem, and the ridge at which it was solved.
    """
    if isinstance(points.frame, SpanFrame):
        return points
    separable = problem.separable and problem.loss is None and problem.gathered is None
    uniform = problem.kernel.operator.uniform if separable else None
    if uniform and problem.inputs.features is None:
        return replace(points, weigh=partial(left_out_weights, problem, alpha / uniform))
    least: Any = LeastWeights(points.frame, problem.outputs.items)
    least = least if problem.gathered is None else NoWeights()
    return replace(points, weigh=partial(least.weights, None, points.coordinates))


def left_out_weights(problem: Problem, alpha: float) -> Array:
    """I - P_gg⁻¹P_g, with P = (K + αI)⁻¹ on what is not constant: zero on the own group, (n, n)."""
    side = problem.inputs
    ridge = RidgeFactor(side.kernel, side.items, alpha, problem.weights, problem.intercept)
    P = ridge.solve(like(np.eye(problem.n), ridge.factor.factor))
    R = divided(P, P, problem.groups)
    if ridge.roots is not None:
        R = R * namespace(R).matrix_transpose(ridge.roots) / ridge.roots
    return like(np.eye(problem.n), R) - R
