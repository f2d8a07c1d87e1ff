from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Array, Items, count, host, take
from .._base.parameters import parameters
from ..decoders import Decoder, PerField
from ..embedding import Embedding, OrthonormalFrame, PointMap
from ..features import Explicit, FeatureMap
from ..kernels import Kernel, Linear
from ..kernels.base import as_output_kernel
from .base import on_fresh_state
from .choice import AUTO, calibrated
from .known_targets import alike, known_coordinates, split_missing
from .left_out_points import LeftOutPoints
from .pairs import group_labels, rows_of


@parameters
class MissingTargets(LeftOutPoints):
    """A model of outputs some of whose values are missing: a row counts for those that it has.

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

    estimator: Any
    decoder: Decoder | None = None

    dropped: ClassVar[dict[str, str]] = {
        "outputs_": "the training outputs",
        "left_out_": "left-out predictions",
        "known_": "the training outputs",
    }

    @on_fresh_state
    def fit(
        self, X: Items, y: Items, groups: Items | None = None, sample_weight: Any = None
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
        y, known = split_missing(y, kernel)
        self.output_kernel_ = clone(kernel).fit(kernel.as_outputs(y))
        self.outputs_ = self.output_kernel_.as_outputs(y)
        frame = OrthonormalFrame(Explicit().fit(self.output_kernel_, self.outputs_))
        V = host(frame.evaluate(self.outputs_))
        self.known_ = known_coordinates(self.output_kernel_, self.outputs_, known)
        patterns = [(np.flatnonzero(self.known_[:, own[0]]), own) for own in alike(self.known_)]
        self.columns_ = [columns for _, columns in patterns]
        self.models_ = [
            self._fitted(X, V[np.ix_(rows, own)], rows, groups, sample_weight)
            for rows, own in patterns
        ]
        self.input_kernel_ = _as_given(self.models_[0].input_kernel_)
        checked, _ = self._check_pairs(self.input_kernel_, self.output_kernel_, X, y)
        joined = PatternMap.of(self.models_, self.columns_)
        self.points_ = PointMap(joined, None, frame, SeparateWeights())
        labels = group_labels(groups, len(V))
        C = np.empty_like(V)
        for model, (rows, own) in zip(self.models_, patterns, strict=True):
            C[:, own] = left_out_coordinates(model, checked, rows, labels)
        self.left_out_ = Embedding(C, frame, labels, self._given(X, checked))
        given = self.estimator.decoder if self.decoder is None else self.decoder
        self.decoder_ = self._fitted_decoder(self.output_kernel_, self.outputs_, given)
        self.decoder_ = self._calibrated()
        return self

    def _fitted(
        self, X: Items, V: np.ndarray, rows: np.ndarray, groups: Items | None, weights: Any
    ) -> Any:
        """Return a copy of the estimator that has learnt some coordinates of some rows."""
        model = clone(self.estimator).set_params(output_kernel=Linear(), decoder=None)
        labels = None if groups is None else rows_of(groups, rows)
        weights = None if weights is None else np.asarray(weights)[rows]
        return model.fit(rows_of(X, rows), V, groups=labels, sample_weight=weights)

    def _calibrated(self) -> Decoder:
        """Return the decoder, calibrated on the left-out points whose output is known."""
        if not isinstance(self.decoder_, PerField):
            return calibrated(self.decoder_, self.left_out_, self.outputs_)
        for name, field in self.decoder_.fields_.items():
            rows = np.flatnonzero(self.known_[:, field.columns[0]])  # type: ignore[index]
            values = take(field.values(self.outputs_), rows)
            points = some_points(field.points(self.left_out_), rows)
            own = self.decoder_.decoders_[name]
            self.decoder_.decoders_[name] = calibrated(own, points, values)
        return self.decoder_

    def without_training_data(self) -> Any:
        """Return a copy with the maps of its models, and without the models."""
        bare = super().without_training_data()
        bare.__dict__.pop("models_", None)
        return bare

    @property
    def loo_risk_(self) -> float:
        """The mean over rows of the squared left-out errors of known coordinates."""
        V = host(self.points_.frame.evaluate(self.outputs_))
        return float((self.known_ * (V - self.left_out_.coordinates) ** 2).sum(axis=1).mean())

    loo_score_ = float("nan")

    def score(self, X: Items, y: Items, sample_weight: Array | None = None) -> float:
        """Return 1 - Σ(g - Φ(y))² / Σ(Φ(y) - mean)² over the coordinates that are known."""
        check_is_fitted(self)
        y, known = split_missing(y, self.output_kernel_)
        outputs = self.output_kernel_.as_outputs(y)
        V = host(self.points_.frame.evaluate(outputs))
        w = np.ones(len(V)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        W = w[:, None] * known_coordinates(self.output_kernel_, outputs, known)
        means = (W * V).sum(axis=0) / np.maximum(W.sum(axis=0), np.finfo(float).tiny)
        errors = (W * (V - host(self.embed(X).coordinates)) ** 2).sum()
        return 1.0 - float(errors / (W * (V - means) ** 2).sum())

    def _scalar_kernels(self) -> list[Kernel]:
        return self.estimator._scalar_kernels()


class PatternMap(FeatureMap):
    """The coordinates of several models, each of which predicts some of them.

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

    @classmethod
    def of(cls, models: list[Any], columns: list[np.ndarray]) -> PatternMap:
        """Return the map of fitted models, without their weights on training outputs."""
        maps = [replace(model.points_, weigher=None) for model in models]
        return cls([model.input_kernel_ for model in models], maps, columns)

    def transform(self, A: Items) -> np.ndarray:
        """Return all coordinates of the points of some inputs."""
        found = np.empty((count(A), sum(map(len, self.columns))))
        for kernel, map_, own in zip(self.kernels, self.maps, self.columns, strict=True):
            found[:, own] = _coordinates(map_(kernel.check(A, "X")))
        return found


