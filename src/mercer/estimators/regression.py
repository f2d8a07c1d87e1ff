"""The walk of a fit: kernels, coordinates, moments, operator, solution; and the map it gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, count, host, is_foreign, like, namespace, take
from .._linalg import PositiveDefinite
from .._plan import OUTPUT_SQUARES, SPECTRAL_SQUARES, require_exact
from ..embedding import Embedding, Frame, OrthonormalFrame
from ..features import Coordinates, Exact, Explicit, FeatureMap, check_map
from ..kernels import Kernel
from ..losses import Loss
from ..operators import Identity, Moments, Operator, OperatorKernel, Separable
from ..solvers import Cholesky, LeaveOneOut, LeftOut, Spectra, Spectral


@dataclass(frozen=True)
class Sides:
    """What is to be solved: fitted kernels on checked data, and how coordinates are chosen."""

    kernel: Kernel
    output_kernel: Kernel
    X: Items
    y: Items
    features: FeatureMap | None = None
    output_features: FeatureMap | None = None
    intercept: bool = False

    def __post_init__(self) -> None:
        check_map(self.features, "features")
        check_map(self.output_features, "output_features")

    @property
    def n(self) -> int:
        """The number of pairs."""
        return count(self.y)

    @property
    def foreign(self) -> bool:
        """Whether kernel values are arrays of a library other than numpy."""
        pairwise = self.kernel.pairwise  # then X itself holds kernel values, and no diagonal
        return is_foreign(self.X if pairwise else self.kernel.diag(take(self.X, [0])))

    @property
    def where(self) -> Any:
        """What tells the device that computes: the inputs, or the name that a kernel has."""
        return self.X if is_foreign(self.X) else getattr(self.kernel, "device", None)

    def input_coordinates(self) -> Coordinates:
        """U, with a diagonal moment where it is exact."""
        map = Exact() if self.features is None else clone(self.features)
        return map.fit_coordinates(self.kernel, self.X, center=self.intercept)

    def output_coordinates(self, operator: Operator | OperatorKernel) -> Coordinates:
        """V. A centred fit still needs the whole span of the outputs: the mean is part of g."""
        map = self._output_map(operator)
        if self.features is not None and isinstance(map, Exact):
            # Inputs of low rank alone leave n² for outputs.
            require_exact(self.n, OUTPUT_SQUARES, where=self.where)
        V = map.fit_coordinates(self.output_kernel, self.y)
        return V.centered() if self.intercept else V

    def _output_map(self, operator: Operator | OperatorKernel) -> FeatureMap:
        """As given; else the kernel's own features where they are fewer than the examples."""
        if self.output_features is not None:
            return clone(self.output_features)
        if operator.own_coordinates and not self.output_kernel.finite:
            raise ValueError(
                f"{operator} speaks of output components, but {self.output_kernel} has no "
                "finite features to be its components: use output_kernel=Linear()."
            )
        few = self.output_kernel.finite and self._width() <= self.n
        return Explicit() if few or operator.own_coordinates else Exact()

    @property
    def spanned(self) -> bool:
        """Whether points are best written as weights on the outputs.

        So they are without finite features; and with those of strings or graphs, which can be
        hundred thousands, of which an output has a few dozen.
        """
        kernel = self.output_kernel
        few = kernel.finite and (kernel.on_vectors or self._width() <= self.n)
        return self.output_features is None and not few

    def _width(self) -> int:
        return int(self.output_kernel.features(take(self.y, [0])).shape[1])


@dataclass(frozen=True)
class PointMap:
    """g: inputs to points of the output feature space.

    Attributes
    ----------
    map, offset
        The coordinates of g(x) are map.transform(x) + offset.
    frame
        The vectors that the coordinates refer to.
    weigher
        What gives the weights of g(x) on the training outputs, when somebody asks; None where the
        training data is gone.
    """

    map: FeatureMap
    offset: Array | None
    frame: Frame
    weigher: Any

    def __call__(self, X: Items) -> Embedding:
        """The points of a batch of inputs."""
        C = self.map.transform(X)
        C = C if self.offset is None else C + self.offset
        if self.weigher is None:
            return Embedding(C, self.frame)
        return Embedding(C, self.frame, weigh=lambda: self.weigher.weights(X, C))

    def lean(self) -> PointMap:
        """The same map without training data that it does not itself stand on."""
        return replace(self, weigher=None if self.weigher is None else self.weigher.lean(self.map))


class DualWeights(FeatureMap):
    """(K_x + αI)⁻¹ k_x: the weights of the identity operator on the training outputs."""

    def __init__(self, kernel: Kernel, X: Items, alpha: float, intercept: bool):
        self.kernel = kernel
        self.X = X
        self.alpha = alpha
        self.intercept = intercept

    @cached_property
    def factored(self) -> tuple[PositiveDefinite, Array]:
        """The factored matrix and the column means of the kernel (zero without intercept)."""
        K = self.kernel.checked_gram(self.X)
        xp = namespace(K)
        means = xp.mean(K, axis=0) if self.intercept else xp.zeros_like(K[0, :])
        if self.intercept:
            K -= means[None, :]
            K -= xp.mean(K, axis=1)[:, None]
        return Cholesky().factor(K, self.alpha), means

    def __getstate__(self) -> dict:
        return {k: v for k, v in self.__dict__.items() if k != "factored"}  # n², made again on use

    def transform(self, A: Items) -> Array:
        """The weights of g(a), one row an input."""
        factor, means = self.factored
        K = self.kernel(A, self.X)
        xp = namespace(K)
        C = xp.matrix_transpose(factor.solve(xp.matrix_transpose(K - means)))
        if not self.intercept:
            return C
        return C - xp.mean(C, axis=1)[:, None] + 1.0 / C.shape[1]

    @property
    def coefficients(self) -> Array:
        """(K_x + αI)⁻¹, in full: the outputs themselves are the coordinates."""
        factor, _ = self.factored
        return factor.solve(like(np.eye(count(self.X)), factor.factor))

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
        """C V⁺."""
        V = self.frame.evaluate(self.y)
        xp = namespace(V)
        return C @ xp.linalg.pinv(V, rtol=like(1e-10, V))

    def lean(self, map: FeatureMap) -> LeastWeights | None:
        """Kept where the map has a row for every training example anyway."""
        coefficients = getattr(map, "coefficients", None)  # not every map is linear
        kept = coefficients is None or coefficients.shape[0] >= count(self.y)
        return self if kept else None


