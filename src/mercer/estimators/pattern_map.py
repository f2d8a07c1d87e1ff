"""The points of several models, each of which predicts some of the output coordinates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, count, host, take
from ..embedding import Embedding, PointMap
from ..features import FeatureMap
from ..kernels import Kernel


class PatternMap(FeatureMap):
    """Feature map that joins the coordinates of several models, each predicting some of them.

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
        """Return the map of fitted models; models[i] predicts the coordinates columns[i]."""
        maps = [replace(model.points_, training_weights=None) for model in models]
        return cls([model.input_kernel_ for model in models], maps, columns)

    def transform(self, A: Items) -> np.ndarray:
        """Return all predicted output coordinates, one row for each input."""
        found = np.empty((count(A), sum(map(len, self.columns))))
        for kernel, map_, own in zip(self.kernels, self.maps, self.columns, strict=True):
            found[:, own] = feature_coordinates(map_(kernel.check(A, "X")))
        return found

    def weights(self, X: Items, C: Array) -> Array:
        """Raise an error, because each target has its own weights on its own training rows."""
        raise ValueError(
            "targets that are known in different rows have no common weights on the training "
            "outputs: ask the models of MissingTargets.models_."
        )

    def without_training_data(self, map: FeatureMap) -> PatternMap:
        """Return the map unchanged, because the maps of the models hold no training outputs."""
        return self


def pass_through_kernel(kernel: Kernel) -> Kernel:
    """Return a kernel that checks inputs like `kernel` but does not compare them."""
    given = Kernel()
    given.space = kernel.space
    return given


def some_points(points: Embedding, rows: np.ndarray) -> Embedding:
    """Return the points at the given rows."""
    left_out = None if points.left_out is None else points.left_out[rows]
    return replace(points, coordinates=points.coordinates[rows], left_out=left_out, inputs=None)


def feature_coordinates(points: Embedding) -> np.ndarray:
    """Convert points to finite features of their output kernel, one row for each point."""
    return host(points.frame.kernel_features(points.coordinates))


def left_out_coordinates(model: Any, X: Items, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return predicted coordinates of all rows of X, each without the row's group.

    Rows that the model was not fitted on are predicted by the model without the others of their
    group, where it has closed-form left-out models; by the model itself otherwise.
    """
    own = feature_coordinates(model.loo_embed())
    found = np.empty((len(labels), own.shape[1]))
    found[rows] = own
    rest = np.setdiff1d(np.arange(len(labels)), rows)
    if len(rest):
        inputs = model.input_kernel_.check(take(X, rest), "X")
        found[rest] = _predict_unseen(model, inputs, labels[rest], labels[rows])
    return found


def _predict_unseen(model: Any, X: Items, groups: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return predicted coordinates of new rows X without the training rows of their group."""
    sets = [np.flatnonzero(seen == group) for group in groups]
    found = model._points_without(X, sets) if any(map(len, sets)) else model.points_(X)
    return feature_coordinates(found)
