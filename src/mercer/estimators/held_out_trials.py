"""Kernels, length scales and ridges, compared on held-out pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, host, like, namespace, take
from .._base.linalg import PositiveDefinite, add_ridge, exceeds_rounding
from .._base.statistics import standard_error, weighted_median
from ..kernels import Kernel
from ..kernels.distances import squared_distances

RIDGES = tuple(10.0**power for power in range(-12, 1, 2))
"""Ridges in units of the mean of k(x, x); those below rounding errors are not tried."""
ROUNDING = 1e-12
"""Squared errors below this fraction of the mean count as rounding errors."""
MEDIAN_ROWS = 1000
"""The most rows whose distances give the unit of length scales."""
PROBES = 64
"""Random directions of the outputs whose gradients are computed if the outputs have more."""


@dataclass(frozen=True)
class HeldOutTrial:
    """A kernel of distances with a length scale and a ridge, and its error on held-out pairs.

    Attributes
    ----------
    kernel
        The kernel, whose length scale is a number.
    ridge
        The ridge.
    errors, weights
        The squared error of each held-out pair, and its sample weight.
    scale
        The length scale in units of the median distance; 1 for kernels without one.
    """

    kernel: Kernel
    ridge: float
    errors: np.ndarray
    weights: np.ndarray
    scale: float = 1.0

    @property
    def risk(self) -> float:
        """The mean squared error."""
        return float(np.average(self.errors, weights=self.weights))

    def is_clearly_better(self, other: HeldOutTrial) -> bool:
        """Return whether the error is less, and its logarithm by more than two standard errors.

        A few large errors would hide a difference in the mean of the errors themselves.
        """
        if not self.risk < other.risk:
            return False
        floor = ROUNDING * other.risk
        gains = np.log(other.errors + floor) - np.log(self.errors + floor)
        gain, error = standard_error(gains, self.weights)
        return gain > 2.0 * error


@dataclass(frozen=True)
class HeldOutSplit:
    """Inputs in some coordinates and outputs, split into training pairs and held-out pairs.

    Attributes
    ----------
    X, V
        The inputs and outputs of training pairs; outputs have a mean of zero.
    X_new, V_new
        Those of held-out pairs.
    weights
        The sample weights of the training pairs; None for ones.
    weights_new
        Those of held-out pairs.
    """

    X: Array
    V: Array
    X_new: Array
    V_new: Array
    weights: Array | None
    weights_new: np.ndarray

    @classmethod
    def of(
        cls, X: Array, V: Array, rows: np.ndarray, held: np.ndarray, weights: np.ndarray | None
    ) -> HeldOutSplit:
        """Return the split with training rows and held-out rows of inputs X and outputs V."""
        V_own, V_new, own, new = take(V, rows), take(V, held), None, np.ones(len(held))
        mean = namespace(V).mean(V_own, axis=0)
        if weights is not None:
            own = like(weights[rows], V)
            mean = own @ V_own / float(weights[rows].sum())
            new = weights[held]
        return cls(take(X, rows), V_own - mean, take(X, held), V_new - mean, own, new)

    def mapped(self, R: Array) -> HeldOutSplit:
        """Return the split with inputs R x."""
        return replace(self, X=self.X @ R.T, X_new=self.X_new @ R.T)

    def best(
        self,
        kernels: Sequence[Kernel],
        scales: Sequence[float],
        ridges: Sequence[float] = RIDGES,
    ) -> HeldOutTrial:
        """Return the best trial of kernels of distances, with scales in units of the median."""
        trials = self._radial_trials(kernels, scales, ridges)
        return min(trials, key=lambda trial: trial.risk)

    def best_of(self, kernels: Iterable[Kernel]) -> HeldOutTrial:
        """Return the best trial of other kernels, which are fitted on the training inputs."""
        return min(self._trials_of_others(kernels), key=lambda trial: trial.risk)

    def _radial_trials(
        self,
        kernels: Sequence[Kernel],
        scales: Sequence[float],
        ridges: Sequence[float] = RIDGES,
    ) -> Iterator[HeldOutTrial]:
        """Yield the trials of kernels of distances at each length scale and ridge."""
        within, across = (squared_distances(self.X, B) for B in (self.X, self.X_new))
        unit = median_distance(within, self.weights)
        for kernel in kernels:
            for scale in scales:
                scaled = clone(kernel).set_params(length_scale=scale * unit)
                value = scaled.radial.value
                yield from self._trials(scaled, value(within), value(across), ridges, scale)

    def _trials_of_others(self, kernels: Iterable[Kernel]) -> Iterator[HeldOutTrial]:
        """Yield the trials of kernels that are fitted on the training inputs."""
        for kernel in kernels:
            fitted = clone(kernel).fit(self.X)
            K, k = fitted(self.X, self.X), fitted(self.X, self.X_new)
            yield from self._trials(clone(kernel), K, k, RIDGES)

    def _trials(
        self, kernel: Kernel, K: Array, k: Array, ridges: Sequence[float], scale: float = 1.0
    ) -> Iterator[HeldOutTrial]:
        """Yield the trials of a kernel with Gram matrices K and k, at ridges above rounding."""
        xp = namespace(K)
        diagonal = xp.linalg.diagonal(K)
        unit, largest = float(xp.mean(diagonal)), float(xp.max(diagonal))
        for ridge in ridges:
            if unit > 0 and exceeds_rounding(ridge * unit, int(K.shape[0]), largest):
                predicted = k.T @ self._solve(K, ridge * unit)
                errors = host(xp.sum((predicted - self.V_new) ** 2, axis=1))
                yield HeldOutTrial(kernel, ridge * unit, errors, self.weights_new, scale)

    def _solve(self, K: Array, ridge: float) -> Array:
        """Return the dual coefficients (K + ridge · diag(1 / weights))⁻¹ V."""
        diagonal = ridge if self.weights is None else ridge / self.weights
        return PositiveDefinite.of(add_ridge(K + 0.0, diagonal)).solve(self.V)

    def gradient_moments(self, trial: HeldOutTrial) -> Array:
        """Return the mean outer product of the gradients of the predictor at the training inputs.

        With coefficients C and slopes s_im = -dk/d‖x_i - x_m‖², the gradient of the prediction of
        direction j at x_i is 2 Σ_m s_im C_mj (x_m - x_i).
        """
        within, xp = squared_distances(self.X, self.X), namespace(self.X)
        C = self._solve(trial.kernel.radial.value(within), trial.ridge)
        if C.shape[1] > PROBES:
            drawn = np.random.RandomState(0).normal(size=(int(C.shape[1]), PROBES))
            C = C @ like(drawn, C)
        slopes = 2.0 * trial.kernel.radial.slope(within)
        weights = xp.ones_like(within[:, 0]) if self.weights is None else self.weights
        total: Any = 0.0
        for j in range(int(C.shape[1])):
            S = slopes * C[:, j][None, :]
            gradients = S @ self.X - xp.sum(S, axis=1)[:, None] * self.X
            total = total + gradients.T @ (gradients * weights[:, None])
        return total / float(xp.sum(weights))


def median_distance(D2: Array, weights: Array | None) -> float:
    """Return the median distance of different rows, given squared distances; 1 if all are zero."""
    rows = min(MEDIAN_ROWS, int(D2.shape[0]))
    values = host(D2[:rows, :rows])
    own = np.ones(rows) if weights is None else host(weights)[:rows]
    different = values > 0
    if not different.any():
        return 1.0
    return float(np.sqrt(weighted_median(values[different], np.outer(own, own)[different])))
