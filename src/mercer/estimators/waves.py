"""Fits with random operator features, whose cost does not grow with the square of the examples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, blocks, namespace, part, take
from ..embedding import OrthonormalFrame
from ..features import Coordinates
from ..operators import OperatorKernel
from ..solvers import LeftOut
from ..solvers.operator_features import FeatureLeaveOneOut
from .componentwise import ComponentEquation
from .coupled import CoupledEquation
from .regression import Equation, LeastWeights, PointMap, Sides

ROWS = 4096
"""Examples whose waves are held at once."""


class WaveEquation(Equation):
    """The ridge equation of a shift-invariant kernel in random operator features."""

    effort = (None, None)

    def __init__(self, sides: Sides, kernel: OperatorKernel, V: Coordinates):
        assert sides.features is not None
        if not sides.features.operator_valued:
            raise ValueError(
                f"features={sides.features} is of scalar kernels, and {kernel} does not separate: "
                "use features=RandomOperatorFourier(rank) for a kernel of x - x', or None."
            )
        self.kernel = clone(kernel).fit(sides.X, V.rows)
        self.sides = replace(sides, kernel=self.kernel.inputs)
        self.V = V
        self.frame = OrthonormalFrame(V.map)
        self.map: Any = clone(sides.features).fit(self.kernel, sides.X)
        self._gather_moments()

    def _gather_moments(self) -> None:
        """S_uu and S_vu over blocks of rows; V is centred where U is to be."""
        uu: Any = 0.0
        vu: Any = 0.0
        total: Any = 0.0
        for rows in blocks(self.sides.n, ROWS):
            U, V = self.map.transform(part(self.sides.X, rows)), self.V.rows[rows, :]
            xp = namespace(U)
            uu = uu + xp.matrix_transpose(U) @ U
            vu = vu + xp.matrix_transpose(V) @ U
            total = total + xp.sum(U, axis=0)
        self.mean: Any = total / self.sides.n
        if self.sides.intercept:
            uu = uu - self.mean[:, None] * total[None, :]
        self.uu, self.vu = uu, vu

    @property
    def operator_kernel(self) -> Any:
        """The kernel, fitted."""
        return self.kernel

    def solve(self, alpha: float) -> PointMap:
        """The map g at one α."""
        coef = self.map.solve(self.uu, self.vu, alpha)
        offset = None if self.V.mean is None else self.V.mean - self.mean @ coef
        return PointMap(
            self.map.compose(coef), offset, self.frame, LeastWeights(self.frame, self.sides.y)
        )

    def leave_one_out(self, labels: np.ndarray) -> LeftOut:
        """The left-out predictions of the training examples, by group label."""

        def features(index: np.ndarray) -> Array:
            U = self.map.transform(take(self.sides.X, index))
            return self.map.features(U - self.mean if self.sides.intercept else U)

        N, right = self.map.normal(self.uu), self.map.right_side(self.vu)
        return FeatureLeaveOneOut(features, N, right, self.V.rows, labels, self.sides.intercept)


def coupled_equation(
    sides: Sides, kernel: OperatorKernel, V: Coordinates, solver: Any = "auto"
) -> ComponentEquation | CoupledEquation | WaveEquation:
    """The equation of a kernel that does not separate: exact, or in random operator features."""
    waves = sides.features is not None and sides.features.operator_valued
    if kernel.componentwise and solver == "auto" and not waves:
        return ComponentEquation(sides, kernel, V)
    if sides.features is None:
        return CoupledEquation(sides, kernel, V, solver)
    if solver != "auto":
        raise ValueError(f"features={sides.features} are solved directly, not by {solver!r}.")
    return WaveEquation(sides, kernel, V)
