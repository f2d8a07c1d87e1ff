"""What an output operator is, and the algebra of operators."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.base import BaseEstimator

from .._base.arrays import Array
from .._base.linalg import eigh
from .._base.symmetric import add, check_symmetric
from ..kernels import Kernel
from .moments import Moments, Terms


class Operator(BaseEstimator):
    """Symmetric positive semidefinite operator on the output feature space that couples outputs.

    ``kernel * operator`` is the operator-valued kernel K(x, x') = k(x, x') B. A custom operator
    implements `matrix`; `mercer.testing.check_operator` checks it.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Covariance, Operator
    >>> isinstance(Covariance(), Operator)
    True
    >>> RBF(1.0) * Covariance()
    Separable(operator=Covariance(), scalar=RBF(length_scale=1.0))
    """

    own_coordinates = False
    """Whether B is given in the finite features of the output kernel, not computed from moments."""
    learnt = False
    """Whether B is learnt in the fit, so that `learn` needs the ridge."""

    depends_on_data: Any = True
    """Whether B changes with the data; set it to False in a custom operator that does not."""

    uniform: float | None = None
    """The number c if B = c·I for all data; None for other operators."""

    unexplained_at: float | None = None
    """The ε for which B is moments.unexplained(ε) / n, infinite for S_vv / n; None for others."""

    __array_ufunc__ = None

    def matrix(self, moments: Moments) -> Array:
        """Return the matrix B in output coordinates, (q, q), or its diagonal if B is diagonal."""
        raise NotImplementedError(f"{type(self).__name__} must implement matrix(moments)")

    def eigh(self, moments: Moments) -> tuple[Array, Array | None]:
        """Return the eigenvalues and eigenvectors of B; the latter are None if B is diagonal."""
        return eigh(check_symmetric(self.matrix(moments)), "output operator", drop=False)

    def gram_terms(self, moments: Moments, G: Array) -> Terms:
        """Return the derivative of ⟨G, B⟩ in the Gram matrix of the inputs; no terms by default."""
        return []

    def learn(self, moments: Moments, alpha: float) -> Operator:
        """Return the operator learnt at the ridge `alpha`; itself unless it is `learnt`."""
        return self

    def __add__(self, other: Any) -> Operator:
        if isinstance(other, Operator):
            return SumOperator(_check_combinable(self), _check_combinable(other))
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
            return ScaledOperator(_check_combinable(self), float(other))
        raise TypeError(
            f"an operator is multiplied by a number, or by a kernel from the left "
            f"(kernel * operator); got {other!r} on its right."
        )


def _check_combinable(operator: Operator) -> Operator:
    """Return the operator; raise an error if it is learnt and cannot be added or scaled."""
    if operator.learnt:
        raise TypeError(
            f"{operator} stands alone: it finds its scale and its directions itself, so that it is "
            "neither scaled nor added to. Let KernelDependencyCV choose between it and others."
        )
    return operator


class SumOperator(Operator):
    """Sum of two operators, B = left + right."""

    def __init__(self, left: Operator, right: Operator):
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"({self.left} + {self.right})"

    own_coordinates = property(lambda self: self.left.own_coordinates or self.right.own_coordinates)
    depends_on_data = property(lambda self: self.left.depends_on_data or self.right.depends_on_data)

    @property
    def uniform(self) -> float | None:  # type: ignore[override]
        """The sum of both scalars if both operators are multiples of the identity, else None."""
        left, right = self.left.uniform, self.right.uniform
        return None if left is None or right is None else left + right

    def matrix(self, moments: Moments) -> Array:
        """Return the sum of the matrices of both operators."""
        return add(self.left.matrix(moments), self.right.matrix(moments))

    def gram_terms(self, moments: Moments, G: Array) -> Terms:
        """Return the derivative terms of both operators."""
        return [*self.left.gram_terms(moments, G), *self.right.gram_terms(moments, G)]


class ScaledOperator(Operator):
    """Operator times a number, B = scale · operator."""

    def __init__(self, operator: Operator, scale: float):
        self.operator = operator
        self.scale = scale

    def __str__(self) -> str:
        return f"{self.scale:g} * {self.operator}"

    own_coordinates = property(lambda self: self.operator.own_coordinates)
    depends_on_data = property(lambda self: self.operator.depends_on_data)

    @property
    def uniform(self) -> float | None:  # type: ignore[override]
        """The scalar c > 0 if B = c I, else None."""
        inner = self.operator.uniform
        return None if inner is None or not self.scale > 0 else self.scale * inner

    def matrix(self, moments: Moments) -> Array:
        """Return the matrix of the operator times the scale."""
        return self._factor() * self.operator.matrix(moments)

    def eigh(self, moments: Moments) -> tuple[Array, Array | None]:
        """Return the eigenvalues of the operator times the scale, and the eigenvectors."""
        b, Q = self.operator.eigh(moments)
        return self._factor() * b, Q

    def _factor(self) -> float:
        """Return the scale after a check that it is ≥ 0."""
        if not self.scale >= 0:
            raise ValueError(f"an operator is scaled by a number ≥ 0, got {self.scale!r}.")
        return self.scale

    def gram_terms(self, moments: Moments, G: Array) -> Terms:
        """Return the derivative terms of the operator times the scale."""
        return self.operator.gram_terms(moments, self.scale * G)
