"""Fits with random operator features, whose cost does not grow with the square of the examples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import namespace
from ..embedding import OrthonormalFrame
from ..features import Coordinates
from ..operators import OperatorKernel
from ..solvers import LeftOut
from .regression import Equation, LeastWeights, PointMap, Sides


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
        map: Any = clone(sides.features).fit(self.kernel, sides.X)
        U = map.transform(sides.X)
        self.U = Coordinates(map, U, None, namespace(U).matrix_transpose(U) @ U)
        self.U = self.U.centered() if sides.intercept else self.U

    @property
    def operator_kernel(self) -> Any:
        """The kernel, fitted."""
        return self.kernel

    def solve(self, alpha: float) -> PointMap:
        """The map g at one α."""
        vu = namespace(self.V.rows).matrix_transpose(self.V.rows) @ self.U.rows
        map: Any = self.U.map
        coef = map.solve(self.U.moment, vu, alpha)
        offset = None if self.V.mean is None else self.V.mean - self.U.mean @ coef
        return PointMap(
            map.compose(coef), offset, self.frame, LeastWeights(self.frame, self.sides.y)
        )

    def leave_one_out(self, labels: np.ndarray) -> LeftOut:
        """Not at low rank."""
        raise ValueError(
            "a decoder that is calibrated on left-out predictions needs features=None with "
            f"{self.kernel}."
        )
