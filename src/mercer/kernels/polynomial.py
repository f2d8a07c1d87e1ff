from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import Array, Items, dense, host, namespace, power, sqnorms
from .._base.parameters import positive
from .base import Kernel, VectorKernel
from .capabilities import ItemGradient
from .gradients import analytic_gradient

DIGITS = 1e-2
"""A warning is issued if rounding errors exceed this fraction of the terms of highest degree."""


class Polynomial(VectorKernel):
    r"""Polynomial kernel, :math:`(\gamma \langle a, b \rangle + \text{coef0})^{\text{degree}}`.

    Inputs that lie many standard deviations from zero have nearly equal values, so that rounding
    hides their differences: `fit` then warns. ``Standardized(Polynomial())`` subtracts the mean.

    Parameters
    ----------
    degree : int, default=3
        The power.
    gamma : float, default=1.0
        The factor of the inner product.
    coef0 : float, default=1.0
        The constant that is added to it.

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    accepts_sparse = True

    def __init__(self, degree: int = 3, gamma: float = 1.0, coef0: float = 1.0):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    depends_on_data = False

    def fit(self, A: Items) -> Polynomial:
        """Warn if the items are so far from zero that rounding hides their differences."""
        A = self.check(A, "A")
        constant = self._affine(0.0) / self.gamma
        warn_if_far_from_zero(self, A, int(self.degree), constant)
        return self

    def _affine(self, inner: Array) -> Array:
        """Return gamma · inner + coef0, after checking gamma, coef0 and degree."""
        if self.degree != int(self.degree) or self.degree < 1:
            raise ValueError(f"degree must be a positive integer, got {self.degree!r}.")
        if np.real(self.coef0) < 0:
            raise ValueError(f"coef0 must not be negative (no kernel then), got {self.coef0!r}.")
        positive(np.real(self.gamma), "gamma")
        return self.gamma * inner + self.coef0

    def _gram(self, A: Array, B: Array) -> Array:
        """Return (gamma ⟨a, b⟩ + coef0)^degree for all pairs."""
        return power(self._affine(dense(A @ B.T)), int(self.degree))

    def _diag(self, A: Array) -> Array:
        """Return (gamma ‖a‖² + coef0)^degree for every vector."""
        return power(self._affine(sqnorms(A)), int(self.degree))

    item_gradient = property(lambda self: ItemGradient(self._vjp, self._diag_vjp))

    parameter_gradient = property(lambda self: analytic_gradient(self, "gamma", "coef0"))

    def _vjp(self, A: Array, B: Array, C: Array) -> Array:
        """Return the gradient of Σ_ij C_ij k(a_i, b_j) with respect to each a_i."""
        base = self._affine(dense(A @ B.T)) ** (int(self.degree) - 1)
        return (self.degree * self.gamma) * ((C * base) @ B)

    def _diag_vjp(self, A: Array, c: Array) -> Array:
        """Return the gradient of Σ_i c_i k(a_i, a_i) with respect to each a_i."""
        base = self._affine(sqnorms(A)) ** (int(self.degree) - 1)
        return (2.0 * self.degree * self.gamma) * (c * base)[:, None] * A


def warn_if_far_from_zero(kernel: Kernel, A: Array, degree: int, constant: float = 0.0) -> None:
    """Warn if rounding hides the differences of rows a, b of A in (⟨a, b⟩ + constant)^degree."""
    size, spread = _size_and_spread(A)
    relative_spread = spread / max(size + constant, np.finfo(float).tiny)
    if spread > 0 and np.finfo(float).eps > DIGITS * relative_spread**degree:
        warnings.warn(
            f"{kernel} loses its digits: the items lie {np.sqrt(size / spread):.0e} times their "
            f"spread from zero. Subtract their mean, for example by Standardized({kernel}).",
            stacklevel=3,
        )


def _size_and_spread(A: Array) -> tuple[float, float]:
    """Return the means of ‖a‖² and ‖a - m‖² over the rows a of A, with their mean m."""
    size = float(np.mean(host(sqnorms(A))))
    if issparse(A):
        mean = A.mean(axis=0)
        return size, size - float(mean @ mean)
    xp = namespace(A)
    return size, float(xp.mean(sqnorms(A - xp.mean(A, axis=0))))
