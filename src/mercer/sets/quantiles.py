"""Quantiles of residuals at each input, for asymmetric intervals.

Where inputs are rows of numbers, they are those of the leaves of a forest. For other inputs they
are functions of the input kernel with the least pinball loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.arrays import Items, blocks, count, host
from .._base.folds import FOLDS, fold_numbers
from ..estimators import ForestDependency
from ..estimators.trees import LeafMeans
from ..features import FeatureMap, RandomPivotedCholesky
from ..kernels import Kernel
from .views import ModelView

QUANTILE_ROWS = 256
"""The number of inputs whose weights on training residuals are in memory at once."""
QUANTILE_LEAF = 10
"""The fewest training rows in a leaf."""


PINBALL_RANK = 200
"""The number of coordinates of inputs in which pinball losses are minimised."""
PINBALL_STEPS = 60
"""The number of steps of the minimisation."""
PINBALL_WIDTH = 1e-3
"""Where the pinball loss is made smooth, relative to the standard deviation of residuals."""
RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""The penalties that are tried on held-out residuals, for kernels of mean diagonal one."""


@dataclass(frozen=True)
class LeafQuantiles:
    """Quantiles of the residuals in the leaves of an input (Meinshausen 2006).

    The distribution at an input has the weight of each training residual in the leaves of the
    input. Trees split on residuals and on their absolute values.

    Attributes
    ----------
    leaves
        The map from inputs to weights on the training residuals.
    residuals
        The left-out residuals of the training outputs, (pairs, locations).
    levels
        The levels of the quantiles.
    """

    leaves: LeafMeans
    residuals: np.ndarray
    levels: tuple[float, float]

    @classmethod
    def of(
        cls,
        inputs: np.ndarray,
        residuals: np.ndarray,
        labels: np.ndarray,
        levels: tuple[float, float],
    ) -> LeafQuantiles:
        """Return the quantiles by a forest from inputs to residuals, with groups `labels`."""
        forest = ForestDependency(
            n_trees=100, min_samples_leaf=QUANTILE_LEAF, bootstrap=True, random_state=0
        )
        forest.fit(inputs, np.hstack([residuals, np.abs(residuals)]), groups=labels)
        return cls(forest.points_.training_weights, residuals, levels)

    def at(self, inputs: np.ndarray) -> np.ndarray:
        """Return the quantiles at each input, (inputs, locations, 2)."""
        found = np.empty((len(inputs), self.residuals.shape[1], 2))
        for rows in blocks(len(found), QUANTILE_ROWS):
            weights = self.leaves.transform(inputs[rows])
            for j, column in enumerate(self.residuals.T):
                found[rows, j] = weighted_quantiles(column, weights, self.levels)
        return found


@dataclass(frozen=True)
class KernelQuantiles:
    """Quantiles as functions of the input kernel, b + ⟨θ, u(x)⟩, of the least pinball loss.

    Attributes
    ----------
    map
        The coordinates u of inputs, of low rank.
    coefficients
        b, then θ, for each location and level, (1 + rank, locations, 2).
    """

    map: FeatureMap
    coefficients: np.ndarray

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        inputs: Items,
        residuals: np.ndarray,
        labels: np.ndarray,
        levels: tuple[float, float],
    ) -> KernelQuantiles:
        """Return the quantiles for a fitted kernel; penalties are chosen on a fifth of the groups.

        The penalty of a level is the same for all locations.
        """
        map = RandomPivotedCholesky(PINBALL_RANK, random_state=0).fit(kernel, inputs)
        U = _with_constant(map, inputs)
        spread = np.maximum(residuals.std(axis=0), 1e-300)
        targets, sizes = residuals / spread, float((U[:, 1:] ** 2).sum(axis=1).mean()) or 1.0
        out = fold_numbers(labels, FOLDS) == 0
        found = []
        for level in levels:
            losses = []
            for ridge in RIDGES:
                beta = pinball_ridge(U[~out], targets[~out], level, ridge / sizes)
                losses.append(pinball(targets[out] - U[out] @ beta, level))
            ridge = RIDGES[int(np.argmin(losses))] / sizes
            found.append(pinball_ridge(U, targets, level, ridge) * spread)
        return cls(map, np.stack(found, axis=-1))

    def at(self, inputs: Items) -> np.ndarray:
        """Return the quantiles at each input, (inputs, locations, 2), the lower one first."""
        U = _with_constant(self.map, inputs)
        return np.sort(np.einsum("nr,rpl->npl", U, self.coefficients), axis=-1)


@dataclass(frozen=True)
class QuantileScale:
    """Lower and upper quantiles of the residuals at each input.

    Attributes
    ----------
    view
        The model that sets are around.
    quantiles
        The quantiles as a function of inputs.
    """

    view: ModelView
    quantiles: LeafQuantiles | KernelQuantiles

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
        inputs, model = view.inputs(X), view.predictor
        levels = (1.0 - level) / 2.0, (1.0 + level) / 2.0
        kernel = None if model is None else model.input_kernel_
        if kernel is None or kernel.on_vectors:
            rows = np.asarray(inputs, dtype=float).reshape(len(residuals), -1)
            return cls(view, LeafQuantiles.of(rows, residuals, labels, levels))
        return cls(view, KernelQuantiles.of(kernel, inputs, residuals, labels, levels))

    def at(self, X: Items) -> np.ndarray:
        """Return the quantiles of residuals at each input, (inputs, locations, 2)."""
        inputs = self.view.inputs(X)
        if isinstance(self.quantiles, LeafQuantiles):
            inputs = np.asarray(inputs, dtype=float).reshape(count(inputs), -1)
        return self.quantiles.at(inputs)


def _with_constant(map: FeatureMap, inputs: Items) -> np.ndarray:
    """Return the coordinates of inputs after a column of ones."""
    U = host(map.transform(inputs))
    return np.hstack([np.ones((len(U), 1)), U])


def pinball(residuals: np.ndarray, level: float) -> float:
    """Return the mean pinball loss of residuals for a level."""
    return float(np.maximum(level * residuals, (level - 1.0) * residuals).mean())


def pinball_ridge(U: np.ndarray, targets: np.ndarray, level: float, ridge: float) -> np.ndarray:
    """Return the β of least Σ_i ρ(t_i - u_i β) + ridge · ‖β‖² / 2 for each column of targets.

    ρ is the pinball loss. The first column of U is constant, and not penalised. Each step minimises
    a quadratic function above the loss (Hunter and Lange 2000).
    """
    penalty = ridge * np.eye(U.shape[1])
    penalty[0, 0] = 0.0
    found = np.zeros((U.shape[1], targets.shape[1]))
    for j, t in enumerate(targets.T):
        beta = np.zeros(U.shape[1])
        beta[0] = np.quantile(t, level)
        for _ in range(PINBALL_STEPS):
            weights = 0.5 / (PINBALL_WIDTH + np.abs(t - U @ beta))
            right = U.T @ (weights * t + (level - 0.5))
            beta = np.linalg.solve((U * weights[:, None]).T @ U + penalty, right)
        found[:, j] = beta
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
