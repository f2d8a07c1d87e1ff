"""Shapes of ellipsoids: covariance matrices of residuals at each input, and the choice among them.

All are computed from the pairs that the model was fitted on, so that calibration pairs stay unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._base.arrays import Items, count, host
from .._base.errors import NotSupported
from .._base.folds import FOLDS, fold_numbers, fold_rows
from ..estimators import ForestDependency
from ..estimators.ridge import RidgeEstimator
from .ellipsoids import log_determinant, mahalanobis
from .row_weights import row_weights
from .scales import NARROWING, ResidualScale, residual_scale, smoothed_quantile
from .views import ModelView

LOCAL_OUTPUTS = 16
"""The largest number of values of an output for which a forest learns covariances."""
LEAF_ROWS = 20
"""The fewest training rows in a leaf, in addition to two for each value of an output."""
SIZED_PAIRS = 1000
"""The most training pairs from whose residuals a ridge model of their lengths is learnt."""
SHARES = (0.5, 0.9)
"""The fractions of local covariances that are tried; the rest is that of all residuals."""
NOISE = "left out"
"""The estimate of the noise, one for each direction, so that units of outputs do not mix."""
FLOOR = 1e-10
"""The least variance, as a fraction of the variance of standardised residuals."""

Added = tuple[Callable[[np.ndarray], "CovarianceScale"], Callable[[np.ndarray], np.ndarray]]
"""From a covariance of residuals to a scale; from those of other folds to left-out shapes."""


@dataclass(frozen=True)
class CovarianceScale:
    r"""Shape of ellipsoids at an input x, :math:`u(x)^2 S`, or :math:`(1 - s) S + s F(x) + V(x)`.

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
    size
        u, the expected length of residuals; None for 1.
    """

    view: ModelView
    base: np.ndarray
    directions: np.ndarray | None = None
    local: ForestDependency | None = None
    share: float = 0.0
    size: ResidualScale | None = None

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
        roots = np.linalg.cholesky(shapes)
        return roots if self.size is None else self.size.at(X)[:, None, None] * roots


def covariance_scale(
    view: ModelView, name: str, residuals: np.ndarray, X: Items, labels: np.ndarray, level: float
) -> CovarianceScale:
    """Return the shape of ellipsoids: the one of a given name, or with "auto" the smallest.

    "flat" is the covariance of left-out residuals, and "posterior" adds the posterior covariance.
    "residual" is a covariance that a forest learns from the products of residuals, or that of all
    residuals times a size that a ridge model learns from their lengths. Each is tried with all
    covariances of residuals and with their variances alone. They are compared by the median size of
    ellipsoids of the requested level around left-out predictions, with covariances of the residuals
    of other folds.

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
    flat: Added = (lambda base: CovarianceScale(view, base), lambda held: held)
    added = [flat] if name in ("auto", "flat") else []
    if name in ("auto", "posterior"):
        added += _with_posterior(view, X, required=name == "posterior")
    if name in ("auto", "residual"):
        added += _with_forest(view, residuals, X, labels)
        added += _with_size(view, residuals, X, labels, level)
    added = added or [flat]
    trials, sizes = [], []
    for covariance in (shrunk_covariance, variances_alone):
        base, held = covariance(residuals, weights), _of_other_folds(covariance, residuals, labels)
        for scale_of, left_out in added:
            trials.append(scale_of(base))
            sizes.append(_median_size(left_out(held), residuals, weights, level))
    sizes[0] -= NARROWING / len(np.unique(labels))  # a smaller gain may be chance
    return trials[int(np.argmin(sizes))]


def _of_other_folds(
    covariance: Callable[[np.ndarray, np.ndarray], np.ndarray],
    residuals: np.ndarray,
    labels: np.ndarray,
) -> np.ndarray:
    """Return for each row of residuals the covariance of the other folds, (rows, p, p)."""
    found = np.empty(_square(residuals))
    for seen, out in fold_rows(fold_numbers(labels, FOLDS)):
        own = np.unique(labels[seen], return_inverse=True)[1]
        found[out] = covariance(residuals[seen], row_weights(own))
    return found


def variances_alone(residuals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the diagonal of `shrunk_covariance`."""
    return np.diag(np.diag(shrunk_covariance(residuals, weights)))


def shrunk_covariance(residuals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the covariance about zero, its correlations shrunk as Ledoit and Wolf (2004) do.

    Units of the columns change nothing.
    """
    from sklearn.covariance import ledoit_wolf  # slow to import, seldom needed

    weights = weights / weights.sum()
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


def _with_posterior(view: ModelView, X: Items, required: bool) -> list[Added]:
    """Return the functions that add the posterior covariance to a covariance of residuals.

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
    added = _along(left_out, directions)
    return [(lambda base: CovarianceScale(view, base, directions), lambda held: held + added)]


def _with_forest(
    view: ModelView, residuals: np.ndarray, X: Items, labels: np.ndarray
) -> list[Added]:
    """Return the functions that mix covariances that a forest learns into one of all residuals.

    The means of products of residuals over leaves are covariance matrices. Inputs need features.
    """
    inputs, p = view.inputs(X), residuals.shape[1]
    if p > LOCAL_OUTPUTS or np.ndim(inputs) != 2:
        return []
    products = (residuals[:, :, None] * residuals[:, None, :]).reshape(len(residuals), -1)
    forest = ForestDependency(n_trees=100, min_samples_leaf=LEAF_ROWS + 2 * p, random_state=0)
    forest.fit(inputs, products, groups=labels)
    left_out = host(forest.loo_predict()).reshape(_square(residuals))

    def mixed(share: float) -> Added:
        """Return the functions for one fraction of local covariances."""
        return (
            lambda base: CovarianceScale(view, base, None, forest, share),
            lambda held: (1.0 - share) * held + share * left_out,
        )

    return [mixed(share) for share in SHARES]


def _with_size(
    view: ModelView, residuals: np.ndarray, X: Items, labels: np.ndarray, level: float
) -> list[Added]:
    """Return the functions that multiply by a size that is learnt from lengths of residuals.

    It is the one that balls of `scale="residual"` have; none where it does not make them smaller.
    With many pairs the forest has enough rows, and an exact ridge model would take long.
    """
    if len(residuals) > SIZED_PAIRS:
        return []
    root = np.linalg.cholesky(shrunk_covariance(residuals, row_weights(labels)))
    lengths = mahalanobis(root, residuals)
    size = residual_scale(view, lengths, X, labels, level, np.ones(()))
    if size.model is None:
        return []
    left_out = np.exp(size.exponent * host(size.model.loo_predict()))
    return [
        (
            lambda base: CovarianceScale(view, base, size=size),
            lambda held: held * left_out[:, None, None] ** 2,
        )
    ]


def _median_size(
    shapes: np.ndarray, residuals: np.ndarray, weights: np.ndarray, level: float
) -> float:
    """Return the median logarithm of the radius of balls of the volume of the ellipsoids."""
    roots = np.linalg.cholesky(shapes)
    reach = smoothed_quantile(mahalanobis(roots, residuals), weights, level)
    return float(np.log(reach) + np.median(log_determinant(roots)) / residuals.shape[1])
