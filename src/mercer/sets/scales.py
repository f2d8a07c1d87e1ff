"""Scales of inputs: the units that errors and radii of balls and bands are measured in.

A scale returns one number for each input, or for bands one for each location of its output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Items, count, host
from .._base.errors import NotSupported
from .._base.folds import FOLDS, fold_numbers
from ..estimators.confidence import fit_value_model
from ..estimators.fitted import Fitted
from ..estimators.left_out_points import LeftOutPoints
from ..solvers.left_out import solve_diagonal_blocks
from .row_weights import row_weights, weighted_quantile
from .scores import AroundScore, BandScore
from .views import ModelView

Units = Callable[[slice], np.ndarray]
"""From a slice of inputs to units (inputs, rows), for bands (inputs, rows, locations)."""
POWERS = (0.0, 0.25, 0.5, 0.75)
"""The width of a band may be proportional to these powers of the typical residual at a location."""
EXPONENTS = tuple(np.linspace(0.5, 1.3, 9))
"""Radii may be proportional to these powers of the expected size of a residual."""
NARROWING = 7.0
"""The residual model is used if it narrows sets by a fraction of more than NARROWING / groups."""


@dataclass(frozen=True)
class PosteriorScale:
    """Scale of radii: the posterior standard deviation of a new output.

    Under the model that leaves a group G out, the variance in units of the noise is
    v₋G(x) = v(x) + w_G(x) (I - H_GG)⁻¹ w_G(x)ᵀ along each direction of the operator: w are the
    weights of the training outputs in g(x), H those at the training inputs.
    It depends on inputs alone, so that jackknife+ with scores in these units is proven.

    Attributes
    ----------
    view
        The model that sets are around.
    by_location
        Whether deviations are needed at each location of an output, rather than in total.
    """

    view: ModelView
    by_location: bool
    unproven: ClassVar[str] = ""

    def at(self, X: Items) -> np.ndarray:
        """Return the standard deviation of a new output at each input, by location or in total."""
        kind = "outputs" if self.by_location else "total"
        deviations = np.sqrt(host(self.view.embed(X).variance(kind, observed=True)))
        return deviations.reshape(len(deviations), -1) if self.by_location else deviations

    def at_left_out(self, fitted: Fitted, X: Items) -> np.ndarray:
        """Return the standard deviation at each training input if its group is left out."""
        units = self.without_groups(fitted, X)
        return np.stack([units(slice(i, i + 1))[0, i] for i in range(count(X))])

    def without_groups(self, fitted: Fitted, X: Items) -> Units:
        """Return a function from slices of X to standard deviations under all left-out models.

        `fitted` is the model, prepared by `with_groups`.
        """
        model, problem, posterior = self.view.model, fitted.problem, fitted.posterior()
        parts, alpha = posterior.factorization, fitted.alpha
        if parts.coupled:
            raise NotSupported(
                f"{problem.kernel} couples output components: left-out models have no standard "
                'deviations then. Use calibration="split", or scale="flat".'
            )
        X = model._check_inputs(model.input_kernel_, X, reset=False)
        hats = parts.weights_along(problem.inputs.items, alpha)
        pairs = zip(hats, parts.weights_along(X, alpha), strict=True)
        added = [_added_variance(host(H), host(W), problem.groups) for H, W in pairs]
        variances = host(parts.variance(X, alpha))
        share = posterior.to_outputs() ** 2 if self.by_location else None

        def units(rows: slice) -> np.ndarray:
            """Return standard deviations for a slice of inputs, (inputs, left-out models, …)."""
            own = np.stack([variance[rows] for variance in added], axis=-1)
            total = 1.0 + variances[rows][:, None, :] + own
            return np.sqrt(total.sum(axis=-1) if share is None else total @ share)

        return units


def _added_variance(H: np.ndarray, W: np.ndarray, labels: np.ndarray | None) -> np.ndarray:
    """Return the variance added by leaving out each example's group, (inputs, examples).

    `H` and `W` have the weights of examples in predictions at training and at new inputs.
    `labels` are the groups; None if each example is left out alone.
    """
    added = W * solve_diagonal_blocks(np.eye(len(H)) - H, W.T, labels).T
    return added if labels is None else added @ (labels[:, None] == labels[None, :])


@dataclass(frozen=True)
class ResidualScale:
    """Scale of radii: the residual size at each location times a modelled size at each input.

    The size at an input x is exp(exponent · h(x)), or 1 if h is None.

    Attributes
    ----------
    view
        The model that sets are around.
    shape
        The size of residuals at each location of an output; one number for balls.
    model
        h, a model of the logarithm of the size of left-out residuals; None for the same size at
        all inputs.
    exponent
        The exponent of the expected size in the radius: 0 ignores h.
    """

    view: ModelView
    shape: np.ndarray
    model: Any = None
    exponent: float = 0.0

    unproven: ClassVar[str] = (
        "the scale of the sets or the shape of the bands is made of left-out residuals"
    )

    def at(self, X: Items) -> np.ndarray:
        """Return the unit of radii at each input, or one for each location of its output."""
        size = np.ones(count(X))
        if self.model is not None:
            size = np.exp(self.exponent * host(self.model.predict(self.view.inputs(X))))
        return np.reshape(size, (-1,) + (1,) * self.shape.ndim) * self.shape

    def at_left_out(self, fitted: Fitted, X: Items) -> np.ndarray:
        """Return the unit at each training input, the same for the model that leaves it out."""
        return self.at(X)

    def without_groups(self, fitted: Fitted, X: Items) -> Units:
        """Return a function from slices of X to units, the same for all left-out models."""
        return self.at(X)[:, None].__getitem__


def residual_scale(
    view: ModelView,
    errors: np.ndarray,
    X: Items,
    labels: np.ndarray,
    level: float,
    typical: np.ndarray,
) -> ResidualScale:
    """Return the residual scale with the narrowest sets, learnt from left-out `errors`.

    The shape of bands is the power of `typical` with the least mean width on left-out residuals. A
    model of the size of residuals is used only if it makes sets narrower by a fraction of more than
    7 / groups, which may be chance. Radii are then proportional to a power of the expected size,
    the one with the least pinball loss of the requested quantile of residuals.

    Parameters
    ----------
    view
        The fitted model, as one that predicts points.
    errors
        The left-out residuals of its training outputs, or for balls their lengths.
    X, labels
        Its training inputs and their groups.
    level
        The coverage that widths are compared at.
    typical
        The typical size of residuals at each location of an output; one number for balls.
    """
    inputs, weights = view.inputs(X), row_weights(labels)
    kernel = None if view.predictor is None else view.predictor.input_kernel_
    trials = []
    for power in POWERS if np.ptp(typical) > 0 else (0.0,):
        shape = np.asarray(typical**power)
        largest, rooted = _max_and_rms(errors, shape)
        width = shape.mean() * smoothed_quantile(largest, weights, level)
        trials.append((width, ResidualScale(view, shape)))
        if kernel is not None and kernel.pairwise:
            continue  # sizes cannot be learnt without inputs
        # The mean of logarithms is less noisy than the largest, and nearer to it than the root.
        model = fit_value_model(kernel, inputs, np.log(largest * rooted) / 2, labels)
        expected = host(model.loo_predict())
        exponent = _best_exponent(largest, expected, weights, level)
        factors = np.exp(exponent * expected)
        width = shape.mean() * factors.mean() * smoothed_quantile(largest / factors, weights, level)
        margin = 1.0 + NARROWING / len(np.unique(labels))
        trials.append((margin * width, ResidualScale(view, shape, model, exponent)))
    return min(trials, key=lambda trial: trial[0])[1]


def _max_and_rms(errors: np.ndarray, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximum and the root mean square of the residuals of each output, over `unit`."""
    floor = 1e-12 * np.abs(errors).max() + 1e-300
    sizes = np.abs(errors / unit).reshape(len(errors), -1)
    rooted = np.sqrt((sizes**2).mean(axis=1))
    return np.maximum(sizes.max(axis=1), floor), np.maximum(rooted, floor)


