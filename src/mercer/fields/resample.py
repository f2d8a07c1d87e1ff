"""A transformer of curves to rows of values on one grid."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real

import numpy as np
from scipy.interpolate import make_smoothing_spline
from sklearn.base import BaseEstimator, TransformerMixin

from .._base.arrays import Array, Items
from ..spaces import as_grid, interpolate

SPLINE_POINTS = 5
"""The smallest number of points of a smoothing spline."""


class Resample(TransformerMixin, BaseEstimator):
    """Transformer that interpolates or smooths curves to rows of values on one grid.

    Parameters
    ----------
    grid : array
        The points of the common grid, increasing.
    penalty : float, str or None, default=None
        None interpolates linearly. A number is the weight λ of the cubic smoothing spline
        argmin_f Σ_i (v_i - f(t_i))² + λ∫f''²; "gcv" chooses λ for each curve by generalised
        cross-validation.

    Notes
    -----
    Beyond its first and last measured point a curve is constant, because splines extrapolate badly.

    Examples
    --------
    >>> from mercer.fields import Resample
    >>> Resample([0.0, 1.0, 2.0]).fit_transform([([0.0, 2.0], [1.0, 5.0])])
    array([[1., 3., 5.]])
    """

    def __init__(self, grid: Array, penalty: float | str | None = None):
        self.grid = grid
        self.penalty = penalty

    def fit(self, X: Items, y: Items | None = None) -> Resample:
        """Check the parameters and return self; the curves are not used."""
        as_grid(self.grid)
        self._interpolator()
        return self

    def transform(self, X: Items) -> np.ndarray:
        """Return the values of the curves on the grid, one row each, without NaN."""
        return interpolate(X, as_grid(self.grid), self._interpolator(), "X")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _interpolator(self) -> Callable:
        """Return the function (grid, t, values) that interpolates or smooths one curve."""
        if self.penalty is None:
            return np.interp
        penalty = None if isinstance(self.penalty, str) else self.penalty
        valid = self.penalty == "gcv" if penalty is None else isinstance(penalty, Real)
        if not valid or (penalty is not None and not 0 <= penalty < np.inf):
            raise ValueError(f'penalty must be None, a number ≥ 0 or "gcv", got {self.penalty!r}.')
        return lambda x, t, v: _spline(x, t, v, penalty)


def _spline(x: np.ndarray, t: np.ndarray, v: np.ndarray, penalty: float | None) -> np.ndarray:
    """Return the values at x of the smoothing spline of a curve (t, v).

    `penalty` is its weight λ; None chooses λ by generalised cross-validation. Curves with fewer
    than `SPLINE_POINTS` points are interpolated linearly.
    """
    if len(t) < SPLINE_POINTS:
        return np.interp(x, t, v)
    return make_smoothing_spline(t, v, lam=penalty)(x)
