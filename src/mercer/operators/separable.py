"""Operator-valued kernels: a scalar kernel times an operator, and sums of those."""

from __future__ import annotations

from numbers import Real
from pickle import PicklingError
from typing import Any

from joblib import hash as digest
from sklearn.base import BaseEstimator

from ..kernels import Kernel, as_kernel
from .base import Operator
from .identity import Identity


class OperatorKernel(BaseEstimator):
    """An operator-valued kernel K(x, x'): its values act on the output feature space."""

    __array_ufunc__ = None

    def __add__(self, other: Any) -> OperatorKernel:
        if isinstance(other, Kernel | OperatorKernel):
            return OperatorSum(self, as_operator_kernel(other))
        return self if isinstance(other, Real) and other == 0 else NotImplemented

    def __radd__(self, other: Any) -> OperatorKernel:
        if isinstance(other, Kernel):
            return OperatorSum(as_operator_kernel(other), self)
        return self if isinstance(other, Real) and other == 0 else NotImplemented

    def separated(self) -> Separable:
        """The same kernel as one scalar kernel times one operator."""
        raise NotImplementedError


class Separable(OperatorKernel):
    """K(x, x') = k(x, x') B, as ``scalar * operator`` makes it.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Covariance
    >>> K = RBF(6.0) * Covariance()
    >>> K.set_params(scalar__length_scale=3.0).scalar
    RBF(length_scale=3.0)
    """

    def __init__(self, scalar: Kernel, operator: Operator):
        self.scalar = scalar
        self.operator = operator

    def __str__(self) -> str:
        return f"{self.scalar} * {self.operator}"

    def __mul__(self, other: Any) -> Separable:
        if isinstance(other, Operator | OperatorKernel):
            raise TypeError(
                f"{self} has its operator already: a kernel takes one. Add operators "
                "(kernel * (a + b)) or kernels (kernel * a + other * b) instead."
            )
        return Separable(as_kernel(self.scalar) * other, self.operator)

    def __rmul__(self, other: Any) -> Separable:
        return Separable(other * as_kernel(self.scalar), self.operator)

    def separated(self) -> Separable:
        """Itself."""
        return self


class OperatorSum(OperatorKernel):
    """K = left + right, two operator-valued kernels."""

    def __init__(self, left: OperatorKernel, right: OperatorKernel):
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"{self.left} + {self.right}"

    def separated(self) -> Separable:
        """The sum under the common scalar kernel or the common operator, where there is one."""
        left, right = self.left.separated(), self.right.separated()
        if same(left.scalar, right.scalar):
            return Separable(left.scalar, left.operator + right.operator)
        if same(left.operator, right.operator):
            return Separable(as_kernel(left.scalar) + as_kernel(right.scalar), left.operator)
        raise ValueError(
            f"{self} cannot be solved in closed form: its terms share neither the scalar kernel "
            "nor the operator. Sums k * a + k * b and k * a + l * a can."
        )


def as_operator_kernel(kernel: Any) -> OperatorKernel:
    """An operator-valued kernel; a scalar kernel stands for that kernel times the identity."""
    if isinstance(kernel, OperatorKernel):
        return kernel
    if isinstance(kernel, Operator):
        raise TypeError(
            f"{kernel} is an operator: multiply it by a scalar kernel, as in RBF() * {kernel}."
        )
    return Separable(as_kernel(kernel), Identity())


def same(a: BaseEstimator, b: BaseEstimator) -> bool:
    """Whether two kernels or operators are equal, parameters and all."""
    return fingerprint(a) == fingerprint(b)


def fingerprint(part: Any) -> str:
    """What equal parts have in common, fitted or not, so that a factorisation can be shared."""
    if isinstance(part, BaseEstimator):
        params = part.get_params(deep=False).items()
        return digest([type(part).__qualname__, sorted((k, fingerprint(v)) for k, v in params)])
    try:
        return digest(part)
    except PicklingError:  # a lambda, which is equal to itself only
        return str(id(part))
