"""What an output operator is, and the algebra of operators."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._arrays import Array, like
from ..kernels import Kernel
from .moments import Moments


class Operator(BaseEstimator):
    """How outputs couple: a symmetric positive semidefinite operator on the output feature space.

    ``kernel * operator`` is the operator-valued kernel K(x, x') = k(x, x') B. One of one's own
    implements `matrix`; `mercer.testing.check_operator` then says whether it is one.
    """

    own_coordinates = False
    """Whether B is given in the finite features of the output kernel, not made of the moments."""
    learnt = False
    """Whether B comes of the fit itself, so that `learn` has to see the ridge."""

    uniform = False
    """Whether B is a number times the identity, whatever the data."""

    __array_ufunc__ = None

    def matrix(self, moments: Moments) -> Array:
        """B in output coordinates, (q, q); a diagonal B may come as the array of its diagonal."""
        raise NotImplementedError(f"{type(self).__name__} must implement matrix(moments)")

    def learn(self, moments: Moments, alpha: float) -> Operator:
        """The operator once the ridge is known: itself, unless it is `learnt`."""
        return self

    def __add__(self, other: Any) -> Operator:
        if isinstance(other, Operator):
            return SumOperator(_made(self), _made(other))
        return self if isinstance(other, Real) and other == 0 else NotImplemented

    def __radd__(self, other: Any) -> Operator:
        return self if isinstance(other, Real) and other == 0 else NotImplemented

    def __rmul__(self, other: Any) -> Any:
        if isinstance(other, Kernel):
            from .separable import Separable

            return Separable(other, self)
        return self * other if isinstance(other, Real) else NotImplemented

    def __mul__(self, other: Any) -> Operator:
        if isinstance(other, Real):
            return ScaledOperator(_made(self), float(other))
        raise TypeError(
            f"an operator is multiplied by a number, or by a kernel from the left "
            f"(kernel * operator); got {other!r} on its right."
        )


def _made(operator: Operator) -> Operator:
    """An operator that can be added and scaled: made of the moments, not learnt."""
    if operator.learnt:
        raise TypeError(
            f"{operator} stands alone: it finds its scale and its directions itself, so that it is "
            "neither scaled nor added to. Let KernelDependencyCV choose between it and others."
        )
    return operator


class SumOperator(Operator):
    """B = left + right."""

    def __init__(self, left: Operator, right: Operator):
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"({self.left} + {self.right})"

    own_coordinates = property(lambda self: self.left.own_coordinates or self.right.own_coordinates)
    uniform = property(lambda self: self.left.uniform and self.right.uniform)

    def matrix(self, moments: Moments) -> Array:
        """The sum of the two matrices."""
        left, right = self.left.matrix(moments), self.right.matrix(moments)
        return left + right if left.ndim == right.ndim else dense(left) + dense(right)


class ScaledOperator(Operator):
    """B = scale · operator."""

    def __init__(self, operator: Operator, scale: float):
        self.operator = operator
        self.scale = scale

    def __str__(self) -> str:
        return f"{self.scale:g} * {self.operator}"

    own_coordinates = property(lambda self: self.operator.own_coordinates)
    uniform = property(lambda self: self.operator.uniform)

    def matrix(self, moments: Moments) -> Array:
        """The matrix, scaled."""
        if not self.scale >= 0:
            raise ValueError(f"an operator is scaled by a number ≥ 0, got {self.scale!r}.")
        return self.scale * self.operator.matrix(moments)


def dense(S: Array) -> Array:
    """A symmetric matrix in full, given as such or as its diagonal."""
    return S if S.ndim == 2 else like(np.eye(S.shape[0]), S) * S[:, None]
