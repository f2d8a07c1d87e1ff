"""Checks of the optional abilities of a kernel against its Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._base.arrays import Items, count, host, like, take
from .kernels import Kernel
from .kernels.capabilities import ItemGradient
from .kernels.distances import squared
from .kernels.gradients import Values, with_parameters

IDENTITY = 1e-10
ROOT = 1e-7
DERIVATIVE = 1e-5
FREQUENCIES = 4000
"""Draws of a spectral measure: their mean is right to six over the root of this."""


def check_capabilities(kernel: Kernel, items: Items, K: np.ndarray) -> None:
    """What a kernel says that it can do, against its Gram matrix."""
    scale = max(1.0, float(np.abs(K).max()))
    features, radial, fourier = kernel.features, kernel.radial, kernel.fourier
    if features is not None:
        F = host(features(items))
        close(F @ F.T, K, ROOT * scale, "features(A) @ features(A).T is not k(A)")
        close(features.rows(items).toarray(), F, IDENTITY * scale, "sparse features are others")
        if features.inverse is not None:
            back = features.inverse(like(F, features(items)))
            close(host(kernel(back, items)), K, ROOT * scale, "inverse does not undo features")
    if radial is not None:
        D2 = squared(*(np.array(host(kernel.check(items, "A"))),) * 2)
        close(host(radial.value(D2)), K, IDENTITY * scale, "value(‖a - b‖²) is not k(a, b)")
        _check_slope(radial.value, radial.slope, "slope is not minus the derivative")
        if radial.curvature is not None:
            _check_slope(radial.slope, radial.curvature, "curvature is not that of k")
        if radial.curvature is not None and radial.bending is not None:
            at = np.array([0.3, 1.7])
            ratio = float((radial.curvature(at) / radial.slope(at)).max())
            near(ratio, radial.bending(), "bending is not curvature over slope")
    if fourier is not None:
        A = np.array(host(kernel.check(items, "A")))
        omega = fourier.sample(np.random.RandomState(0), (FREQUENCIES, A.shape[1]))
        waves = np.cos(np.einsum("fd,ijd->ijf", omega, A[:, None] - A[None])).mean(axis=2)
        worst = 6.0 * fourier.height / np.sqrt(FREQUENCIES)
        close(fourier.height * waves, K, worst, "draws do not have k as their transform")
    if kernel.item_gradient is not None and kernel.on_vectors:
        _check_derivatives(kernel, kernel.item_gradient, items)
    check_parameters(kernel, items)


def _check_slope(function: Any, derivative: Any, otherwise: str) -> None:
    at, step = np.array([0.3, 1.0, 2.7]), 1e-5
    rise = (function(at + step) - function(at - step)) / (2 * step)
    for found, wanted in zip(-derivative(at), rise, strict=True):
        near(float(found), float(wanted), otherwise)


def _check_derivatives(kernel: Kernel, gradient: ItemGradient, items: Items) -> None:
    rng = np.random.default_rng(0)
    A = np.array(host(kernel.check(items, "A")), dtype=float)
    A = A + 0.1 * rng.normal(size=A.shape)  # away from kinks at equal items
    B = A + 0.3 * rng.normal(size=A.shape)
    C, c = rng.normal(size=(len(A), len(B))), rng.normal(size=len(A))
    step, direction = 1e-6, rng.normal(size=A.shape)

    def slope(function: Any) -> float:
        up, down = function(A + step * direction), function(A - step * direction)
        return float((up - down) / (2 * step))

    full = slope(lambda at: (C * kernel._gram(at, B)).sum())
    found = gradient.vjp(A, B, C)
    near(full, float((found * direction).sum()), "vjp is not the derivative")
    along = slope(lambda at: (c * kernel._diag(at)).sum())
    found = gradient.diag_vjp(A, c)
    near(along, float((found * direction).sum()), "diag_vjp is not the derivative")


def check_parameters(kernel: Kernel, items: Items) -> None:
    """The derivatives in the logarithm of every continuous parameter, by central differences."""
    gradient, rng = kernel.parameter_gradient, np.random.default_rng(0)
    A = kernel.check(items, "A")
    half = take(A, np.arange(count(A) // 2 + 1))
    C, c = rng.normal(size=(count(A), count(half))), rng.normal(size=count(A))
    K = kernel._gram(A, half)
    found = gradient.vjp(A, half, like(C, K)), gradient.diag_vjp(A, like(c, K))

    def totals(values: Values) -> np.ndarray:
        other = with_parameters(kernel, values).fit(items)
        return np.array([(C * host(other._gram(A, half))).sum(), (c * host(other._diag(A))).sum()])

    for name, value in gradient.values.items():
        for entry in np.ndindex(np.shape(value)):
            wanted = _log_slope(totals, gradient, name, entry)
            for k in (0, 1):
                slope = np.asarray(host(found[k].get(name, 0.0 * np.asarray(value))))[entry]
                otherwise = f"parameter_gradient is not the derivative in {name}"
                near(float(slope * np.asarray(value)[entry]), float(wanted[k]), otherwise)


def _log_slope(totals: Any, gradient: Any, name: str, entry: tuple) -> np.ndarray:
    """A central difference, or one from below at the largest value that a parameter may have."""

    def at(step: float) -> np.ndarray:
        value = np.array(gradient.values[name], dtype=float)
        value[entry] *= np.exp(step)
        return totals({**gradient.values, name: value if value.ndim else float(value)})

    h = 1e-4
    if float(np.asarray(gradient.values[name])[entry]) >= gradient.most.get(name, np.inf):
        return (3.0 * at(0.0) - 4.0 * at(-h) + at(-2.0 * h)) / (2.0 * h)
    return (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)


def claim(holds: Any, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def close(a: np.ndarray, b: np.ndarray, tolerance: float, otherwise: str) -> None:
    claim(a.shape == b.shape, f"{otherwise}: shapes {a.shape} and {b.shape}")
    difference = float(np.abs(a - b).max()) if a.size else 0.0
    claim(difference <= tolerance, f"{otherwise}: off by {difference:.3g}")


def near(a: float, b: float, otherwise: str) -> None:
    claim(abs(a - b) <= DERIVATIVE * max(1.0, abs(a), abs(b)), f"{otherwise}: {a:.6g} and {b:.6g}")
