"""What models that can learn from streams do alike."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._arrays import Items, is_foreign
from ..decoders import natural
from ..features import FeatureMap, check_map
from ..kernels import Kernel
from ..operators import OperatorKernel, Separable
from ..streams import PairSource, Stream, as_stream, is_dask, mapped
from .base import (
    StructuredEstimator,
    decodable,
    is_flat,
    on_device,
    output_default,
    warn_if_constant,
)
from .streamed import Gathered, Parts, StreamEquation, separated, streamless


class StreamLearner(StructuredEstimator):
    """A structured estimator whose pairs may come in blocks."""

    features: FeatureMap | None
    output_features: FeatureMap | None
    fit_intercept: bool
    decoder: Any
    device: str | None

    def _as_stream(self, X: Items, y: Items, groups: Items | None) -> PairSource | None:
        """What `fit` was given, where that comes in blocks; None where it is held whole.

        Arrays on disk are read in blocks, unless an exact fit of a kernel is asked for.
        """
        stream = as_stream(X, y)
        exact = self.features is None and any(k.features is None for k in self._scalar_kernels())
        if stream is None or (isinstance(X, np.memmap) and exact):
            return None
        if groups is not None:
            raise ValueError("groups are for pairs held whole: a stream has none to leave out.")
        return stream

    def _parts(self, kernels: Sequence[Kernel], output_kernel: Kernel) -> Parts:
        """What a stream is learnt with, on the device where one is named."""
        if any(kernel.pairwise for kernel in kernels):
            raise ValueError(
                'kernel="precomputed" compares every pair with every other, which a stream never '
                "holds: use Precomputed(gram), with blocks of indices as X."
            )
        return Parts(
            [on_device(clone(kernel), self.device) for kernel in kernels],
            on_device(clone(output_kernel), self.device),
            self.features,
            self.output_features,
            self.fit_intercept,
        )

    def _adopt_stream(self, gathered: Gathered) -> None:
        """Take over what every model of a stream keeps."""
        expected, self.outputs_ = gathered.expected, gathered.sample.y
        self.output_kernel_ = expected.output_kernel
        if expected.y is not None:
            self._check_inputs(expected.kernels[0], expected.X, reset=True)
            self.flat_ = is_flat(self.output_kernel_, self.outputs_, expected.y)
            self.back_ = is_foreign(self.outputs_) and not is_foreign(expected.y)
        self.stream_ = replace(gathered, expected=replace(expected, X=None, y=None))
        warn_if_constant(self.output_kernel_, self.outputs_)
        kernel = decodable(self.output_kernel_)
        decoder = natural(kernel) if self.decoder is None else clone(self.decoder)
        self.decoder_ = decoder.fit(kernel, self.outputs_)

    def predict(self, X: Items, candidates: Sequence[Items] | None = None) -> Items:
        """The decoded output of every input; for Dask's collections, when it is asked for.

        Parameters
        ----------
        X
            Inputs such as the model was fitted on; or a Dask array, bag or list of delayed blocks
            of them.
        candidates
            For each input a list of the outputs to choose from; None leaves it to the decoder.
        """
        if not is_dask(X):
            return super().predict(X, candidates)
        check_is_fitted(self)
        if candidates is not None:
            raise ValueError(
                "candidates of single inputs are for inputs held whole: give "
                "decoder=Candidates(function of x) to name them on the workers."
            )
        shape = () if self.flat_ else self._output_shape()
        dtype = float if self.output_kernel_.on_vectors else object
        return mapped(self._light().predict, X, shape, dtype)

    def _light(self) -> Any:
        """A copy that predicts, without what only further learning needs."""
        light = self.lean()
        light.__dict__.pop("stream_", None)
        return light


def _streams(model: BlockLearner) -> bool:
    """Whether pairs can be added: exact coordinates of the inputs would need all of them."""
    kernel = model._scalar_kernels()[0]
    if model.features is None and kernel.features is None:
        raise AttributeError(streamless("features", kernel))
    return True


class BlockLearner(StreamLearner):
    """A structured estimator of given parameters: one more block is one more sum.

    A subclass says which kernel it is, `_operator_kernel`, and at which ridge, `_alpha`.
    """

    output_kernel: Any
    solver: str

    def _operator_kernel(self) -> OperatorKernel:
        """The operator-valued kernel as given."""
        raise NotImplementedError

    def _alpha(self) -> float:
        """The ridge."""
        raise NotImplementedError

    @available_if(_streams)
    def partial_fit(self, X: Items, y: Items) -> BlockLearner:
        """Learn from one more block of pairs.

        The first block settles kernels and landmarks, so it should look like the rest. Every call
        leaves a model that can predict; for a long stream `fit` is cheaper, which solves once.

        Parameters
        ----------
        X, y
            Pairs, as in `fit`. A block that is refused changes nothing.
        """
        if "stream_" in vars(self):
            gathered = self.stream_.plus(X, y)
        elif "points_" in vars(self):
            raise ValueError(
                "this model was fitted on pairs held whole and kept no moments to add to: fit it "
                "on a stream, such as fit([(X, y)]), or start with partial_fit on a fresh one."
            )
        else:
            gathered = self._gathered(Stream([(X, y)]))
        fresh = copy.copy(self)
        fresh._learn(gathered)
        self.__dict__ = fresh.__dict__
        return self

    def _gathered(self, stream: PairSource) -> Gathered:
        output_kernel, kernel = output_default(self.output_kernel), self._operator_kernel()
        check_map(self.features, "features")
        if self.features is None or not self.features.operator_valued:
            return Gathered.of(stream, self._parts([separated(kernel).scalar], output_kernel))
        parts = self._parts([kernel.inputs], output_kernel)
        return Gathered.of(stream, replace(parts, waves=kernel))

    def _learn(self, gathered: Gathered) -> None:
        """Solve in the moments of a stream."""
        if gathered.gatherings[0].inputs.operator_valued:
            return self._learn_waves(gathered)
        alpha, operator = self._alpha(), separated(self._operator_kernel()).operator
        self._adopt_stream(gathered)
        equation = StreamEquation(gathered.gatherings[0], gathered.sample, self.fit_intercept)
        if self.decoder_.calibrates:
            loo = equation.left_out(equation.spectra(operator))
            points = equation.left_out_points(loo, loo.residuals(alpha))
            self.decoder_ = self.decoder_.calibrate(points, self.outputs_)
        self.points_ = equation.solve(operator, alpha, self.solver)
        self.input_kernel_ = gathered.expected.kernels[0]
        self.kernel_ = Separable(self.input_kernel_, operator)

    def _learn_waves(self, gathered: Gathered) -> None:
        """The same in random operator features."""
        self._adopt_stream(gathered)
        if self.decoder_.calibrates:
            raise ValueError(
                f"{self.decoder_} is calibrated on left-out predictions, which random operator "
                "features of a stream have none of: fit pairs held whole, or give another decoder."
            )
        equation = StreamEquation(gathered.gatherings[0], gathered.sample, self.fit_intercept)
        self.points_ = equation.solve_waves(self._alpha())
        self.input_kernel_ = gathered.expected.kernels[0]
        self.kernel_ = equation.gathering.inputs.operator_kernel_