class Equation:
    """A ridge equation in coordinates: factored once for each operator, solved for every α."""

    loss: Loss | None = None
    """A robust loss in place of the square."""

    @property
    def effort(self) -> tuple[int | None, float | None]:
        """Rounds of an iteration and the residual it left; none where solved directly."""
        return None, None

    def __init__(self, sides: Sides, operator: Operator, U: Coordinates, V: Coordinates):
        self.sides, self.operator, self.U, self.V = sides, operator, U, V
        vu = namespace(V.rows).matrix_transpose(V.rows) @ U.rows
        moments = Moments(sides.n, U.moment, vu, V.moment)
        self.spectra: Spectra = Spectral().factor(moments, operator.matrix(moments))
        self.frame: Frame = OrthonormalFrame(V.map)

    @cached_property
    def operator_kernel(self) -> Separable:
        """The operator-valued kernel, its scalar kernel fitted."""
        return Separable(self.sides.kernel, self.operator)

    @cached_property
    def names(self) -> tuple[str, str]:
        """Both kernels in words, spelt once: that is slow, and there is a trial for every α."""
        return str(self.operator_kernel), str(self.sides.output_kernel)

    def settled(self, alpha: float) -> Equation:
        """The equation once α is known: itself, unless parts of it depend on α."""
        return self

    def path(
        self, alphas: Sequence[float], labels: np.ndarray, gcv: bool = False
    ) -> Iterator[tuple[Equation, LeftOut, float, Array]]:
        """For every α the equation, its left-out predictions and their residuals."""
        loo = self.leave_one_out(labels)
        path = map(loo.averaged_residuals, alphas) if gcv else loo.path(alphas)
        for alpha, residuals in zip(alphas, path, strict=True):
            yield self, loo, alpha, residuals

    def solve(self, alpha: float) -> PointMap:
        """G at one α."""
        coef = Spectral().solve(self.spectra, alpha)
        offset = None if self.V.mean is None else self.V.mean - self.U.mean @ coef
        return PointMap(self.U.map.compose(coef), offset, self.frame, self._weigher(alpha))

    def _weigher(self, alpha: float) -> Any:
        s = self.sides
        if isinstance(self.operator, Identity) and s.features is None:
            return DualWeights(s.kernel, s.X, alpha, s.intercept)
        return LeastWeights(self.frame, s.y)

    def leave_one_out(self, labels: np.ndarray) -> LeftOut:
        """The left-out predictions of the training examples, by group label."""
        s = self.sides
        groups = labels if labels.max() + 1 < s.n else None
        return LeaveOneOut(self.spectra, self.U.rows, self.V.rows, s.intercept, groups)

    def left_out_points(
        self, loo: LeftOut, residuals: Array, labels: np.ndarray, inputs: Items
    ) -> Embedding:
        """The same as points that a decoder takes."""
        G = loo.points(residuals)
        G = G if self.V.mean is None else G + self.V.mean
        return Embedding(G, self.frame, left_out=loo.together(labels), inputs=inputs)


def factored(sides: Sides, operator: Operator) -> Equation:
    """The general way, for any operator."""
    if sides.features is None:
        require_exact(sides.n, SPECTRAL_SQUARES, where=sides.where)
    U = sides.input_coordinates()
    return Equation(sides, operator, U, sides.output_coordinates(operator))


def group_labels(groups: Items | None, n: int) -> np.ndarray:
    """A whole number for each example: its group, or itself."""
    if groups is None:
        return np.arange(n)
    if isinstance(groups, str) or not hasattr(groups, "__len__"):
        raise ValueError(f"groups must be a list or an array of {n} labels, got {groups!r:.60}.")
    shape = getattr(groups, "shape", (len(groups),))
    if tuple(shape) != (n,):
        got = shape[0] if len(shape) == 1 else f"shape {tuple(shape)}"
        raise ValueError(f"groups must have one label for each of the {n} pairs, got {got}.")
    groups = list(host(groups)) if hasattr(groups, "shape") else list(groups)
    try:
        hash(tuple(groups))
    except TypeError as problem:
        raise ValueError(
            f"groups must be labels such as numbers or strings, one for each pair ({problem})."
        ) from None
    missing = [i for i, group in enumerate(groups) if group is None or group != group]
    if missing:
        raise ValueError(f"groups[{missing[0]}] is missing: every pair needs a label.")
    numbers: dict[Any, int] = {}
    labels = np.array([numbers.setdefault(group, len(numbers)) for group in groups])
    if len(numbers) < 2:
        raise ValueError("groups has a single label: leaving it out leaves nothing to learn from.")
    return labels
