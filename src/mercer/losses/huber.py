"""Robust losses."""

from __future__ import annotations

from numbers import Real

from .._arrays import Array, namespace
from .._parameters import parameters
from .base import Loss


@parameters
class Huber(Loss):
    """h(r) = r² up to delta, then 2·delta·r - delta²: square near the fit, linear far from it.

    Parameters
    ----------
    delta
        A length in the output feature space; "median" is `factor` times the median length of the
        left-out residuals, determined for each alpha.
    factor
        What the median is multiplied by.
    max_iter, tol
        Of the iteration: how many steps at most, and how exact as a fraction of the outputs.

    References
    ----------
    Huber (1964); in the output feature space: Laforgue, Lambert, Brogat-Motte, d'Alché-Buc (ICML
    2020).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Huber
    >>> Huber(1.0).settle(np.array([])).value(np.array([0.5, 3.0]))
    array([0.25, 5.  ])
    """

    delta: float | str = "median"
    factor: float = 1.0
    max_iter: int = 1000
    tol: float = 1e-5

    LENGTH = "delta"
    length = property(lambda self: self.delta, doc="The threshold as given.")

    def value(self, r: Array) -> Array:
        """r², or the tangent at delta."""
        delta = self.threshold_
        return namespace(r).where(r <= delta, r * r, delta * (2.0 * r - delta))

    def proximal(self, r: Array, tau: float) -> Array:
        """Shrunk by τ / (1 + τ), or shortened by delta / τ."""
        inside = r * (tau / (1.0 + tau))
        return namespace(r).where(inside <= self.threshold_, inside, r - self.threshold_ / tau)


@parameters
class EpsilonInsensitive(Loss):
    """h(r) = max(r - epsilon, 0): support vector regression on the length of the residual.

    Residuals shorter than epsilon cost nothing, longer ones linearly. As the loss is not a square,
    alpha is on another scale than elsewhere: by about the length of a typical residual.

    Parameters
    ----------
    epsilon
        A length in the output feature space; "median" is `factor` times the median length of the
        left-out residuals, determined for each alpha.
    factor
        What the median is multiplied by.
    max_iter, tol
        Of the iteration: how many steps at most, and how exact as a fraction of the outputs.

    References
    ----------
    Drucker et al. (1997); in the output feature space: Laforgue et al. (ICML 2020).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(1.0).settle(np.array([])).value(np.array([0.5, 3.0]))
    array([0., 2.])
    """

    epsilon: float | str = "median"
    factor: float = 0.5
    max_iter: int = 2000
    tol: float = 1e-5

    LENGTH = "epsilon"
    length = property(lambda self: self.epsilon, doc="The threshold as given.")

    def _check_length(self, value: float | str) -> None:
        if not (isinstance(value, Real) and value == 0):
            super()._check_length(value)

    def value(self, r: Array) -> Array:
        """What exceeds epsilon."""
        return namespace(r).where(r > self.threshold_, r - self.threshold_, r * 0.0)

    def proximal(self, r: Array, tau: float) -> Array:
        """Shortened by 1 / 2τ, but not to less than epsilon."""
        xp, epsilon = namespace(r), self.threshold_
        short = r - 0.5 / tau
        return xp.where(r <= epsilon, r, xp.where(short > epsilon, short, r * 0.0 + epsilon))
