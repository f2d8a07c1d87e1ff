"""Fits with operator-valued kernels that are no scalar kernel times an operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items
from .._plan import require_exact
from ..embedding import OrthonormalFrame
from ..features import Coordinates, FeatureMap
from ..operators import BlockGram, OperatorKernel
from ..solvers.blockwise import BlockCholesky, BlockLeaveOneOut
from .regression import Equation, LeastWeights, PointMap, Sides

DENSE_SQUARES = 4.0
"""Peak memory of a dense fit in matrices over all slots."""


class CoupledMap(FeatureMap):
    """G(x) = Σ_j K(x, x_j) c_j."""

    def __init__(self, kernel: OperatorKernel, X: Items, coef: Array):
        self.kernel = kernel
        self.X = X
        self.coef = coef

    def transform(self, A: Items) -> Array:
        """The points in output coordinates."""
        return self.kernel.gram(A, self.X) @ self.coef

    @property
    def coefficients(self) -> Array:
        """The c_j, one row a training example."""
        return self.coef


class CoupledEquation(Equation):
    """The ridge equation of a coupled kernel, which is fitted here."""

    def __init__(self, sides: Sides, kernel: OperatorKernel, V: Coordinates):
        if sides.intercept:
            raise ValueError(f"fit_intercept=True is not possible with {kernel} yet: centre y.")
        self.kernel = clone(kernel).fit(sides.X, V.rows)
        self.sides = replace(sides, kernel=self.kernel.inputs)
        self.V = V
        self.frame = OrthonormalFrame(V.map)

    @property
    def operator_kernel(self) -> Any:
        """The kernel, fitted."""
        return self.kernel

    def _gram(self) -> BlockGram:
        gram = self.kernel.gram(self.sides.X)
        require_exact(gram.rows.size, DENSE_SQUARES)
        return gram

    def solve(self, alpha: float) -> PointMap:
        """The map g at one α."""
        if hasattr(self, "loo"):
            coef = self.loo.coefficients(alpha)
        else:
            gram = self._gram()
            coef = BlockCholesky().solve(gram.matrix(), alpha, self.V.rows, gram.rows)
        weigher = LeastWeights(self.frame, self.sides.y)
        map = CoupledMap(self.kernel, self.sides.X, coef)
        return PointMap(map, None, self.frame, weigher)

    def leave_one_out(self, labels: np.ndarray) -> BlockLeaveOneOut:
        """The left-out predictions of the training examples, by group label."""
        gram = self._gram()
        self.loo = BlockLeaveOneOut(gram.matrix(), self.V.rows, gram.rows, labels)
        return self.loo
