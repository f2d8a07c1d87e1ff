"""The systems that turn a face to the front, at the paper's parameters and at chosen ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import KNeighborsRegressor

from experiments.peers import JointKernelMap
from mercer import KernelDependency, KernelDependencyCV
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
    """Model that predicts the mean of the training faces for every input."""

    def fit(self, X: np.ndarray, Y: np.ndarray) -> MeanFace:
        """Store the mean of the training outputs."""
        self.mean_ = Y.mean(axis=0)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the mean training output for every input."""
        return np.tile(self.mean_, (len(X), 1))


def at_paper_parameters(operator: Operator, scale: float) -> Fit:
    """Return a function that fits an operator at the ridge and length scale of the paper."""

    def fit(X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]) -> Any:
        """Fit the operator with the parameters of the paper; `people` are the groups."""
        kernels = [RBF(scale) * o for o in _operators_to_try(operator)]
        return KernelDependencyCV(kernels, alphas=[0.1], fit_intercept=False).fit(
            X, Y, groups=people
        )

    return fit


def with_chosen_parameters(operator: Operator) -> Fit:
    """Return a function that fits an operator, with parameters chosen by leaving people out."""

    def fit(X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]) -> Any:
        """Choose parameters by leaving out one of the `people` at a time, and fit the operator."""
        scale = RBF().fit(X).length_scale_
        kernels = [RBF(s * scale) * o for s in SCALES for o in _operators_to_try(operator)]
        # The covariance operators have the unit of the outputs' variance, the identity is unitless.
        unit = 1.0 if isinstance(operator, Identity) else float(Y.var(axis=0).sum())
        model = KernelDependencyCV(kernels, alphas=unit * ALPHAS, fit_intercept=True)
        return model.fit(X, Y, groups=people)

    return fit


def fit_paper_patches(
    X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]
) -> Any:
    """Fit ridge regression with a patchwise kernel at the length scale of the paper."""
    return KernelDependency(patchwise(shape, RBF(3.0)), alpha=0.1, fit_intercept=False).fit(X, Y)


def fit_chosen_patches(
    X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]
) -> Any:
    """Fit ridge regression with a patchwise kernel chosen by leaving people out."""
    kernels = [patchwise(shape, RBF(s * patch_scale(X, shape))) for s in SCALES]
    model = KernelDependencyCV(kernels, alphas=ALPHAS, fit_intercept=True)
    return model.fit(X, Y, groups=people)


def fit_paper_margin(
    X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]
) -> Any:
    """Fit joint kernel maps at the length scale of the paper; C is chosen by refits."""
    return _fit_margin([patchwise(shape, RBF(3.0))], X, Y, people)


def fit_chosen_margin(
    X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]
) -> Any:
    """Fit joint kernel maps, with length scale and C chosen by leaving people out."""
    scale = patch_scale(X, shape)
    return _fit_margin([patchwise(shape, RBF(s * scale)) for s in MARGIN_SCALES], X, Y, people)


def fit_nearest_face(
    X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]
) -> Any:
    """Fit the model that returns the frontal image of the nearest training face."""
    return KNeighborsRegressor(1).fit(X, Y)


def fit_mean_face(X: np.ndarray, Y: np.ndarray, people: np.ndarray, shape: tuple[int, int]) -> Any:
    """Fit the model that returns the mean training face, the simplest baseline."""
    return MeanFace().fit(X, Y)


def patchwise(shape: tuple[int, int], kernel: Any = None) -> Patchwise:
    """Return a kernel on 10 × 10 patches that overlap by 5 pixels, or smaller ones."""
    size = (min(10, shape[0]), min(10, shape[1]))
    return Patchwise(kernel, shape, size=size, overlap=(min(5, size[0] - 1), min(5, size[1] - 1)))


def patch_scale(X: np.ndarray, shape: tuple[int, int]) -> float:
    """Return the median distance between patches of the images."""
    return float(patchwise(shape).fit(X, X).kernel_.length_scale_)


def _operators_to_try(operator: Operator) -> list[Operator]:
    """Return the operator, or conditional covariances with several values of ε."""
    if isinstance(operator, ConditionalCovariance):
        return [ConditionalCovariance(epsilon) for epsilon in EPSILONS]
    return [operator]


def _fit_margin(kernels: list[Patchwise], X: np.ndarray, Y: np.ndarray, people: np.ndarray) -> Any:
    """Fit joint kernel maps, with the kernel and C chosen in folds by person."""
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
    "JKM, patches, margin": {"paper": fit_paper_margin, "chosen": fit_chosen_margin},
    "patch-wise ridge": {"paper": fit_paper_patches, "chosen": fit_chosen_patches},
    "Cortes 2005 (identity)": {
        "paper": at_paper_parameters(Identity(), 1.0),
        "chosen": with_chosen_parameters(Identity()),
    },
    "covariance": {
        "paper": at_paper_parameters(Covariance(), 4.0),
        "chosen": with_chosen_parameters(Covariance()),
    },
    "conditional covariance": {
        "paper": at_paper_parameters(ConditionalCovariance(), 4.0),
        "chosen": with_chosen_parameters(ConditionalCovariance()),
    },
    "mean face": {"paper": fit_mean_face, "chosen": fit_mean_face},
    "nearest neighbour": {"chosen": fit_nearest_face},
}
"""Every row of Table 3 and its floor, by setting."""
