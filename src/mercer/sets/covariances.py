"""Shapes of ellipsoids: covariance matrices of residuals at each input, and the choice among them.

All are computed from the pairs that the model was fitted on, so that calibration pairs stay unseen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._base.arrays import Items, count, host
from .._base.errors import NotSupported
from ..estimators import ForestDependency
from ..estimators.ridge import RidgeEstimator
from .ellipsoids import log_determinant, mahalanobis
from .scales import NARROWING, smoothed_quantile
from .views import ModelView
from .weights import row_weights

LOCAL_OUTPUTS = 16
"""The largest number of values of an output for which a forest learns covariances."""
LEAF_ROWS = 20
"""The fewest training rows in a leaf, in addition to two for each value of an output."""
SHARES = (0.5, 0.9)
"""The fractions of local covariances that are tried; the rest is that of all residuals."""
NOISE = "left out"
"""The estimate of the noise, one for each direction, so that units of outputs do not mix."""
FLOOR = 1e-10
"""The least variance, as a fraction of the variance of standardised residuals."""


@dataclass(frozen=True)
class CovarianceScale:
    r"""Shape of ellipsoids at an input x, :math:`(1 - s) S + s F(x) + V(x)`.

    Attributes
    ----------
    view
        The model that sets are around.
    base
        S, the covariance of left-out residuals.
    directions
        The output directions as rows, for the posterior covariance V of the model; None for V = 0.
    local
        A forest that predicts the products of residuals, F; None without one.
    share
        s, the fraction of F.
    """

    view: ModelView
    base: np.ndarray
    directions: np.ndarray | None = None
    local: ForestDependency | None = None
    share: float = 0.0

    unproven: ClassVar[str] = "the shape of the ellipsoids is made of left-out residuals"

    def at(self, X: Items) -> np.ndarray:
        """Return the lower triangular root of the shape at each input, (inputs, p, p)."""
        shapes = np.broadcast_to(self.base, (count(X), *self.base.shape))
        if self.local is not None:
            found = host(self.local.predict(self.view.inputs(X))).reshape(shapes.shape)
            shapes = (1.0 - self.share) * shapes + self.share * found
        if self.directions is not None:
            variances = host(self.view.embed(X).variance("directions", noise=NOISE))
            shapes = shapes + _along(variances, self.directions)
        return np.linalg.cholesky(shapes)


def covariance_scale(
    view: ModelView, name: str, residuals: np.ndarray, X: Items, labels: np.ndarray, level: float
) -> CovarianceScale:
    """Return the shape of ellipsoids: the one of a given name, or with "auto" the smallest.

    "flat" is the covariance of left-out residuals, "posterior" adds the posterior covariance, and
    "residual" is a covariance that a forest learns from the products of residuals. They are
    compared by the median size of ellipsoids of the requested level around left-out predictions.

    Parameters
    ----------
    view
        The fitted model, as one that predicts points.
    name
        "auto", "flat", "posterior" or "residual".
    residuals, X, labels
        The left-out residuals of the training outputs, the training inputs, and their groups.
    level
        The coverage that sizes are compared at.
    """
    weights = row_weights(labels)
    base = shrunk_covariance(residuals, weights / weights.sum())
    trials: list[tuple[CovarianceScale, np.ndarray]] = []
    if name in ("auto", "flat"):
        trials.append((CovarianceScale(view, base), np.broadcast_to(base, _square(residuals))))
    if name in ("auto", "posterior"):
        trials += _with_posterior(view, base, X, required=name == "posterior")
    if name in ("auto", "residual"):
        trials += _with_forest(view, base, residuals, X, labels, required=name == "residual")
    sizes = [_median_size(shapes, residuals, weights, level) for _, shapes in trials]
    sizes[0] -= NARROWING / len(np.unique(labels))  # a smaller gain may be chance
    return trials[int(np.argmin(sizes))][0]


def shrunk_covariance(residuals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the covariance about zero, its correlations shrunk as Ledoit and Wolf (2004) do.

    The weights of the rows sum to one. Units of the columns change nothing.
    """
    from sklearn.covariance import ledoit_wolf  # slow to import, seldom needed

    spread = np.sqrt(weights @ residuals**2)
    least = 1e-12 * (float(spread.max()) or 1e12)
    spread = np.maximum(spread, least)  # of values that are predicted exactly
    Z = residuals / spread * np.sqrt(weights * len(weights))[:, None]
    correlations = ledoit_wolf(Z, assume_centered=True)[0] + FLOOR * np.eye(len(spread))
    return spread[:, None] * correlations * spread[None, :]


def _square(residuals: np.ndarray) -> tuple[int, int, int]:
    """Return the shape of one matrix for each row of residuals."""
    return (*residuals.shape, residuals.shape[1])


def _along(variances: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the covariance matrices of outputs, given variances along directions, the rows."""
    return np.einsum("nj,jp,jr->npr", variances, directions, directions)


def _with_posterior(
    view: ModelView, base: np.ndarray, X: Items, required: bool
) -> list[tuple[CovarianceScale, np.ndarray]]:
    """Return the shape with the posterior covariance, and its values at left-out predictions.

    If the variance of g is σ²h at a training input, it is σ²h / (1 - h) without that input.
    """
    model = view.predictor
    if not isinstance(model, RidgeEstimator):
        if required:
            raise ValueError('scale="posterior" needs a KernelDependency or KernelDependencyCV.')
        return []
    try:
        points = view.embed(X)
        directions = points.posterior.to_outputs()
        variances = host(points.variance("directions", noise=NOISE))
        noises = host(points.posterior.noises)
    except NotSupported:
        if required:
            raise
        return []
    model.keep_posterior()  # or sets of loaded models would lack the variance
    left_out = variances / np.maximum(1.0 - variances / noises, 1e-6)
    return [(CovarianceScale(view, base, directions), base + _along(left_out, directions))]


def _with_forest(
    view: ModelView,
    base: np.ndarray,
    residuals: np.ndarray,
    X: Items,
    labels: np.ndarray,
    required: bool,
) -> list[tuple[CovarianceScale, np.ndarray]]:
    """Return the shapes that a forest learns from products of residuals, for inputs with features.

    Means over leaves of such products are covariance matrices. Their values are left-out ones.
    """
    inputs, p = view.inputs(X), residuals.shape[1]
    small = len(np.unique(labels)) < 10 * LEAF_ROWS or p > LOCAL_OUTPUTS
    if not required and (small or getattr(inputs, "ndim", 0) != 2):
        return []
    products = (residuals[:, :, None] * residuals[:, None, :]).reshape(len(residuals), -1)
    forest = ForestDependency(n_trees=100, min_samples_leaf=LEAF_ROWS + 2 * p, random_state=0)
    forest.fit(inputs, products, groups=labels)
    left_out = host(forest.loo_predict()).reshape(_square(residuals))
    return [
        (CovarianceScale(view, base, None, forest, share), (1.0 - share) * base + share * left_out)
        for share in SHARES
    ]


def _median_size(
    shapes: np.ndarray, residuals: np.ndarray, weights: np.ndarray, level: float
) -> float:
    """Return the median logarithm of the radius of balls of the volume of the ellipsoids."""
    roots = np.linalg.cholesky(shapes)
    reach = smoothed_quantile(mahalanobis(roots, residuals), weights, level)
    return float(np.log(reach) + np.median(log_determinant(roots)) / residuals.shape[1])
