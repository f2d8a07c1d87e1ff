"""Kernels that are functions of a distance, with k(a, a) = 1: RBF, Matérn and Laplacian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from math import inf, prod, sqrt
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .._base.arrays import Array, Items, dense, like, namespace
from .._base.parameters import parameters
from .base import VectorKernel
from .capabilities import Fourier, ItemGradient, Radial
from .distances import (
    fitted_scale,
    l1_distances,
    length_scale,
    scaled_exp,
    scales_by_feature,
    squared_distances,
)
from .gradients import (
    ParameterGradient,
    absolute_differences_by_feature,
    squared_differences_by_feature,
    total,
)

ROUGHEST, SMOOTHEST = 0.5, 20.5
"""The smallest smoothness of Matérn functions, that of exp(-r), and the largest finite one."""


@parameters
class Stationary(VectorKernel):
    """Base class of kernels that are functions of a distance divided by length scales."""

    accepts_sparse = True
    euclidean = True
    """Whether the distance is Euclidean."""
    nu = inf
    """The smoothness of the Matérn function; infinite for the Gaussian kernel."""

    length_scale: float | str | Array = "median"
    length_scale_: float | np.ndarray = field(init=False)

    @property
    def by_feature(self) -> bool:
        """Whether every feature has its own length scale."""
        given = self.length_scale
        return given == "ard" if isinstance(given, str) else np.ndim(given) > 0

    @property
    def _common_length_scale(self) -> float:
        """The length scale of all features; 1 if each feature has its own."""
        return 1.0 if self.by_feature else fitted_scale(self)

    def _divide_by_feature_scales(self, A: Array) -> Array:
        """Return A with each feature divided by its length scale, if each has its own."""
        if not self.by_feature:
            return A
        scales = fitted_scale(self)
        if A.shape[1] != len(scales):
            raise ValueError(
                f"length_scale has {len(scales)} numbers, but the items have {A.shape[1]} "
                "features: give one for each, or one for all."
            )
        return csr_array(A.multiply(1.0 / scales)) if issparse(A) else A / like(scales, A)

    def _scaled_batches(self, A: Array, B: Array) -> tuple[Array, Array, float]:
        """Return A and B divided by the features' own length scales, and the common scale."""
        ell: Any = self.length_scale_ if "length_scale_" in vars(self) else fitted_scale(self)
        if np.ndim(ell) == 0:
            return A, B, ell
        left = self._divide_by_feature_scales(A)
        return left, left if A is B else self._divide_by_feature_scales(B), 1.0

    def distance(self, A: Array, B: Array) -> Array:
        """Return the distances of all pairs, whose median is the default length scale."""
        largest = abs(A).max() if issparse(A) else namespace(A).max(namespace(A).abs(A))
        unit = float(largest) or 1.0  # squares of tiny or huge entries overflow
        D2 = squared_distances(A / unit, B / unit)
        return namespace(D2).sqrt(D2) * unit

    @property
    def depends_on_data(self) -> bool:
        """Whether the length scale is "median" or "ard" rather than a number or an array."""
        return isinstance(self.length_scale, str)

    def fit(self, A: Items) -> Stationary:
        """Determine the length scale from the items if it is "median" or "ard"."""
        A = self.check(A, "A")
        if isinstance(self.length_scale, str) and self.length_scale == "ard":
            self.length_scale_ = scales_by_feature(A, self.distance)
        else:
            self.length_scale_ = length_scale(self.length_scale, A, self.distance)
        return self

    def _diag(self, A: Array) -> Array:
        """Return k(a, a) = 1 for every vector."""
        return np.ones(A.shape[0]) if issparse(A) else namespace(A).ones_like(A[:, 0])

    @property
    def fourier(self) -> Fourier:
        """The spectral measure; isotropic if all features have the same length scale."""
        return Fourier(self._draw_frequencies, self.euclidean and not self.by_feature)

    @property
    def item_gradient(self) -> ItemGradient | None:
        """Derivatives with respect to the items; None if the kernel has a kink at a = b."""
        smooth = self._radial_of_scaled is not None
        return ItemGradient(self._vjp, lambda A, c: zeros_like(A)) if smooth else None

    def _vjp(self, A: Array, B: Array, C: Array) -> Array:
        """Return the gradient of Σ_ij C_ij k(a_i, b_j) with respect to each a_i."""
        assert self._radial_of_scaled is not None
        U, W, _ = self._scaled_batches(A, B)
        M = C * self._radial_of_scaled.slope(squared_distances(U, W))
        return 2.0 * self._divide_by_feature_scales(
            M @ W - namespace(U).sum(M, axis=1)[:, None] * U
        )

    @property
    def _radial_of_scaled(self) -> Radial | None:
        """The kernel as a `Radial` of scaled items; None if it has a kink at a = b."""
        if self.nu == ROUGHEST:
            return None
        if self.nu == inf:  # derivatives are multiples of the kernel, by powers of 1/2ℓ²
            return gaussian_radial(lambda: 0.5 / self._common_length_scale**2)
        orders = range(3 if self.nu > 2 else 2)  # below nu = 2.5 there is no curvature at zero
        return Radial(*(partial(self._radial_derivative, order) for order in orders))

    @property
    def radial(self) -> Radial | None:
        """The kernel as a function of ‖a - b‖²; None if features have their own length scales."""
        return None if self.by_feature else self._radial_of_scaled

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives with respect to the length scale or scales.

        They are zero for k(a, a) = 1.
        """
        return ParameterGradient(
            {"length_scale": fitted_scale(self)}, self._scale_vjp, lambda A, c: {}
        )

    def _scale_vjp(self, A: Array, B: Array, C: Array) -> dict:
        """Return the derivatives of Σ_ij C_ij k(a_i, b_j) with respect to the length scale(s).

        They are 2 Σ_ij C_ij slope(d²) d²_p / ℓ_p, with d²_p the part of feature p in the squared
        distance d² of scaled items.
        """
        U, W, ell = self._scaled_batches(A, B)
        D2 = squared_distances(U, W)
        M = 2.0 * C * self._negative_slope(D2)
        if not self.by_feature:
            return {"length_scale": total(M * D2) / ell}
        return {
            "length_scale": squared_differences_by_feature(dense(U), dense(W), M)
            / fitted_scale(self)
        }

    def _negative_slope(self, D2: Array) -> Array:
        """Return -dk/ds at squared distances s = D2 of scaled items, finite at zero."""
        if self._radial_of_scaled is not None:
            return self._radial_of_scaled.slope(D2)
        r = namespace(D2).sqrt(namespace(D2).where(D2 > 0, D2, namespace(D2).ones_like(D2)))
        return namespace(D2).exp(-r / self._common_length_scale) / (
            2.0 * r * self._common_length_scale
        )

    def _gram(self, A: Array, B: Array) -> Array:
        """Return k(a, b) for all pairs, as a function of their distance."""
        A, B, ell = self._scaled_batches(A, B)
        D2 = squared_distances(A, B)
        return scaled_exp(D2, -0.5 / ell**2) if self.nu == inf else self._radial_derivative(0, D2)

    def _draw_frequencies(
        self, random: np.random.RandomState, shape: tuple[int, int]
    ) -> np.ndarray:
        """Draw frequencies of the spectral measure: Gaussian, or Student's t for finite nu."""
        self._distance_factor()
        omega = random.normal(size=shape) / fitted_scale(self)
        if self.nu == inf:
            return omega
        return omega / np.sqrt(random.chisquare(2 * self.nu, size=(shape[0], 1)) / (2 * self.nu))

    def _radial_derivative(self, order: int, D2: Array) -> Array:
        """Return (-d/ds)^order of k as a function of the squared distance s, at s = D2.

        That is a multiple of the Matérn function of nu - order, since (r^ν K_ν)' = -r^ν K_(ν-1).
        """
        scale, nu = self._distance_factor(), self.nu
        values = _matern(namespace(D2).sqrt(D2) * scale, nu - order)
        factor = prod(scale**2 / (4.0 * (nu - k)) for k in range(1, order + 1))
        return factor * values if order else values

    def _distance_factor(self) -> float:
        """Return √(2 nu) / ℓ, the factor of the distance in the Matérn function."""
        half = isinstance(self.nu, Real) and ROUGHEST <= self.nu <= SMOOTHEST
        if self.nu != inf and not (half and float(self.nu - 0.5).is_integer()):
            raise ValueError(
                f"nu must be one of 0.5, 1.5, 2.5, …, {SMOOTHEST} or inf, got {self.nu!r}."
            )
        return sqrt(2.0 * self.nu) / self._common_length_scale


