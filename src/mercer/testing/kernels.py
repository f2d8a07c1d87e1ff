"""Checks of kernels: values, copies, and each optional ability against the Gram matrix."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Items, count, host, like, take
from ..kernels import Kernel
from ..kernels.capabilities import ItemGradient
from ..kernels.distances import squared_distances
from ..kernels.gradients import Values, with_parameters
from .claims import IDENTITY, ROOT, claim, claim_close, claim_near, items_at

FREQUENCIES = 4000
"""The number of draws of a spectral measure; the tolerance of their mean is 6 / √FREQUENCIES."""


def check_kernel(kernel: Kernel, items: Items) -> None:
    """Check that a kernel is positive semidefinite and agrees with its diagonal and features.

    Parameters
    ----------
    kernel : Kernel
        The kernel, fitted or not; it is cloned and fitted here.
    items : array or sequence of items
        At least three items, preferably with two that are equal and some that differ much.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.testing import check_kernel
    >>> check_kernel(RBF(1.0), np.linspace(0, 1, 8)[:, None])
    """
    kernel = clone(kernel).fit(items)
    n = count(items)
    K = host(kernel(items))
    scale = max(1.0, float(np.abs(K).max()))
    error = IDENTITY * scale
    claim(K.shape == (n, n), f"k(A) has shape {K.shape}, not {(n, n)}")
    claim(np.isfinite(K).all(), "k(A) has values that are not finite")
    claim_close(K, K.T, error, "k(A) is not symmetric")
    claim_close(kernel.diag(items), K.diagonal(), error, "diag(A) is not k(A)'s diagonal")
    least = float(np.linalg.eigvalsh(K)[0])
    claim(least > -1e-9 * n * scale, f"k is not positive semidefinite: eigenvalue {least:.3g}")
    head, tail = items_at(items, [0, 1]), items_at(items, list(range(1, n)))
    claim_close(kernel(head, tail), K[:2, 1:], error, "k(A, B) is not a block of k(A)")
    claim_close(kernel(tail, head), K[1:, :2], error, "k(B, A) is not k(A, B) transposed")
    _check_copies(kernel, items, K)
    check_capabilities(kernel, items, K)


def _check_copies(kernel: Kernel, items: Items, K: np.ndarray) -> None:
    """Check that a copy, a clone and twice the kernel agree with the kernel."""
    fitted = copy.deepcopy(kernel)
    claim_close(fitted(items), K, 0.0, "a copy of the kernel has other values")
    claim(str(clone(kernel)) == str(kernel), "clone changes the kernel's parameters")
    hash(kernel)
    claim_close((kernel * 2.0)(items), 2.0 * K, 1e-12 * np.abs(K).max(), "2k is not twice k")


def check_capabilities(kernel: Kernel, items: Items, K: np.ndarray) -> None:
    """Check each optional ability of a fitted kernel against its Gram matrix K."""
    scale = max(1.0, float(np.abs(K).max()))
    features, radial, fourier = kernel.features, kernel.radial, kernel.fourier
    if features is not None:
        F = host(features(items))
        claim_close(F @ F.T, K, ROOT * scale, "features(A) @ features(A).T is not k(A)")
        claim_close(
            features.rows(items).toarray(), F, IDENTITY * scale, "sparse features are others"
        )
        if features.inverse is not None:
            back = features.inverse(like(F, features(items)))
            claim_close(kernel(back, items), K, ROOT * scale, "inverse does not undo features")
    if radial is not None:
        D2 = squared_distances(*(np.array(host(kernel.check(items, "A"))),) * 2)
        claim_close(radial.value(D2), K, IDENTITY * scale, "value(‖a - b‖²) is not k(a, b)")
        _check_slope(radial.value, radial.slope, "slope is not minus the derivative")
        if radial.curvature is not None:
            _check_slope(radial.slope, radial.curvature, "curvature is not that of k")
        if radial.curvature is not None and radial.bending is not None:
            at = np.array([0.3, 1.7])
            ratio = float((radial.curvature(at) / radial.slope(at)).max())
            claim_near(ratio, radial.bending(), "bending is not curvature over slope")
    if fourier is not None:
        A = np.array(host(kernel.check(items, "A")))
        omega = fourier.sample(np.random.RandomState(0), (FREQUENCIES, A.shape[1]))
        waves = np.cos(np.einsum("fd,ijd->ijf", omega, A[:, None] - A[None])).mean(axis=2)
        worst = 6.0 * fourier.height / np.sqrt(FREQUENCIES)
        claim_close(fourier.height * waves, K, worst, "draws do not have k as their transform")
    if kernel.item_gradient is not None and kernel.on_vectors:
        _check_derivatives(kernel, kernel.item_gradient, items)
    check_parameters(kernel, items)


def _check_slope(function: Any, derivative: Any, otherwise: str) -> None:
    """Check the derivative of a function of one variable against finite differences."""
    at, step = np.array([0.3, 1.0, 2.7]), 1e-5
    rise = (function(at + step) - function(at - step)) / (2 * step)
    for found, wanted in zip(-derivative(at), rise, strict=True):
        claim_near(float(found), float(wanted), otherwise)


def _check_derivatives(kernel: Kernel, gradient: ItemGradient, items: Items) -> None:
    """Check the kernel's derivatives with respect to items against finite differences."""
    rng = np.random.default_rng(0)
    A = np.array(host(kernel.check(items, "A")), dtype=float)
    A = A + 0.1 * rng.normal(size=A.shape)  # away from kinks at equal items
    B = A + 0.3 * rng.normal(size=A.shape)
    C, c = rng.normal(size=(len(A), len(B))), rng.normal(size=len(A))
    step, direction = 1e-6, rng.normal(size=A.shape)

    def slope(function: Any) -> float:
        """Return the directional derivative of a function by finite differences."""
        up, down = function(A + step * direction), function(A - step * direction)
        return float((up - down) / (2 * step))

    full = slope(lambda at: (C * kernel._gram(at, B)).sum())
    found = gradient.vjp(A, B, C)
    claim_near(full, float((found * direction).sum()), "vjp is not the derivative")
    along = slope(lambda at: (c * kernel._diag(at)).sum())
    found = gradient.diag_vjp(A, c)
    claim_near(along, float((found * direction).sum()), "diag_vjp is not the derivative")


