"""Ridge problems in random operator features, whose cost does not grow with n²."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, blocks, like, namespace, part, take
from ..operators import Moments
from ..problem import Problem, Want
from ..symmetric import eigh
from .coupled import fitted_kernel
from .factorization import Cache, Factorization, Solution
from .left_out import LeaveOneOut, Smoother

ROWS = 4096
"""Examples whose features are held at once."""


class OperatorFeatures(Factorization):
    """Random features of an operator-valued kernel: moments of the plain coordinates do.

    The normal equations are (Σ_i w_i Ψ_iΨ_iᵀ + αI) θ = Σ_i w_i Ψ_i v_i.
    """

    name, costs = "operator features", "low rank"

    def __init__(self, problem: Problem, want: Want, cache: Cache):
        self.outputs, side = cache.outputs(problem), problem.inputs
        self.kernel = fitted_kernel(problem, self.outputs)
        few = side.items if side.sample is None else take(side.items, side.sample)
        self.map: Any = side.fitted or clone(side.features).fit(self.kernel, few)
        self.problem = replace(problem, inputs=replace(side, fitted=self.map))
        self._gather()

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """Features of operator-valued kernels, pairs held whole."""
        if problem.loss is not None or want.judge != "closed":
            return f"{problem.inputs.features} go with the square loss and no learnt operator"
        return None

    def _gather(self) -> None:
        """S_uu and S_vu over blocks of rows, about the means where there is an intercept."""
        problem, V = self.problem, self.outputs.unweighted(self.outputs.rows)
        total: Any = None
        for rows in blocks(problem.n, ROWS):
            U = self.map.transform(part(problem.inputs.items, rows))
            w = None if problem.weights is None else like(problem.weights[rows], U)
            own = Moments.of(U, V[rows, :], w)
            total = own if total is None else total + own
        self.mean = total.means[0]
        total = total.about(*total.means) if problem.intercept else total
        self.uu, self.vu = total.uu.full, total.vu

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        coef = self.map.solve(self.uu, self.vu, alpha)
        mean = self.outputs.mean
        offset = None if mean is None else mean - self.mean @ coef
        return Solution(self._point_map(self.map.compose(coef), offset), self.kernel)

    @cached_property
    def smoother(self) -> FeatureSmoother:
        """The fit over slots, its spectrum made when it is first asked for."""
        return FeatureSmoother(self)

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Those of the components of an example (or group) together."""
        n, q = self.outputs.rows.shape
        labels = np.repeat(self.problem.left_out_labels, q)
        for E in LeaveOneOut(self.smoother, labels).path(alphas, averaged):
            yield self.outputs.unweighted(namespace(E).reshape(E, (n, q)))

    @property
    def scale(self) -> float:
        """The mean of the diagonal over components."""
        e = self.smoother.e
        return float(namespace(e).sum(e)) / (self.problem.total * self.outputs.rows.shape[1]) or 1.0


class FeatureSmoother(Smoother):
    """H = Z diag(1 / (e + α)) Zᵀ + NNᵀ over slots, with N = E diag(e) Eᵀ and Z_i = √w_i Ψ_iᵀE.

    Z is never held whole: residuals and groups make their own rows.
    """

    def __init__(self, whole: OperatorFeatures):
        self.whole = whole
        self.e, self.E = eigh(whole.map.normal(whole.uu), "moment of the features", drop=False)
        right = whole.map.right_side(whole.vu)
        self.right = namespace(self.E).matrix_transpose(self.E) @ right
        self.n, self.q = whole.outputs.rows.shape
        self.squares: Any = None

    @property
    def sizes(self) -> tuple[int, int]:
        """A residual for each slot, which all shrink alike."""
        return self.n * self.q, 1

    def rows(self, examples: np.ndarray) -> Array:
        """Z of some examples, (examples · q, features)."""
        whole = self.whole
        U = whole.map.transform(take(whole.problem.inputs.items, examples))
        U = U - whole.mean if whole.problem.intercept else U
        Z = whole.map.features(U) @ self.E
        if whole.outputs.roots is not None:
            Z = Z * take(whole.outputs.roots, examples)[:, :, None]
        return namespace(Z).reshape(Z, (-1, self.e.shape[0]))

    def path(self, alphas: Sequence[float]) -> Iterator[tuple[Array, Array]]:
        """Residuals and 1 - H for every α, Z made once for all."""
        alphas, T = list(alphas), self.whole.outputs.rows
        xp = namespace(T)
        residuals: list[list[Array]] = [[] for _ in alphas]
        rests: list[list[Array]] = [[] for _ in alphas]
        for block in blocks(self.n, ROWS):
            examples = np.arange(block.start, block.stop)
            Z = self.rows(examples)
            flat = xp.reshape(T[block, :], (-1, 1))
            constant = xp.reshape(self._constant(examples)[:, None] + 0.0 * T[block, :], (-1, 1))
            for i, alpha in enumerate(alphas):
                shrunk = Z / (self.e + alpha)
                residuals[i].append(flat - (shrunk @ self.right)[:, None])
                rest = 1.0 - xp.sum(shrunk * Z, axis=1)[:, None] - constant
                rests[i].append(rest)
        for R, rest in zip(residuals, rests, strict=True):
            yield xp.concat(R), xp.concat(rest)

    def _constant(self, examples: np.ndarray) -> Array:
        """What an intercept adds to the diagonal of H."""
        problem = self.whole.problem
        w = np.ones(len(examples)) if problem.weights is None else problem.weights[examples]
        return like(w * (problem.intercept / problem.total), self.whole.outputs.rows)

    def rest_blocks(self, alphas: Sequence[float], members: np.ndarray) -> Array:
        """I - H over groups of slots of whole examples."""
        groups, size = members.shape
        examples = members[:, :: self.q] // self.q
        xp, problem = namespace(self.E), self.whole.problem
        Z = xp.reshape(self.rows(examples.reshape(-1)), (groups, size, -1))
        turned = xp.matrix_transpose(Z)
        H = xp.stack([(Z / (self.e + alpha)) @ turned for alpha in alphas], axis=1)
        rest = like(np.eye(size), Z) - H
        if problem.intercept:
            w = np.ones(problem.n) if problem.weights is None else problem.weights
            roots = np.repeat(np.sqrt(w[examples]), self.q, axis=1)
            same = np.tile(np.eye(self.q), (examples.shape[1], examples.shape[1]))
            fixed = roots[:, :, None] * roots[:, None, :] * same / problem.total
            rest = rest - like(fixed, Z)[:, None, :, :]
        return rest[:, :, None, :, :]
