"""What an output operator is, and the algebra of operators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from .._base.arrays import Array
from .._base.errors import refuse_class
from .._base.linalg import eigh
from .._base.parameters import parameter_names
from .._base.symmetric import add, check_symmetric
from ..kernels import Kernel
from .moments import Moments


class Operator(BaseEstimator):
    """Symmetric positive semidefinite operator on the output feature space that couples outputs.

    ``kernel * operator`` is the operator-valued kernel :math:`K(x, x') = k(x, x') B`. A custom
    operator implements `matrix`; `mercer.testing.check_operator` checks it.

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
    """Whether B refers to the finite features of the output kernel and changes with their basis."""
    depends_on_ridge = False
    """Whether B is computed at each ridge by `at_ridge`, and not by `matrix` alone."""
    _get_param_names: ClassVar[Any] = classmethod(parameter_names)
    B_: Array = None
    """The matrix of an operator that `at_ridge` returned."""

    depends_on_data: Any = True
    """Whether B changes with the data; set it to False in a custom operator that does not."""

    uniform: float | None = None
    """The number c if B = c·I for all data; None for other operators."""

    unexplained_at: float | None = None
    """The ε for which B is moments.unexplained(ε) / n, infinite for S_vv / n; None for others."""

    __array_ufunc__ = None

    def matrix(self, moments: Moments) -> Array:
        """Return the matrix of the operator in output coordinates, (q, q), or only its diagonal.

        If the matrix is diagonal, its diagonal may be returned as a vector.
        """
        name = type(self).__name__
        if not self.depends_on_ridge:
            raise NotImplementedError(f"{name} must implement matrix(moments)")
        if self.B_ is None:
            raise ValueError(
                f"{name} has no matrix before the ridge is known: call at_ridge(moments, alpha), "
                f"or fit a model with kernel * {name}(), which is not a term of a sum of kernels."
            )
        return self.B_ + 0.0

    def eigh(self, moments: Moments) -> tuple[Array, Array | None]:
        """Return the eigenvalues and eigenvectors of the operator; the latter None if diagonal."""
        return eigh(check_symmetric(self.matrix(moments)), "output operator", drop=False)

    def at_ridge(self, moments: Moments, alpha: float) -> Operator:
        """Return a copy with the matrix at the ridge `alpha`; itself without such a matrix."""
        return self

    def __add__(self, other: Any) -> Operator:
        if isinstance(other, Operator):
            return _weighted_sum([self, other], [1.0, 1.0])
        return self if isinstance(other, Real) and other == 0 else NotImplemented

    def __radd__(self, other: Any) -> Operator:
        return self if isinstance(other, Real) and other == 0 else NotImplemented

    def __rmul__(self, other: Any) -> Any:
        refuse_class(other, Kernel)
        if isinstance(other, Kernel):
            from .separable import Separable

            return Separable(other, self)
        return self * other if isinstance(other, Real) else NotImplemented

    def __mul__(self, other: Any) -> Operator:
        if isinstance(other, Real):
            return _weighted_sum([self], [float(other)])
        raise TypeError(
            f"an operator is multiplied by a number, or by a kernel from the left "
            f"(kernel * operator); got {other!r} on its right."
        )


def _weighted_sum(operators: list[Operator], weights: list[float]) -> Operator:
    """Return the weighted sum of operators; raise an error if one depends on the ridge."""
    for operator in operators:
        if operator.depends_on_ridge:
            raise TypeError(
                f"{operator} stands alone: it depends on the ridge, so that it is neither scaled "
                "nor added to. Let KernelDependencyCV choose between it and others."
            )
    return WeightedSum(operators, weights)


class WeightedSum(Operator):
    """Weighted sum of operators, written ``2 * left + right``.

    Parameters
    ----------
    operators : sequence of Operator
        The terms.
    weights : sequence of float
        One for each term, at least 0.
    """

    def __init__(self, operators: Sequence[Operator], weights: Sequence[float]):
        self.operators = operators
        self.weights = weights

    def __str__(self) -> str:
        terms = [
            str(operator) if weight == 1 else f"{weight:g} * {operator}"
            for weight, operator in zip(self.weights, self.operators, strict=False)
        ]
        return terms[0] if len(terms) == 1 else f"({' + '.join(terms)})"

    own_coordinates = property(lambda self: any(one.own_coordinates for one in self.operators))
    depends_on_data = property(lambda self: any(one.depends_on_data for one in self.operators))

    @property
    def uniform(self) -> float | None:  # type: ignore[override]
        """The number c if the sum is c times the identity with c > 0, else None."""
        multiples: Any = [operator.uniform for operator in self.operators]
        if None in multiples or min(self.weights) <= 0:
            return None
        return float(np.dot(self.weights, multiples))

    def matrix(self, moments: Moments) -> Array:
        """Return the weighted sum of the matrices of all terms."""
        return reduce(add, [weight * one.matrix(moments) for weight, one in self._checked_terms()])

    def eigh(self, moments: Moments) -> tuple[Array, Array | None]:
        """Return the eigenvalues and eigenvectors of the sum; the latter None if diagonal."""
        (weight, first), *others = self._checked_terms()
        if others:
            return super().eigh(moments)
        b, Q = first.eigh(moments)
        return weight * b, Q

    def _checked_terms(self) -> list[tuple[float, Operator]]:
        """Return the weights and operators after a check that no weight is negative."""
        for weight in self.weights:
            if not weight >= 0:
                raise ValueError(f"an operator is scaled by a number ≥ 0, got {weight!r}.")
        return list(zip(self.weights, self.operators, strict=True))
