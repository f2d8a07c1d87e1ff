"""Scales of inputs: factors of the radii of balls and bands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.arrays import Items, count, host
from .._base.errors import NotSupported
from .._base.folds import fold_numbers
from ..decoders import Direct
from ..estimators.fitted import Fitted
from ..estimators.left_out_points import LeftOutPoints
from ..estimators.selective import size_model
from .views import ModelView
from .weights import row_weights, weighted_quantile

POWERS = (0.0, 0.25, 0.5, 0.75)
"""Powers of the usual residual at a location that the width of a band is proportional to."""
TRUSTS = tuple(np.linspace(0.5, 1.3, 9))
"""Powers of the expected size of a residual that radii may be proportional to."""
FOLDS = 5
"""Folds of left-out residuals of models that do not have left-out predictions."""
MARGIN = 7.0
"""The residual model is used if it narrows sets by more than this over the number of groups."""


class Scale:
    """Base class of functions from an input to the factor that scales its radius.

    Attributes
    ----------
    unproven
        Why jackknife+ proves no level with this scale; empty where it does.
    """

    unproven: str = ""

    def at(self, X: Items) -> np.ndarray:
        """Return the factor for each input, or one for each location of its output."""
        raise NotImplementedError


@dataclass(frozen=True)
class PosteriorScale(Scale):
    """The posterior standard deviation of a new output, by location or in total.

    Attributes
    ----------
    view
        The model that sets are around.
    band
        Whether deviations are needed at each location.
    """

    view: ModelView
    band: bool

    def at(self, X: Items) -> np.ndarray:
        """Return the standard deviation of a new output at each input."""
        kind = "outputs" if self.band else "total"
        return np.sqrt(host(self.view.embed(X).variance(kind, observed=True)))


@dataclass(frozen=True)
class ResidualScale(Scale):
    """exp(trust · h(x)), times location^power for bands; h is learnt from left-out residuals.

    Attributes
    ----------
    view
        The model that sets are around.
    model
        h, a model of the logarithm of the size of left-out residuals; None where trust is 0.
    usual
        The usual size of residuals at each location of an output; one number for balls.
    power, trust
        The power with the least mean width on the left-out residuals. The residual model is
        followed only where it makes sets narrower by more than chance would, 7 / groups, and as far
        as the pinball loss of the wanted quantile of residuals is least.
    """

    view: ModelView
    model: Any
    usual: np.ndarray
    power: float
    trust: float

    unproven = "the scale of the sets is made of left-out residuals"

    def at(self, X: Items) -> np.ndarray:
        """Return the factor for each input, or one for each location of its output."""
        size = np.ones(count(X))
        if self.model is not None:
            size = np.exp(self.trust * host(self.model.predict(self.view.inputs(X))))
        return np.reshape(size, (-1,) + (1,) * self.usual.ndim) * self.usual**self.power


def residual_scale(
    view: ModelView,
    errors: np.ndarray,
    X: Items,
    labels: np.ndarray,
    level: float,
    usual: np.ndarray,
) -> ResidualScale:
    """Learn the size of residuals from left-out `errors`, and how far radii should follow it.

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
    usual
        The usual size of residuals at each location of an output; one number for balls.
    """
    weights, best = row_weights(labels), None
    margin = 1.0 + MARGIN / len(np.unique(labels))
    for power in POWERS if usual.ndim else (0.0,):
        largest, rooted = _sizes(errors, usual**power)
        # The mean of logarithms is less noisy than the largest, and nearer to it than the root.
        model = _size_model(view, view.inputs(X), np.log(largest * rooted) / 2, labels)
        trials = [(1.0, ResidualScale(view, None, usual, power, 0.0), np.ones(len(largest)))]
        if model is not None:
            expected = host(model.loo_predict())
            trust = _best_exponent(largest, expected, weights, level)
            scale = ResidualScale(view, model, usual, power, trust)
            trials.append((margin, scale, np.exp(trust * expected)))
        for price, found, scales in trials:
            radius = _smoothed_quantile(largest / scales, weights, level)
            width = price * (usual**power).mean() * scales.mean() * radius
            if best is None or width < best[0]:
                best = width, found
    assert best is not None
    return best[1]


def _sizes(errors: np.ndarray, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximum and the root mean square of each output's residuals over `unit`."""
    floor = 1e-12 * np.abs(errors).max() + 1e-300
    sizes = np.abs(errors / unit).reshape(len(errors), -1)
    rooted = np.sqrt((sizes**2).mean(axis=1))
    return np.maximum(sizes.max(axis=1), floor), np.maximum(rooted, floor)


def _best_exponent(
    largest: np.ndarray, expected: np.ndarray, weights: np.ndarray, level: float
) -> float:
    """Return the exponent of the expected size that predicts `largest` with least pinball loss."""
    losses = [_pinball_loss(np.log(largest) - t * expected, weights, level) for t in TRUSTS]
    return float(TRUSTS[int(np.argmin(losses))])


