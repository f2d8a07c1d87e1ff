from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from .._arrays import Array, Items, host, like, namespace
from .base import Kernel
from .mapped import After

UNITS = ("each", "common")
CONSTANT = 1e-12
"""A column that varies by less than this share of its largest value does not vary."""


class Standardized(After):
    """k((a - m) / s, (b - m) / s): a kernel on vectors whose columns are in units of their spread.

    The units of the columns then change nothing. Sparse rows are not moved, only scaled: no kernel
    of differences, and no linear one with an intercept, can tell.

    Parameters
    ----------
    kernel
        The kernel on the scaled vectors.
    units
        "each" for columns in units of their own spread. "common" for one unit, the mean spread, as
        the values of a curve have it: columns whose spread is powers of ten apart from the others'
        are brought to their unit first. Or s itself, one number a column.
    slopes
        Whether the differences of neighbouring columns follow the columns, as their slopes do the
        values of a curve, in a unit in which both vary as much. Dense rows only.

    Attributes
    ----------
    mean_, spread_
        m and s.
    steepness_
        The unit of slopes.

    Examples
    --------
    >>> from mercer.kernels import Linear, Standardized
    >>> Standardized(Linear()).fit([[0.0, 1e6], [2.0, 3e6]])([[2.0, 1e6]])
    array([[2.]])
    """

    slopes = False  # of kernels that were pickled before there was a choice

    def __init__(self, kernel: Kernel, units: str | Array = "each", slopes: bool = False):
        self.kernel = kernel
        self.units = units
        self.slopes = slopes

    def fit(self, A: Items) -> Kernel:
        """Settle the units, and fit the kernel on what is scaled."""
        A = self.check(A, "A")
        mean, spread = _moments(A)
        self.mean_ = np.zeros_like(mean) if issparse(A) else mean
        self.spread_ = self._spread(spread)
        if self.slopes:
            if issparse(A):
                raise ValueError("slopes=True is for curves: give dense rows.")
            Z = (host(A) - mean) / self.spread_
            apart = np.diff(Z, axis=1).var(axis=0).sum()
            self.steepness_ = float(np.sqrt(apart / Z.var(axis=0).sum())) if apart > 0 else 1.0
        return super().fit(A)

    def check(self, A: Items, name: str = "X") -> Items:
        """As the kernel inside: only units change."""
        return self.inner.check(A, name)

    def as_outputs(self, Y: Items, name: str = "y") -> Items:
        """As the kernel inside."""
        return self.inner.as_outputs(Y, name)

    accepts_sparse = property(lambda self: self.inner.accepts_sparse)

    def _spread(self, spread: np.ndarray) -> np.ndarray:
        if not isinstance(self.units, str):
            given = np.asarray(self.units, dtype=float)
            if given.shape != spread.shape or not (given > 0).all():
                raise ValueError(f"units must be {len(spread)} positive numbers, one a column.")
            return given
        if self.units not in UNITS:
            raise ValueError(f"units must be numbers or one of {UNITS}, got {self.units!r}.")
        return common_units(spread) if self.units == "common" else np.where(spread > 0, spread, 1.0)

    def _apply(self, A: Array) -> Array:
        if issparse(A):
            return csr_array(A @ diags_array(1.0 / self.spread_))
        Z = (A - like(self.mean_, A)) / like(self.spread_, A)
        if not self.slopes:
            return Z
        return namespace(Z).concat([Z, (Z[:, 1:] - Z[:, :-1]) / self.steepness_], axis=1)

    def _undo(self) -> Callable[[Array], Array]:
        def undone(A: Array) -> Array:
            values = A[:, : len(self.spread_)]
            return values * like(self.spread_, A) + like(self.mean_, A)

        return undone


def common_units(spread: np.ndarray) -> np.ndarray:
    """One unit for all columns, up to powers of ten: the mean square of what remains is one."""
    varies = spread > 0
    if not varies.any():
        return np.ones_like(spread)
    logs = np.log10(spread[varies])
    powers = np.zeros_like(spread)
    powers[varies] = np.round(logs - np.median(logs))
    unit = np.sqrt(np.mean((spread[varies] / 10.0 ** powers[varies]) ** 2))
    return unit * 10.0**powers


def _moments(A: Array) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every column, 0 where it does not vary."""
    if issparse(A):
        top = abs(A).max(axis=0).toarray().ravel()
        unit = np.where(top > 0, top, 1.0)
        A = csr_array(A @ diags_array(1.0 / unit))
        mean = np.asarray(A.mean(axis=0)).ravel()
        variance = np.asarray(A.multiply(A).mean(axis=0)).ravel() - mean**2
        spread = np.sqrt(np.maximum(variance, 0.0))
    else:
        A = host(A)
        top = np.abs(A).max(axis=0)
        unit = np.where(top > 0, top, 1.0)  # squares of tiny or huge entries are no numbers
        mean, spread = (A / unit).mean(axis=0), (A / unit).std(axis=0)
    return mean * unit, np.where(spread > CONSTANT, spread, 0.0) * unit
