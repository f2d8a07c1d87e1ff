"""Ridge problems in the moments of a stream, of which a sample of pairs is held."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, dense, like, namespace
from .._plan import Route, Sizes
from ..embedding import OrthonormalFrame, PointMap
from ..operators import Moments, Separable
from ..problem import Problem, Want
from ..symmetric import SymMatrix
from .base import Cache, Solver, closed_form
from .factorization import Factorization, Parts, Solution
from .inputs import LowRankInputs, LowRankRows
from .outputs import Outputs
from .spectral import separated
from .weights import NoWeights, factored


class Streamed(Solver):
    """Moments of coordinates of low rank, summed over blocks; the sample is left out."""

    name = "streamed"

    def accepts(self, problem: Problem, want: Want) -> str | None:
        """Pairs that came in blocks."""
        if problem.gathered is None:
            return "the pairs are held whole"
        return closed_form(problem, want)

    def cost(self, sizes: Sizes) -> Route:
        """Moments of the rank, rows one block at a time."""
        return sizes.streamed()

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Take the moments about their means."""
        return StreamFactorization(problem, want)


class StreamFactorization(Factorization):
    """The ridge equation in the moments of a stream, for every operator and α."""

    def __init__(self, problem: Problem, want: Want):
        self.problem, self.want = problem, want
        gathering = problem.gathered
        moments = gathering.moments
        self.means = moments.means if problem.intercept else None
        self.moments: Moments = moments.about(*self.means) if self.means else moments
        self._parts: Parts | None = None

    @property
    def origins(self) -> tuple[Any, Any]:
        """The means of input and output coordinates."""
        assert self.means is not None
        (a, b), (u, v) = self.problem.gathered.origins, self.means
        return a + u, b + v

    @property
    def parts(self) -> Parts:
        """The factorisation for every α, with the sample as rows."""
        if self._parts is None:
            self._parts = self._factored()
        return self._parts

    def _factored(self) -> Parts:
        problem, m = self.problem, self.moments
        inputs = LowRankInputs(self._at())
        xp = namespace(m.vu)
        vu = m.vu @ inputs.P
        EV = xp.matrix_transpose(vu) / xp.sqrt(inputs.s)[:, None]
        turned = Moments(m.n, SymMatrix(diagonal=inputs.s), vu, m.vv)
        return separated(problem, inputs, self._outputs(), turned, EV)

    def _at(self) -> LowRankRows:
        """The coordinates of the sample, and the moment of the whole stream."""
        problem = self.problem
        U = dense(problem.gathered.inputs.transform(problem.inputs.items))
        mean = None
        if self.means is not None:
            mean = self.origins[0]
            U = U - mean
        w = problem.weights
        rows = U if w is None else like(np.sqrt(w)[:, None], U) * U
        moment = self.moments.uu.full
        total = float(self.moments.n)
        whole = w is None and total == problem.n
        return LowRankRows(problem.gathered.inputs, rows, mean, moment, w, total, whole)

    def _outputs(self) -> Outputs:
        problem = self.problem
        V = problem.gathered.outputs.transform(problem.outputs.items)
        mean = None if self.means is None else self.origins[1]
        rows = V if mean is None else V - mean
        roots = None if problem.weights is None else like(np.sqrt(problem.weights)[:, None], V)
        frame = OrthonormalFrame(problem.gathered.outputs)
        return Outputs(rows if roots is None else roots * rows, mean, roots, frame)

    # -- solve --------------------------------------------------------------------------------

    def solve(self, alpha: float) -> Solution:
        """The map g; by one Cholesky factorisation under the identity."""
        if self.problem.operator_features:
            features = self.problem.gathered.inputs
            coef = features.solve(self.moments.uu.full, self.moments.vu, alpha)
            return Solution(self._map(coef), features.operator_kernel_)
        uniform = self.problem.operator.uniform
        if uniform is not None and self._parts is None and self.want.solver != "spectral":
            try:
                ridge = factored(self.moments.uu.full + 0.0, alpha / uniform)
                vu = self.moments.vu
                coef = ridge.solve(namespace(vu).matrix_transpose(vu))
                kernel = Separable(self.problem.inputs.kernel, self.problem.operator)
                return Solution(self._map(coef), kernel)
            except np.linalg.LinAlgError:
                pass  # α is lost in the rounding: the spectrum drops what is
        return self.parts.solve(alpha)

    def _map(self, coef: Array) -> PointMap:
        offset = None
        if self.means is not None:
            a, b = self.origins
            offset = b - a @ coef
        gathering = self.problem.gathered
        frame = OrthonormalFrame(gathering.outputs)
        return PointMap(gathering.inputs.compose(coef), offset, frame, NoWeights())

    # -- judge --------------------------------------------------------------------------------

    def left_out(self, alphas: Any, averaged: bool = False) -> Any:
        """The pairs of the sample, each predicted as if it had not been in the stream."""
        return self.parts.left_out(alphas, averaged)

    def held_out(self, gathering: Any, alpha: float) -> float:
        """The risk on other pairs, of which only the moments are known.

        Σ‖v - Cᵀu‖² = tr S_vv - 2 tr(S_vu C) + tr(Cᵀ S_uu C).
        """
        parts = self.parts
        (part,) = parts.parts
        inputs: Any = part.inputs
        moments = gathering.moments
        moments = moments.about(*self.means) if self.means else moments
        D = parts._turned_back(part.coefficients(alpha))
        C = inputs.P @ (namespace(D).sqrt(inputs.s)[:, None] * D)
        xp = namespace(C)
        rest = moments.uu @ C - 2.0 * xp.matrix_transpose(moments.vu)
        return max(0.0, moments.vv.trace() + float(xp.sum(rest * C))) / moments.n

    def evidence(self, alpha: float) -> float:
        """Refused: the sample alone would be judged."""
        return super().evidence(alpha)

    def variance(self, X: Any, alpha: float) -> Array:
        """As at low rank."""
        return self.parts.variance(X, alpha)

    @property
    def scale(self) -> float:
        """(tr K_x / n) · tr(B S_vv) / tr S_vv, over the whole stream."""
        (part,) = self.parts.parts
        xp = namespace(part.T)
        Q, vv = self.parts.Q, self.moments.vv
        full = vv.full if Q is None else xp.matrix_transpose(Q) @ vv.full @ Q
        spread = xp.linalg.diagonal(full)
        level = float(xp.sum(part.inputs.s)) / float(self.moments.n)
        reached, size = float(xp.sum(part.b * spread)), float(xp.sum(spread))
        return level * reached / size if reached > 0 and size > 0 else 1.0
