"""How good predictions are: several measures of each kind of output, and the error of each row."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from .. import metrics
from .._arrays import Items
from ..embedding import Embedding
from ..estimators.choice import Told
from ..estimators.probabilities import Probabilities
from ..kernels import Kernel
from ..metrics import character_error_rate, subset_accuracy
from .outputs import ARRAYS, Outputs

Made = Callable[[], tuple[np.ndarray, np.ndarray]]
"""Gives classes and their probabilities."""


class ToldClasses(ClassifierMixin, Told):
    """Stub with fixed classes whose probabilities are made when a scorer asks for them."""

    def __init__(self, predictions: Items = None, made: Any = None):
        super().__init__(predictions)
        self.made = made

    @property
    def classes_(self) -> np.ndarray:
        """The classes."""
        return self.made()[0]

    def predict_proba(self, X: Items) -> np.ndarray:
        """Their probabilities."""
        return self.made()[1]


def left_out_probabilities(
    kernel: Kernel, points: Embedding, y: Items
) -> tuple[np.ndarray, np.ndarray]:
    """The classes and their probabilities at left-out points, which these are calibrated on."""
    made = Probabilities(kernel).fit(points, y)
    return made.classes_, made.predict(points)


def measures(outputs: Outputs, truth: Items, predicted: Items) -> dict[str, float]:
    """Measures by name, the metric of the outputs first."""
    found = {outputs.metric_name: outputs.metric(truth, predicted)}
    if outputs.kind_ in ARRAYS:
        error = np.asarray(truth, dtype=float) - np.asarray(predicted).reshape(np.shape(truth))
        mean = float(np.sqrt(np.mean(error**2)))
        varies = bool(np.ptp(np.asarray(truth), axis=0).any())
        return (found if varies else {}) | {"root mean squared error": mean}
    if outputs.kind_ == "labels":
        return found | {"exact match": float(subset_accuracy(truth, predicted))}
    if outputs.kind_ == "text" and find_spec("rapidfuzz") is not None and any(map(len, truth)):
        errors = character_error_rate(list(truth), list(predicted))
        return found | {"character error rate": float(errors)}
    return found


def row_errors(outputs: Outputs, truth: Items, predicted: Items) -> np.ndarray:
    """The error of each row: for numbers in units of their spread, else one less the metric."""
    if outputs.kind_ not in ARRAYS:
        return 1.0 - np.asarray(outputs.space_.metric(truth, predicted, average=False))
    Y = np.asarray(truth, dtype=float).reshape(len(truth), -1)
    E = Y - np.asarray(predicted).reshape(Y.shape)
    spread = Y.std(axis=0)
    if outputs.kind_ == "number":
        E = E / np.where(spread > 0, spread, 1.0)
        return np.sqrt((E**2).mean(axis=1))
    total = float(np.sqrt((spread**2).mean()))
    return np.sqrt((E**2).mean(axis=1)) / (total or 1.0)


def scorer_of(scoring: Any) -> Any:
    """A scorer of scikit-learn's, or one made of a metric of mercer's by its name."""
    from sklearn.metrics import get_scorer_names, make_scorer

    if not isinstance(scoring, str) or scoring in get_scorer_names():
        return scoring
    metric = None if scoring.startswith("_") else getattr(metrics, scoring, None)
    if not inspect.isfunction(metric):
        raise ValueError(
            f"{scoring!r:.60} is no scorer of scikit-learn's and no metric of mercer's: try "
            "accuracy, f1_macro, sample_f1 or hamming_accuracy."
        )
    lower = any(word in scoring for word in ("error", "loss", "distance"))
    return make_scorer(metric, greater_is_better=not lower)
