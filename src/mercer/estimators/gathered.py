"""The walk of a fit over a stream: sample, kernels, maps, moments, and the choice by them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Items, count, take
from .._plan import require_moments
from ..decoders import Decoder
from ..features import Explicit, FeatureMap, check_map
from ..kernels import Kernel
from ..operators import OperatorKernel, Separable
from ..problem import Problem, Side, Want, repeats
from ..solvers import Cache, factor
from ..solvers.streamed import LeftOutSums, Streamed
from ..sources import Expected, Gathering, Sample, Source, as_source, gathered, sample_size
from ..sources.blocks import naming
from .choice import AUTO, Choices, Trial
from .judge import Judge, ridges


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


@dataclass(frozen=True)
class Gathered:
    """What a model keeps of a source: what blocks look like, a sample, and their moments."""

    expected: Expected
    sample: Sample
    gatherings: list[Gathering]
    blocks: int = 1
    pairs: int = 0

    @classmethod
    def of(cls, source: Source, parts: StreamParts) -> Gathered:
        """Read the source: once for the sample where that is possible, and for the moments."""
        expected = source.expected(tuple(parts.kernels), parts.output_kernel)
        size = source.size or sample_size(parts.features, parts.output_features)
        sample = source.sample(expected, size)
        if sample is None or sample.y is None:
            raise ValueError(
                "the stream has no pair to learn from: its weights are all zero, or its blocks "
                "cannot be read again."
            )
        if count(sample.y) < 2:
            raise ValueError("a stream needs at least 2 samples, got n_samples = 1.")
        X, y = sample.X, sample.y
        if sample.w is not None:  # as often as they weigh
            X, y = (take(items, repeats(sample.w)) for items in (X, y))
        kernels = [clone(kernel).fit(X) for kernel in parts.kernels]
        output_kernel = clone(parts.output_kernel).fit(y)
        outputs = _fitted("output_features", parts.output_features, output_kernel, sample.y)
        gatherings = []
        for kernel in kernels:
            inputs = _inputs(parts, kernel, outputs, sample)
            how = parts.intercept, source.precision
            gatherings.append(Gathering.of(inputs, outputs, sample.X, sample.y, *how))
        require_moments([gathering.widths for gathering in gatherings])
        expected = replace(expected, kernels=tuple(kernels), output_kernel=output_kernel)
        gatherings = gathered(source, expected, gatherings)
        return cls(expected, sample, gatherings, pairs=len(source))

    def plus(self, block: tuple) -> Gathered:
        """The same with one more block; this one stays as it is."""
        X, y, w = self.expected.checked(self.blocks, block)
        with naming(self.blocks):
            more = [gathering.plus(gathering.moments_of(X, y, w)) for gathering in self.gatherings]
        sample = self.sample.with_block(self.pairs, X, y, w)
        return Gathered(self.expected, sample, more, self.blocks + 1, self.pairs + count(y))

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
            weights=sample.w,
            given=sample.X,
            gathered=gathering,
        )


def held_out(validation: Any, known: Gathered) -> list[Gathering]:
    """The moments of pairs that took no part, under the maps of those that did."""
    whole = isinstance(validation, tuple) and len(validation) in (2, 3) and not _blocks(validation)
    source = as_source([validation] if whole else validation)
    if source is None:
        raise TypeError(
            "validation must be a pair (X, y) or a stream of blocks, as fit takes them; got "
            f"{type(validation).__name__}."
        )
    blank = [replace(gathering, raw=None) for gathering in known.gatherings]
    with source.running():
        found = gathered(source, known.expected, blank)
    if not found[0].n:
        raise ValueError("validation is an empty stream: it has no block to judge by.")
    return found


def left_out_risks(
    source: Source, known: Gathered, groups: list[list[tuple[Streamed, list[float]]]]
) -> np.ndarray:
    """The left-out risk of all trials at all of their ridges, over all pairs, in one reading.

    Parameters
    ----------
    source, known
        What is read again, and what is known of it.
    groups
        Factorisations with their ridges, those of one scalar kernel together.
    """
    sums = [LeftOutSums.of(group) for group in groups]
    found = source.map_reduce(partial(left_out, known.expected, sums), add)
    return found / known.gatherings[0].n


def left_out(
    expected: Expected, sums: list[LeftOutSums], number: int, start: int, block: Any
) -> np.ndarray:
    """The sums of squared left-out residuals of one block."""
    X, y, w = expected.checked(number, block)
    with naming(number):
        return np.concatenate([one(X, y, w) for one in sums])


def _blocks(validation: tuple) -> bool:
    return all(isinstance(block, tuple) and len(block) in (2, 3) for block in validation)


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


Ways = list[list[tuple[Any, list[float]]]]
"""For each scalar kernel the factorisations of its problems, each with its ridges."""


def check_stream_choice(model: Any, choices: Choices, validation: Any) -> None:
    """Refuse what cannot be chosen from moments and a sample."""
    if model.nested is not None:
        raise ValueError("nested= is for pairs held whole, not for streams or validation=.")
    several = len(choices.outputs) > 1 or len(choices.decoders) > 1
    if several or model.criterion not in ("loo", "evidence"):
        raise ValueError(
            'on a stream give one output kernel and decoder, and criterion="loo" or "evidence".'
        )
    if validation is not None and model.scoring not in (None, AUTO):
        raise ValueError(
            "validation= is judged by its moments alone, which know the risk but no scoring: "
            "leave one of the two out (without validation, scoring judges the sample)."
        )
    if model.features is not None and model.features.operator_valued:
        raise ValueError(f"features={model.features} are chosen over pairs held whole only.")


def factored_groups(
    gathered: Gathered, groups: list[list[OperatorKernel]], intercept: bool, want: Want
) -> Ways:
    """The problems of every scalar kernel, factored."""
    cache, ways = Cache(), []
    for number, group in enumerate(groups):
        problems = [gathered.problem(number, kernel, intercept) for kernel in group]
        found = [factor(problem, want, cache) for problem in problems]
        ways.append([(way, ridges(way, want)) for way in found])
    return ways


def stream_risks(
    source: Source, gathered: Gathered, ways: Ways, others: list[Gathering] | None
) -> np.ndarray | None:
    """The risk at every ridge on pairs held out, else of all pairs left out.

    None for a generator, which cannot be read again: its sample judges.
    """
    if others is not None:
        beside = [(*way, o) for group, o in zip(ways, others, strict=True) for way in group]
        return np.array([way.held_out(o, a) for way, alphas, o in beside for a in alphas])
    return left_out_risks(source, gathered, ways) if source.repeats else None


def stream_trials(
    judge: Judge, ways: Ways, risks: np.ndarray | None, decoder: Decoder, want: Want
) -> Iterator[Trial]:
    """Every kernel and ridge, judged together."""
    step = len(want.alphas)
    for i, (way, _) in enumerate(way for group in ways for way in group):
        own = None if risks is None else risks[i * step : (i + 1) * step]
        yield from judge.trials(way, [decoder], want, own)
