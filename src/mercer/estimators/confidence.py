"""Confidence in single predictions, calibrated on left-out predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Items, host
from .._base.folds import fold_numbers, fold_rows
from ..defaults import evaluate
from ..embedding import Embedding
from ..kernels import Kernel


@dataclass(frozen=True)
class ExpectedQuality:
    """Model of the expected quality of single predictions, learnt from left-out ones.

    Attributes
    ----------
    model
        The fitted model whose predictions these are.
    sizes
        A ridge model of the quality of left-out predictions, for outputs that are predicted
        directly; None if the distance of g(x) from the decoded output is used.
    curve
        The increasing function from certainty to expected quality.
    certainty, quality
        The certainty and the quality of every left-out prediction.
    counts
        How often each counts, the sample weights of the training examples; None for ones.
    """

    model: Any
    sizes: Any
    curve: Any
    certainty: np.ndarray
    quality: np.ndarray
    counts: np.ndarray | None = None

    def of(self, X: Items) -> np.ndarray:
        """Return the expected quality of the prediction for each input, greater being better."""
        if self.sizes is not None:
            return self.curve.predict(host(self.sizes.predict(X)))
        return self.curve.predict(negative_distances(self.model, self.model.embed(X)))

    def left_out(self, folds: int = 5) -> np.ndarray:
        """Return the expected quality of each left-out prediction, calibrated without its fold."""
        labels = self.model.fitted_.problem.left_out_labels
        found = np.empty(len(self.quality))
        for rest, rows in fold_rows(fold_numbers(labels, folds)):
            counts = None if self.counts is None else self.counts[rest]
            curve = _fit_isotonic(self.certainty[rest], self.quality[rest], counts)
            found[rows] = curve.predict(self.certainty[rows])
        return found


def confidence_of(model: Any, metric: Callable[..., Any] | None = None) -> ExpectedQuality:
    """Return a model of the quality of single predictions, learnt from left-out predictions.

    Parameters
    ----------
    model
        A fitted `KernelDependency` or `KernelDependencyCV`.
    metric
        A function of true and predicted outputs, greater being better, that takes
        ``average=False``. None for the metric of the outputs' space; for vectors and curves the
        fraction of the variance that is explained, 1 - ‖y - ŷ‖² / mean ‖y - ȳ‖², not below 0.
    """
    points = model.loo_embed()
    quality = _left_out_quality(model, points, metric)
    sizes = _fit_quality_model(model, quality) if model.output_kernel_.predicts_directly else None
    certainty = negative_distances(model, points) if sizes is None else host(sizes.loo_predict())
    counts = points.sample_weight
    curve = _fit_isotonic(certainty, quality, counts)
    return ExpectedQuality(model, sizes, curve, certainty, quality, counts)


def _left_out_quality(model: Any, points: Embedding, metric: Any) -> np.ndarray:
    """Return the quality of every left-out prediction by a metric, greater being better."""
    outputs, kernel = model.outputs_, model.output_kernel_
    predicted = model.decoder_.decode(points)
    if metric is not None:
        truth = model._restored(outputs), model._restored(predicted)
        return np.asarray(metric(*truth, average=False), dtype=float)
    if kernel.predicts_directly:
        return _explained_variance(host(outputs), host(predicted), points.counts)
    sign = 1.0 if kernel.space.greater_is_better else -1.0
    return sign * np.asarray(evaluate(kernel.space, outputs, predicted, average=False))


def _fit_quality_model(model: Any, quality: np.ndarray) -> Any:
    """Fit a ridge model from inputs to the quality of their left-out predictions."""
    problem = model.fitted_.problem
    inputs = problem.inputs
    if inputs.kernel.pairwise:
        raise ValueError(
            'confidence needs the inputs, which kernel="precomputed" does not have: use '
            "Precomputed(gram) with indices."
        )
    labels, weights = problem.left_out_labels, problem.weights
    return fit_value_model(inputs.kernel, inputs.items, quality, labels, weights)


def fit_value_model(
    kernel: Kernel | None,
    X: Items,
    values: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None = None,
) -> Any:
    """Fit a ridge model that predicts the number `values[i]` from input i.

    Parameters
    ----------
    kernel
        The input kernel; None for the defaults of `KernelDependencyCV`.
    X, values, labels, weights
        The inputs, their numbers, the groups that are left out together, and sample weights.
    """
    from .kernel_dependency_cv import KernelDependencyCV

    groups = labels if len(np.unique(labels)) < len(labels) else None
    own = None if kernel is None else clone(kernel)
    return KernelDependencyCV(own).fit(X, values, groups=groups, sample_weight=weights)


def negative_distances(model: Any, points: Embedding) -> np.ndarray:
    """Return -‖g(x) - Φ(ŷ)‖² for each point g(x) and its decoded output ŷ."""
    return -host(points.sqdistances_to(model.decoder_.decode(points)))


def risk_coverage(confidence: np.ndarray, quality: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the risk-coverage curve: fractions of most confident predictions, and their risk.

    Risk is the mean of 1 - quality. Predictions of equal confidence are kept together.
    """
    order = np.argsort(-confidence, kind="stable")
    kept = np.arange(1, len(order) + 1)
    risk = np.cumsum(1.0 - quality[order]) / kept
    last = np.append(np.diff(confidence[order]) != 0, True)
    return kept[last] / len(order), risk[last]


def _explained_variance(y: np.ndarray, predicted: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the fraction of variance that each predicted output explains, at least 0.

    Output i counts `counts[i]` times.
    """
    y, predicted = (A.reshape(len(A), -1) for A in (y, predicted))
    shares = counts / counts.sum()
    spread = shares @ ((y - shares @ y) ** 2).sum(axis=1)
    return np.maximum(1.0 - ((y - predicted) ** 2).sum(axis=1) / (spread or 1.0), 0.0)


def _fit_isotonic(
    certainty: np.ndarray, quality: np.ndarray, counts: np.ndarray | None = None
) -> Any:
    """Fit an isotonic regression of quality on certainty, with sample weights `counts`."""
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(out_of_bounds="clip").fit(certainty, quality, counts)
