"""Robust losses: functions of the length of a residual in the output feature space.

``loss=None`` is the squared loss. The losses here grow only linearly with the length of the
residual, so that a few wrong outputs have little influence.
"""

from __future__ import annotations

import copy
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ._base.arrays import Array, host, like, namespace
from ._base.parameters import integer, parameters, positive

__all__ = [
    "EpsilonInsensitive", "Huber", "Loss", "checked_loss", "column_medians", "median_length",
    "shorten_rows", "tau_risk",
]  # fmt: skip


class Loss(BaseEstimator):
    r"""Base class of robust losses, convex functions :math:`h` of the length of a residual.

    A custom loss implements `value`, `proximal` and `_threshold`.

    Attributes
    ----------
    threshold_
        The fitted length of a residual at which the loss changes its form.

    Examples
    --------
    >>> from mercer.losses import Huber, Loss
    >>> isinstance(Huber(), Loss)
    True
    """

    LENGTH = ""
    """The name of the threshold parameter: a length, or "median" for `factor` times the median."""

    max_iter: int
    tol: float
    factor: float
    threshold_: float

    def resolved(self, lengths: Array) -> Loss:
        """Return a copy with a numeric threshold, computed from `lengths` if it is "median"."""
        fitted = copy.copy(self)
        fitted.threshold_ = self._threshold(lengths)
        return fitted

    def _threshold(self, lengths: Array) -> float:
        """Return the threshold, computed from lengths of left-out residuals if it is "median"."""
        if not self.LENGTH:
            raise NotImplementedError(f"{type(self).__name__} must say what its threshold is")
        return self.factor * median_length(lengths) if self.adaptive else float(self.length)

    @property
    def length(self) -> Any:
        """The threshold parameter as the user gave it: a length or "median"."""
        return self.get_params(deep=False).get(self.LENGTH)

    @property
    def adaptive(self) -> bool:
        """Whether the threshold is computed from residuals, because it is "median"."""
        return isinstance(self.length, str)

    def value(self, r: Array) -> Array:
        """Return the loss h(r) for residuals of lengths r."""
        raise NotImplementedError(f"{type(self).__name__} must implement value(r)")

    def proximal(self, r: Array, tau: float) -> Array:
        r"""Return the proximal point of each r, the minimiser of :math:`h(s) + \tau (s - r)^2`."""
        raise NotImplementedError(f"{type(self).__name__} must implement proximal(r, tau)")

    def check(self) -> None:
        """Raise an error if a parameter is invalid."""
        integer(self.max_iter, "max_iter")
        positive(self.tol, "tol")
        if self.LENGTH:
            positive(self.factor, "factor")
            self._check_length(self.length)

    def _check_length(self, value: Any) -> None:
        """Raise an error unless `value`, the threshold, is a positive number or "median"."""
        if isinstance(value, str) and value != "median":
            raise ValueError(f'{self.LENGTH} must be a positive number or "median", got {value!r}.')
        if not isinstance(value, str):
            positive(value, self.LENGTH)


def checked_loss(loss: Any) -> Loss | None:
    """Return a loss after checking its parameters; None stands for the squared loss."""
    if loss is None:
        return None
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be None (the square), Huber() or EpsilonInsensitive() of mercer.losses, "
            f"got {loss!r}."
        )
    loss.check()
    return loss


MEDIANS = 3.0
"""Lengths of residuals are clipped at this multiple of their median."""


def median_length(lengths: Array, weights: np.ndarray | None = None) -> float:
    """Return the (weighted) median of the nonzero lengths, or 1 if all lengths are zero."""
    known = host(lengths)
    positive = known > 0
    if not positive.any():
        return 1.0
    return weighted_median(known[positive], None if weights is None else weights[positive])


