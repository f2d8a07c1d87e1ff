"""Multiples and powers of a kernel."""

from __future__ import annotations

from functools import reduce
from numbers import Real
from typing import Any

from .._base.arrays import Array, Items, power
from .base import Kernel, Linear
from .capabilities import Multiple
from .gradients import ParameterGradient
from .polynomial import warn_if_far_from_zero
from .wrapper import OfValues


class Scaled(OfValues):
    """A kernel times a number, scale · k(a, b).

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    scale : float
        The factor, at least 0.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> (0.5 * RBF(1.0))([[1.0]], [[1.0]])
    array([[0.5]])
    """

    def __init__(self, kernel: Kernel, scale: float):
        self.kernel = kernel
        self.scale = scale

    def __str__(self) -> str:
        return f"{self.scale:g} * {self.kernel}"

    def _factor(self) -> float:
        """Return the scale after checking that it is a finite number ≥ 0."""
        if not isinstance(self.scale, Real) or not 0 <= self.scale < float("inf"):
            raise ValueError(f"a kernel is scaled by a number ≥ 0, got {self.scale!r}.")
        return float(self.scale)

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the matrix of the inner kernel times the scale."""
        return self._factor() * self.inner._gram(A, B)

    def _diag(self, A: Items) -> Array:
        """Return the diagonal of the inner kernel times the scale."""
        return self._factor() * self.inner._diag(A)

    def _scaled_capability(self, capability: Any) -> Any:
        """Return the `Features`, `Radial` or `Fourier` of scale · k, given that of k, or None."""
        return None if capability is None else capability.scaled(self._factor())

    features = property(lambda self: self._scaled_capability(self.inner.features))
    radial = property(lambda self: self._scaled_capability(self.inner.radial))
    fourier = property(lambda self: self._scaled_capability(self.inner.fourier))

    def _value_vjp(self, A: Items, B: Items, C: Array) -> tuple[Array, None, None]:
        """Return the derivatives of Σ_ij C_ij k(a_i, b_j) by the inner k(a, b), and None twice."""
        return self._factor() * C, None, None

    def _diag_value_vjp(self, A: Items, c: Array) -> Array:
        """Return the derivatives of Σ_i c_i k(a_i, a_i) by the inner k(a_i, a_i)."""
        return self._factor() * c

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives with respect to the scale and the parameters of the inner kernel."""
        inner, scale = super().parameter_gradient, self._factor()
        if scale == 0:
            return inner
        scale_gradient = ParameterGradient.of_grams(
            {"scale": scale},
            lambda A, B: {"scale": self.inner._gram(A, B)},
            lambda A: {"scale": self.inner._diag(A)},
        )
        return scale_gradient.plus(inner)

    @property
    def multiple(self) -> Multiple:
        """The `Multiple` of the inner kernel times `scale`; for scale 0, this kernel times 1."""
        return self.inner.multiple.scaled(self._factor()) if self._factor() > 0 else Multiple(self)


class Power(OfValues):
    """A power of a kernel, k(a, b)^exponent, with a positive integer as exponent.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    exponent : int
        The power, a positive integer.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (Linear() ** 2)([[2.0]], [[3.0]])
    array([[36.]])
    """

    def __init__(self, kernel: Kernel, exponent: int):
        self.kernel = kernel
        self.exponent = exponent

    def __str__(self) -> str:
        return f"{self.kernel} ** {self.exponent}"

    def _degree(self) -> int:
        """Return the exponent after checking that it is a positive integer."""
        if not isinstance(self.exponent, Real) or self.exponent < 1 or self.exponent % 1:
            raise ValueError(
                f"a kernel is raised to a positive integer power (others need not be kernels), "
                f"got {self.exponent!r}."
            )
        return int(self.exponent)

    def fit(self, A: Items) -> Kernel:
        """Fit the inner kernel; warn if a power of inner products loses precision."""
        super().fit(A)
        if isinstance(self.inner.multiple.kernel, Linear):
            warn_if_far_from_zero(self, self.check(A, "A"), self._degree())
        return self

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the matrix of the inner kernel with each entry raised to the exponent."""
        return power(self.inner._gram(A, B), self._degree())

    def _diag(self, A: Items) -> Array:
        """Return the diagonal of the inner kernel with each entry raised to the exponent."""
        return power(self.inner._diag(A), self._degree())

    def _capability_power(self, capability: Any) -> Any:
        """Return the `Radial` or `Fourier` of the power, given that of k; None for None."""
        if capability is None:
            return None
        return reduce(lambda x, y: x.times(y), [capability] * self._degree())

    radial = property(lambda self: self._capability_power(self.inner.radial))
    fourier = property(lambda self: self._capability_power(self.inner.fourier))

    def _value_vjp(self, A: Items, B: Items, C: Array) -> tuple[Array, None, None]:
        """Return the derivatives of Σ_ij C_ij k(a_i, b_j) by the inner k(a, b), and None twice."""
        p = self._degree()
        return C * p * self.inner._gram(A, B) ** (p - 1), None, None

    def _diag_value_vjp(self, A: Items, c: Array) -> Array:
        """Return the derivatives of Σ_i c_i k(a_i, a_i) by the inner k(a_i, a_i)."""
        p = self._degree()
        return c * p * self.inner._diag(A) ** (p - 1)
