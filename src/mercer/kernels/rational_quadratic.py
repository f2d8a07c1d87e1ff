"""The rational quadratic kernel, a mixture of Gaussian kernels of many length scales."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Array, namespace
from .._base.parameters import parameters, positive
from .capabilities import Radial
from .distances import fitted_scale, squared_distances
from .gradients import ParameterGradient, total
from .stationary import Stationary


@parameters
class RationalQuadratic(Stationary):
    r"""Rational quadratic kernel.

    .. math::
       k(a, b) = \Bigl(1 + \frac{\lVert a - b \rVert^2}{2 \beta \ell^2}\Bigr)^{-\beta}

    with the exponent :math:`\beta`: a mixture of Gaussian kernels of many length scales. It decays
    like a power of the distance, so that far examples still count. ``exponent=1.0`` is the inverse
    quadratic kernel, ``exponent=0.5`` the inverse multiquadric one, and an infinite exponent the
    Gaussian one.

    Parameters
    ----------
    length_scale : float, array or str, default="median"
        ℓ, as in `RBF`.
    exponent : float, default=1.0
        β, a positive number. (Elsewhere it is called alpha, which is the ridge here.)

    Examples
    --------
    >>> from mercer.kernels import RationalQuadratic
    >>> RationalQuadratic(1.0)([[0.0]], [[1.0], [4.0]]).round(4)
    array([[0.6667, 0.1111]])

    Notes
    -----
    With :math:`\tau` of the gamma distribution of shape and rate β, k is the mean of
    :math:`\exp(-\tau \lVert a - b \rVert^2 / 2 \ell^2)`, which gives its spectral measure: Gaussian
    frequencies times :math:`\sqrt{\tau}`.
    """

    exponent: float = 1.0

    def _gram(self, A: Array, B: Array) -> Array:
        """Return k(a, b) for all pairs, as a function of their distance."""
        A, B, _ = self._scaled_batches(A, B)
        return self._decay(squared_distances(A, B))

    @property
    def _radial_of_scaled(self) -> Radial:
        """The kernel as a `Radial` of scaled items."""
        return Radial(self._decay, self._slope, self._curvature)

    def _growth(self, D2: Array) -> Array:
        """Return ‖a - b‖² / 2βℓ² at squared distances D2 of scaled items."""
        exponent = positive(self.exponent, "exponent")
        return D2 * (0.5 / (exponent * self._common_length_scale**2))

    def _decay(self, D2: Array, order: int = 0) -> Array:
        """Return (1 + ‖a - b‖² / 2βℓ²)^-(β + order) at squared distances D2 of scaled items."""
        xp = namespace(D2)
        return xp.exp(xp.log1p(self._growth(D2)) * -(self.exponent + order))

    def _slope(self, D2: Array) -> Array:
        """Return minus the derivative with respect to the squared distance."""
        return self._decay(D2, 1) * (0.5 / self._common_length_scale**2)

    def _curvature(self, D2: Array) -> Array:
        """Return the second derivative with respect to the squared distance."""
        height = 0.25 * (1.0 + 1.0 / self.exponent) / self._common_length_scale**4
        return self._decay(D2, 2) * height

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives with respect to the length scale or scales, and to the exponent.

        They are zero for k(a, a) = 1.
        """
        values = {"length_scale": fitted_scale(self), "exponent": float(self.exponent)}
        return ParameterGradient(values, self._parameter_vjp, lambda A, c: {})

    def _parameter_vjp(self, A: Array, B: Array, C: Array) -> dict:
        """Return the derivatives of Σ_ij C_ij k(a_i, b_j) with respect to all parameters.

        With u = ‖a - b‖² / 2βℓ², that of k with respect to β is k · (u / (1 + u) - log(1 + u)).
        """
        U, W, _ = self._scaled_batches(A, B)
        D2 = squared_distances(U, W)
        u = self._growth(D2)
        by_exponent = C * self._decay(D2) * (u / (1.0 + u) - namespace(u).log1p(u))
        return {**self._scale_vjp(A, B, C), "exponent": total(by_exponent)}

    def _draw_frequencies(
        self, random: np.random.RandomState, shape: tuple[int, int]
    ) -> np.ndarray:
        """Draw frequencies of the spectral measure, Gaussian times the root of a gamma variable."""
        exponent = positive(self.exponent, "exponent")
        mixed = random.gamma(exponent, 1.0 / exponent, size=(shape[0], 1))
        return np.sqrt(mixed) * random.normal(size=shape) / fitted_scale(self)
