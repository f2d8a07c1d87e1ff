"""Kernels of the distance alone: RBF, Matérn and Laplacian, k(a, a) = 1."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt
from numbers import Real

import numpy as np
from scipy.sparse import issparse

from .._arrays import Array, Items, namespace
from .base import KERNELS, VectorKernel
from .capabilities import Fourier, ItemGradient, Radial
from .distances import absolute, exp, length_scale, settled, squared


class Stationary(VectorKernel):
    """A kernel of the distance over a length scale, a number or "median"."""

    accepts_sparse = True
    directionless = True
    """Whether it is of the Euclidean distance, the same in all directions."""

    def __init__(self, length_scale: float | str = "median"):
        self.length_scale = length_scale

    def distance(self, A: Array, B: Array) -> Array:
        """The distance whose median is the default length scale."""
        largest = abs(A).max() if issparse(A) else namespace(A).max(namespace(A).abs(A))
        unit = float(largest) or 1.0  # squares of tiny or huge entries are no numbers
        D2 = squared(A / unit, B / unit)
        return namespace(D2).sqrt(D2) * unit

    def fit(self, A: Items) -> Stationary:
        """Settle the length scale."""
        self.length_scale_ = length_scale(self.length_scale, self.check(A, "A"), self.distance)
        return self

    def _diag(self, A: Array) -> Array:
        return np.ones(A.shape[0]) if issparse(A) else namespace(A).ones_like(A[:, 0])

    def _frequencies(self, random: np.random.RandomState, shape: tuple[int, int]) -> np.ndarray:
        """Draws from the spectral measure."""
        raise NotImplementedError

    fourier = property(lambda self: Fourier(self._frequencies, self.directionless))

    @property
    def item_gradient(self) -> ItemGradient | None:
        """Σ_j 2 C_ij slope(‖a_i - b_j‖²) (b_j - a_i); k(a, a) = 1 has none."""
        return None if self.radial is None else ItemGradient(self._vjp, lambda A, c: zeros_like(A))

    def _vjp(self, A: Array, B: Array, C: Array) -> Array:
        assert self.radial is not None
        M = C * self.radial.slope(squared(A, B))
        return 2.0 * (M @ B - namespace(A).sum(M, axis=1)[:, None] * A)


class RBF(Stationary):
    """k(a, b) = exp(-‖a - b‖² / 2ℓ²), the Gaussian; ℓ is the paper's σ.

    Parameters
    ----------
    length_scale
        ℓ, or "median": the median distance of the data that the kernel is fitted on.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> RBF(1.0)([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    def _gram(self, A: Array, B: Array) -> Array:
        D2 = squared(A, B)
        D2 *= -0.5 / settled(self) ** 2
        return exp(D2)

    def _frequencies(self, random: np.random.RandomState, shape: tuple[int, int]) -> np.ndarray:
        """Gaussian, of standard deviation 1/ℓ."""
        return random.normal(size=shape) / settled(self)

    @property
    def radial(self) -> Radial:
        """Derivatives are multiples of the kernel, by powers of 1/2ℓ²."""
        return gaussian(lambda: 0.5 / settled(self) ** 2)


class Matern(Stationary):
    """The Matérn kernel of smoothness nu in {0.5, 1.5, 2.5, …, inf}.

    With r = √(2nu) ‖a - b‖ / ℓ: exp(-r); (1 + r) exp(-r); (1 + r + r²/3) exp(-r); and so on to the
    RBF.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(1.0, nu=0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    ROUGHEST, SMOOTHEST = 0.5, 20.5

    def __init__(self, length_scale: float | str = "median", nu: float = 1.5):
        self.length_scale = length_scale
        self.nu = nu

    @property
    def radial(self) -> Radial | None:
        """None for nu = 0.5: the exponential kernel has a kink at zero, no slope."""
        if self.nu == 0.5:
            return None
        if self.nu == inf:
            return gaussian(lambda: 0.5 / settled(self) ** 2)
        return Radial(self._value, self._slope, self._curvature if self.nu > 2 else None)

    def _gram(self, A: Array, B: Array) -> Array:
        D2 = squared(A, B)
        return self._value(D2) if self.nu != inf else exp(D2 * (-0.5 / settled(self) ** 2))

    def _value(self, D2: Array) -> Array:
        return _matern(namespace(D2).sqrt(D2) * self._rate(), self.nu)

    def _frequencies(self, random: np.random.RandomState, shape: tuple[int, int]) -> np.ndarray:
        """Student's t of 2nu degrees of freedom, of scale 1/ℓ: the Gaussian for nu = inf."""
        self._rate()
        omega = random.normal(size=shape) / settled(self)
        if self.nu == inf:
            return omega
        return omega / np.sqrt(random.chisquare(2 * self.nu, size=(shape[0], 1)) / (2 * self.nu))

    def _slope(self, D2: Array) -> Array:
        """A Matérn function of one less smoothness, since (r^ν K_ν)' = -r^ν K_(ν-1)."""
        scale = self._rate()
        r = namespace(D2).sqrt(D2) * scale
        return _matern(r, self.nu - 1.0) * (scale**2 / (4.0 * (self.nu - 1.0)))

    def _curvature(self, D2: Array) -> Array:
        """The slope's own, from nu = 2.5 on: below that it has none at zero."""
        scale = self._rate()
        r = namespace(D2).sqrt(D2) * scale
        factor = 16.0 * (self.nu - 1.0) * (self.nu - 2.0)
        return _matern(r, self.nu - 2.0) * (scale**4 / factor)

    def _rate(self) -> float:
        """√(2nu) / ℓ."""
        half = isinstance(self.nu, Real) and self.ROUGHEST <= self.nu <= self.SMOOTHEST
        if self.nu != inf and not (half and float(self.nu - 0.5).is_integer()):
            raise ValueError(
                f"nu must be one of 0.5, 1.5, 2.5, …, {self.SMOOTHEST} or inf, got {self.nu!r}."
            )
        return sqrt(2.0 * self.nu) / settled(self)


def _matern(r: Array, nu: float) -> Array:
    """exp(-r) times a polynomial of degree nu - 1/2, by Horner's rule."""
    p = round(nu - 0.5)
    polynomial: Array = 1.0
    for k in reversed(range(p)):
        ratio = 2.0 * (p - k) / ((k + 1) * (2 * p - k))  # of the coefficients of r^(k+1) and r^k
        polynomial = 1.0 + (ratio * r) * polynomial
    return polynomial * namespace(r).exp(-r)


class Laplacian(Stationary):
    """k(a, b) = exp(-‖a - b‖₁ / ℓ), with the sum of absolute differences.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(2.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    directionless = False

    def distance(self, A: Array, B: Array) -> Array:
        """The sum of absolute differences."""
        return absolute(A, B)

    def _gram(self, A: Array, B: Array) -> Array:
        D = absolute(A, B)
        D *= -1.0 / settled(self)
        return exp(D)

    def _frequencies(self, random: np.random.RandomState, shape: tuple[int, int]) -> np.ndarray:
        """Cauchy of scale 1/ℓ in every dimension."""
        return random.standard_cauchy(size=shape) / settled(self)


def gaussian(rate: Callable[[], float]) -> Radial:
    """exp(-rate ‖a - b‖²) as a function of the squared distance."""

    def value(D2: Array) -> Array:
        return namespace(D2).exp(D2 * -rate())

    return Radial(value, lambda D2: value(D2) * rate(), lambda D2: value(D2) * rate() ** 2, rate)


def zeros_like(A: Array) -> Array:
    """Zeros in the shape of an array, of its own library."""
    return namespace(A).zeros_like(A)


KERNELS["rbf"] = RBF
KERNELS["laplacian"] = Laplacian
KERNELS["matern"] = Matern
