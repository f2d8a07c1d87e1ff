"""Probabilities of classes and labels, calibrated on left-out points."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .._base.arrays import Items, dense, exact_array, host, object_array
from ..embedding import Embedding
from ..kernels import Kernel
from ..spaces import Classes, LabelSets

EDGE = 0.01
"""Scores are clipped to [EDGE, 1 - EDGE] before their odds are computed."""


class Probabilities(BaseEstimator):
    """Model of the probabilities of classes or labels, given their scores (Platt scaling).

    With s_c = ⟨g(x), Φ(c)⟩ / ‖Φ(c)‖², z_c = a s_c + b log(s_c / (1 - s_c)) + d + e_c is the
    log-odds of a label, or of classes up to a constant; a, b, d and e maximise the likelihood of
    the left-out scores, with a normal prior on e_c and one extra row in which every label is wrong.
    a and b are not negative: without signal, a left-out score is lower for the true class, which
    lacks that example, and the likelihood alone would turn the probabilities around.

    Parameters
    ----------
    kernel
        The fitted output kernel, on classes or label sets.

    Attributes
    ----------
    classes_
        The classes, or all labels, sorted where they can be.

    References
    ----------
    Platt (1999): Probabilistic outputs for support vector machines.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF, Delta
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> y = ["sea", "sea", "sea", "sun", "sun", "sun"]
    >>> model = KernelDependency(RBF(0.5), Delta(), alpha=0.1).fit(X, y)
    >>> model.classes_, model.predict_proba([[0.1]]).round() + 0.0
    (array(['sea', 'sun'], dtype='<U3'), array([[1., 0.]]))
    """

    def __init__(self, kernel: Any = None):
        self.kernel = kernel

    @property
    def multilabel(self) -> bool:
        """Whether an output is a set of labels, rather than one class."""
        return isinstance(self.kernel.space, LabelSets)

    def fit(self, points: Embedding, y: Items) -> Probabilities:
        """Fit the calibration on left-out points of outputs y, which count by sample weight."""
        self.classes_ = sorted_classes(self.kernel.multiple.kernel.classes_)
        F = self._features(points)
        T = self._indicators(y)
        k = T.shape[1]
        w = points.counts[:, None]
        n = float(w.sum())
        # Instead of certainty, n of n + 1 rows are right: scores that separate all rows would
        # make the slope infinite.
        T = (n * T + (1.0 - T) / (1 if self.multilabel else max(k - 1, 1))) / (n + 1.0)

        def loss(p: np.ndarray) -> tuple[float, np.ndarray]:
            """Return the penalised negative log-likelihood at parameters p, and its gradient."""
            Z, own = np.tensordot(p[:3], F, 1) + p[3:], p[3:]
            if self.multilabel:
                value, P = (w * (np.logaddexp(0.0, Z) - T * Z)).sum(), expit(Z)
            else:
                logs = log_softmax(Z, axis=1)
                value, P = -(w * T * logs).sum(), np.exp(logs)
            E = w * (P - T)
            slopes = np.append(np.tensordot(F, E, 2), E.sum(axis=0) + own)
            return float(value + own @ own / 2.0), slopes

        start, bounds = [1.0] + [0.0] * (k + 2), [(0.0, None)] * 2 + [(None, None)] * (k + 1)
        self.weights_ = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
        return self

    def predict(self, points: Embedding) -> np.ndarray:
        """Return probabilities (points, classes); rows sum to one if outputs are classes."""
        Z = np.tensordot(self.weights_[:3], self._features(points), 1) + self.weights_[3:]
        return expit(Z) if self.multilabel else softmax(Z, axis=1)

    def _features(self, points: Embedding) -> np.ndarray:
        """Return the logistic model's features: scores, log-odds and 1, (3, points, classes)."""
        alone = object_array([[c] for c in self.classes_]) if self.multilabel else self.classes_
        S = host(points.inner(alone)) / host(self.kernel.diag(alone))
        return np.stack([S, logit(np.clip(S, EDGE, 1.0 - EDGE)), np.ones(S.shape)])

    def _indicators(self, y: Items) -> np.ndarray:
        """Return 1 if an output is or contains a class, else 0, (outputs, classes)."""
        own = self.kernel.multiple.kernel
        if not self.multilabel:
            return (own(y, self.classes_) > 0) + 0.0
        columns = [own.columns_[label] for label in self.classes_.tolist()]
        return (host(dense(own.check(y, "y")))[:, columns] > 0) + 0.0


def sorted_classes(classes: np.ndarray) -> np.ndarray:
    """Return classes as an array, sorted if they can be compared."""
    plain = classes.tolist()
    with suppress(TypeError):
        plain = sorted(plain)
    same = len({type(c) for c in plain}) == 1 and isinstance(plain[0], str | int | float)
    return exact_array(plain) if same else object_array(plain)


def has_classes(model: Any) -> bool:
    """Return whether the outputs of a fitted model are classes or label sets."""
    kernel = vars(model).get("output_kernel_")
    return kernel is not None and names_classes(kernel)


def offers_probabilities(model: Any) -> bool:
    """Return True if a model can predict class probabilities; else raise an error that says why."""
    if not any(name.endswith("_") for name in vars(model)):
        raise NotFittedError(
            f"this {type(model).__name__} is not fitted: predict_proba is for fitted models of "
            "classes and label sets."
        )
    if not has_classes(model):
        raise AttributeError(
            "predict_proba is for classes and label sets, which the outputs of this model are "
            "not: use mercer.sets.ConformalSets for prediction sets, or predict_top for scores."
        )
    return True


def names_classes(kernel: Kernel) -> bool:
    """Return whether a fitted output kernel is on classes or label sets whose names it knows."""
    named = "classes_" in vars(kernel.multiple.kernel)
    return named and isinstance(kernel.space, Classes | LabelSets)
