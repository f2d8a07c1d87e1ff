"""The way from pairs to ridge problems, for every estimator that solves them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Items, count
from .._base.parameters import boolean
from ..features import FeatureMap, check_map
from ..kernels import Kernel, as_kernel
from ..kernels.wrapper import OnDevice, on_device
from ..losses import Loss
from ..operators import OperatorKernel, Separable
from ..problem import Data, Problem, Side, Want
from ..sources import Source, as_source, sample_size, sampled_rows
from .base import StructuredEstimator, warn_if_constant
from .choice import Choices, by_scalar
from .gathered import Gathered, separated
from .pairs import (
    counting_rows,
    group_labels,
    rows_of,
    sample_weights,
    split_unlabelled,
    with_unlabelled,
)
from .refuse_symmetries import symmetry_of


class FromPairs(StructuredEstimator):
    """An estimator of ridge problems; pairs may be in memory or streamed."""

    chooses: ClassVar[bool] = False
    """Whether it chooses between several ridges."""

    features: FeatureMap | None
    output_features: FeatureMap | None
    fit_intercept: bool
    decoder: Any
    device: str | None
    solver: Any
    symmetries: Any = None

    # -- data ---------------------------------------------------------------------------------

    def _as_source(
        self, X: Items, y: Items, groups: Items | None, weights: Any = None
    ) -> Source | None:
        """Return a source if X comes in blocks, else None.

        Arrays on disk are read in blocks, unless an exact fit of a kernel is asked for.
        """
        if type(X) is np.ndarray:
            return None
        finite = self.features is not None or not isinstance(X, np.memmap)
        if not (finite or all(kernel.features for kernel in self._scalar_kernels())):
            return None
        source = as_source(X, y, weights)
        if source is not None and groups is not None:
            raise ValueError("groups are for pairs held whole: a stream has none to leave out.")
        return source

    def _data(
        self,
        X: Items,
        y: Items,
        groups: Items | None,
        weights: Any,
        kernels: list[Kernel],
        output_kernel: Kernel,
    ) -> Data:
        """Check pairs that are held whole; those of weight zero are left out of everything."""
        for name in ("features", "output_features"):
            if getattr(self, name) is not None:
                check_map(getattr(self, name), name)
        if type(self.fit_intercept) is not bool:
            boolean(self.fit_intercept, "fit_intercept")
        given = X
        X, y = self._check_pairs(kernels[0], output_kernel, X, y)
        warn_if_constant(output_kernel, y)
        n = given_pairs = count(y)
        w: Any = sample_weights(weights, n)
        kept = counting_rows(w)
        if kept is not None:
            X, y, given, w = (rows_of(part, kept) for part in (X, y, given, w))
            groups = None if groups is None else rows_of(groups, kept)
            n, w = len(kept), None if (w == 1.0).all() else w
        labels = None if groups is None else group_labels(groups, n)
        sample = None
        finite = self.features is not None or all(kernel.features for kernel in kernels)
        if self.output_features is None and output_kernel.features is None:
            finite = False
        if finite and not kernels[0].pairwise:
            # The same pairs might come in blocks.
            size = sample_size(self.features, self.output_features)
            sample = sampled_rows(given_pairs, size, kept)
        return Data(X, y, labels, w, given, sample)

    # -- problems -----------------------------------------------------------------------------

    def _choices(self) -> Choices:
        """The kernels, output kernels, decoders, losses and ridges; at least one of each."""
        raise NotImplementedError

    def _want(self, choices: Choices) -> Want:
        """What is needed of every problem."""
        raise NotImplementedError

    def _in_memory(
        self, choices: Choices, X: Items, y: Items, groups: Items | None, more: Items, weights: Any
    ) -> tuple[Choices, Data]:
        """Check pairs in memory, and return the choices as they are computed on them.

        `more` are the inputs without output.
        """
        kernels = with_unlabelled(self._suitable(choices.kernels, X), more)
        kernels = [self._placed(kernel) for kernel in kernels]
        outputs = [on_device(output, self.device) for output in choices.outputs]
        inputs = [self._checking(kernel) for kernel in kernels]
        data = self._data(X, y, groups, weights, inputs, outputs[0])
        return replace(choices, kernels=self._shortlisted(kernels, data), outputs=outputs), data

    def _suitable(self, kernels: list[OperatorKernel], X: Items) -> list[OperatorKernel]:
        """The kernels to choose from, given the inputs."""
        return kernels

    def _shortlisted(self, kernels: list[OperatorKernel], data: Data) -> list[OperatorKernel]:
        """Those of the kernels that are tried on all pairs."""
        return kernels

    def _first_problem(
        self,
        X: Items,
        y: Items,
        groups: Items | None = None,
        unlabelled: Items | None = None,
        weights: Any = None,
    ) -> tuple[Problem, Want]:
        """Return the first problem that `fit` solves for pairs in memory."""
        given = split_unlabelled(X, y, groups, unlabelled, weights)
        choices, data = self._in_memory(self._choices(), *given)
        outputs = data.side(choices.outputs[0], data.y, self.output_features)
        return next(self._problems(choices, outputs, data)), self._want(choices)

    def _problems(self, choices: Choices, outputs: Side, data: Data) -> Iterator[Problem]:
        """Yield the problems of all kernels; those of one scalar kernel share its inputs."""
        for group in by_scalar(choices.kernels):
            inputs = None
            for kernel, loss in product(group, choices.losses):
                problem = self._problem(kernel, outputs, data, loss, inputs)
                inputs = problem.inputs
                yield problem

    def _problem(
        self,
        kernel: OperatorKernel,
        outputs: Side,
        data: Data,
        loss: Loss | None,
        inputs: Side | None = None,
    ) -> Problem:
        """The ridge problem of one kernel; `inputs` where its scalar kernel was fitted already."""
        if not kernel.separable:
            inputs = Side(kernel.inputs, data.X, self.features, data.sample)
        else:
            parts = kernel if isinstance(kernel, Separable) else kernel.separated()
            if inputs is None:
                inputs = data.side(parts.inputs, data.X, self.features)
            kernel = Separable(inputs.kernel, parts.operator)
        symmetry = None
        if self.symmetries is not None:
            symmetry = symmetry_of(self.symmetries, kernel, outputs, data.given)
        return Problem(
            inputs,
            outputs,
            kernel,
            self.fit_intercept,
            data.labels,
            data.weights,
            loss,
            data.given,
            symmetry=symmetry,
        )

    def _placed(self, kernel: OperatorKernel) -> OperatorKernel:
        """The kernel with its values on the device, where one is named."""
        if self.device is None or kernel.movable:
            return kernel
        if not kernel.separable:
            raise ValueError(f"device={self.device!r} is for kernel * operator, got {kernel}.")
        parts = kernel.separated()
        return Separable(OnDevice(as_kernel(parts.scalar), self.device), parts.operator)

    def _checking(self, kernel: OperatorKernel) -> Kernel:
        """The kernel that inputs are checked by, on the device where one is named."""
        moved = self.device is not None and kernel.movable
        return OnDevice(kernel.inputs, str(self.device)) if moved else kernel.inputs

    def _kernels(self) -> list[OperatorKernel]:
        return self._choices().kernels

    def _scalar_kernels(self) -> list[Kernel]:
        return [kernel.inputs for kernel in self._kernels()]

    # -- streams ------------------------------------------------------------------------------

    def _refuse_in_streams(self, choices: Choices, unlabelled: Items | None) -> None:
        """Refuse what needs all pairs at once.

        A learnt operator is made of moments, but a choice between several would need refits.
        """
        learnt = self.chooses and any(kernel.learnt for kernel in choices.kernels)
        if learnt or choices.robust or unlabelled is not None or self.symmetries is not None:
            raise ValueError(
                "pairs that come in blocks have no robust loss, unlabelled inputs or symmetries, "
                "nor a choice between learnt operators, which need all pairs at once: pass X and "
                "y as arrays."
            )

    def _gathered(self, source: Source, choices: Choices) -> Gathered:
        """Read a source, and return its moments under all scalar kernels."""
        check_map(self.features, "features")
        operator_valued = self.features is not None and self.features.operator_valued
        kernels = choices.kernels if operator_valued else [*map(separated, choices.kernels)]
        scalars = [group[0].inputs for group in by_scalar(kernels)]
        return Gathered.of(source, self, scalars, choices.outputs[0])