def check_parameters(kernel: Kernel, items: Items) -> None:
    """Check a kernel's derivatives in the logarithms of its parameters by differences."""
    gradient, rng = kernel.parameter_gradient, np.random.default_rng(0)
    A = kernel.check(items, "A")
    half = take(A, np.arange(count(A) // 2 + 1))
    C, c = rng.normal(size=(count(A), count(half))), rng.normal(size=count(A))
    K = kernel._gram(A, half)
    found = gradient.vjp(A, half, like(C, K)), gradient.diag_vjp(A, like(c, K))

    def totals(values: Values) -> np.ndarray:
        """Return weighted sums of the Gram matrix and of its diagonal at parameter values."""
        other = with_parameters(kernel, values).fit(items)
        return np.array([(C * host(other._gram(A, half))).sum(), (c * host(other._diag(A))).sum()])

    for name, value in gradient.values.items():
        for entry in np.ndindex(np.shape(value)):
            wanted = _log_slope(totals, gradient, name, entry)
            for k in (0, 1):
                slope = np.asarray(host(found[k].get(name, 0.0 * np.asarray(value))))[entry]
                otherwise = f"parameter_gradient is not the derivative in {name}"
                claim_near(float(slope * np.asarray(value)[entry]), float(wanted[k]), otherwise)


def _log_slope(totals: Any, gradient: Any, name: str, entry: tuple) -> np.ndarray:
    """Return the derivative of `totals` in the logarithm of one parameter, by differences."""

    def at(step: float) -> np.ndarray:
        """Return the totals with the logarithm of the parameter entry shifted by `step`."""
        value = np.array(gradient.values[name], dtype=float)
        value[entry] *= np.exp(step)
        return totals({**gradient.values, name: value if value.ndim else float(value)})

    h = 1e-4
    if float(np.asarray(gradient.values[name])[entry]) >= gradient.most.get(name, np.inf):
        return (3.0 * at(0.0) - 4.0 * at(-h) + at(-2.0 * h)) / (2.0 * h)
    return (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
