"""The systems that turn a face to the front, at the paper's parameters and at chosen ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import KNeighborsRegressor

from mercer import JointKernelMap, KernelDependency, KernelDependencyCV
from mercer.kernels import RBF
from mercer.operators import ConditionalCovariance, Covariance, Identity, Operator, Patchwise

ALPHAS = np.logspace(-7, 1, 9)
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Length scales, as multiples of the median distance of the training data."""
EPSILONS = (1e-2, 1e-1, 1.0)
COSTS = (0.03, 0.1, 0.3, 1.0, 3.0)
MARGIN_SCALES = (0.5, 1.0, 2.0, 4.0)
FOLDS, SCORING = 4, "neg_mean_squared_error"

Fit = Callable[[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]], Any]
"""From flat inputs, flat outputs, people and the shape of an image to a fitted model."""


class MeanFace:
    """The mean of the training faces, whatever the input."""

    def fit(self, X: np.ndarray, Y: np.ndarray) -> MeanFace:
        """Keep the mean."""
        self.mean_ = Y.mean(axis=0)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the mean for every input."""
        return np.tile(self.mean_, (len(X), 1))


def literal(operator: Operator, scale: float) -> Fit:
    """Return the model at the paper's ridge and length scale; ε by leave-one-out."""

    def fit(X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]) -> Any:
        kernels = [RBF(scale) * o for o in _family(operator)]
        return KernelDependencyCV(kernels, alphas=[0.1], fit_intercept=False).fit(
            X, Y, groups=people
        )

    return fit


def chosen(operator: Operator) -> Fit:
    """Return the model with length scale, ε and ridge chosen by leaving people out."""

    def fit(X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]) -> Any:
        scale = RBF().fit(X).length_scale_
        kernels = [RBF(s * scale) * o for s in SCALES for o in _family(operator)]
        # The covariance operators have the unit of the outputs' variance, the identity is unitless.
        unit = 1.0 if isinstance(operator, Identity) else float(Y.var(axis=0).sum())
        model = KernelDependencyCV(kernels, alphas=unit * ALPHAS, fit_intercept=True)
        return model.fit(X, Y, groups=people)

    return fit


def literal_patches(
    X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]
) -> Any:
    """Return patches in the ridge equation at the paper's length scale."""
    return KernelDependency(patches(shape, RBF(3.0)), alpha=0.1, fit_intercept=False).fit(X, Y)


def chosen_patches(X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return patches in the ridge equation, all by leaving people out."""
    kernels = [patches(shape, RBF(s * patch_scale(X, shape))) for s in SCALES]
    model = KernelDependencyCV(kernels, alphas=ALPHAS, fit_intercept=True)
    return model.fit(X, Y, groups=people)


def literal_margin(X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return joint kernel maps at the paper's length scale; C by refits."""
    return _margin([patches(shape, RBF(3.0))], X, Y, people)


def chosen_margin(X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return joint kernel maps, length scale and C by refits without some of the people."""
    scale = patch_scale(X, shape)
    return _margin([patches(shape, RBF(s * scale)) for s in MARGIN_SCALES], X, Y, people)


def nearest(X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return the frontal image of the training face that looks most alike."""
    return KNeighborsRegressor(1).fit(X, Y)


def mean_face(X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]) -> Any:
    """Return the training mean, which every method has to beat."""
    return MeanFace().fit(X, Y)


def patches(shape: tuple[int, int], kernel: Any = None) -> Patchwise:
    """Return patches of 10 × 10 that overlap by 5, smaller where the images are."""
    size = (min(10, shape[0]), min(10, shape[1]))
    return Patchwise(kernel, shape, size=size, overlap=(min(5, size[0] - 1), min(5, size[1] - 1)))


def patch_scale(X: np.ndarray, shape: tuple[int, int]) -> float:
    """Return the median distance of two patches, from anywhere in the images."""
    return float(patches(shape).fit(X, X).kernel_.length_scale_)


def _family(operator: Operator) -> list[Operator]:
    if isinstance(operator, ConditionalCovariance):
        return [ConditionalCovariance(epsilon) for epsilon in EPSILONS]
    return [operator]


def _margin(kernels: list[Patchwise], X: np.ndarray, Y: np.ndarray, people: np.ndarray) -> Any:
    """Return joint kernel maps chosen by refits without a fourth of the people."""
    folds = GroupKFold(min(FOLDS, len(np.unique(people))))
    rough = JointKernelMap(tol=2e-2, max_iter=100)
    grid = {"kernel": kernels, "C": list(COSTS)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is reported with the result
        search = GridSearchCV(rough, grid, cv=folds, scoring=SCORING, refit=False)
        search.fit(X, Y, groups=people)
        model = JointKernelMap(tol=1e-2, max_iter=500).set_params(**search.best_params_)
        return model.fit(X, Y)


METHODS: dict[str, dict[str, Fit]] = {
    "JKM, patches, margin": {"paper": literal_margin, "chosen": chosen_margin},
    "patch-wise ridge": {"paper": literal_patches, "chosen": chosen_patches},
    "Cortes 2005 (identity)": {
        "paper": literal(Identity(), 1.0),
        "chosen": chosen(Identity()),
    },
    "covariance": {"paper": literal(Covariance(), 4.0), "chosen": chosen(Covariance())},
    "conditional covariance": {
        "paper": literal(ConditionalCovariance(), 4.0),
        "chosen": chosen(ConditionalCovariance()),
    },
    "mean face": {"paper": mean_face, "chosen": mean_face},
    "nearest neighbour": {"chosen": nearest},
}
"""Every row of Table 3 and its floor, by setting."""
