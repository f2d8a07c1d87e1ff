"""Ridge problems in the moments of a source of pairs, of which a sample is held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, blocks, count, dense, namespace, part
from .._base.symmetric import EPS, trace
from ..embedding import OrthonormalFrame, PointMap
from ..features import FeatureMap
from ..operators import Moments, Separable
from ..problem import Problem, Want
from .factorization import Cache, Factorization, LeftOut, Outputs, Refused, Solution
from .left_out import LeaveOneOut, Part
from .low_rank_inputs import LowRankInputs, LowRankRows
from .spectral import Spectral, part_coefficients, separated
from .weights import NoWeights, factored

ROWS = 1024
"""Pairs whose left-out residuals are held at once."""


class Streamed(Factorization):
    """Moments of coordinates of low rank, summed over blocks; the sample is left out."""

    name = "streamed"

    def __init__(self, problem: Problem, want: Want, cache: Cache):
        super().__init__(problem, want, cache)
        moments = problem.gathered.moments
        self.means = moments.means if problem.intercept else None
        self.moments: Moments = moments.about(*self.means) if self.means else moments

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """The square loss, and an operator that is not learnt."""
        uniform = problem.operator_features or problem.kernel.operator.uniform is not None
        if want.solver == "cholesky" and not uniform:
            return f"solver='cholesky' is for the identity operator, not {problem.kernel.operator}"
        learnt = problem.separable and problem.kernel.operator.learnt and not want.single
        if problem.loss is not None or learnt or want.judge != "closed":
            return "pairs that come in blocks have no robust loss, nor a choice of learnt operators"
        return None

    @property
    def origins(self) -> tuple[Any, Any]:
        """The means of input and output coordinates; None without an intercept."""
        if self.means is None:
            return None, None
        (a, b), (u, v) = self.problem.gathered.origins, self.means
        return a + u, b + v

    @cached_property
    def parts(self) -> Spectral:
        """The factorisation for every α, with the sample as rows."""
        problem, m = self.problem, self.moments
        inputs = self.cache.inputs(problem.inputs.kernel, self._inputs)
        self.cache = Cache()  # or it would keep the inputs of another kernel alive
        xp = namespace(m.vu)
        vu = self._significant(m.vu @ inputs.P)
        EV = xp.matrix_transpose(vu) / xp.sqrt(inputs.s)[:, None]
        turned = Moments(m.n, inputs.s, vu, m.vv)
        map, mean = problem.gathered.outputs, self.origins[1]
        V = dense(map.transform(problem.outputs.items))
        outputs = Outputs.centred(V, problem.weights, False, OrthonormalFrame(map), mean)
        found = separated(problem, inputs, outputs, turned, EV)
        Q, vv = found.Q, m.vv
        vv = vv if Q is None else xp.matrix_transpose(Q) @ vv @ Q
        found.parts[0].everything = float(m.n), xp.linalg.diagonal(vv)
        return found

    def _significant(self, vu: Array) -> Array:
        """Set entries below the rounding of S_vu to zero: short directions would enlarge them."""
        xp, m = namespace(vu), self.moments
        u, v = trace(m.uu), xp.linalg.diagonal(m.vv)
        if self.means is not None:
            a, b = self.origins
            u, v = u + m.n * float(xp.sum(a * a)), v + m.n * b * b
        size = xp.sqrt(u * v)[:, None]
        return xp.where(xp.abs(vu) > vu.shape[1] * EPS * size, vu, xp.zeros_like(vu))

    def _inputs(self) -> LowRankInputs:
        """The spectrum of the input moment of all pairs, with the sample as rows."""
        m, map, problem = self.moments, self.problem.gathered.inputs, self.problem
        at = LowRankRows(map, m.vu[:0, :], self.origins[0], m.uu, None, float(m.n), False)
        return LowRankInputs(at).at_pairs(problem.inputs.items, problem.weights)

    # -- solve --------------------------------------------------------------------------------

    def solve(self, alpha: float) -> Solution:
        """The map g; by one Cholesky factorisation under the identity."""
        if self.problem.operator_features:
            features = self.problem.gathered.inputs
            coef = features.solve(self.moments.uu, self.moments.vu, alpha)
            return Solution(self._map(coef), features.operator_kernel_)
        if self.problem.kernel.operator.learnt:
            operator = self.problem.kernel.operator.learn(self.moments, alpha)
            kernel = Separable(self.problem.inputs.kernel, operator)
            learnt = replace(self.problem, kernel=kernel)
            return Streamed(learnt, self.want, Cache()).parts.solve(alpha)
        uniform = self.problem.kernel.operator.uniform
        if uniform is not None and "parts" not in vars(self) and self.want.solver != "spectral":
            try:
                ridge = factored(self.moments.uu + 0.0, alpha / uniform)
                vu = self.moments.vu
                coef = ridge.solve(namespace(vu).matrix_transpose(vu))
                return Solution(self._map(coef), self.problem.kernel)
            except np.linalg.LinAlgError:
                pass  # α is lost in the rounding: the spectrum drops what is
        return self.parts.solve(alpha)

    def _map(self, coef: Array) -> PointMap:
        a, b = self.origins
        offset = None if a is None else b - a @ coef
        gathering = self.problem.gathered
        frame = OrthonormalFrame(gathering.outputs)
        return PointMap(gathering.inputs.compose(coef), offset, frame, NoWeights())

    # -- judge --------------------------------------------------------------------------------

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """The pairs of the sample, each predicted as if it had not been among the pairs."""
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
        D = part_coefficients(part, alpha, parts.Q)
        C = inputs.P @ (namespace(D).sqrt(inputs.s)[:, None] * D)
        xp = namespace(C)
        rest = moments.uu @ C - 2.0 * xp.matrix_transpose(moments.vu)
        return max(0.0, trace(moments.vv) + float(xp.sum(rest * C))) / moments.n

    def evidence(self, alpha: float) -> float:
        """As at low rank, from the moments of all pairs."""
        if self.problem.weights is not None:
            raise Refused("the evidence of weighted pairs is not known on a stream.")
        return self.parts.evidence(alpha)

    def variances(self, alpha: float) -> Any:
        """As at low rank."""
        return self.parts.variances(alpha)

    def noise(self, alpha: float) -> float:
        """As at low rank, from the moments of all pairs."""
        return self.parts.noise(alpha)

    def left_out_noises(self, alpha: float) -> np.ndarray:
        """Refused: it needs all pairs."""
        raise Refused('noise="left out" needs all pairs, and a stream keeps a sample.')

    def by_directions(self) -> Spectral:
        """The factorisation with the sample as rows."""
        return self.parts

    @property
    def Q(self) -> Array | None:  # type: ignore[override]
        """The directions of the operator."""
        return self.parts.Q

    @property
    def outputs(self) -> Outputs:
        """The outputs of the sample."""
        return self.parts.outputs

    @property
    def scale(self) -> float:
        """(tr K_x / n) · tr(B S_vv) / tr S_vv, over all pairs."""
        return self.parts.scale


@dataclass(frozen=True)
class LeftOutSums:
    """Σ w‖e‖² of left-out residuals e over any pairs, for all trials of one scalar kernel.

    Residual and leverage of a pair need its own coordinates and the spectra of all pairs, nothing
    of any other pair: so blocks are judged one by one, wherever they lie.

    Attributes
    ----------
    inputs
        The spectrum of the inputs.
    outputs, mean
        The output map, and the mean that is taken off; None without an intercept.
    trials
        For each operator its eigenvalues b, directions Q (None for the coordinates), EᵀT, and the
        ridges.
    """

    inputs: LowRankInputs
    outputs: FeatureMap
    mean: Array | None
    trials: list[tuple[Array, Array | None, Array, list[float]]]

    @classmethod
    def of(cls, trials: list[tuple[Streamed, list[float]]]) -> LeftOutSums:
        """Of factorisations that share a scalar kernel, with the ridges of each."""
        found: Any = []
        for factorization, alphas in trials:
            (part,) = factorization.parts.parts
            found.append((part.b, factorization.parts.Q, part.inside, alphas))
        inputs: Any = part.inputs
        outputs = factorization.problem.gathered.outputs
        return cls(inputs.without_rows(), outputs, factorization.origins[1], found)

    def __call__(self, X: Items, y: Items, w: np.ndarray | None) -> np.ndarray:
        """The sums over some pairs, one number a trial and ridge."""
        some = blocks(count(y), ROWS)
        cut = [(part(X, r), part(y, r), None if w is None else w[r]) for r in some]
        return np.sum([self._sums(*block) for block in cut], axis=0)

    def _sums(self, X: Items, y: Items, w: np.ndarray | None) -> np.ndarray:
        inputs = self.inputs.at_pairs(X, w)
        V = dense(self.outputs.transform(y))
        V = Outputs.centred(V, w, False, OrthonormalFrame(self.outputs), self.mean).rows
        found = []
        for b, Q, inside, alphas in self.trials:
            smoother = Part(inputs, b, V if Q is None else V @ Q, inside)
            path = LeaveOneOut(smoother).path(alphas)
            found += [float(namespace(R).sum(R * R)) for R in path]
        return np.array(found)
