"""Integrals and derivatives of curves that are known on a grid, as weights and matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.integrate import simpson

from .._arrays import Array
from ..curves import as_grid

RULES = ("trapezoid", "simpson")


def quadrature(grid: Array, rule: str = "trapezoid") -> np.ndarray:
    """Weights w with Σ_i w_i f(t_i) ≈ ∫f: by trapezia, or by Simpson's rule.

    Examples
    --------
    >>> from mercer.kernels.quadrature import quadrature
    >>> quadrature([0.0, 1.0, 3.0])
    array([0.5, 1.5, 1. ])
    """
    grid = as_grid(grid)
    if rule not in RULES:
        raise ValueError(f"rule must be one of {RULES}, got {rule!r}.")
    if rule == "trapezoid":
        return np.convolve(np.diff(grid), [0.5, 0.5])
    w = simpson(np.eye(len(grid)), x=grid)
    if w.min() <= 0:
        raise ValueError(
            'rule="simpson" has weights ≤ 0 on this grid, which make no kernel: use "trapezoid".'
        )
    return w


def roughness(grid: np.ndarray, order: int) -> np.ndarray:
    """The matrix of ∫ f⁽ᵒʳᵈᵉʳ⁾ g⁽ᵒʳᵈᵉʳ⁾, exact for polynomials of degree `order`.

    Second derivatives are known at inner points; the outermost two stand for the ends too, which
    makes the error of second order in the steps.
    """
    if order not in (1, 2) or isinstance(order, bool):
        raise ValueError(f"order must be 1 or 2, the derivative that counts; got {order!r}.")
    if len(grid) <= order:
        raise ValueError(f"a derivative of order {order} needs more than {len(grid)} points.")
    D, t = np.eye(len(grid)), grid
    for _ in range(order):
        h = np.diff(t)
        D, t = np.diff(D, axis=0) / h[:, None], (t[1:] + t[:-1]) / 2.0
    h = h * 1.0
    ends = (np.diff(grid)[[0, -1]] / 2.0) * (order - 1)
    h[0] += ends[0]
    h[-1] += ends[1]
    return D.T @ (h[:, None] * D)


def smoother(grid: np.ndarray, smoothing: float) -> np.ndarray:
    """The matrix of f ↦ argmin_s ∫(f - s)² + smoothing ∫s''²."""
    w = quadrature(grid)
    return scipy.linalg.solve(
        np.diag(w) + smoothing * roughness(grid, 2), np.diag(w), assume_a="pos"
    )
