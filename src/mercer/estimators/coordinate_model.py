"""The base of models that learn output coordinates from finite features of the inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, Items, count, dense, host
from .._base.folds import fold_numbers, fold_rows
from ..decoders import Decoder
from ..decoders.natural import fitted_decoder
from ..embedding import Embedding, Frame, OrthonormalFrame, PointMap
from ..features import Explicit, FeatureMap
from ..features.triangular import Triangular
from ..kernels import Kernel, Linear, as_kernel
from ..kernels.base import as_output_kernel, fit_weighted
from ..problem import Side
from ..solvers.weights import LeastWeights
from .base import on_fresh_state, warn_if_constant
from .choices import calibrated
from .left_out_points import LeftOutPoints
from .pairs import drop_zero_weights, fit_features, group_labels
from .trees import features_of


class CoordinateModel(LeftOutPoints):
    """Base class of models that regress output coordinates on input features.

    A subclass implements `_fit_coordinates`.
    """

    kernel: Any
    output_kernel: Any
    decoder: Decoder | None
    cv: int
    folds_: np.ndarray | None
    frame_: Frame
    needs_features: ClassVar[str]
    """Why the input kernel must have finite features, for the message that refuses others."""

    dropped = LeftOutPoints.dropped | {"folds_": "the folds of left-out predictions"}

    @on_fresh_state
    def fit(
        self, X: Items, y: Items, groups: Items | None = None, sample_weight: Array | None = None
    ) -> Self:
        """Learn output coordinates, and calibrate the decoder on left-out predictions.

        Parameters
        ----------
        X, y
            Inputs and their outputs.
        groups
            A label for each pair: pairs of one label are left out together, and drawn together
            where examples are drawn.
        sample_weight
            The weight of each pair; pairs of weight zero are ignored.
        """
        self._check_parameters()
        kernel, given = self._input_kernel(), X
        X, y = self._check_pairs(kernel, as_output_kernel(self.output_kernel), X, y)
        _, weights, groups, (X, y, given) = drop_zero_weights(sample_weight, groups, X, y, given)
        labels = group_labels(groups, count(y))
        self.input_kernel_, self.folds_ = fit_weighted(kernel, X, weights), None
        V, A = self._fit_output_space(y, weights), features_of(self.input_kernel_, X)
        w = np.ones(len(V)) if weights is None else weights
        left_out = self._fit_coordinates(A, V, labels, w)
        inputs = self._sliceable_inputs(given, X)
        self.left_out_ = replace(left_out, left_out=labels, inputs=inputs, sample_weight=weights)
        self.decoder_ = calibrated(self.decoder_, self.left_out_, self.outputs_)
        return self

    def _check_parameters(self) -> None:
        """Raise an error if a parameter is invalid; there is nothing to check by default."""

    def _fit_coordinates(
        self, A: np.ndarray, V: np.ndarray, labels: np.ndarray, weights: np.ndarray
    ) -> Embedding:
        """Fit the map from input features to output coordinates; return the left-out points.

        Parameters
        ----------
        A : array of shape (n, p)
            The features of the inputs.
        V : array of shape (n, q)
            The coordinates of the outputs in `frame_`.
        labels : array of shape (n,)
            The number of the group of each pair.
        weights : array of shape (n,)
            The sample weights.
        """
        raise NotImplementedError

    def _fit_output_space(self, y: Items, weights: np.ndarray | None = None) -> np.ndarray:
        """Fit output kernel, decoder and coordinate system; return the coordinates of y."""
        self.output_kernel_ = fit_weighted(as_output_kernel(self.output_kernel), y, weights)
        warn_if_constant(self.output_kernel_, y)
        self.outputs_ = y
        self.decoder_ = fitted_decoder(self.decoder, self.output_kernel_, y, weights)
        features, fitted = self._output_features(y), None
        if features is not None and weights is not None:
            fitted = fit_features(features, self.output_kernel_, y, weights)
        side = Side(self.output_kernel_, y, features, fitted=fitted)
        map, V = output_coordinates(side)
        self.frame_ = OrthonormalFrame(map)
        return V

    def _output_features(self, y: Items) -> FeatureMap | None:
        """Return the unfitted feature map of outputs y; None for exact coordinates."""
        return None

    def _point_frame(self) -> Frame:
        """Return the coordinate system of the predicted points."""
        return self.frame_

    def _set_points(
        self, map: FeatureMap, left_out: np.ndarray, sample_weight: np.ndarray
    ) -> Embedding:
        """Store `points_`, given a map to coordinates; return left-out coordinates as points."""
        weights = LeastWeights(self.frame_, self.outputs_, sample_weight)
        self.points_ = PointMap(map, None, self.frame_, weights)
        return Embedding(left_out, self.frame_, weigh=partial(weights.weights, None, left_out))

    def _draw_folds(self, labels: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Draw the folds that are left out; return the rows outside and inside of each."""
        self.folds_ = fold_numbers(labels, self.cv)
        return fold_rows(self.folds_)

    def _own_folds(self) -> np.ndarray | None:
        """Return the fold in which each training example was left out; None if out-of-bag."""
        return self.folds_

    def _input_kernel(self) -> Kernel:
        """Return the kernel on inputs, `Linear` by default; refuse one without finite features."""
        kernel = clone(Linear() if self.kernel is None else as_kernel(self.kernel))
        if kernel.features is None:
            raise ValueError(
                f"{self.needs_features}, and {kernel} has no finite ones: use a linear kernel, "
                "such as Linear() or Words()."
            )
        return kernel

    def _scalar_kernels(self) -> list[Kernel]:
        """Return the unfitted scalar input kernel, as a list of one."""
        return [self._input_kernel()]


def output_coordinates(outputs: Side) -> tuple[FeatureMap, np.ndarray]:
    """Return the fitted feature map of outputs, and their coordinates.

    Without a feature map, these are the features of the kernel if they are fewer than the outputs,
    else coordinates in the span of the outputs.
    """
    if outputs.features is None:
        few = outputs.width is not None and outputs.width <= count(outputs.items)
        outputs = Side(outputs.kernel, outputs.items, Explicit() if few else Triangular())
    map, V = outputs.coordinates
    return map, host(dense(V))