def _best_exponent(
    largest: np.ndarray, expected: np.ndarray, weights: np.ndarray, level: float
) -> float:
    """Return the t for which exp(t · expected) best predicts the sizes `largest`.

    It has the least pinball loss of logarithms at the level of coverage.
    """
    losses = [_pinball_loss(np.log(largest) - t * expected, weights, level) for t in EXPONENTS]
    return float(EXPONENTS[int(np.argmin(losses))])


def smoothed_quantile(scores: np.ndarray, weights: np.ndarray, level: float) -> float:
    """Return the geometric mean of three weighted quantiles at and near a level."""
    near = [1.0 - (1.0 - level) * share for share in (1.5, 1.0, 0.5)]
    found = [float(weighted_quantile(scores, weights, some)) for some in near]
    found = [radius for radius in found if np.isfinite(radius)] or [float(scores.max())]
    return float(np.exp(np.mean(np.log(found))))


def _pinball_loss(logs: np.ndarray, weights: np.ndarray, level: float) -> float:
    """Return the weighted pinball loss of `logs` about their own quantile at `level`."""
    over = logs - np.minimum(weighted_quantile(logs, weights, level), logs.max())
    return float(weights @ np.where(over > 0, level * over, (level - 1.0) * over))


def left_out_errors(
    model: Any, view: ModelView, score: AroundScore, X: Items, y: Items, labels: np.ndarray
) -> np.ndarray:
    """Return the errors of left-out predictions of the training pairs (X, y), by `score.errors`.

    The arguments are those of `left_out_residuals`.
    """
    if isinstance(view.predictor, LeftOutPoints):
        return score.errors(view.predictor.loo_embed(), view.outputs_)
    errors = np.abs(left_out_residuals(model, view, score, X, y, labels))
    return errors if isinstance(score, BandScore) else np.linalg.norm(errors, axis=1)


def left_out_residuals(
    model: Any, view: ModelView, score: AroundScore, X: Items, y: Items, labels: np.ndarray
) -> np.ndarray:
    """Return outputs minus left-out predictions of the training pairs (X, y), (pairs, locations).

    Models without left-out predictions are fitted again on folds; `model` is not fitted.
    """
    from sklearn.model_selection import PredefinedSplit, cross_val_predict

    if isinstance(view.predictor, LeftOutPoints):
        return score.residuals(view.predictor.loo_embed(), view.outputs_)
    folds = PredefinedSplit(fold_numbers(labels, FOLDS))
    predicted = host(cross_val_predict(model, X, y, cv=folds)).reshape(len(labels), -1)
    return host(view.outputs_).reshape(predicted.shape) - predicted
