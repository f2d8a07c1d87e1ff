"""Weights of predictions on the training outputs, and the map of an operator-valued kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, count, like, namespace
from .._base.errors import NotSupported
from .._base.linalg import PositiveDefinite, factor_with_ridge
from ..embedding import Embedding, Frame, SpanFrame
from ..features import FeatureMap
from ..operators import OperatorKernel
from ..problem import Problem
from .exact_spectrum import InputGram
from .input_spectrum import FittedMap
from .left_out import solve_diagonal_blocks
from .outputs import Basis


class DualWeights(FeatureMap):
    """The map from inputs to the weights of exact predictions on the training outputs.

    The operator must be a multiple of the identity. With sample weights w, the weights at an input
    x are √w ∘ (√w K_x √w + αI)⁻¹ (√w ∘ k_x).

    Parameters
    ----------
    kernel, X
        The fitted scalar kernel, and the training inputs.
    alpha
        The ridge parameter, divided by the multiple of the identity.
    intercept
        Whether there is an intercept.
    sample_weight
        The sample weights; None for equal weights.
    """

    sample_weight: np.ndarray | None = None

    def __init__(
        self,
        kernel: Any,
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

    known_items = property(lambda self: self.X)

    @classmethod
    def of(cls, problem: Problem, alpha: float) -> DualWeights:
        """Return the weights of an exact problem whose operator is a multiple of the identity."""
        side, alpha = problem.inputs, alpha / problem.operator_scale
        return cls(side.kernel, side.items, alpha, problem.intercept, problem.weights)

    @cached_property
    def factored(self) -> tuple[InputGram, PositiveDefinite]:
        """The kernel on the training inputs, and the Cholesky factor of √w K √w + αI.

        Raises `numpy.linalg.LinAlgError` if α is lost in the rounding of K.
        """
        gram = InputGram(self.kernel, self.X, self.sample_weight, self.intercept)
        return gram, factor_with_ridge(gram.reduced_gram(), self.alpha)

    @property
    def is_accurate(self) -> bool:
        """Whether the ridge α exceeds the rounding errors of the Gram matrix K."""
        try:
            return self.factored is not None
        except np.linalg.LinAlgError:
            return False

    def solve(self, T: Array) -> Array:
        """Return (√w K √w + αI)⁻¹T on the complement of the constants of the intercept."""
        gram, factor = self.factored
        return gram.reduction.expand_rows(factor.solve(gram.reduction.reduce_rows(T)))

    def __getstate__(self) -> dict:
        return {
            k: v for k, v in self.__dict__.items() if k != "factored"
        }  # n × n, computed again on use

    def transform(self, A: Items) -> Array:
        """Return the weights of the predictions g(a) on the training outputs, one row per input."""
        gram = self.factored[0]
        K = gram.kernel_values(A)
        weighted = gram.reduction.weighted
        C = weighted(self.solve(weighted(K.T))).T
        if not self.intercept:
            return C
        if self.sample_weight is None:
            return C + 1.0 / C.shape[1]
        return C + like(self.sample_weight / self.sample_weight.sum(), C)

    @property
    def coefficients(self) -> Array:
        """The matrix M such that kernel values times M are the weights."""
        gram, factor = self.factored
        weighted = gram.reduction.weighted
        return weighted(self.solve(weighted(like(np.eye(count(self.X)), factor.factor))))

    def weights(self, X: Items, C: Array) -> Array:
        """Return the weights of the predictions g(x) on the training outputs; C is not used."""
        return self.transform(X)

    def without_training_data(self, map: FeatureMap) -> DualWeights:
        """Return the object itself, because the fitted map needs the same training inputs."""
        return self


@dataclass(frozen=True)
class LeastWeights:
    """Least-norm weights on the training outputs that represent a predicted point.

    An output of sample weight w shares its weight among w copies: the weights are C (√w V)⁺ √w, for
    points C and coordinates V of the training outputs.

    Attributes
    ----------
    frame
        The frame of the output coordinates.
    y
        The training outputs.
    sample_weight
        Their sample weights; None for equal weights.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> model = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y)
    >>> from mercer.solvers import LeastWeights
    >>> points = model.embed(X)
    >>> weights = LeastWeights(points.frame, model.outputs_).weights(X, points.coordinates)
    >>> bool(abs(weights @ model.outputs_ - points.coordinates).max() < 1e-12)
    True
    """

    frame: Frame
    y: Items
    sample_weight: np.ndarray | None = None

    def weights(self, X: Items, C: Array) -> Array:
        """Return the least-norm weights of points C, one row for each."""
        if isinstance(self.frame, SpanFrame):
            return C
        V = self.frame.evaluate(self.y)
        xp, w = namespace(V), self.sample_weight
        roots = like(np.ones(V.shape[0]) if w is None else np.sqrt(w), V)
        return C @ (xp.linalg.pinv(roots[:, None] * V, rtol=like(1e-10, V)) * roots)

    def without_training_data(self, map: FeatureMap) -> LeastWeights | None:
        """Return the object if the fitted map stores a row per training example, else None."""
        kept = map.coefficients is None or map.coefficients.shape[0] >= count(self.y)
        return self if kept else None


class NoWeights:
    """Placeholder for the weights of a streamed model, whose training outputs are not stored."""

    def weights(self, X: Items, C: Array) -> Array:
        """Raise NotSupported, because the training outputs are not stored."""
        raise NotSupported(
            "a model of a stream keeps no weights on the training outputs: fit on arrays in "
            "memory for points.weights and points.expect."
        )

    def without_training_data(self, map: FeatureMap) -> NoWeights:
        """Return the object itself, because it holds no training data."""
        return self


class CoupledMap(FeatureMap):
    """The map g(x) = Σ_j K(x, x_j) c_j of an operator-valued kernel K.

    Parameters
    ----------
    kernel, X
        The fitted kernel, and the training inputs x_j.
    coef
        The coefficients c_j in output coordinates, one row per training input.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import CurlFree
    >>> from mercer.solvers import CoupledMap
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> CoupledMap(CurlFree(1.0).fit(X, X), X, np.eye(2)).transform(X).round(2)
    array([[1.  , 0.61],
           [0.  , 1.  ]])
    """

    def __init__(self, kernel: OperatorKernel, X: Items, coef: Array):
        self.kernel = kernel
        self.X = X
        self.coef = coef

    known_items = property(lambda self: self.X)

    @classmethod
    def of_directions(
        cls, kernel: OperatorKernel, X: Items, basis: Basis, fits: list[FittedMap]
    ) -> FittedMap:
        """Return the map whose coefficients along output directions are those of fitted maps.

        There is one fitted map for each part of a factorisation with this basis.
        """
        coef = basis.to_coordinates(basis.join([map.coefficients for map, _ in fits]))
        mean: Any = 0.0
        if not isinstance(fits[0].mean, float):
            means = [fit.mean[None, :] for fit in fits]
            mean = basis.to_coordinates(basis.join(means))[0, :]
        return FittedMap(cls(kernel, X, coef), mean)

    def transform(self, A: Items) -> Array:
        """Return the predictions g(a) in output coordinates, one row per input."""
        return self.kernel.gram(A, self.X) @ self.coef

    @property
    def coefficients(self) -> Array:
        """The coefficients c_j, one row per training example."""
        return self.coef


def with_training_weights(points: Embedding, problem: Problem, alpha: float) -> Embedding:
    """Return left-out points with a function that computes their weights on training outputs.

    Parameters
    ----------
    points
        The left-out points of a problem.
    problem, alpha
        The problem, and the ridge parameter of the points.
    """
    if isinstance(points.frame, SpanFrame):
        return points
    plain = problem.gathered is None
    uniform = problem.kernel.operator.uniform if plain and problem.kernel.separable else None
    if uniform and problem.inputs.features is None:
        return replace(points, weigh=partial(left_out_weights, problem, alpha))
    least: Any = LeastWeights(points.frame, problem.outputs.items, problem.weights)
    least = least if problem.gathered is None else NoWeights()
    return replace(points, weigh=partial(least.weights, None, points.coordinates))


def left_out_weights(problem: Problem, alpha: float) -> Array:
    """Return the weights of left-out predictions on the training outputs, (n, n).

    For the rows of each group g they are I - P_gg⁻¹P_g, with P = (K + αI)⁻¹.
    """
    dual = DualWeights.of(problem, alpha)
    gram, factor = dual.factored
    P = dual.solve(like(np.eye(problem.n), factor.factor))
    R, roots = solve_diagonal_blocks(P, P, problem.groups), gram.reduction.roots
    if roots is not None:
        R = R * roots.T / roots
    return like(np.eye(problem.n), R) - R
