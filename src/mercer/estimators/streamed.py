"""The walk of a fit over a stream: sample, kernels, maps, moments; and the solution in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, count, dense, namespace
from .._linalg import eigh
from .._plan import require_moments
from ..embedding import Embedding, OrthonormalFrame
from ..features import Explicit, FeatureMap, check_map
from ..kernels import Kernel
from ..operators import Identity, Moments, Operator, OperatorKernel, Separable
from ..solvers import Cholesky, SampleLeaveOneOut, Spectra, Spectral
from ..streams import Expected, Gathering, PairSource, Sample
from .regression import PointMap

SAMPLE = 4096
"""Pairs of a stream that are kept, where neither the stream nor a rank asks for more."""


@dataclass(frozen=True)
class Parts:
    """What a stream is learnt with: kernels as given, and how coordinates are chosen."""

    kernels: list[Kernel]
    output_kernel: Kernel
    features: FeatureMap | None
    output_features: FeatureMap | None
    intercept: bool
    waves: OperatorKernel | None = None
    """The operator-valued kernel, where `features` are of one."""

    def __post_init__(self) -> None:
        check_map(self.features, "features")
        check_map(self.output_features, "output_features")

    @property
    def size(self) -> int:
        """How many pairs to keep: at least twice as many as landmarks are wanted."""
        maps = [map for map in (self.features, self.output_features) if map is not None]
        ranks = [map.get_params(deep=False).get("rank") or 0 for map in maps]
        return max([SAMPLE, *(2 * rank for rank in ranks if isinstance(rank, int | np.integer))])


@dataclass(frozen=True)
class Gathered:
    """What a model keeps of a stream: what blocks look like, a sample, and their moments."""

    expected: Expected
    sample: Sample
    gatherings: list[Gathering]
    blocks: int = 1

    @classmethod
    def of(cls, stream: PairSource, parts: Parts) -> Gathered:
        """Read the stream: once for the sample where that is possible, and for the moments."""
        expected = stream.expected(tuple(parts.kernels), parts.output_kernel)
        sample = stream.sampled(expected, stream.size or parts.size)
        if count(sample.y) < 2:
            raise ValueError("a stream needs at least 2 samples, got n_samples = 1.")
        kernels = [clone(kernel).fit(sample.X) for kernel in parts.kernels]
        output_kernel = clone(parts.output_kernel).fit(sample.y)
        outputs = _fitted("output_features", parts.output_features, output_kernel, sample.y)
        gatherings = []
        for kernel in kernels:
            inputs = _inputs(parts, kernel, outputs, sample)
            how = parts.intercept, stream.precision
            gatherings.append(Gathering(inputs, outputs, sample.X, sample.y, *how))
        require_moments([tuple(gathering.vu.shape) for gathering in gatherings])
        expected = replace(expected, kernels=tuple(kernels), output_kernel=output_kernel)
        stream.gather(expected, gatherings)
        return cls(expected, sample, gatherings)

    def plus(self, X: Items, y: Items) -> Gathered:
        """The same with one more block; this one stays as it is."""
        inputs, outputs = self.expected.checked(self.blocks, (X, y))
        more = [gathering.copy() for gathering in self.gatherings]
        for gathering in more:
            gathering.add_block(self.blocks, inputs, outputs)
        start = self.gatherings[0].n
        sample = self.sample.with_block(start, inputs, outputs)
        return Gathered(self.expected, sample, more, self.blocks + 1)


def _inputs(parts: Parts, kernel: Kernel, outputs: FeatureMap, sample: Sample) -> FeatureMap:
    if parts.waves is None:
        return _fitted("features", parts.features, kernel, sample.X)
    fitted = clone(parts.waves).fit(sample.X, outputs.transform(sample.y))
    return clone(parts.features).fit(fitted, sample.X)


def separated(kernel: OperatorKernel) -> Separable:
    """A kernel as one scalar kernel times one operator, whose moments solve every equation."""
    if not kernel.separable:
        raise ValueError(
            f"{kernel} does not separate: learn it from a stream with "
            "KernelDependency(features=mercer.features.RandomOperatorFourier(rank)) where it is a "
            "function of x - x', else with mercer.OnlineKernelDependency."
        )
    return kernel.separated()


def _fitted(name: str, given: FeatureMap | None, kernel: Kernel, items: Items) -> FeatureMap:
    """A map as given, or the kernel's own features: exact coordinates would grow with n."""
    if given is None and kernel.features is None:
        raise ValueError(streamless(name, kernel))
    return (Explicit() if given is None else clone(given)).fit(kernel, items)


