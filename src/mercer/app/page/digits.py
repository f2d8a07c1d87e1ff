"""The tab "Digits": lower halves of digits from upper halves, live."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...datasets import load_digit_halves
from ...decoders import Candidates, FixedPoint
from ...kernels import RBF
from ...operators import ConditionalCovariance, Covariance, Identity, Operator
from ...problem import Problem, Side, Want
from ...solvers import Cache
from ...solvers.exact import spectral

N_TRAINING = 400
"""The number of training digits; the others are test digits that the user can select."""
FIRST_SHOWN = 418
"""The digit that the page shows first: a five whose upper half determines the lower one."""
ALPHAS = tuple(np.logspace(-6, 1, 29))
OPERATORS: dict[str, Operator] = {"identity": Identity(), "covariance": Covariance()}


class DigitsTab:
    """Tab of the page that completes digits by one model for each operator."""

    def __init__(self) -> None:
        self.upper, self.lower = load_digit_halves()
        self.largest_value = float(self.upper.max())
        self.fitted = lru_cache(maxsize=32)(self._fit)

    def random_halves(self, request: dict) -> dict:
        """Return the upper halves of twelve random test digits, with the true lower halves."""
        seed = int(request.get("seed", 0))
        rng = np.random.default_rng(seed)
        chosen = rng.choice(np.arange(N_TRAINING, len(self.upper)), 12, replace=False)
        if seed == 0:
            chosen[0] = FIRST_SHOWN
        return {
            "upper": (self.upper[chosen] / self.largest_value).tolist(),
            "lower": (self.lower[chosen] / self.largest_value).tolist(),
        }

    def complete(self, request: dict) -> dict:
        """Return the lower half that each operator and decoder predicts for an upper half."""
        upper = np.asarray(request["upper"], dtype=float) * self.largest_value
        if upper.shape != self.upper.shape[1:]:
            raise ValueError(
                f"An upper half must be {self.upper.shape[1:]} pixels, got {upper.shape}."
            )
        if not np.isfinite(upper).all():
            raise ValueError("Every pixel must be a finite number.")
        scale = _number_in_range(request, "scale", 0.2, 8)
        output_scale = _number_in_range(request, "output", 0.2, 8)
        alpha = _number_in_range(request, "alpha", 1e-7, 100)
        epsilon = _number_in_range(request, "epsilon", 1e-5, 100)
        scales = scale, output_scale
        choices = {"identity": None, "covariance": None, "conditional covariance": epsilon}
        return {
            "completions": [
                {"operator": name, **self._complete_by(name, parameter, *scales, alpha, upper)}
                for name, parameter in choices.items()
            ]
        }

    def _complete_by(
        self,
        operator: str,
        epsilon: float | None,
        scale: float,
        output_scale: float,
        alpha: float,
        upper: np.ndarray,
    ) -> dict[str, Any]:
        """Return the lower halves that one operator and each decoder predict, with details.

        The details are the left-out risk of each ridge, the spectrum of the operator and the best
        ridge.
        """
        model, seen = self.fitted(operator, epsilon, scale, output_scale)
        points = model.solve(alpha).points(upper.reshape(1, -1))
        outputs, halves = model.problem.outputs, {}
        for decoder in (Candidates(), FixedPoint()):
            decoder.fit(outputs.kernel, outputs.items)
            halves[type(decoder).__name__] = (
                decoder.decode(points)[0] / self.largest_value
            ).tolist()
        return {"halves": halves, **seen}

    def _fit(self, name: str, epsilon: float | None, scale: float, output_scale: float) -> Any:
        """Return the model fitted with one operator, and its risks, spectrum and best ridge."""
        operator = OPERATORS[name] if epsilon is None else ConditionalCovariance(epsilon)
        X, Y = self.upper[:N_TRAINING], self.lower[:N_TRAINING]
        kernel, output_kernel = RBF(scale).fit(X), RBF(output_scale).fit(Y)
        sides = Side(kernel, kernel.check(X)), Side(output_kernel, Y)
        problem = Problem(*sides, kernel * operator)
        model: Any = spectral(problem, Want(ALPHAS, left_out=True), Cache())
        risks = [left_out.risk() for left_out in model.left_out(list(ALPHAS))]
        return model, {
            "risk": [list(ALPHAS), risks],
            "spectrum": np.sort(model.parts[0].b)[::-1][:60].tolist(),
            "alpha": float(ALPHAS[int(np.argmin(risks))]),
        }


def _number_in_range(request: dict, name: str, low: float, high: float) -> float:
    """Return the number `name` of a request; raise an error unless low <= number <= high."""
    value = float(request[name])
    if not low <= value <= high:
        raise ValueError(f"{name} must be between {low} and {high}, got {value}.")
    return value
