"""Fits with operator-valued kernels that are diagonal in the components of the outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._plan import require_exact
from ..embedding import OrthonormalFrame
from ..features import Coordinates
from ..operators import ComponentGram, OperatorKernel
from ..solvers.componentwise import ComponentLeaveOneOut, Componentwise
from .coupled import CoupledMap
from .regression import Equation, LeastWeights, PointMap, Sides

SQUARES = 2.0
"""Matrices over all examples that a scalar kernel keeps for leave-one-out."""


class ComponentEquation(Equation):
    """The ridge equation of a kernel diagonal in components, which is fitted here.

    As many equations of n unknowns as there are distinct scalar kernels, not one of nq.
    """

    effort = (None, None)
    """Solved directly: no rounds, no residual."""

    def __init__(self, sides: Sides, kernel: OperatorKernel, V: Coordinates):
        if sides.features is not None:
            raise ValueError(
                f"features= is for a scalar kernel times an operator; {kernel} has a scalar "
                "kernel for each component. Leave features at None."
            )
        self.kernel = clone(kernel).fit(sides.X, V.rows)
        self.sides = replace(sides, kernel=self.kernel.inputs)
        self.V = V
        self.frame = OrthonormalFrame(V.map)

    @property
    def operator_kernel(self) -> Any:
        """The kernel, fitted."""
        return self.kernel

    def _gram(self) -> ComponentGram:
        return self.kernel.by_component(self.sides.X)

    def solve(self, alpha: float) -> PointMap:
        """The map g at one α."""
        s, V = self.sides, self.V
        coef, explained = Componentwise(self._gram(), s.intercept).solve(V.rows, alpha)
        offset = None if V.mean is None else V.mean - explained
        map = CoupledMap(self.kernel, s.X, coef)
        return PointMap(map, offset, self.frame, LeastWeights(self.frame, s.y))

    def leave_one_out(self, labels: np.ndarray) -> ComponentLeaveOneOut:
        """The left-out predictions of the training examples, by group label."""
        gram, s = self._gram(), self.sides
        require_exact(s.n, SQUARES * (int(gram.labels.max()) + 1))
        groups = labels if labels.max() + 1 < s.n else None
        return ComponentLeaveOneOut(gram, self.V.rows, s.intercept, groups)
