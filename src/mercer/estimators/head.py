from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from .._base.arrays import Array, Items, count
from .._base.parameters import parameters
from .._base.statistics import are_counts, repeat_by_weight
from ..decoders import Decoder
from ..embedding import Embedding
from ..features import FeatureMap, KernelPCA
from ..kernels import Kernel
from ..kernels.base import as_output_kernel
from ..problem import Side
from .choices import calibrated
from .coordinate_model import CoordinateModel
from .pairs import sample_weights
from .trees import features_of

HEAD_RANK = 128
"""The default number of principal directions of outputs without finite features."""


@parameters
class RegressorDependency(CoordinateModel):
    """Structured outputs for any regressor: it predicts output coordinates, which are decoded.

    Outputs become coordinates of their feature space (`targets`), a regressor of any library
    learns them, and its predictions are read as points again (`points_from`): with every decoder,
    calibration, left-out metric and prediction set.

    Parameters
    ----------
    regressor : estimator, default=None
        A multi-output regressor with scikit-learn's ``fit`` and ``predict``; None if the
        predictions come from elsewhere (`fit_outputs`).
    output_kernel : Kernel, default=None
        As in `KernelDependency`.
    output_features : FeatureMap, default=None
        As in `KernelDependency`. If None, outputs of infinitely many features, or of more than
        there are examples, are written in their 128 leading principal directions.
    decoder : Decoder, default=None
        As in `KernelDependency`.
    kernel : Kernel, default=None
        A kernel with finite features, which the regressor sees; None for the vectors themselves.
    cv : int, default=5
        The number of folds of left-out predictions; groups stay together.

    References
    ----------
    El Ahmad, Brogat-Motte, Laforgue, d'Alché-Buc: Deep sketched output kernel regression, 2024.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from mercer.estimators import RegressorDependency
    >>> from mercer.kernels import Labels
    >>> X = [[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]]
    >>> y = [["sea"], ["sea"], ["sea"], ["sea", "sun"], ["sea", "sun"], ["sea", "sun"]]
    >>> model = RegressorDependency(Ridge(0.01), Labels(), cv=3).fit(X, y)
    >>> model.predict([[0.05], [1.2]])
    array([list(['sea']), list(['sea', 'sun'])], dtype=object)

    A model that was trained elsewhere:

    >>> head = RegressorDependency(output_kernel=Labels()).fit_outputs(y)
    >>> targets = head.targets(y)                      # what it is to learn
    >>> head.decode(targets[:2] + 0.1)                 # what it says of two inputs
    array([list(['sea']), list(['sea'])], dtype=object)
    """

    regressor: BaseEstimator | None = None
    output_kernel: Kernel | str | None = None
    output_features: FeatureMap | None = None
    decoder: Decoder | None = None
    kernel: Kernel | str | None = None
    cv: int = 5

    needs_features = "a regressor sees features"

    def _check_parameters(self) -> None:
        """Raise an error if no regressor is given."""
        if self.regressor is None:
            raise ValueError(
                "regressor=None has nothing to fit: give a regressor, or use fit_outputs(y) and "
                "points_from(predictions of a model trained elsewhere)."
            )

    def _output_features(self, y: Items) -> FeatureMap | None:
        """Return the feature map of outputs y; kernel PCA makes infinite features finite."""
        side, n = Side(self.output_kernel_, y, self.output_features), count(y)
        return KernelPCA(HEAD_RANK) if side.is_spanned(n) and n > HEAD_RANK else side.features

    def _fit_coordinates(
        self, A: np.ndarray, V: np.ndarray, labels: np.ndarray, weights: np.ndarray
    ) -> Embedding:
        """Fit the regressor from features A to coordinates V, and again without each fold.

        Return the left-out points.
        """
        map = RegressorMap(self.input_kernel_, _fit_regressor(self.regressor, A, V, weights))
        left_out = np.empty(V.shape)
        for seen, out in self._draw_folds(labels):
            fitted = _fit_regressor(self.regressor, A[seen], V[seen], weights[seen])
            left_out[out] = _predict_rows(fitted, A[out])
        return self._set_points(map, left_out, weights)

    def fit_outputs(self, y: Items) -> RegressorDependency:
        """Fit output coordinates and decoder only, for a model that is trained elsewhere.

        Parameters
        ----------
        y
            Its training outputs.
        """
        self._fit_output_space(self._check_outputs(as_output_kernel(self.output_kernel), y))
        return self

    def calibrate(
        self, predicted: Array, y: Items, sample_weight: Array | None = None
    ) -> RegressorDependency:
        """Calibrate the decoder on coordinates predicted by a model that is trained elsewhere.

        Parameters
        ----------
        predicted
            Its predictions for examples that it was not trained on.
        y
            The outputs of those examples.
        sample_weight
            How much each example counts.
        """
        outputs = self.output_kernel_.as_outputs(y)
        weights = sample_weights(sample_weight, count(outputs))
        points = replace(self.points_from(predicted), sample_weight=weights)
        self.decoder_ = calibrated(self.decoder_, points, outputs)
        return self

    def decode(self, predicted: Array) -> Items:
        """Decode predicted coordinates to outputs.

        Parameters
        ----------
        predicted
            One row of coordinates for each output, from any model.
        """
        return self._restored(self.decoder_.decode(self.points_from(predicted)))


class RegressorMap(FeatureMap):
    """Feature map from inputs to the output coordinates that a fitted regressor predicts.

    Parameters
    ----------
    kernel
        The kernel whose features the regressor sees.
    regressor
        The fitted regressor.
    """

    def __init__(self, kernel: Kernel, regressor: Any):
        self.kernel = kernel
        self.regressor = regressor

    def transform(self, A: Items) -> Array:
        """Return the predicted output coordinates, one row for each input."""
        return _predict_rows(self.regressor, features_of(self.kernel, A))


def _fit_regressor(regressor: Any, A: np.ndarray, V: np.ndarray, weights: np.ndarray) -> Any:
    """Fit a clone of a regressor from features A to coordinates V; return it.

    Rows are repeated by their weights if the regressor takes no sample weights.
    """
    fresh, single = clone(regressor), V[:, 0] if V.shape[1] == 1 else V
    if (weights == 1.0).all():
        return fresh.fit(A, single)
    if has_fit_parameter(fresh, "sample_weight"):
        return fresh.fit(A, single, sample_weight=weights)
    if not are_counts(weights):
        raise ValueError(
            f"{type(fresh).__name__} takes no sample_weight, so that rows can only be repeated: "
            "give integer weights, or another regressor."
        )
    rows = repeat_by_weight(weights)
    return fresh.fit(A[rows], single[rows])


def _predict_rows(regressor: Any, A: np.ndarray) -> np.ndarray:
    """Return predictions of a regressor as a 2-D array, also for a single target."""
    found = np.asarray(regressor.predict(A), dtype=float)
    return found if found.ndim == 2 else found[:, None]
