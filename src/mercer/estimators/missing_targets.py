from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Array, Items, count, host, take
from .._base.checks import Limits, array, must, permutation
from .._base.parameters import parameters
from .._base.statistics import repeat_by_weight
from ..decoders import Decoder, PerField
from ..decoders.natural import fitted_decoder
from ..embedding import Embedding, Frame, OrthonormalFrame, PointMap
from ..features import Explicit, FeatureMap
from ..kernels import Kernel, Linear
from ..kernels.base import as_output_kernel
from .base import on_fresh_state
from .choices import AUTO_SCORING, calibrated
from .known_targets import columns_by_pattern, fill_missing, known_coordinates
from .left_out_points import LeftOutPoints
from .pairs import drop_zero_weights, group_labels, rows_of


@parameters
class MissingTargets(LeftOutPoints):
    """Model of outputs with missing values: each row counts for the values it has.

    Under the identity operator the targets of a ridge problem do not depend on each other. Those
    that are known in the same rows are learnt together, by a copy of the estimator on these rows:
    one problem for each pattern of missing values, solved exactly, and left-out predictions are
    exact too. Operators such as `Covariance` couple the targets of one pattern.

    Parameters
    ----------
    estimator : estimator
        A `KernelDependency`, `KernelDependencyCV` or `ForestDependency`. Its output kernel must
        have finite features that belong to single targets: `Linear` on vectors, or a sum of such
        kernels on the fields of records. Each copy chooses its own kernel and ridge.
    decoder : Decoder, default=None
        A decoder of the outputs; None for the one of the estimator.

    Attributes
    ----------
    models_ : list
        The fitted copies.
    columns_ : list of arrays
        The output coordinates that each of them predicts.
    known_ : array of bool
        Whether each output coordinate (column) of each training row is known.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.estimators import MissingTargets
    >>> from mercer.kernels import RBF
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> Y = np.hstack([np.sin(6 * X), np.cos(6 * X)])
    >>> Y[::2, 1] = np.nan
    >>> model = MissingTargets(KernelDependency(RBF(0.3), alpha=1e-6)).fit(X, Y)
    >>> model.predict([[0.5]]).round(2)
    array([[ 0.14, -0.99]])
    """

    estimator: BaseEstimator
    decoder: Decoder | None = None

    dropped = LeftOutPoints.dropped | {
        "known_": "the training outputs",
        "models_": "the models of single patterns",
    }

    @on_fresh_state
    def fit(
        self, X: Items, y: Items, groups: Items | None = None, sample_weight: Array | None = None
    ) -> MissingTargets:
        """Fit a copy of the estimator for each pattern of missing values.

        Parameters
        ----------
        X : items
            Inputs.
        y : items
            Outputs: vectors with NaN, or records with None or NaN in some fields.
        groups : array-like, default=None
            A label for each pair: pairs of one label are left out together.
        sample_weight : array-like, default=None
            The weight of each pair.
        """
        kernel = _output_kernel(self.estimator)
        _, weights, groups, (X, y) = drop_zero_weights(sample_weight, groups, X, y)
        counted = y if weights is None else rows_of(y, repeat_by_weight(weights))
        self.output_kernel_ = clone(kernel).fit(kernel.as_outputs(fill_missing(counted, kernel)[0]))
        y, known = fill_missing(y, kernel)
        self.outputs_ = self.output_kernel_.as_outputs(y)
        self.known_ = known_coordinates(self.output_kernel_, self.outputs_, known)
        frame = OrthonormalFrame(Explicit().fit(self.output_kernel_, self.outputs_))
        self._fit_patterns(X, y, group_labels(groups, len(known)), weights, frame)
        given = self.estimator.decoder if self.decoder is None else self.decoder
        self.decoder_ = fitted_decoder(given, self.output_kernel_, self.outputs_, weights)
        self.decoder_ = self._calibrated_decoder()
        return self

    def _fit_patterns(
        self, X: Items, y: Items, labels: np.ndarray, weights: np.ndarray | None, frame: Frame
    ) -> None:
        """Fit a copy of the estimator for each pattern of missing values, and join them."""
        V, C = host(frame.evaluate(self.outputs_)), np.empty(self.known_.shape)
        self.columns_ = columns_by_pattern(self.known_)
        rows = [np.flatnonzero(self.known_[:, own[0]]) for own in self.columns_]
        single = clone(self.estimator).set_params(output_kernel=Linear(), decoder=None)
        grouped = int(labels.max()) + 1 < len(labels)
        self.models_ = []
        for some, own in zip(rows, self.columns_, strict=True):
            groups = labels[some] if grouped else None
            w = None if weights is None else weights[some]
            model = clone(single)
            model.fit(rows_of(X, some), V[some][:, own], groups=groups, sample_weight=w)
            self.models_.append(model)
        self.input_kernel_ = _pass_through_kernel(self.models_[0].input_kernel_)
        checked, _ = self._check_pairs(self.input_kernel_, self.output_kernel_, X, y)
        for model, some, own in zip(self.models_, rows, self.columns_, strict=True):
            C[:, own] = _left_out_coordinates(model, checked, some, labels)
        joined = PatternMap.of(self.models_, self.columns_)
        inputs, refuse = self._sliceable_inputs(X, checked), partial(joined.weights, None, C)
        self.left_out_ = Embedding(C, frame, labels, inputs, weights, refuse)
        self.points_ = PointMap(joined, None, frame, joined)

    def _calibrated_decoder(self) -> Decoder:
        """Return the decoder, calibrated on left-out points of rows with known values."""
        if not isinstance(self.decoder_, PerField):
            return calibrated(self.decoder_, self.left_out_, self.outputs_)
        for name, field in self.decoder_.fields_.items():
            rows = np.flatnonzero(self.known_[:, field.columns[0]])  # type: ignore[index]
            values = take(field.values(self.outputs_), rows)
            points = field.points(self.left_out_)[rows]
            own = self.decoder_.decoders_[name]
            self.decoder_.decoders_[name] = calibrated(own, points, values)
        return self.decoder_

    def _known_coordinates(self) -> np.ndarray | None:
        """Return a mask that is True where an output coordinate of a training example is known."""
        return self.known_

    @property
    def loo_risk_(self) -> float:
        """The squared left-out error summed over known coordinates, averaged over rows."""
        V, left_out = host(self.points_.frame.evaluate(self.outputs_)), self.left_out_
        errors = (self.known_ * (V - left_out.coordinates) ** 2).sum(axis=1)
        return float(np.average(errors, weights=left_out.sample_weight))

    loo_score_ = float("nan")

    def score(self, X: Items, y: Items, sample_weight: Array | None = None) -> float:
        r"""Return the fraction of the variance of the known coordinates that is explained.

        It is :math:`1 - \sum (g(x) - \Phi(y))^2 / \sum (\Phi(y) - \bar\Phi)^2`.
        """
        check_is_fitted(self)
        y, known = fill_missing(y, self.output_kernel_)
        outputs = self.output_kernel_.as_outputs(y)
        V = host(self.points_.frame.evaluate(outputs))
        w = np.ones(len(V)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        W = w[:, None] * known_coordinates(self.output_kernel_, outputs, known)
        means = (W * V).sum(axis=0) / np.maximum(W.sum(axis=0), np.finfo(float).tiny)
        errors = (W * (V - host(self.embed(X).coordinates)) ** 2).sum()
        return 1.0 - float(errors / (W * (V - means) ** 2).sum())

    def _scalar_kernels(self) -> list[Kernel]:
        """Return the unfitted scalar input kernels of the estimator."""
        return self.estimator._scalar_kernels()


class PatternMap(FeatureMap):
    """Feature map that joins the output coordinates predicted by several models.

    Parameters
    ----------
    kernels : list
        The input kernel of each model.
    maps : list
        The point map of each model.
    columns : list of arrays
        The coordinates that each of them predicts.
    """

    def __init__(self, kernels: list[Kernel], maps: list[PointMap], columns: list[np.ndarray]):
        self.kernels = kernels
        self.maps = maps
        self.columns = columns

    def check_loaded(self, limits: Limits) -> None:
        """Check a loaded map: every coordinate belongs to one model."""
        must(isinstance(self.columns, list) and self.columns, "columns must be a list of arrays")
        for own in self.columns:
            array(own, "columns", np.int64, None)
        permutation(np.concatenate(self.columns), "columns")

    @classmethod
    def of(cls, models: list[Any], columns: list[np.ndarray]) -> PatternMap:
        """Return the joined map of fitted models; models[i] predicts coordinates columns[i]."""
        maps = [replace(model.points_, training_weights=None) for model in models]
        return cls([model.input_kernel_ for model in models], maps, columns)

    def transform(self, A: Items) -> np.ndarray:
        """Return all predicted output coordinates, one row for each input."""
        found = np.empty((count(A), sum(map(len, self.columns))))
        for kernel, map_, own in zip(self.kernels, self.maps, self.columns, strict=True):
            predicted = _feature_coordinates(map_(kernel.check(A, "X")))
            must(predicted.shape[1] == len(own), "columns do not belong to the maps")
            found[:, own] = predicted
        return found

    def weights(self, X: Items, C: Array) -> Array:
        """Raise an error: targets known in different rows have different training weights."""
        raise ValueError(
            "targets that are known in different rows have no common weights on the training "
            "outputs: ask the models of MissingTargets.models_."
        )

    def without_training_data(self, map: FeatureMap) -> PatternMap:
        """Return the map unchanged, because the maps of the models hold no training outputs."""
        return self


def _output_kernel(estimator: Any) -> Kernel:
    """Return the output kernel of an estimator; refuse estimators that cannot be wrapped."""
    fits = isinstance(estimator, LeftOutPoints)
    parameters = estimator.get_params(deep=False) if fits else {}
    if "output_kernel" not in parameters:
        raise TypeError(
            "MissingTargets takes one estimator with an output kernel, such as "
            f"KernelDependencyCV() or ForestDependency(); got {estimator!r:.60}. A Blend takes "
            "several MissingTargets."
        )
    if isinstance(parameters.get("output_kernel"), list | tuple):
        raise ValueError("MissingTargets takes an estimator with one output kernel, got several.")
    if parameters.get("scoring") not in (None, AUTO_SCORING):
        raise ValueError(
            "scoring must be None where targets are missing: each copy of the estimator is "
            "chosen by the left-out errors of its own targets."
        )
    return as_output_kernel(parameters.get("output_kernel"))


def _pass_through_kernel(kernel: Kernel) -> Kernel:
    """Return a kernel that checks inputs like `kernel`, but computes no values."""
    given = Kernel()
    given.space = kernel.space
    return given


def _feature_coordinates(points: Embedding) -> np.ndarray:
    """Convert points to finite features of their output kernel, one row for each point."""
    return host(points.frame.kernel_features(points.coordinates))


def _left_out_coordinates(model: Any, X: Items, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return predicted coordinates of all rows of X, each without its group.

    The model was fitted on `rows`. Each other row is predicted without the rows of its group if the
    model has closed-form left-out models, else by the model itself.
    """
    own = _feature_coordinates(model.loo_embed())
    found = np.empty((len(labels), own.shape[1]))
    found[rows] = own
    rest = np.setdiff1d(np.arange(len(labels)), rows)
    if len(rest):
        inputs = model.input_kernel_.check(take(X, rest), "X")
        found[rest] = _predict_unseen(model, inputs, labels[rest], labels[rows])
    return found


def _predict_unseen(model: Any, X: Items, labels: np.ndarray, trained: np.ndarray) -> np.ndarray:
    """Return predicted coordinates of new rows X, each without the training rows of its group.

    `labels` are the group numbers of X, and `trained` those of the training rows.
    """
    sets = [np.flatnonzero(trained == label) for label in labels]
    found = model._points_without(X, sets) if any(map(len, sets)) else model.points_(X)
    return _feature_coordinates(found)
