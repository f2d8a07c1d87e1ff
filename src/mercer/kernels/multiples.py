"""Multiples and powers of a kernel are kernels."""

from __future__ import annotations

from functools import reduce
from numbers import Real
from typing import Any

from .._base.arrays import Array, Items, power
from .base import Kernel, Linear
from .capabilities import Multiple
from .gradients import ParameterGradient
from .polynomial import warn_if_far
from .wrapper import OfValues


class Scaled(OfValues):
    """scale · k(a, b).

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
        """Return the scale after a check."""
        if not isinstance(self.scale, Real) or not 0 <= self.scale < float("inf"):
            raise ValueError(f"a kernel is scaled by a number ≥ 0, got {self.scale!r}.")
        return float(self.scale)

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the values of the kernel inside, scaled."""
        return self._factor() * self.inner._gram(A, B)

    def _diag(self, A: Items) -> Array:
        """Return the diagonal of the kernel inside, scaled."""
        return self._factor() * self.inner._diag(A)

    def _mapped(self, capability: Any) -> Any:
        """Return an ability of the kernel inside, scaled; None stays None."""
        return None if capability is None else capability.scaled(self._factor())

    features = property(lambda self: self._mapped(self.inner.features))
    radial = property(lambda self: self._mapped(self.inner.radial))
    fourier = property(lambda self: self._mapped(self.inner.fourier))

    def _pull(self, A: Items, B: Items, C: Array) -> tuple[Array, None, None]:
        """Return the derivatives in the values of the kernel inside."""
        return self._factor() * C, None, None

    def _diag_pull(self, A: Items, c: Array) -> Array:
        """Return the derivatives in the diagonal values of the kernel inside."""
        return self._factor() * c

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives in the scale, and those of the kernel inside, scaled."""
        inner, scale = super().parameter_gradient, self._factor()
        if scale == 0:
            return inner
        own = ParameterGradient.of_grams(
            {"scale": scale},
            lambda A, B: {"scale": self.inner._gram(A, B)},
            lambda A: {"scale": self.inner._diag(A)},
        )
        return own.plus(inner)

    @property
    def multiple(self) -> Multiple:
        """The multiple of the kernel inside, scaled; of this kernel if the scale is zero."""
        return self.inner.multiple.scaled(self._factor()) if self._factor() > 0 else Multiple(self)


class Power(OfValues):
    """k(a, b)^exponent for a positive integer.

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
        """Return the exponent after a check."""
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
            warn_if_far(self, self.check(A, "A"), self._degree())
        return self

    def _gram(self, A: Items, B: Items) -> Array:
        """Return powers of the values of the kernel inside."""
        return power(self.inner._gram(A, B), self._degree())

    def _diag(self, A: Items) -> Array:
        """Return powers of the diagonal of the kernel inside."""
        return power(self.inner._diag(A), self._degree())

    def _product(self, capability: Any) -> Any:
        """Return a capability of the inner kernel to the power of the exponent."""
        if capability is None:
            return None
        return reduce(lambda x, y: x.times(y), [capability] * self._degree())

    radial = property(lambda self: self._product(self.inner.radial))
    fourier = property(lambda self: self._product(self.inner.fourier))

    def _pull(self, A: Items, B: Items, C: Array) -> tuple[Array, None, None]:
        """Return the derivatives in the values of the kernel inside."""
        p = self._degree()
        return C * p * self.inner._gram(A, B) ** (p - 1), None, None

    def _diag_pull(self, A: Items, c: Array) -> Array:
        """Return the derivatives in the diagonal values of the kernel inside."""
        p = self._degree()
        return c * p * self.inner._diag(A) ** (p - 1)
