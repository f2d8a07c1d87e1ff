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

KNOWN = 400
"""The number of training digits; the others are test digits that the user can select."""
FIRST = 418
"""The digit that the page shows first: a five whose upper half determines the lower one."""
ALPHAS = tuple(np.logspace(-6, 1, 29))
OPERATORS: dict[str, Operator] = {"identity": Identity(), "covariance": Covariance()}


class Digits:
    """Models of scikit-learn's digits, one for each operator, refitted as sliders move."""

    def __init__(self) -> None:
        self.upper, self.lower = load_digit_halves()
        self.most = float(self.upper.max())
        self.fitted = lru_cache(maxsize=32)(self._fitted)

    def some(self, request: dict) -> dict:
        """Return upper halves of test digits, with the true lower halves."""
        seed = int(request.get("seed", 0))
        rng = np.random.default_rng(seed)
        chosen = rng.choice(np.arange(KNOWN, len(self.upper)), 12, replace=False)
        if seed == 0:
            chosen[0] = FIRST
        return {
            "upper": (self.upper[chosen] / self.most).tolist(),
            "lower": (self.lower[chosen] / self.most).tolist(),
        }

    def complete(self, request: dict) -> dict:
        """Predict the lower half of a digit by each operator and decoder; add risks and spectra."""
        upper = np.asarray(request["upper"], dtype=float) * self.most
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
                {"operator": name, **self._completed_by(name, parameter, *scales, alpha, upper)}
                for name, parameter in choices.items()
            ]
        }

    def _completed_by(
        self,
        operator: str,
        epsilon: float | None,
        scale: float,
        output_scale: float,
        alpha: float,
        upper: np.ndarray,
    ) -> dict[str, Any]:
        """Return the predictions of one operator for an upper half, its risks and spectrum."""
        model, seen = self.fitted(operator, epsilon, scale, output_scale)
        points = model.solve(alpha).points(upper.reshape(1, -1))
        outputs, halves = model.problem.outputs, {}
        for decoder in (Candidates(), FixedPoint()):
            decoder.fit(outputs.kernel, outputs.items)
            halves[type(decoder).__name__] = (decoder.decode(points)[0] / self.most).tolist()
        return {"halves": halves, **seen}

    def _fitted(self, name: str, epsilon: float | None, scale: float, output_scale: float) -> Any:
        """Return the fitted model of one operator, its risks, its spectrum and its best ridge."""
        operator = OPERATORS[name] if epsilon is None else ConditionalCovariance(epsilon)
        X, Y = self.upper[:KNOWN], self.lower[:KNOWN]
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
    """Return the number `name` of a request; raise an error if it is not in [low, high]."""
    value = float(request[name])
    if not low <= value <= high:
        raise ValueError(f"{name} must be between {low} and {high}, got {value}.")
    return value
