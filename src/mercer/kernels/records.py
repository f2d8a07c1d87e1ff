"""Kernels on records: a kernel for each field, scaled to unit variance."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, count, host, take
from .algebra import Sum
from .base import Kernel
from .distances import SCALE_SAMPLE
from .gradients import ParameterGradient
from .mapped import On
from .multiples import Scaled


class UnitVariance(Scaled):
    """Kernel k(a, b) / v, with v the mean squared distance of items from their mean.

    v is computed from the items that the kernel is fitted on. All fields of a record then have the
    same weight, whatever their units.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.

    Attributes
    ----------
    variance_ : float
        v; 1 if all items are equal.

    Examples
    --------
    >>> from mercer.kernels import Linear, UnitVariance
    >>> UnitVariance(Linear()).fit([[0.0], [20.0]])([[10.0]])
    array([[1.]])
    """

    variance_: float

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def __str__(self) -> str:
        return f"UnitVariance({self.kernel})"

    depends_on_data = True

    def fit(self, A: Items) -> Kernel:
        """Fit the inner kernel, and compute the variance v of the items in its feature space."""
        super().fit(A)
        self.variance_ = _feature_space_variance(self.inner, self.inner.check(A, "A")) or 1.0
        return self

    def _factor(self) -> float:
        """Return one over the variance of the fitted items, or 1 before the fit."""
        return 1.0 / vars(self).get("variance_", 1.0)

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the matrix of the inner kernel divided by the variance of the fit."""
        self._require_fit()
        return super()._gram(A, B)

    def _diag(self, A: Items) -> Array:
        """Return the diagonal of the inner kernel divided by the variance of the fit."""
        self._require_fit()
        return super()._diag(A)

    def _require_fit(self) -> None:
        """Raise an error if the kernel is not fitted, because the variance v is unknown then."""
        if "variance_" not in vars(self):
            raise ValueError(f"{self} determines its unit at fit: call fit(A) on it first.")

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """An empty gradient, because the variance depends on the inner kernel's parameters too."""
        return ParameterGradient()


def _feature_space_variance(kernel: Kernel, A: Items) -> float:
    """Return the mean squared distance of items from their mean in feature space."""
    if kernel.features is not None and kernel.on_vectors:
        F = host(kernel.features(A))
        return float(((F - F.mean(axis=0)) ** 2).sum(axis=1).mean())
    sample = take(A, np.unique(np.linspace(0, count(A) - 1, SCALE_SAMPLE).astype(int)))
    variance = float(host(kernel._diag(sample)).mean() - host(kernel._gram(sample, sample)).mean())
    return max(variance, 0.0)


def field_kernels(kernel: Kernel) -> dict[Any, Kernel] | None:
    """Return the kernel of each field by name, if a kernel is a sum over fields; else None.

    Examples
    --------
    >>> from mercer.kernels import Delta, Linear, On
    >>> from mercer.kernels.records import field_kernels
    >>> field_kernels(On("count", Linear()) + On("weather", Delta()))
    {'count': Linear(), 'weather': Delta()}
    """
    terms = _field_terms(kernel, 1.0)
    if terms is None:
        return None
    found: dict[Any, list[Kernel]] = {}
    for column, field_kernel in terms:
        found.setdefault(column, []).append(field_kernel)
    return {column: reduce(add, kernels) for column, kernels in found.items()}


def field_widths(kernel: Kernel, record: Items) -> list[tuple[Any, int]]:
    """Return (field, number of features) of each term of a sum of kernels on fields, in order.

    `record` is a batch of one record, from whose features the numbers are determined.
    """
    return [
        (column, int(On(column, field_kernel).features(record).shape[1]))  # type: ignore[misc]
        for column, field_kernel in _field_terms(kernel, 1.0) or []
    ]


def _field_terms(kernel: Kernel, scale: float) -> list[tuple[Any, Kernel]] | None:
    """Return (column, scale · kernel) of each term of a sum of kernels on fields, else None."""
    if isinstance(kernel, On):
        field_kernel = kernel.inner if scale == 1.0 else Scaled(kernel.inner, scale)
        return [(kernel.column, field_kernel)]
    if type(kernel) is Scaled:
        return _field_terms(kernel.inner, scale * kernel._factor())
    if not isinstance(kernel, Sum):
        return None
    left, right = (_field_terms(part, scale) for part in kernel.parts)
    return None if left is None or right is None else left + right


def scale_terms_to_unit_variance(kernel: Kernel) -> Kernel:
    """Return a sum of kernels on fields with each term divided by the variance of its field.

    Kernels that are not such sums are returned unchanged, and so are factors: ``3 * On(...)``
    counts three times.
    """
    if _field_terms(kernel, 1.0) is None or kernel.frozen_:
        return kernel
    return _with_unit_variance(kernel)


def _with_unit_variance(kernel: Any) -> Kernel:
    """Return a sum of kernels on fields with each field kernel wrapped in a `UnitVariance`."""
    if isinstance(kernel, Sum):
        return Sum(*map(_with_unit_variance, (kernel.left, kernel.right)))
    if isinstance(kernel, On):
        field_kernel = kernel.kernel
        return (
            kernel
            if isinstance(field_kernel, UnitVariance)
            else On(kernel.column, UnitVariance(field_kernel))
        )
    return Scaled(_with_unit_variance(kernel.kernel), kernel.scale)