def weighted_median(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the median of values that are repeated in proportion to their weights."""
    w = np.ones(len(values)) if weights is None else weights
    order = np.argsort(values)
    shares = np.cumsum(w[order]) / w.sum()
    middle = np.searchsorted(shares, [0.5 - 1e-12, 0.5 + 1e-12])
    return float(values[order[middle]].mean())


def tau_risk(residuals: Array, weights: np.ndarray | None = None) -> float:
    """Return the mean squared length of residuals; lengths above three medians are clipped.

    A τ-estimate of scale (Yohai and Zamar 1988): outputs that are wrong beyond repair do not
    decide between fits. Where no residual is three medians long it is the mean squared length.
    Both the mean and the median are weighted if there are `weights`.
    """
    xp = namespace(residuals)
    squares = residuals if residuals.ndim == 1 else xp.sum(residuals * residuals, axis=1)
    limit = MEDIANS**2 * median_length(squares, weights)
    clipped = xp.where(squares > limit, like(limit, squares), squares)
    if weights is None:
        return float(xp.mean(clipped))
    return float(like(weights / weights.sum(), clipped) @ clipped)


def shorten_rows(V: Array, centre: Array | None, weights: np.ndarray | None = None) -> Array:
    """Return V with rows far from `centre` (None for 0) shortened to three median distances.

    The covariance of outputs is computed from such rows where some outputs may be wrong.
    """
    xp = namespace(V)
    D = V if centre is None else V - centre
    r = xp.sqrt(xp.sum(D * D, axis=1))
    limit = MEDIANS * median_length(r, weights)
    far = r > limit
    D = D * xp.where(far, limit / xp.where(far, r, xp.ones_like(r)), xp.ones_like(r))[:, None]
    return D if centre is None else D + centre


def column_medians(V: Array, weights: np.ndarray | None = None) -> Array:
    """Return the (weighted) median of every column of V."""
    columns = [host(V[:, j]) for j in range(V.shape[1])]
    return like(np.array([weighted_median(column, weights) for column in columns]), V)


@parameters
class Huber(Loss):
    r"""Huber's loss of the length of a residual: quadratic up to delta, linear beyond.

    :math:`h(r) = r^2` up to :math:`\delta`, then :math:`2 \delta r - \delta^2`.

    Parameters
    ----------
    delta : float or "median", default="median"
        A length in the output feature space; "median" is `factor` times the median length of the
        left-out residuals, determined for each alpha.
    factor : float, default=1.0
        The factor of the median.
    max_iter : int, default=1000
        The largest number of steps.
    tol : float, default=1e-5
        The tolerance of the iteration, as a fraction of the outputs.

    References
    ----------
    Huber (1964); in the output feature space: Laforgue, Lambert, Brogat-Motte, d'Alché-Buc (ICML
    2020).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Huber
    >>> Huber(1.0).resolved(np.array([])).value(np.array([0.5, 3.0]))
    array([0.25, 5.  ])
    """

    delta: float | str = "median"
    factor: float = 1.0
    max_iter: int = 1000
    tol: float = 1e-5

    LENGTH = "delta"

    def value(self, r: Array) -> Array:
        r"""Return the loss of lengths r: :math:`r^2` up to delta, its tangent beyond."""
        delta = self.threshold_
        return namespace(r).where(r <= delta, r * r, delta * (2.0 * r - delta))

    def proximal(self, r: Array, tau: float) -> Array:
        r"""Return the proximal point of each r, the minimiser of :math:`h(s) + \tau (s - r)^2`."""
        inside = r * (tau / (1.0 + tau))
        return namespace(r).where(inside <= self.threshold_, inside, r - self.threshold_ / tau)


@parameters
class EpsilonInsensitive(Loss):
    """Epsilon-insensitive loss h(r) = max(r - epsilon, 0), as in support vector regression.

    The loss of a residual is zero up to epsilon, and grows linearly from there. It is not a square:
    compared with other losses, alpha has to be divided by about the length of a typical residual.

    Parameters
    ----------
    epsilon : float or "median", default="median"
        A length in the output feature space; "median" is `factor` times the median length of the
        left-out residuals, determined for each alpha.
    factor : float, default=0.5
        The factor of the median.
    max_iter : int, default=2000
        The largest number of steps.
    tol : float, default=1e-5
        The tolerance of the iteration, as a fraction of the outputs.

    References
    ----------
    Drucker et al. (1997); in the output feature space: Laforgue et al. (ICML 2020).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(1.0).resolved(np.array([])).value(np.array([0.5, 3.0]))
    array([0., 2.])
    """

    epsilon: float | str = "median"
    factor: float = 0.5
    max_iter: int = 2000
    tol: float = 1e-5

    LENGTH = "epsilon"

    def _check_length(self, value: float | str) -> None:
        """Raise an error unless `value`, the threshold, is a number ≥ 0 or "median"."""
        if not (isinstance(value, Real) and value == 0):
            super()._check_length(value)

    def value(self, r: Array) -> Array:
        """Return max(r - epsilon, 0) for lengths r."""
        return namespace(r).where(r > self.threshold_, r - self.threshold_, r * 0.0)

    def proximal(self, r: Array, tau: float) -> Array:
        r"""Return the proximal point of each r, the minimiser of :math:`h(s) + \tau (s - r)^2`."""
        xp, epsilon = namespace(r), self.threshold_
        short = r - 0.5 / tau
        return xp.where(r <= epsilon, r, xp.where(short > epsilon, short, r * 0.0 + epsilon))
