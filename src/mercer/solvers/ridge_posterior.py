"""The posterior of a multiple of the identity at one ridge, by a Cholesky factor alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .._arrays import Array, Items, blocks, count, namespace
from .._arrays import part as part_of
from .._linalg import solve_triangular
from ..problem import Problem, Want
from .cholesky import Cholesky
from .densities import HELD
from .factorization import Cache
from .route import route
from .weights import DualWeights


class RidgePosterior:
    """Variances and noise by (√w K √w + αI)⁻¹ = L⁻ᵀL⁻¹, without the spectrum of K.

    With α over the number b that the operator is, the variance for unit noise is
    (b/α)(k(x, x) - ‖L⁻¹k_x‖²), and 1/Σw more for an intercept: half a matrix product.

    Attributes
    ----------
    outputs, Q, parts
        As of `Spectral`: outputs in coordinates, which are the directions of the operator.
    """

    Q = None

    def __init__(self, problem: Problem, alpha: float):
        self.problem, self.b = problem, float(problem.kernel.operator.uniform or 0.0)
        self.gram, self.factor = DualWeights.of(problem, alpha).factored
        self.outputs = Cache().outputs(problem)
        ones = namespace(self.outputs.rows).ones_like(self.outputs.rows[0, :])
        self.parts = [SimpleNamespace(b=self.b * ones, T=self.outputs.rows)]

    def _inside(self, T: Array) -> Array:
        """L⁻¹ of what is not constant."""
        return solve_triangular(self.factor.factor, self.gram.reduction.inside(T))

    def noise(self, alpha: float) -> float:
        """σ² that makes the outputs most likely; with an intercept of one row less (REML)."""
        Z = self._inside(self.outputs.rows)
        number = Z.shape[0] * Z.shape[1]
        return alpha / self.b * float(namespace(Z).sum(Z * Z)) / number

    def variance(self, X: Items, alpha: float) -> Array:
        """The variance of g(x) for unit noise, the same along all directions."""
        gram, found = self.gram, []
        for rows in blocks(count(X), max(1, HELD // self.problem.n)):
            some = part_of(X, rows)
            K = gram.against(some)
            Z = self._inside(gram.reduction.weighted(namespace(K).matrix_transpose(K)))
            found.append(gram.prior(some, K) - namespace(Z).sum(Z * Z, axis=0))
        xp = namespace(*found)
        left = xp.concat(found)
        share = 1.0 / self.problem.total if self.problem.intercept else 0.0
        V = xp.where(left > 0, left, xp.zeros_like(left)) * (self.b / alpha) + share
        return V[:, None] * xp.ones_like(self.parts[0].b)[None, :]


def ridge_posterior(problem: Problem, want: Want, alpha: float) -> Any:
    """That of a problem, or None where it takes spectra or α is lost in rounding."""
    if problem.gathered is not None or not problem.separable:
        return None
    single = Want(alphas=[alpha], judge=want.judge)
    if route(problem, single) is not Cholesky or not problem.kernel.operator.uniform:
        return None
    try:
        return RidgePosterior(problem, alpha)
    except np.linalg.LinAlgError:
        return None
