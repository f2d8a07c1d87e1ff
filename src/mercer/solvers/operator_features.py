"""Ridge problems in random operator features, whose cost does not grow with n²."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, Items, blocks, count, like, namespace, part, take
from .._base.memory import ROWS
from .._base.symmetric import eigh
from ..operators import Moments
from ..operators.slots import Slots
from ..problem import Problem, Want
from .coupled import fitted_kernel
from .factorization import Cache, Solution
from .left_out import Part
from .slotted import Located, SlotInputs
from .spectral import Spectral


class OperatorFeatures(Spectral):
    """Random features of an operator-valued kernel: moments of the plain coordinates do.

    The normal equations are (Σ_i w_i Ψ_iΨ_iᵀ + αI) θ = Σ_i w_i Ψ_i v_i.
    """

    name, costs = "operator features", "low rank"
    Q, order = None, None

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

    @classmethod
    def factor(cls, problem: Problem, want: Want, cache: Cache) -> OperatorFeatures:
        """Sum the moments of the features."""
        return cls(problem, want, cache)

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
        self.uu, self.vu = total.uu, total.vu

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        coef = self.map.solve(self.uu, self.vu, alpha)
        mean = self.outputs.mean
        offset = None if mean is None else mean - self.mean @ coef
        return Solution(self._point_map(self.map.compose(coef), offset), self.kernel)

    @cached_property
    def parts(self) -> list[Part]:  # type: ignore[override]
        """The fit over slots, its spectrum made when more than a solution is needed."""
        inputs = FeatureInputs(self)
        T = inputs.slots.split(self.outputs.rows)
        right = self.map.right_side(self.vu)[:, None]
        xp, P = namespace(right), inputs.P
        inside = (xp.matrix_transpose(P) @ right) / xp.sqrt(inputs.s)[:, None]
        return [Part(inputs, xp.ones_like(T[0, :]), T, inside, slots=inputs.slots)]


class FeatureInputs(SlotInputs):
    """Features Ψ of slots: Σ_i w_iΨ_iΨ_iᵀ = P diag(s) Pᵀ, E = √w Ψᵀ P diag(s)^{-1/2}.

    Rows of E are made where they are needed.
    """

    held = False
    features: Any

    def __init__(self, whole: OperatorFeatures):
        problem, (n, q) = whole.problem, whole.outputs.rows.shape
        self.features, self.X = whole.map, problem.inputs.items
        self.mean = whole.mean if problem.intercept else None
        self.slots = Slots(n, q)
        self.weights = None if problem.weights is None else np.repeat(problem.weights, q)
        self.roots = None
        if self.weights is not None:
            self.roots = like(np.sqrt(self.weights)[:, None], whole.uu)
        self.set_constants(problem.intercept)
        self.complete = self.orthonormal = False
        self.whole = True
        self.s, self.P = eigh(self.features.normal(whole.uu), "moment of the features")

    def _features(self, X: Items) -> Array:
        """Features of slots, the mean subtracted with an intercept, (slots, features)."""
        U = self.features.transform(X)
        Z = self.features.features(U if self.mean is None else U - self.mean)
        return namespace(Z).reshape(Z, (-1, Z.shape[-1]))

    def rows(self, index: np.ndarray) -> Array:
        """Some rows of E."""
        examples, component = np.divmod(index, self.slots.width)
        needed, where = np.unique(examples, return_inverse=True)
        Z = self._features(take(self.X, needed))
        Z = take(Z, where.reshape(-1) * self.slots.width + component)
        E = (Z @ self.P) / namespace(self.s).sqrt(self.s)
        return E if self.roots is None else E * take(self.roots, index)

    def located(self, X: Items, prior: bool = False) -> Located:
        """Features in the eigenbasis; the prior is that of the features, as they were drawn."""
        Z = self._features(X)
        xp = namespace(Z)
        own = xp.sum(Z * Z, axis=1) if prior else None
        return Located((Z @ self.P) * xp.sqrt(self.s), own, Slots(count(X), self.slots.width))

    def without_rows(self) -> FeatureInputs:
        """The same without the training inputs."""
        other = copy(self)
        other.X, other.roots = None, None
        return other
