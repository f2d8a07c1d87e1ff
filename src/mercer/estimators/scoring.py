"""Scores of decoded predictions: the metric of the outputs' space, or a scorer of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from .._base.arrays import Items, host
from ..defaults import evaluate
from ..kernels import Kernel
from .choices import AUTO_SCORING

ClassProbabilities = Callable[[], tuple[np.ndarray, np.ndarray]]
"""A function that returns the classes and their probabilities."""


def decoded_score(
    scoring: Any,
    kernel: Kernel,
    truth: Items,
    predicted: Items,
    X: Items,
    weights: np.ndarray | None,
) -> float:
    """Return the score of decoded predictions of X, greater being better.

    It is that of a scorer of scikit-learn, or with scoring="auto" the mean of the default metric of
    the space of the output kernel.
    """
    if scoring != AUTO_SCORING:
        return scikit_learn_score(FixedPredictions(predicted), scoring, truth, X, weights)
    values = evaluate(kernel.space, truth, predicted, average=False)
    sign = 1.0 if kernel.space.greater_is_better else -1.0
    return sign * float(np.average(values, weights=weights))


class FixedPredictions(BaseEstimator):
    """Estimator stub that returns fixed predictions, to be passed to scorers of scikit-learn.

    Parameters
    ----------
    predictions
        The predictions.
    class_probabilities
        A function that returns the classes and their probabilities; None if outputs are not
        classes.
    """

    def __init__(
        self, predictions: Items = None, class_probabilities: ClassProbabilities | None = None
    ):
        self.predictions = predictions
        self.class_probabilities = class_probabilities

    def fit(self, X: Items, y: Items) -> FixedPredictions:
        """Return the stub itself, unchanged."""
        return self

    def predict(self, X: Items) -> Items:
        """Return the fixed predictions; X is ignored."""
        return host(self.predictions)

    @property
    def classes_(self) -> np.ndarray:
        """The classes, one for each column of `predict_proba`."""
        return self.class_probabilities()[0]  # type: ignore[misc]

    @available_if(lambda self: self.class_probabilities is not None)
    def predict_proba(self, X: Items) -> np.ndarray:
        """Return the fixed class probabilities; X is ignored."""
        return self.class_probabilities()[1]  # type: ignore[misc]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.class_probabilities is None else "classifier"
        return tags


def scikit_learn_score(
    stub: FixedPredictions,
    scoring: Any,
    truth: Items,
    X: Items = None,
    weights: np.ndarray | None = None,
) -> float:
    """Return the score that a scorer of scikit-learn gives to the predictions of a stub."""
    from sklearn.metrics import check_scoring  # slow to import, not always needed

    more = {} if weights is None else {"sample_weight": weights}
    try:
        return float(check_scoring(stub, scoring=scoring)(stub, X, truth, **more))
    except AttributeError as problem:
        if stub.class_probabilities is not None:
            raise
        raise ValueError(
            f"scoring={scoring!r} needs more than the left-out predictions, which are decoded "
            f"outputs ({problem}): use a scorer of predictions such as 'accuracy', or None."
        ) from problem
