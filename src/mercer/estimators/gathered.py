"""Fits to streams: sample, kernels, feature maps, moments, and the choice by moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Items, count, take
from .._base.checks import Limits
from .._base.parameters import same
from .._base.plan import require_moments
from ..decoders import Decoder
from ..features import Explicit, FeatureMap
from ..kernels import Kernel
from ..operators import OperatorKernel, Separable
from ..operators.separable import group_by_scalar_kernel
from ..problem import Problem, Side
from ..solvers import Cache, Factorization, factor
from ..solvers.streamed import LeftOutSums, held_out_risk
from ..sources import Expected, Gathering, Sample, Source, as_source, sample_size, sum_moments
from ..sources.blocks import naming_block
from .choices import Candidate, Choices, absolute_ridges
from .pairs import TrainingPairs


@dataclass(frozen=True)
class Gathered:
    """What a model keeps of a stream: a sample of pairs, and sums of moments of all pairs."""

    expected: Expected
    sample: Sample
    gatherings: list[Gathering]
    blocks: int = 1
    pairs: int = 0

    @classmethod
    def of(cls, source: Source, model: Any, choices: Choices) -> Gathered:
        """Read a source of pairs; return its sample and its moments under the scalar kernels.

        The source is read once for the sample, if it can be read again, and once for the moments.

        Parameters
        ----------
        source
            Where pairs come from.
        model
            The estimator, which says how coordinates are chosen.
        choices
            The kernels, and the kernel on outputs.
        """
        features, output_features = model.features, model.output_features
        for kernel in choices.kernels:
            as_separable(kernel)  # raises an error for others
        groups = group_by_scalar_kernel(choices.kernels)
        kernels = [clone(group[0].inputs) for group in groups]
        output_kernel = clone(choices.output_kernels[0])
        if any(kernel.pairwise for kernel in kernels):
            raise ValueError(
                'kernel="precomputed" compares every pair with every other, which a stream never '
                "holds: use Precomputed(gram), with blocks of indices as X."
            )
        expected = source.expected(tuple(kernels), output_kernel)
        size = source.size or sample_size(features, output_features)
        sample = _draw_sample(source, expected, size)
        pairs = TrainingPairs(sample.X, sample.y, None, sample.w, sample.X)
        outputs = _fit_side(pairs, sample.y, output_kernel, "output_features", output_features)
        gatherings, sides = [], []
        for kernel in kernels:
            side = _fit_side(pairs, sample.X, kernel, "features", features)
            sides.append(side)
            gatherings.append(
                Gathering.of(
                    side.map, outputs.map, sample.X, sample.y, model.fit_intercept, source.precision
                )
            )
        require_moments([gathering.widths for gathering in gatherings])
        fitted = tuple(side.kernel for side in sides)
        expected = replace(expected, kernels=fitted, output_kernel=outputs.kernel)
        gatherings = sum_moments(source, expected, gatherings)
        return cls(expected, sample, gatherings, pairs=len(source))

    def check_loaded(self, limits: Limits) -> None:
        """Raise an error unless the moments of one more pair can be added."""
        X, y = take(self.sample.X, [0]), take(self.sample.y, [0])
        for gathering in self.gatherings:
            gathering.plus(gathering.moments_of(X, y))

    def require_same_parameters(self, model: Any, choices: Choices) -> None:
        """Raise an error if the model's kernels or features are not those of the moments."""
        gathering = self.gatherings[0]
        parts = {
            "kernel": (self.expected.kernels[0], choices.kernels[0].inputs),
            "output_kernel": (self.expected.output_kernel, choices.output_kernels[0]),
            "features": _without_seeds(gathering.inputs, model.features),
            "output_features": _without_seeds(gathering.outputs, model.output_features),
        }
        for name, (used, given) in parts.items():
            if not same(used, given):
                raise ValueError(
                    f"{name} was changed to {given!s:.50} after pairs were learnt with another "
                    f"one, {used!s:.50}: call fit to start anew, or set {name} back."
                )

    def plus(self, block: tuple) -> Gathered:
        """Return a copy to which the pairs of one more block are added."""
        X, y, w = self.expected.checked(self.blocks, block)
        with naming_block(self.blocks):
            more = [gathering.plus(gathering.moments_of(X, y, w)) for gathering in self.gatherings]
        sample = self.sample.with_block(self.pairs, X, y, w)
        return Gathered(self.expected, sample, more, self.blocks + 1, self.pairs + count(y))

    def problem(self, number: int, kernel: OperatorKernel, intercept: bool) -> Problem:
        """Return the ridge problem of an operator-valued kernel, from moments number `number`."""
        gathering, sample = self.gatherings[number], self.sample
        scalar, output_kernel = self.expected.kernels[number], self.expected.output_kernel
        kernel = Separable(scalar, as_separable(kernel).operator)
        return Problem(
            Side(scalar, sample.X, gathering.inputs, fitted=gathering.inputs),
            Side(output_kernel, sample.y, gathering.outputs, fitted=gathering.outputs),
            kernel,
            intercept,
            labels=np.arange(count(sample.y)),
            weights=sample.w,
            given=sample.X,
            gathered=gathering,
        )


