"""The walk of a fit over a stream up to its moments: sample, kernels, maps, moments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Items, count
from .._plan import require_moments
from ..features import Explicit, FeatureMap, check_map
from ..kernels import Kernel
from ..operators import OperatorKernel, Separable
from ..problem import Problem, Side
from ..streams import Expected, Gathering, PairSource, Sample, Stream, as_stream

SAMPLE = 4096
"""Pairs of a stream that are kept, where neither the stream nor a rank asks for more."""


@dataclass(frozen=True)
class StreamParts:
    """What a stream is learnt with: kernels as given, and how coordinates are chosen."""

    kernels: list[Kernel]
    output_kernel: Kernel
    features: FeatureMap | None
    output_features: FeatureMap | None
    intercept: bool
    operator_kernel: OperatorKernel | None = None
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
    def of(cls, stream: PairSource, parts: StreamParts) -> Gathered:
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
        start = int(self.gatherings[0].n)
        sample = self.sample.with_block(start, inputs, outputs)
        return Gathered(self.expected, sample, more, self.blocks + 1)

    def problem(self, number: int, kernel: OperatorKernel, intercept: bool) -> Problem:
        """The ridge problem of one of its scalar kernels, under an operator-valued kernel."""
        gathering, sample = self.gatherings[number], self.sample
        scalar = self.expected.kernels[number]
        if not gathering.inputs.operator_valued:
            kernel = Separable(scalar, separated(kernel).operator)
        return Problem(
            Side(scalar, sample.X, gathering.inputs),
            Side(self.expected.output_kernel, sample.y, gathering.outputs),
            kernel,
            intercept,
            labels=np.arange(count(sample.y)),
            given=sample.X,
            gathered=gathering,
        )


def held_out(validation: Any, gathered: Gathered) -> list[Gathering]:
    """The moments of pairs that took no part, under the maps of those that did."""
    whole = isinstance(validation, tuple) and len(validation) == 2 and not _blocks(validation)
    stream = Stream(*validation) if whole else as_stream(validation)
    if stream is None:
        raise TypeError(
            "validation must be a pair (X, y) or a stream of blocks, as fit takes them; got "
            f"{type(validation).__name__}."
        )
    blank = [gathering.blank() for gathering in gathered.gatherings]
    stream.gather(gathered.expected, blank)
    stream.finish()
    if not blank[0].n:
        raise ValueError("validation is an empty stream: it has no block to judge by.")
    return blank


def _blocks(validation: tuple) -> bool:
    return all(isinstance(block, tuple) and len(block) == 2 for block in validation)


def _inputs(parts: StreamParts, kernel: Kernel, outputs: FeatureMap, sample: Sample) -> FeatureMap:
    if parts.operator_kernel is None:
        return _fitted("features", parts.features, kernel, sample.X)
    fitted = clone(parts.operator_kernel).fit(sample.X, outputs.transform(sample.y))
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
