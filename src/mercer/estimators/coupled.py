"""Fits with operator-valued kernels that are no scalar kernel times an operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, namespace
from .._memory import GIB, SHARE, available
from ..embedding import OrthonormalFrame
from ..features import Coordinates, FeatureMap
from ..operators import BlockGram, OperatorKernel
from ..solvers import BlockConjugateGradient, Directions, LeftOut
from ..solvers.block_conjugate_gradient import BlockSolution
from ..solvers.blockwise import BlockLeaveOneOut, solve_written_out
from ..solvers.directions import DirectionLeaveOneOut
from .regression import Equation, LeastWeights, PointMap, Sides

DENSE_SQUARES = 4.0
"""Peak memory of a dense fit in matrices over all slots."""
PRODUCT_SQUARES = 3.0
"""Peak memory of a fit by products in matrices over the examples."""
WRITTEN_OUT = 2000
"""Slots up to which a matrix over all of them is the shortest way."""
BY_DIRECTION = 3000
"""Examples up to which a fit factors directions one by one; beyond, products are shorter."""


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
    """The ridge equation of a coupled kernel, which is fitted here.

    Parameters
    ----------
    sides, kernel, V
        The data, the kernel as given, and coordinates of the outputs.
    solver
        "auto", "dense", "cg", or a `BlockConjugateGradient`.
    """

    def __init__(self, sides: Sides, kernel: OperatorKernel, V: Coordinates, solver: Any = "auto"):
        require_products(sides.n)
        self.kernel = clone(kernel).fit(sides.X, V.rows)
        self.sides = replace(sides, kernel=self.kernel.inputs)
        self.V = V
        self.solver = solver
        self.frame = OrthonormalFrame(V.map)
        self.loo: BlockLeaveOneOut | DirectionLeaveOneOut | None = None
        self.solution: BlockSolution | None = None

    @property
    def operator_kernel(self) -> Any:
        """The kernel, fitted."""
        return self.kernel

    def solve(self, alpha: float) -> PointMap:
        """The map g at one α."""
        gram = self.kernel.gram(self.sides.X)
        self.solution = self._solved(gram, alpha)
        coef = self.solution.coef
        map = CoupledMap(self.kernel, self.sides.X, coef)
        weigher = LeastWeights(self.frame, self.sides.y)
        return PointMap(map, self._offset(gram, coef), self.frame, weigher)

    @property
    def effort(self) -> tuple[int | None, float | None]:
        """Rounds and residual of the last solution; None of both where it was direct."""
        assert self.solution is not None
        return self.solution.n_iter, self.solution.residual

    def _solved(self, gram: BlockGram, alpha: float) -> BlockSolution:
        V, intercept = self.V.rows, self.sides.intercept
        if isinstance(self.solver, BlockConjugateGradient):
            return self.solver.solve(gram, alpha, V, intercept)
        if self.solver == "cg":
            return BlockConjugateGradient().solve(gram, alpha, V, intercept)
        if self.loo is not None:
            return BlockSolution(self.loo.coefficients(alpha))
        directions = self._directions(gram) if gram.rows.n <= BY_DIRECTION else None
        if directions is not None:
            return BlockSolution(directions.solve(alpha, V, intercept))
        if self.solver == "auto" and gram.rows.size > WRITTEN_OUT and not gram.direct:
            return BlockConjugateGradient().solve(gram, alpha, V, intercept)
        require_written_out(gram.rows.size)
        return BlockSolution(solve_written_out(gram, alpha, V, intercept))

    def _directions(self, gram: BlockGram) -> Directions | None:
        """The sum direction by direction, where it falls apart so."""
        return Directions.of(gram) if self.solver == "auto" else None

    def _offset(self, gram: BlockGram, coef: Array) -> Array | None:
        """The intercept: what the mean of the outputs has over that of the fit."""
        if self.V.mean is None:
            return None
        rest = gram.rows.split(self.V.rows - gram @ coef)
        means = gram.rows.means(rest)
        return self.V.mean + namespace(means).reshape(means, (-1,))

    def leave_one_out(self, labels: np.ndarray) -> LeftOut:
        """The left-out predictions of the training examples, by group label."""
        gram = self.kernel.gram(self.sides.X)
        directions, V, intercept = self._directions(gram), self.V.rows, self.sides.intercept
        if directions is not None:
            groups = labels if labels.max() + 1 < self.sides.n else None
            self.loo = DirectionLeaveOneOut(directions, V, intercept, groups)
            return self.loo
        require_written_out(gram.rows.size)
        self.loo = BlockLeaveOneOut(gram.matrix(), V, gram.rows, labels, intercept)
        return self.loo


def require_products(n: int) -> None:
    """Refuse examples whose scalar Gram matrices have no room, which products need."""
    needed, free = 8.0 * PRODUCT_SQUARES * n * n, SHARE * available()
    if needed > free:
        raise MemoryError(
            f"the Gram matrices of {n} examples need about {needed / GIB:.1f} GiB of "
            f"{free / GIB:.1f} GiB free. For a kernel of x - x' fit with "
            "features=mercer.features.RandomOperatorFourier(rank=1000), which needs none; or learn "
            "online, with mercer.estimators.OnlineKernelDependency."
        )


def require_written_out(size: int) -> None:
    """Refuse a matrix over all slots that has no room."""
    needed, free = 8.0 * DENSE_SQUARES * size * size, SHARE * available()
    if needed > free:
        raise MemoryError(
            f"this operator-valued kernel has {size} rows, examples times coupled components, and "
            f"its matrix written out needs about {needed / GIB:.1f} GiB of {free / GIB:.1f} GiB "
            "free. KernelDependency(…, solver='cg') needs products only; choose alpha and length "
            "scales with KernelDependencyCV on a part of the examples."
        )