class SeparateWeights(BaseEstimator):
    """The weights on training outputs that targets with different rows do not have in common."""

    def weights(self, X: Items, C: Array) -> Array:
        """Refuse: each target has its own."""
        raise ValueError(
            "targets that are known in different rows have no common weights on the training "
            "outputs: ask the models of MissingTargets.models_."
        )

    def without_training_data(self, map: FeatureMap) -> SeparateWeights:
        """Return itself."""
        return self


def _output_kernel(estimator: Any) -> Kernel:
    parameters = estimator.get_params(deep=False)
    if isinstance(parameters.get("output_kernel"), list | tuple):
        raise ValueError("MissingTargets takes an estimator with one output kernel, got several.")
    if parameters.get("scoring") not in (None, AUTO):
        raise ValueError(
            "scoring must be None where targets are missing: each copy of the estimator is "
            "chosen by the left-out errors of its own targets."
        )
    return as_output_kernel(parameters.get("output_kernel"))


def _as_given(kernel: Kernel) -> Kernel:
    """Return what checks inputs and leaves their form to the kernel of each model."""
    given = Kernel()
    given.space = kernel.space
    return given


def some_points(points: Embedding, rows: np.ndarray) -> Embedding:
    """Return some of the left-out points."""
    left_out = None if points.left_out is None else points.left_out[rows]
    return replace(points, coordinates=points.coordinates[rows], left_out=left_out, inputs=None)


def _coordinates(points: Embedding) -> np.ndarray:
    return host(points.frame.kernel_features(points.coordinates))


def left_out_coordinates(model: Any, X: Items, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the coordinates of all rows by models without their group.

    Rows that the model was not fitted on are predicted by the model without the others of their
    group, where it has closed-form left-out models; by the model itself otherwise.
    """
    own = _coordinates(model.loo_embed())
    found = np.empty((len(labels), own.shape[1]))
    found[rows] = own
    rest = np.setdiff1d(np.arange(len(labels)), rows)
    if len(rest):
        inputs = model.input_kernel_.check(take(X, rest), "X")
        found[rest] = _elsewhere(model, inputs, labels[rest], labels[rows])
    return found


def _elsewhere(model: Any, X: Items, groups: np.ndarray, seen: np.ndarray) -> np.ndarray:
    sets = [np.flatnonzero(seen == group) for group in groups]
    if "fitted_" not in vars(model) or not any(map(len, sets)):
        return _coordinates(model.points_(X))
    return _coordinates(model.fitted_.without()(X, sets))
