"""The identity operator, exact, at one ridge: one Cholesky factorisation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from .._base.arrays import Array, Items, blocks, count, namespace
from .._base.arrays import part as part_of
from .._base.linalg import PositiveDefinite, solve_triangular
from .._base.plan import CHOLESKY_SQUARES, Sizes
from ..embedding import Embedding, PointMap, SpanFrame
from ..problem import Problem, Want
from .factorization import Cache, Factorization, LeftOutModels, Outputs, Solution
from .inputs import InputGram
from .left_out import unit_columns
from .spectral import Spectral
from .variances import HELD
from .weights import DualWeights
from .without import reweighted


class Cholesky(Factorization):
    """A multiple of the identity at one α: (K_x + αI)⁻¹ by one Cholesky factorisation.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import Linear
    >>> model = KernelDependency(Linear(), alpha=1.0, solver="cholesky", fit_intercept=False)
    >>> model.fit([[1.0], [2.0]], [1.0, 2.0]).predict([[6.0]])
    array([5.])
    """

    name = "cholesky"

    def __init__(self, problem: Problem, want: Want, cache: Cache):
        problem.require_room(CHOLESKY_SQUARES)
        super().__init__(problem, want, cache)  # the factor depends on α
        self.known: dict[float, tuple[InputGram, PositiveDefinite]] = {}

    @classmethod
    def suits(cls, sizes: Sizes) -> bool:
        """Whether nothing is chosen."""
        return not sizes.choice

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """A multiple of the identity, one ridge, nothing left out."""
        return None if want.single else "several ridges or left-out predictions are wanted"

    @cached_property
    def outputs(self) -> Outputs:
        """The outputs in coordinates, where those are needed."""
        return self.cache.outputs(self.problem)

    def solve(self, alpha: float) -> Solution:
        """The map g at one α; by the spectrum where α is lost in rounding."""
        p, dual = self.problem, DualWeights.of(self.problem, alpha)
        try:
            dual.factored  # noqa: B018
        except np.linalg.LinAlgError:
            return Spectral.factor(p, self.want, self.cache).solve(alpha)
        if p.spanned:
            frame = SpanFrame(p.outputs.kernel, p.outputs.items)
            return Solution(PointMap(dual, None, frame, dual), p.kernel)
        return self._solution(alpha, dual.fit_to(self.outputs.rows), p.kernel)

    def without(self, alpha: float) -> LeftOutModels:
        """Points of new inputs by models that leave training examples out, each input its own."""
        p = self.problem
        frame = SpanFrame(p.outputs.kernel, p.outputs.items)
        dual = DualWeights.of(p, alpha)
        try:
            gram, factor = dual.factored
        except np.linalg.LinAlgError:
            return Spectral.factor(p, self.want, self.cache).without(alpha)

        def rest(rows: np.ndarray) -> Array:
            unit = unit_columns(p.n, rows, factor.factor)
            return namespace(unit).matrix_transpose(dual.solve(unit))

        def points(X: Items, sets: Sequence[np.ndarray]) -> Embedding:
            C = reweighted(dual.transform(X), rest, sets, gram.reduction.roots)
            return Embedding(C, frame)

        return points

    # -- the Gaussian-process view: variances by (√w K √w + αI)⁻¹ = L⁻ᵀL⁻¹, no spectrum of K -----

    def factored(self, alpha: float) -> tuple[InputGram, PositiveDefinite]:
        """L at one α; `numpy.linalg.LinAlgError` where that is lost in rounding."""
        if alpha not in self.known:
            self.known = {alpha: DualWeights.of(self.problem, alpha).factored}
        return self.known[alpha]

    def noise(self, alpha: float) -> float:
        """σ² that makes the outputs most likely; with an intercept of one row less (REML)."""
        gram, factor = self.factored(alpha)
        Z = solve_triangular(factor.factor, gram.reduction.inside(self.outputs.rows))
        squares = float(namespace(Z).sum(Z * Z))
        return alpha / self.problem.uniform * squares / (Z.shape[0] * Z.shape[1])

    def variance(self, X: Items, alpha: float) -> Array:
        """(b/α)(k(x, x) - ‖L⁻¹k_x‖²) of the operator b, and 1/Σw for an intercept."""
        (gram, factor), found, p = self.factored(alpha), [], self.problem
        for rows in blocks(count(X), max(1, HELD // p.n)):
            some = part_of(X, rows)
            K = gram.against(some)
            inside = gram.reduction.inside(
                gram.reduction.weighted(namespace(K).matrix_transpose(K))
            )
            Z = solve_triangular(factor.factor, inside)
            found.append(gram.prior(some, K) - namespace(Z).sum(Z * Z, axis=0))
        xp = namespace(*found)
        left = xp.concat(found)
        left = xp.where(left > 0, left, xp.zeros_like(left)) * (p.uniform / alpha)
        left = left + p.intercept / p.total
        return left[:, None] * xp.ones_like(self.outputs.rows[:1, :])

    @property
    def scale(self) -> float:
        """Tr K_x / n, times the number that the operator is."""
        p = self.problem
        gram = InputGram(p.inputs.kernel, p.inputs.items, p.weights, p.intercept)
        return self._uniform_scale(gram.reduced())
