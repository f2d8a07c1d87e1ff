"""What a loss is: a convex function of the length of a residual."""

from __future__ import annotations

import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._arrays import Array


class Loss(BaseEstimator):
    """A convex function h of the length of a residual, h(r) = r² being the square loss.

    One of one's own implements `value`, `proximal` and `_threshold`.

    Attributes
    ----------
    threshold_
        The length from which on the loss departs from what it is near zero, as settled.

    Examples
    --------
    >>> from mercer.losses import Huber, Loss
    >>> isinstance(Huber(), Loss)
    True
    """

    max_iter: int
    tol: float
    threshold_: float

    def settle(self, lengths: Array) -> Loss:
        """A copy with its threshold settled, given the lengths of left-out residuals."""
        settled = copy.copy(self)
        settled.threshold_ = self._threshold(lengths)
        return settled

    def _threshold(self, lengths: Array) -> float:
        raise NotImplementedError(f"{type(self).__name__} must say what its threshold is")

    @property
    def adaptive(self) -> bool:
        """Whether the threshold depends on the data."""
        raise NotImplementedError

    def value(self, r: Array) -> Array:
        """The loss at lengths r, h(r)."""
        raise NotImplementedError(f"{type(self).__name__} must implement value(r)")

    def proximal(self, r: Array, tau: float) -> Array:
        """The length that minimises h(·) + τ(· - r)²."""
        raise NotImplementedError(f"{type(self).__name__} must implement proximal(r, tau)")

    def check(self) -> None:
        """Refuse parameters that make no sense."""
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a positive whole number, got {self.max_iter!r}.")
        positive(self.tol, "tol")


def checked_loss(loss: Any) -> Loss | None:
    """A loss with parameters that make sense, or None for the square."""
    if loss is None:
        return None
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be None (the square), Huber() or EpsilonInsensitive() of mercer.losses, "
            f"got {loss!r}."
        )
    loss.check()
    return loss


def positive(value: Any, name: str) -> None:
    """Refuse what is no positive finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}.")


def positive_or_median(value: Any, name: str) -> None:
    """Refuse what is neither a positive number nor "median"."""
    if isinstance(value, str) and value != "median":
        raise ValueError(f'{name} must be a positive number or "median", got {value!r}.')
    if not isinstance(value, str):
        positive(value, name)