class RBF(Stationary):
    r"""Gaussian kernel, :math:`k(a, b) = \exp(-\lVert a - b \rVert^2 / 2\ell^2)`.

    Parameters
    ----------
    length_scale : float, array or str, default="median"
        ℓ, or "median": the median distance of the data that the kernel is fitted on. An array has
        a length scale for each feature; "ard" starts them at the feature's standard deviation
        times the median distance of the standardised items (the units of features then change
        nothing), for `mercer.tune` to learn.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> RBF(1.0)([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065]])
    >>> RBF([1.0, 100.0])([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.6065]])
    """


@parameters
class Matern(Stationary):
    r"""Matérn kernel of smoothness nu in {0.5, 1.5, 2.5, …, inf}.

    With :math:`r = \sqrt{2 \nu} \lVert a - b \rVert / \ell` it is :math:`e^{-r}`,
    :math:`(1 + r) e^{-r}`, :math:`(1 + r + r^2/3) e^{-r}`, and so on to the Gaussian kernel.

    Parameters
    ----------
    length_scale : float, array or str, default="median"
        ℓ, as in `RBF`.
    nu : float, default=1.5
        The smoothness, a half-integer or infinity.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(1.0, nu=0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    nu: float = 1.5


def _matern(r: Array, nu: float) -> Array:
    """Return the Matérn function of smoothness nu at r, exp(-r) times a polynomial in r."""
    p = round(nu - 0.5)
    polynomial: Array = None
    for k in reversed(range(p)):
        # The ratio of the coefficients of r^(k+1) and r^k.
        ratio = 2.0 * (p - k) / ((k + 1) * (2 * p - k))
        polynomial = ratio * r if polynomial is None else (ratio * r) * polynomial
        polynomial += 1.0
    decay = namespace(r).exp(-r)
    return decay if polynomial is None else polynomial * decay


class Laplacian(Stationary):
    r"""Laplacian kernel, :math:`k(a, b) = \exp(-\lVert a - b \rVert_1 / \ell)`.

    Parameters
    ----------
    length_scale : float, array or str, default="median"
        ℓ, as in `RBF`.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(2.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    euclidean = False
    nu = 0.5

    def distance(self, A: Array, B: Array) -> Array:
        """Return the L1 distances of all pairs."""
        return l1_distances(A, B)

    def _gram(self, A: Array, B: Array) -> Array:
        """Return exp(-‖a - b‖₁ / ℓ) for all pairs."""
        A, B, ell = self._scaled_batches(A, B)
        return scaled_exp(l1_distances(A, B), -1.0 / ell)

    def _scale_vjp(self, A: Array, B: Array, C: Array) -> dict:
        """Return the derivatives of Σ_ij C_ij k(a_i, b_j) with respect to the length scale(s)."""
        U, W, ell = self._scaled_batches(A, B)
        D = l1_distances(U, W)
        M = C * namespace(D).exp(D * (-1.0 / ell))
        if not self.by_feature:
            return {"length_scale": total(M * D) / ell**2}
        return {
            "length_scale": absolute_differences_by_feature(dense(U), dense(W), M)
            / fitted_scale(self)
        }

    def _draw_frequencies(
        self, random: np.random.RandomState, shape: tuple[int, int]
    ) -> np.ndarray:
        """Draw frequencies of the spectral measure: Cauchy of scale 1/ℓ in each dimension."""
        return random.standard_cauchy(size=shape) / fitted_scale(self)


def gaussian_radial(rate: Callable[[], float]) -> Radial:
    """Return the `Radial` of the Gaussian kernel exp(-rate() ‖a - b‖²)."""

    def value(D2: Array) -> Array:
        """Return the kernel at squared distances D2."""
        return namespace(D2).exp(D2 * -rate())

    return Radial(value, lambda D2: value(D2) * rate(), lambda D2: value(D2) * rate() ** 2, rate)


def zeros_like(A: Array) -> Array:
    """Return an array of zeros of the shape and array library of A."""
    return namespace(A).zeros_like(A)
