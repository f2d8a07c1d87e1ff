"""Quantiles of residuals at each input, from the leaves of a forest, for asymmetric intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.arrays import Items, blocks, count
from ..estimators import ForestDependency
from ..estimators.trees import LeafMeans
from .views import ModelView

QUANTILE_ROWS = 256
"""The number of inputs whose weights on training residuals are in memory at once."""
QUANTILE_LEAF = 10
"""The fewest training rows in a leaf."""


@dataclass(frozen=True)
class QuantileScale:
    """Lower and upper quantiles of the residuals at each input.

    The distribution at an input has the weight of each training residual in the leaves of the input
    (Meinshausen 2006). Trees split on residuals and on their absolute values.

    Attributes
    ----------
    view
        The model that sets are around.
    leaves
        The map from inputs to weights on the training residuals.
    residuals
        The left-out residuals of the training outputs, (pairs, locations).
    levels
        The lower and the upper level of the quantiles.
    """

    view: ModelView
    leaves: LeafMeans
    residuals: np.ndarray
    levels: tuple[float, float]

    @classmethod
    def of(
        cls, view: ModelView, residuals: np.ndarray, X: Items, labels: np.ndarray, level: float
    ) -> QuantileScale:
        """Return the quantiles that enclose a fraction `level` of left-out residuals.

        Parameters
        ----------
        view
            The fitted model, as one that predicts points.
        residuals, X, labels
            The left-out residuals of its training outputs, its training inputs, and their groups.
        level
            The coverage of the intervals between both quantiles.
        """
        inputs = view.inputs(X)
        if not isinstance(inputs, np.ndarray) or inputs.ndim != 2:
            raise ValueError(
                'scale="quantile" needs inputs that are rows of numbers, on which trees split: use '
                'scale="residual".'
            )
        forest = ForestDependency(
            n_trees=100, min_samples_leaf=QUANTILE_LEAF, bootstrap=True, random_state=0
        )
        forest.fit(inputs, np.hstack([residuals, np.abs(residuals)]), groups=labels)
        tail = (1.0 - level) / 2.0
        return cls(view, forest.points_.training_weights, residuals, (tail, 1.0 - tail))

    def at(self, X: Items) -> np.ndarray:
        """Return the quantiles of residuals at each input, (inputs, locations, 2)."""
        inputs = self.view.inputs(X)
        found = np.empty((count(inputs), self.residuals.shape[1], 2))
        for rows in blocks(len(found), QUANTILE_ROWS):
            weights = self.leaves.transform(inputs[rows])
            for j, column in enumerate(self.residuals.T):
                found[rows, j] = weighted_quantiles(column, weights, self.levels)
        return found


def weighted_quantiles(
    values: np.ndarray, weights: np.ndarray, levels: tuple[float, ...]
) -> np.ndarray:
    """Return the quantiles of values under each row of weights, (rows, levels).

    The quantile is the smallest value up to which the values have at least the level of the weight.
    """
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[:, order], axis=1)
    needed = np.array(levels) * cumulative[:, -1:] * (1.0 - 1e-12)
    at = (cumulative[:, :, None] < needed[:, None, :]).sum(axis=1)
    return values[order][np.minimum(at, len(values) - 1)]
