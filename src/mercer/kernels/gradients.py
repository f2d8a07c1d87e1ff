"""Derivatives of kernels with respect to their parameters, and copies with other parameters.

Every parameter here is a positive number, or an array of them, and is learnt as its logarithm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, Items, host, namespace

Values = dict[str, Any]
"""Numbers, or arrays of them, by the names that `set_params` takes."""
OfPairs = Callable[[Items, Items, Array], Values]
"""A function of (A, B, C), the type of `ParameterGradient.vjp`."""
OfItems = Callable[[Items, Array], Values]
"""A function of (A, c), the type of `ParameterGradient.diag_vjp`."""
COMPLEX_STEP = 1e-30
"""The imaginary step of a complex-step derivative, in which no digits cancel."""


@dataclass(frozen=True)
class ParameterGradient:
    """Derivatives of a kernel k with respect to its continuous parameters θ.

    Attributes
    ----------
    values
        The positive parameters by name, as fitted. A parameter that is zero is held fixed.
    vjp
        A function of (A, B, C) that returns Σ_ij C_ij ∂k(A_i, B_j)/∂θ for each parameter name,
        a number or an array like the value.
    diag_vjp
        A function of (A, c) that returns Σ_i c_i ∂k(A_i, A_i)/∂θ for each parameter name.
    most
        Upper bounds of parameters by name, for those that have one.
    """

    values: Values = field(default_factory=dict)
    vjp: OfPairs = lambda A, B, C: {}
    diag_vjp: OfItems = lambda A, c: {}
    most: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of_grams(
        cls,
        values: Values,
        gram: Callable[[Items, Items], Values],
        diag: Callable[[Items], Values],
        most: Mapping[str, float] | None = None,
    ) -> ParameterGradient:
        """Return the gradient, given functions for ∂k(A, B)/∂θ and ∂k(a, a)/∂θ of numbers θ.

        gram(A, B) returns a matrix and diag(A) a vector for each parameter name; `values` are the
        parameters and `most` their upper bounds.
        """
        return cls(
            values,
            lambda A, B, C: {name: total(C * D) for name, D in gram(A, B).items()},
            lambda A, c: {name: total(c * d) for name, d in diag(A).items()},
            most or {},
        )

    def prefixed(self, prefix: str) -> ParameterGradient:
        """Return the gradient with `prefix` and "__" before each parameter name.

        These are the names of the parameters of an inner kernel in `set_params`.
        """
        return ParameterGradient(
            prefix_names(prefix, self.values),
            lambda A, B, C: prefix_names(prefix, self.vjp(A, B, C)),
            lambda A, c: prefix_names(prefix, self.diag_vjp(A, c)),
            prefix_names(prefix, self.most),
        )

    def before(self, function: Callable[[Items], Items]) -> ParameterGradient:
        """Return the gradient of the kernel k(f(a), f(b)) for a function f of batches.

        This gradient is that of k.
        """

        def vjp(A: Items, B: Items, C: Array) -> Values:
            """Return Σ_ij C_ij ∂k(A_i, B_j)/∂θ for each parameter θ by name."""
            left = function(A)
            return self.vjp(left, left if A is B else function(B), C)

        return self.with_functions(vjp, lambda A, c: self.diag_vjp(function(A), c))

    def plus(self, other: ParameterGradient) -> ParameterGradient:
        """Return the sum of two gradients; a parameter that only one of them has is kept."""
        return ParameterGradient(
            self.values | other.values,
            lambda A, B, C: add_values(self.vjp(A, B, C), other.vjp(A, B, C)),
            lambda A, c: add_values(self.diag_vjp(A, c), other.diag_vjp(A, c)),
            {**self.most, **other.most},
        )

    def with_functions(self, vjp: OfPairs, diag_vjp: OfItems) -> ParameterGradient:
        """Return a gradient with the same parameters that consists of the given functions."""
        return ParameterGradient(self.values, vjp, diag_vjp, self.most)


def prefix_names(prefix: str, values: Mapping[str, Any]) -> Values:
    """Return a copy of `values` with `prefix` and "__" before each name."""
    return {f"{prefix}__{name}": value for name, value in values.items()}


def total(A: Array) -> float:
    """Return the sum of all entries of an array as a float."""
    return float(namespace(A).sum(A))


def add_values(left: Values, right: Values, scale: float = 1.0) -> Values:
    """Return left + scale · right for each name; a value that is missing in one counts as 0."""
    out = dict(left)
    for name, value in right.items():
        out[name] = out[name] + scale * value if name in out else scale * value
    return out


def complex_step_derivative(function: Callable[[complex], Array], at: float) -> Array:
    """Return the derivative of an analytic function at the point `at`, by a complex step."""
    return function(complex(at, COMPLEX_STEP)).imag / COMPLEX_STEP


def parameter_derivative(function: Callable[[Any], Array], kernel: Any, name: str) -> Array:
    """Return the derivative of function(kernel) with respect to its parameter `name`."""
    at = float(kernel.get_params(deep=False)[name])
    return complex_step_derivative(lambda x: function(with_parameters(kernel, {name: x})), at)


def analytic_gradient(
    kernel: Any, *names: str, most: Mapping[str, float] | None = None
) -> ParameterGradient:
    """Return the gradient of a kernel whose values are analytic in the named parameters.

    Its `_gram` and `_diag` are called on copies that have one complex parameter. `most` has the
    upper bounds of the parameters that have one.
    """
    given = kernel.get_params(deep=False)
    values = {name: float(given[name]) for name in names if given[name] > 0}

    def derivatives(function: Callable[[Any], Array]) -> Values:
        """Return the derivative of function(kernel) with respect to each parameter."""
        return {name: parameter_derivative(function, kernel, name) for name in values}

    return ParameterGradient.of_grams(
        values,
        lambda A, B: derivatives(lambda k: k._gram(A, B)),
        lambda A: derivatives(lambda k: k._diag(A)),
        most,
    )


def squared_differences_by_feature(A: Array, B: Array, M: Array) -> np.ndarray:
    """Return Σ_ij M_ij (A_ip - B_jp)² for each feature p, by one matrix product."""
    xp = namespace(A)
    shift = xp.mean(B, axis=0)[None, :]
    A, B = A - shift, B - shift
    cross_terms = xp.sum(A * (M @ B), axis=0)
    squares = xp.sum(M, axis=1) @ (A * A) + xp.sum(M, axis=0) @ (B * B)
    return host(squares - 2.0 * cross_terms)


def absolute_differences_by_feature(A: Array, B: Array, M: Array) -> np.ndarray:
    """Return Σ_ij M_ij |A_ip - B_jp| for each feature p."""
    xp = namespace(A)
    columns = range(int(A.shape[1]))
    return np.array([total(M * xp.abs(A[:, p, None] - B[None, :, p])) for p in columns])


def with_parameters(kernel: Any, values: Mapping[str, Any]) -> Any:
    """Return an unfitted copy of a kernel with new parameter values, named as in `set_params`.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> from mercer.kernels.gradients import with_parameters
    >>> with_parameters(RBF(1.0) + Linear(), {"left__length_scale": 2.0}).left
    RBF(length_scale=2.0)
    """
    copy = clone(kernel)
    for name, value in values.items():
        _set_parameter(copy, name.split("__"), value)
    return copy


def _set_parameter(kernel: Any, path: list[str], value: Any) -> None:
    """Set a parameter of a kernel; a path ["kernel", "scale"] means `kernel__scale`."""
    if len(path) == 1:
        setattr(kernel, path[0], value)
        return
    from .base import as_kernel

    inner = kernel.get_params(deep=False)[path[0]]
    if inner is None or isinstance(inner, str):  # a default, or a name such as "rbf"
        inner = kernel._unfitted_inner() if inner is None else as_kernel(inner)
        setattr(kernel, path[0], inner)
    _set_parameter(inner, path[1:], value)
