"""What models that learn output coordinates from finite features of the inputs do alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from .._base.arrays import Items, count, take
from .._base.folds import fold_numbers, fold_rows
from ..decoders import Decoder
from ..embedding import Embedding, Frame
from ..features import FeatureMap
from ..kernels import Kernel, Linear, as_kernel
from ..kernels.base import as_output_kernel
from ..operators import as_operator_kernel
from ..problem import Problem, Side, repeats
from .base import warn_if_constant
from .choice import calibrated
from .left_out_points import LeftOutPoints
from .pairs import drop_zero_weights, group_labels
from .trees import features_of


class OnFeatures(LeftOutPoints):
    """A model that learns output coordinates from features, and is calibrated on left-out folds.

    A subclass implements `_coordinates` and `_fit_coordinates`.
    """

    kernel: Any
    output_kernel: Any
    decoder: Decoder | None
    cv: int
    needs_features: ClassVar[str]
    """Why the input kernel must have finite features, for the message that refuses others."""

    dropped: ClassVar[dict[str, str]] = {
        "outputs_": "the training outputs",
        "left_out_": "left-out predictions",
        "folds_": "the folds of left-out predictions",
    }

    def _coordinates(self, y: Items) -> tuple[np.ndarray, Frame]:
        """Return the coordinates of the outputs, and the frame of the points."""
        raise NotImplementedError

    def _fit_coordinates(
        self,
        A: np.ndarray,
        V: np.ndarray,
        frame: Frame,
        labels: np.ndarray,
        weights: np.ndarray | None,
    ) -> Embedding:
        """Learn coordinates V from features A, set `points_`, and return the left-out points."""
        raise NotImplementedError

    def _fit_pairs(self, X: Items, y: Items, groups: Items | None, sample_weight: Any) -> None:
        """Fit kernels, model and decoder; pairs of weight zero are left out of everything."""
        kernel, given = self._input_kernel(), X
        X, y = self._check_pairs(kernel, as_output_kernel(self.output_kernel), X, y)
        _, weights, groups, (X, y, given) = drop_zero_weights(sample_weight, groups, X, y, given)
        labels = group_labels(groups, count(y))
        self.input_kernel_ = kernel.fit(X)
        V, frame = self._fit_output_side(y, weights)
        A = features_of(self.input_kernel_, X)
        left_out = self._fit_coordinates(A, V, frame, labels, weights)
        self.left_out_ = replace(left_out, left_out=labels, inputs=given)
        self.decoder_ = calibrated(self.decoder_, self.left_out_, self.outputs_)

    def _fit_output_side(
        self, y: Items, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, Frame]:
        """Fit output kernel and decoder; return the coordinates of the outputs and their frame."""
        counted = y if weights is None else take(y, repeats(weights))
        self.output_kernel_ = clone(as_output_kernel(self.output_kernel)).fit(counted)
        warn_if_constant(self.output_kernel_, y)
        self.outputs_ = y
        self.decoder_ = self._fitted_decoder(self.output_kernel_, y, self.decoder)
        return self._coordinates(y)

    def _by_folds(
        self,
        predict: Callable[[np.ndarray, np.ndarray], np.ndarray],
        shape: tuple[int, ...],
        labels: np.ndarray,
    ) -> np.ndarray:
        """Return predictions of every row by `predict(seen rows, left-out rows)`, fold by fold."""
        self.folds_ = fold_numbers(labels, self.cv)
        C = np.empty(shape)
        for seen, out in fold_rows(self.folds_):
            C[out] = predict(seen, out)
        return C

    def _input_kernel(self) -> Kernel:
        """Return the kernel on inputs, which must have finite features; None is `Linear`."""
        kernel = clone(Linear() if self.kernel is None else as_kernel(self.kernel))
        if kernel.features is None:
            raise ValueError(
                f"{self.needs_features}, and {kernel} has no finite ones: use a linear kernel, "
                "such as Linear() or Words()."
            )
        return kernel

    def _scalar_kernels(self) -> list[Kernel]:
        return [self._input_kernel()]


def output_problem(kernel: Kernel, y: Items, features: FeatureMap | None = None) -> Problem:
    """Return the problem that gives outputs the coordinates of ridge models."""
    inputs = Side(Linear(), np.zeros((count(y), 1)))
    return Problem(inputs, Side(kernel, y, features), as_operator_kernel(inputs.kernel))
