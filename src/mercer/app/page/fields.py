"""The tab "A field": predict the solution of an equation for a drawn coefficient, with a band."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ... import ConformalSets, KernelDependencyCV
from ...kernels import L2, RBF
from ...operators import Covariance, Identity

BAR_CELLS = 40
"""The number of cells of the simulated bar."""
RUNS = 300
"""The number of simulations for training; a quarter of them calibrates the band."""
LEAST_CONDUCTIVITY, MOST_CONDUCTIVITY = 0.2, 5.0
"""The smallest and the largest conductivity that the user can draw."""
FIELD_COVERAGE = 0.9


def solve(conductivity: np.ndarray) -> np.ndarray:
    """Return the solution u of -(a u')' = 1, u(0) = u(1) = 0, for the conductivity a of each cell.

    The flow between two cells is proportional to the harmonic mean of their conductivities.
    """
    h = 1.0 / len(conductivity)
    inner = 2.0 / (1.0 / conductivity[1:] + 1.0 / conductivity[:-1])
    flow = np.concatenate([[2.0 * conductivity[0]], inner, [2.0 * conductivity[-1]]])
    matrix = np.diag(flow[1:] + flow[:-1]) - np.diag(inner, 1) - np.diag(inner, -1)
    return np.linalg.solve(matrix, np.full(len(conductivity), h * h))


class FieldsTab:
    """Tab of the page that predicts the solution of an equation from its conductivity."""

    def __init__(self) -> None:
        self.points = (np.arange(BAR_CELLS) + 0.5) / BAR_CELLS

    def random_conductivity(self, request: dict) -> dict:
        """Return a random conductivity that is not in the training data."""
        seed = int(request.get("seed", 0))
        a = self._random_log_conductivities(np.random.default_rng([7, abs(seed)]), 1)[0]
        return {
            "points": self.points.tolist(),
            "low": LEAST_CONDUCTIVITY,
            "high": MOST_CONDUCTIVITY,
            "a": np.exp(a).tolist(),
        }

    def predict(self, request: dict) -> dict:
        """Return the predicted solution for a conductivity, its band, and the simulated one."""
        a = np.asarray(request["a"], dtype=float)
        if a.shape != (BAR_CELLS,) or not np.isfinite(a).all():
            raise ValueError(
                f"A conductivity must be {BAR_CELLS} finite numbers, got shape {a.shape}."
            )
        if a.min() < 0.99 * LEAST_CONDUCTIVITY or a.max() > 1.01 * MOST_CONDUCTIVITY:
            raise ValueError(
                f"Conductivities must be between {LEAST_CONDUCTIVITY} and {MOST_CONDUCTIVITY}."
            )
        X = np.log(a)[None, :]
        band = self.sets.predict(X)[0]
        return {
            "points": self.points.tolist(),
            "predicted": self.sets.model_.predict(X)[0].tolist(),
            "band": [np.asarray(band.lower).tolist(), np.asarray(band.upper).tolist()],
            "truth": solve(a).tolist(),
            "coverage": FIELD_COVERAGE,
        }

    @cached_property
    def sets(self) -> ConformalSets:
        """The prediction bands, by `ConformalSets` fitted to simulated bars on first use."""
        X = self._random_log_conductivities(np.random.default_rng(0), RUNS)
        Y = np.array([solve(np.exp(x)) for x in X])
        kernels = [
            RBF(scale) * operator
            for scale in (2.0, 4.0, 8.0)
            for operator in (Identity(), Covariance(0.5))
        ]
        model = KernelDependencyCV(kernels, L2(self.points))
        return ConformalSets(model, coverage=FIELD_COVERAGE, kind="band", random_state=0).fit(X, Y)

    def _random_log_conductivities(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Return n log-conductivities: random cosines and a jump, clipped to the allowed range."""
        waves = np.cos(np.pi * np.outer(np.arange(6), self.points))
        a = rng.normal(size=(n, 6)) / np.arange(1, 7) @ waves
        jump = rng.normal(size=(n, 1)) * (self.points > rng.uniform(0.1, 0.9, size=(n, 1)))
        return np.clip(0.7 * (a + jump), np.log(LEAST_CONDUCTIVITY), np.log(MOST_CONDUCTIVITY))