def _without_seeds(fitted: FeatureMap, given: FeatureMap | None) -> tuple[FeatureMap, FeatureMap]:
    """Return a fitted feature map and the user's (`Explicit` for None), without random states."""
    found = []
    for map in (fitted, given or Explicit()):
        seeded = "random_state" in map.get_params(deep=False)
        found.append(clone(map).set_params(random_state=None) if seeded else map)
    return found[0], found[1]


def _draw_sample(source: Source, expected: Expected, size: int) -> Sample:
    """Draw a sample of `size` pairs from a source; refuse a source with fewer than two pairs."""
    sample = source.sample(expected, size)
    if sample is None or sample.y is None:
        raise ValueError(
            "the stream has no pair to learn from: its weights are all zero, or its blocks "
            "cannot be read again."
        )
    if count(sample.y) < 2:
        raise ValueError("a stream needs at least 2 samples, got n_samples = 1.")
    return sample


def validation_moments(validation: Any, training: Gathered) -> list[Gathering]:
    """Return the moments of validation pairs in the coordinates of the training pairs."""
    whole = isinstance(validation, tuple) and len(validation) in (2, 3)
    if whole and all(isinstance(part, tuple) and len(part) in (2, 3) for part in validation):
        whole = False  # but several blocks
    source = as_source([validation] if whole else validation)
    if source is None:
        raise TypeError(
            "validation must be a pair (X, y) or a stream of blocks, as fit takes them; got "
            f"{type(validation).__name__}."
        )
    blank = [replace(gathering, raw=None) for gathering in training.gatherings]
    with source.running():
        found = sum_moments(source, training.expected, blank)
    if not found[0].n:
        raise ValueError("validation is an empty stream: it has no block.")
    return found


def left_out_squares(
    sums: list[LeftOutSums], start: int, X: Items, y: Items, w: np.ndarray | None
) -> np.ndarray:
    """Return the sums over a block of squared left-out errors, for each kernel and ridge."""
    return np.concatenate([one(X, y, w) for one in sums])


def as_separable(kernel: OperatorKernel) -> Separable:
    """Return a separable kernel as scalar kernel times operator; raise an error for others."""
    if not kernel.separable:
        raise ValueError(
            f"{kernel} is not a scalar kernel times an operator, as streams need: fit arrays of "
            "fewer examples."
        )
    return kernel.separated()


def _fit_side(
    pairs: TrainingPairs, items: Items, kernel: Kernel, name: str, map: FeatureMap | None
) -> Side:
    """Fit kernel and map on sampled inputs or outputs; without a map, require finite features.

    `name` is the parameter of the model that has the map, for the message of the error.
    """
    side = pairs.fit_side(kernel, items, Explicit() if map is None else map)
    if map is None and side.kernel.features is None:
        raise ValueError(why_not_streamable(name, side.kernel))
    return side


def why_not_streamable(name: str, kernel: Kernel) -> str:
    """Return the message that a kernel without finite features needs a feature map `name`."""
    return (
        f"{name}=None is exact, which needs all pairs at once, but a stream is never in memory "
        f"as a whole, and {kernel} has no finite features: give a map of low rank, such as "
        f"{name}=mercer.features.IncompleteCholesky(rank=1000)."
    )


def stream_candidates(
    gathered: Gathered,
    choices: Choices,
    decoder: Decoder,
    intercept: bool,
    source: Source | None,
    validation: Any,
) -> list[Candidate]:
    """Return factored problems for all kernels of a stream, with their risk at each ridge.

    Risks are those of the validation pairs, else of all left-out pairs, in one more reading of
    `source`. They are None where there is nothing to read again: then the sample is left out.
    """
    cache, want = Cache(), choices.want
    left_out = want.left_out or decoder.calibrates
    grouped: list[list[tuple[Factorization, list[float]]]] = []
    for number, group in enumerate(group_by_scalar_kernel(choices.kernels)):
        problems = [gathered.problem(number, kernel, intercept) for kernel in group]
        found = [factor(problem, replace(want, left_out=left_out), cache) for problem in problems]
        grouped.append([(one, absolute_ridges(one, want)) for one in found])
    factorizations = [one for group in grouped for one, _ in group]
    risks: Sequence[Any] = [None] * len(factorizations)
    if validation is not None:
        risks = [
            [held_out_risk(one, held_out, alpha) for alpha in alphas]
            for group, held_out in zip(
                grouped, validation_moments(validation, gathered), strict=True
            )
            for one, alphas in group
        ]
    elif source is not None and source.repeats:
        sums = [LeftOutSums.of(group) for group in grouped]
        total = source.map_reduce(gathered.expected, partial(left_out_squares, sums), add)
        risks = np.split(total / gathered.gatherings[0].n, len(factorizations))
    return [(one, [decoder], own) for one, own in zip(factorizations, risks, strict=True)]
