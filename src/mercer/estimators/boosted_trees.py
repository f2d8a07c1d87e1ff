"""Gradient-boosted trees as arrays: grown by scikit-learn, saved and evaluated without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._base.arrays import Array, Items, blocks
from .._base.checks import Limits, array, must, offsets
from .._base.parameters import parameters
from ..features import FeatureMap
from ..kernels import Kernel
from .trees import Scaling, TreeNodes, features_of

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

ROWS = 2000
"""Rows that are evaluated at once."""


@dataclass(frozen=True)
class BoostedTrees:
    """Gradient-boosted regression trees: one sum of trees for each target.

    Attributes
    ----------
    trees
        The trees of all targets, those of one target after those of another.
    values
        What each node adds to the prediction; only leaves are used.
    starts
        The number of the first tree of each target, and the number of trees.
    first
        The constant that each sum starts with.
    """

    trees: TreeNodes
    values: np.ndarray
    starts: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, grown: list[HistGradientBoostingRegressor]) -> BoostedTrees:
        """Copy the tree nodes of fitted scikit-learn regressors, one regressor for each target."""
        predictors = [p for regressor in grown for (p,) in regressor._predictors]
        counts = [len(regressor._predictors) for regressor in grown]
        nodes = np.concatenate([predictor.nodes for predictor in predictors])
        sizes = [len(predictor.nodes) for predictor in predictors]
        roots = np.cumsum([0, *sizes])[:-1]
        shift = np.repeat(roots, sizes)
        trees = TreeNodes(
            roots,
            np.where(nodes["is_leaf"], -1, nodes["feature_idx"]),
            np.ascontiguousarray(nodes["num_threshold"]),
            nodes["left"] + shift,
            nodes["right"] + shift,
        )
        first = np.array([float(np.ravel(r._baseline_prediction)[0]) for r in grown])
        starts = np.cumsum([0, *counts])
        return cls(trees, np.ascontiguousarray(nodes["value"]), starts, first)

    def check_loaded(self, limits: Limits) -> None:
        """Check a loaded file: each node has a value, and each target has trees."""
        array(self.values, "values", np.float64, self.trees.n_nodes)
        offsets(self.starts, "starts", len(self.trees.roots))
        must((np.diff(self.starts) > 0).all(), "a target has no trees")
        array(self.first, "first", np.float64, len(self.starts) - 1)

    def predict(self, A: np.ndarray) -> np.ndarray:
        """Return the predictions for the rows of A, one column for each target."""
        found = np.empty((len(A), len(self.first)))
        for rows in blocks(len(A), ROWS):
            added = self.values[self.trees.leaves(A[rows], np.float64)]
            found[rows] = self.first + np.add.reduceat(added, self.starts[:-1], axis=1)
        return found

    def stages(self, A: np.ndarray, target: int) -> np.ndarray:
        """Return predictions of one target after 1, 2, … trees, one column for each number."""
        own = slice(self.starts[target], self.starts[target + 1])
        leaves = self.trees.select(own).leaves(A, np.float64)
        return self.first[target] + np.cumsum(self.values[leaves], axis=1)


@parameters
class BoostedMap(FeatureMap):
    """Feature map from inputs to the output coordinates that boosted trees predict.

    Parameters
    ----------
    kernel : Kernel
        The fitted kernel whose features the trees examine.
    scaling : Scaling
        How its features are scaled.
    boosted : BoostedTrees
        The trees of each direction of the outputs.
    mean : array of shape (q,)
        The mean of the output coordinates.
    directions : array of shape (d, q)
        The directions that the trees predict, in units of their spread.
    """

    kernel: Kernel
    scaling: Scaling
    boosted: BoostedTrees
    mean: Array
    directions: Array

    def check_loaded(self, limits: Limits) -> None:
        """Check a loaded file: the directions fit the trees and the mean."""
        array(self.mean, "mean", np.float64, None)
        array(self.directions, "directions", np.float64, len(self.boosted.first), len(self.mean))

    def transform(self, A: Items) -> np.ndarray:
        """Return the predicted output coordinates, one row for each input."""
        features = self.scaling(features_of(self.kernel, A))
        return self.mean + self.boosted.predict(features) @ self.directions