def streamless(name: str, kernel: Kernel) -> str:
    """Why a kernel without finite features is not learnt from a stream, and the way out."""
    return (
        f"{name}=None is exact, which needs all pairs at once, but a stream is never held whole "
        f"and {kernel} has no finite features: give a map of low rank, such as "
        f"{name}=mercer.features.IncompleteCholesky(rank=1000)."
    )


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


class StreamEquation:
    """The ridge equation in the moments of a stream, for every operator and α.

    The input moment is made diagonal once: S_uu = P diag(s) Pᵀ, and all else is done in the
    coordinates u P, for which neither operators nor solver need another eigendecomposition.
    """

    def __init__(self, gathering: Gathering, sample: Sample, intercept: bool):
        self.gathering, self.sample = gathering, sample
        moments = gathering.moments
        self.means = moments.means if intercept else None
        self.moments = moments.about(*self.means) if self.means else moments
        self._turned: tuple[Array, Moments] | None = None

    @property
    def turned(self) -> tuple[Array, Moments]:
        """P, and the moments of the coordinates u P."""
        if self._turned is None:
            m = self.moments
            s, P = eigh(m.uu + 0.0, "input moment")
            self._turned = P, Moments(m.n, s, m.vu @ P, m.vv)
        return self._turned

    def spectra(self, operator: Operator) -> Spectra:
        """The equation of an operator, factored."""
        moments = self.turned[1]
        return Spectral().factor(moments, operator.matrix(moments))

    def solve(self, operator: Operator, alpha: float, solver: str = "auto") -> PointMap:
        """The map g; by one Cholesky factorisation under the identity."""
        uu, vu = self.moments.uu, self.moments.vu
        identity = isinstance(operator, Identity)
        if solver == "cholesky" and not identity:
            raise ValueError("solver='cholesky' is for the identity operator; use solver='auto'.")
        if identity and solver != "spectral":
            try:
                factor = Cholesky().factor(uu + 0.0, alpha)
                return self._map(factor.solve(namespace(vu).matrix_transpose(vu)))
            except np.linalg.LinAlgError:
                pass  # α is lost in the rounding: the spectrum drops what is
        return self.point_map(Spectral().solve(self.spectra(operator), alpha))

    def solve_waves(self, alpha: float) -> PointMap:
        """The map g in random operator features, which know how to."""
        inputs: Any = self.gathering.inputs
        return self._map(inputs.solve(self.moments.uu, self.moments.vu, alpha))

    def point_map(self, coef: Array) -> PointMap:
        """The map of coefficients for the turned coordinates."""
        return self._map(self.turned[0] @ coef)

    def _map(self, coef: Array) -> PointMap:
        inputs, outputs = self.gathering.inputs, self.gathering.outputs
        offset = None
        if self.means:
            (a, b), (u, v) = self.gathering.origins, self.means
            offset = (b + v) - (a + u) @ coef
        return PointMap(inputs.compose(coef), offset, OrthonormalFrame(outputs), NoWeights())

    # -- predictions for pairs that took no part ----------------------------------------------

    def held_out(self, gathering: Gathering) -> Moments:
        """The moments of other pairs in the turned coordinates, about the means of these."""
        moments = gathering.moments
        return (moments.about(*self.means) if self.means else moments).mapped(self.turned[0])

    def left_out(self, spectra: Spectra) -> SampleLeaveOneOut:
        """The pairs of the sample, each predicted as if it had not been in the stream."""
        U = dense(self.gathering.inputs.transform(self.sample.X))
        V = self.gathering.outputs.transform(self.sample.y)
        if self.means:
            (a, b), (u, v) = self.gathering.origins, self.means
            U, V = U - (a + u), V - (b + v)
        return SampleLeaveOneOut(
            spectra, U @ self.turned[0], V, self.moments.n, self.means is not None
        )

    def left_out_points(self, loo: SampleLeaveOneOut, residuals: Array) -> Embedding:
        """The same as points that a decoder takes."""
        G = loo.points(residuals)
        if self.means:
            G = G + (self.gathering.origins[1] + self.means[1])
        labels = np.arange(count(self.sample.y))
        frame = OrthonormalFrame(self.gathering.outputs)
        return Embedding(G, frame, left_out=labels, inputs=self.sample.X)


def held_out_risk(coef: Array, moments: Moments) -> float:
    """The mean of ‖v - coefᵀu‖² over pairs of which only the moments are known.

    Σ‖v - coefᵀu‖² = tr S_vv - 2 tr(S_vu coef) + tr(coefᵀ S_uu coef).
    """
    xp = namespace(coef)
    rest = moments.uu @ coef - 2.0 * xp.matrix_transpose(moments.vu)
    total = xp.sum(xp.linalg.diagonal(moments.vv)) + xp.sum(rest * coef)
    return max(0.0, float(total)) / moments.n