def _smoothed_quantile(scores: np.ndarray, weights: np.ndarray, level: float) -> float:
    """Return the geometric mean of the quantiles at and near a level, which is less noisy."""
    near = [1.0 - (1.0 - level) * share for share in (1.5, 1.0, 0.5)]
    found = [float(weighted_quantile(scores, weights, some)) for some in near]
    found = [radius for radius in found if np.isfinite(radius)] or [float(scores.max())]
    return float(np.exp(np.mean(np.log(found))))


def _pinball_loss(logs: np.ndarray, weights: np.ndarray, level: float) -> float:
    """Return the weighted pinball loss of `logs` about their own quantile at `level`."""
    over = logs - np.minimum(weighted_quantile(logs, weights, level), logs.max())
    return float(weights @ np.where(over > 0, level * over, (level - 1.0) * over))


def left_out_errors(
    model: Any, view: ModelView, X: Items, y: Items, labels: np.ndarray, band: bool
) -> np.ndarray:
    """Return the left-out residuals of y, if `band`; else their norms in feature space."""
    from sklearn.model_selection import PredefinedSplit, cross_val_predict

    if isinstance(view.predictor, LeftOutPoints):
        points = view.predictor.loo_embed()
        if not band:
            return np.sqrt(host(points.sqdistances_to(view.outputs_)))
        direct = Direct().fit(view.output_kernel_, view.outputs_)
        predicted = host(view._restored(direct.decode(points)))
    else:
        folds = PredefinedSplit(fold_numbers(labels, FOLDS))
        predicted = host(cross_val_predict(model, X, y, cv=folds))
    errors = np.reshape(host(view.outputs_), predicted.shape) - predicted
    return errors if band else np.sqrt((errors.reshape(len(errors), -1) ** 2).sum(axis=1))


def _size_model(view: ModelView, X: Items, sizes: np.ndarray, labels: np.ndarray) -> Any:
    """Fit a ridge model of `sizes` with the model's input kernel; None if it is precomputed."""
    kernel = None if view.predictor is None else view.predictor.input_kernel_
    if kernel is not None and kernel.pairwise:
        return None
    return size_model(kernel, X, sizes, labels)


Scales = Callable[[slice], np.ndarray]
"""From inputs to arrays (inputs, examples), for bands (inputs, examples, locations)."""


class LeftOutScales:
    """Standard deviations of a new output at x by the models that each leave a group out.

    In units of the noise, v₋G(x) = v(x) + w_G(x) (I - H_GG)⁻¹ w_G(x)ᵀ along each direction of the
    operator: w are the weights of the training outputs in g(x), H those at the training inputs.
    It depends on inputs alone, so that jackknife+ with scores in these units is proven.

    Parameters
    ----------
    fitted
        The model, prepared by `leaving_out`.
    band
        Whether deviations are needed at each location of an output, rather than in total.
    """

    def __init__(self, fitted: Fitted, band: bool):
        self.fitted, self.band = fitted, band
        items = fitted.problem.inputs.items
        posterior = fitted.posterior()
        self.parts, self.alpha = posterior.factorization, fitted.alpha
        if self.parts.coupled:
            raise NotSupported(f"{fitted.problem.kernel} couples all output components.")
        self.labels = fitted.problem.left_out_labels
        self.share = posterior.to_outputs() ** 2 if band else None
        self.inverses = [self._inverse(H) for H in self._weights(items)]

    def _weights(self, X: Items) -> list[np.ndarray]:
        """Return the weights of training outputs in g(x), one array for each output direction."""
        return [host(W) for W in self.parts.weights_along(X, self.alpha)]

    def _inverse(self, H: np.ndarray) -> np.ndarray:
        """Return (I - H)⁻¹ for each group's block of the hat matrix H; zero between groups."""
        if self.fitted.problem.groups is None:
            return 1.0 / (1.0 - np.diag(H))
        inverse = np.zeros_like(H)
        for label in np.unique(self.labels):
            own = np.ix_(*[np.flatnonzero(self.labels == label)] * 2)
            inverse[own] = np.linalg.inv(np.eye(len(own[0])) - H[own])
        return inverse

    def at(self, X: Items) -> Scales:
        """Return a function of a slice of X: standard deviations by every left-out model."""
        W, V = self._weights(X), host(self.parts.variance(X, self.alpha))

        def scales(rows: slice) -> np.ndarray:
            added = [
                self._added_variance(w[rows], M) for w, M in zip(W, self.inverses, strict=True)
            ]
            total = 1.0 + V[rows][:, None, :] + np.stack(added, axis=-1)
            return np.sqrt(total.sum(axis=-1) if self.share is None else total @ self.share)

        return scales

    def _added_variance(self, W: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """Return the variance added by leaving out each example's group, (inputs, examples)."""
        if inverse.ndim == 1:
            return W * W * inverse
        by_row = (W @ inverse) * W
        return by_row @ (self.labels[:, None] == self.labels[None, :])

    def at_training_inputs(self, shape: Any) -> np.ndarray:
        """Return the standard deviation at each training input by the model without its group."""
        scales = self.at(self.fitted.problem.inputs.items)
        rows = [scales(slice(i, i + 1))[0, i] for i in range(len(self.labels))]
        return np.reshape(np.stack(rows), (len(rows), *shape))
