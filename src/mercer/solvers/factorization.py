"""A ridge problem, factored once: solutions, left-out predictions, variances for every α."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, dense, like, namespace
from .._base.memory import held_bytes
from .._base.plan import OUTPUT_SQUARES, Route, Sizes
from ..embedding import Embedding, Frame, OrthonormalFrame, PointMap
from ..features import Explicit, FeatureMap
from ..features.triangular import Triangular
from ..losses import Loss
from ..operators import OperatorKernel, Separable
from ..problem import Problem, Want
from .inputs import weighted_mean
from .weights import DualWeights, LeastWeights, NoWeights

Variances = Callable[[Items], Array]
"""From inputs to posterior variances, one column a direction of the operator."""
LeftOutModels = Callable[[Items, Sequence[np.ndarray]], Embedding]
"""From inputs, and the training examples that each of them leaves out, to points."""


@dataclass(frozen=True)
class Outputs:
    """Outputs in coordinates.

    Attributes
    ----------
    rows
        One row an output: its coordinates less the mean, times the root of its weight.
    mean
        The weighted mean that was taken off; None without an intercept.
    roots
        The roots of the weights as a column; None for weights of one.
    frame
        The vectors that the coordinates refer to.
    """

    rows: Array
    mean: Array | None
    roots: Array | None
    frame: Frame

    @classmethod
    def centred(
        cls,
        V: Array,
        weights: np.ndarray | None,
        intercept: bool,
        frame: Frame,
        mean: Array | None = None,
    ) -> Outputs:
        """Coordinates less their mean where asked for, or a given one, times roots of weights."""
        if intercept and mean is None:
            mean = weighted_mean(V, weights)
        rows = V if mean is None else V - mean
        roots = None if weights is None else like(np.sqrt(weights)[:, None], V)
        return cls(rows if roots is None else roots * rows, mean, roots, frame)

    def points(self, G: Array, problem: Problem) -> Embedding:
        """Left-out points of coordinates G, with the groups that did not see them."""
        labels = problem.left_out_labels
        return Embedding(G, self.frame, left_out=labels, inputs=problem.given)

    def unweighted(self, R: Array) -> Array:
        """Rows without the roots of their weights."""
        return R if self.roots is None else R / self.roots

    @property
    def coordinates(self) -> Array:
        """Coordinates of the outputs as they are, neither centred nor weighted."""
        V = self.unweighted(self.rows)
        return V if self.mean is None else V + self.mean


@dataclass
class Cache:
    """What trials of a choice share: the outputs, and the inputs of one scalar kernel at a time."""

    made: dict[bool, Outputs] = field(default_factory=dict)
    held: tuple[Any, Any] = (None, None)

    def outputs(self, problem: Problem) -> Outputs:
        """The outputs in the coordinates that a problem asks for, made once."""
        side, kernel = problem.outputs, problem.kernel
        own = (kernel.operator if isinstance(kernel, Separable) else kernel).own_coordinates
        if own in self.made:
            return self.made[own]
        if side.features is not None:
            map, V = side.coordinates[0], dense(side.coordinates[1])
        else:
            if own and side.width is None:
                raise ValueError(
                    f"{problem.kernel} speaks of output components, but {side.kernel} has no "
                    "finite features to be its components: use output_kernel=Linear()."
                )
            finite = own or (side.width is not None and side.width <= problem.n)
            if problem.inputs.features is not None and not finite:
                # Inputs of low rank alone leave n² for outputs.
                problem.require_room(OUTPUT_SQUARES)
            map = Explicit() if finite else Triangular()
            V = map.fit_transform(side.kernel, side.items)
        frame = OrthonormalFrame(map)
        made = Outputs.centred(V, problem.weights, problem.intercept, frame)
        self.made[own] = made
        return made

    def inputs(self, kernel: Any, make: Callable, *parts: Any) -> Any:
        """The factored inputs of a scalar kernel, make(*parts); those of another are let go."""
        if self.held[0] is not kernel:
            self.held = (None, None)  # before the next are made
            self.held = (kernel, make(*parts))
        return self.held[1]


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
    """One way to factor a ridge problem, and what that gives.

    The class is the solver that `route` chooses; an object is a problem factored by it. What it
    cannot do it refuses with a sentence.

    Attributes
    ----------
    name
        What `solver=` and `plan` call it.
    costs
        The way of `Sizes` that counts what it costs; empty for the one of its own name.
    """

    name: str
    costs = ""
    problem: Problem
    outputs: Any
    Q: Array | None = None
    """The directions of the operator as columns; None where they are the output coordinates."""

    def __init__(self, problem: Problem, want: Want, cache: Cache):
        self.problem, self.want, self.cache = problem, want, cache

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """None if it takes a problem of its kind in `LADDER`, else the reason why it does not."""
        return None

    @classmethod
    def suits(cls, sizes: Sizes) -> bool:
        """Whether it solves a problem of its kind that has these sizes."""
        return True

    @classmethod
    def cost(cls, sizes: Sizes) -> Route:
        """Memory and multiplications of a problem of these sizes."""
        way = cls.costs or cls.name
        return replace(getattr(sizes, way.replace(" ", "_"))(), name=cls.name)

    @classmethod
    def factor(cls, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Factor a problem that it accepts."""
        return cls(problem, want, cache)

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        raise NotImplementedError

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Outputs minus their left-out predictions for every α.

        Those of generalised cross-validation where `averaged`.
        """
        raise Refused(f"{self.problem.kernel} solved so has no left-out predictions.")

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Left-out predictions for every α; points are made when they are asked for."""
        return map(self._left_out_at, alphas, self.residuals(alphas, averaged))

    def _left_out_at(self, alpha: float, E: Array) -> LeftOut:
        """Left-out predictions of residuals E."""
        lengths = namespace(E).sum(E * E, axis=1)
        return LeftOut(alpha, lengths, partial(self.left_out_points, E))

    def left_out_points(self, E: Array) -> Embedding:
        """Points whose left-out residuals are E."""
        return self.outputs.points(self.outputs.coordinates - E, self.problem)

    def _solution(
        self, alpha: float, fit: tuple[FeatureMap, Any], kernel: OperatorKernel
    ) -> Solution:
        """The model of a map that was fitted to the rows, given with its mean over the data."""
        problem, (map, explained), mean = self.problem, fit, self.outputs.mean
        weigher: Any = LeastWeights(self.outputs.frame, problem.outputs.items)
        if problem.gathered is not None:
            weigher = NoWeights()
        elif not (problem.loss or problem.inputs.features) and problem.kernel.operator.uniform:
            weigher = DualWeights.of(problem, alpha)
        offset = None if mean is None else mean - explained
        return Solution(PointMap(map, offset, self.outputs.frame, weigher), kernel)

    def _point_map(self, map: FeatureMap, offset: Array | None) -> PointMap:
        """The points of a map, weighed on the training outputs by the least weights."""
        frame = self.outputs.frame
        return PointMap(map, offset, frame, LeastWeights(frame, self.problem.outputs.items))

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
        return self.variances(alpha)(X)

    def variances(self, alpha: float) -> Variances:
        """The same as a function of inputs, which can be saved."""
        raise Refused(f"{self.problem.kernel} solved so has no posterior variance.")

    def noise(self, alpha: float) -> float:
        """The variance of the noise that makes the outputs most likely."""
        raise Refused(f"{self.problem.kernel} solved so has no posterior variance.")

    def left_out_noises(self, alpha: float) -> np.ndarray:
        """The variance of the noise along each direction, as left-out predictions show it."""
        raise Refused(
            f'noise="left out" is not known of {self.problem.kernel}: use noise="evidence".'
        )

    def by_directions(self) -> Any:
        """The factorisation as one part for each set of output directions."""
        raise Refused(f"{self.problem.kernel} solved so has no directions of its own.")

    @property
    def scale(self) -> float:
        """The unit of relative ridges: (tr K_x / n) · tr(B S_vv) / tr S_vv."""
        raise NotImplementedError

    def _uniform_scale(self, K: Array) -> float:
        """The same under a multiple of the identity, of a matrix with the trace of K_x."""
        xp = namespace(K)
        level = float(xp.sum(xp.linalg.diagonal(K))) / self.problem.total
        return level * self.problem.uniform or 1.0

    @property
    def nbytes(self) -> float:
        """The size of all arrays that it holds now, except the pairs and what is in the kernels."""
        problem = self.problem
        sides = [(side.items, side.kernel) for side in (problem.inputs, problem.outputs)]
        return held_bytes(self, excluded=[sides, problem.given])
