"""Kernels on curves: inner products of functions from their values on a grid."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.integrate import simpson

from .._arrays import Array, Items, host, is_foreign, like, namespace
from .._parameters import non_negative, parameters
from ..curves import as_grid
from ..spaces import Curves
from .base import VectorKernel
from .capabilities import Features, ItemGradient
from .gradients import ParameterGradient, slope


class CurveKernel(VectorKernel):
    """k(f, g) = fᵀ RᵀR g of the values on a grid: finite features R f, which can be undone."""

    grid: Array | None
    smoothing: float

    # -- what a kernel on curves implements ---------------------------------------------------

    def _metric(self, grid: np.ndarray) -> np.ndarray:
        """The matrix of the inner product before smoothing; its diagonal where it is diagonal."""
        raise NotImplementedError

    # -- batches ------------------------------------------------------------------------------

    depends_on_data = False

    def fit(self, A: Items) -> CurveKernel:
        """Settle the grid and factor the inner product."""
        self.grid_ = self._on(int(self.check(A, "A").shape[1]))
        self.root_ = self._root(self.grid_)
        return self

    space = property(lambda k: Curves(vars(k).get("grid_") if k.grid is None else k.grid))

    def check(self, A: Items, name: str = "X") -> Array:
        """Curves as rows of values on the grid."""
        return self.space.check(A, name, type(self).__name__)

    def as_outputs(self, Y: Items, name: str = "y") -> Array:
        """The same: predicted curves are told on the grid."""
        return self.check(Y, name)

    def _on(self, width: int) -> np.ndarray:
        """The grid of curves of some values."""
        grid = self.space.grid
        return np.linspace(0.0, 1.0, width) if grid is None else as_grid(grid)

    # -- values -------------------------------------------------------------------------------

    @property
    def features(self) -> Features:
        """R f for every curve; what smoothing takes away does not come back."""
        undo = None if self.smoothing else self._unrooted
        return Features(lambda A: self._rooted(self.check(A, "A")), inverse=undo)

    item_gradient = property(lambda self: ItemGradient(self._vjp, self._diag_vjp))

    def _unrooted(self, F: Array) -> Array:
        """The curves whose features these are: R⁻¹ applied to each row."""
        R = self._factor(int(F.shape[1]))
        if R.ndim == 1:
            return F / like(R, F)
        solved = scipy.linalg.solve_triangular(R, host(F).T).T
        return like(solved, F) if is_foreign(F) else solved

    def _factor(self, width: int) -> np.ndarray:
        return self.root_ if "root_" in self.__dict__ else self._root(self._on(width))

    def _root(self, grid: np.ndarray) -> np.ndarray:
        """R, the root of the metric after smoothing; its diagonal where it is diagonal."""
        G = self._metric(grid)
        R = np.sqrt(G) if G.ndim == 1 else scipy.linalg.cholesky(G)
        if non_negative(self.smoothing, "smoothing") == 0:
            return R
        S = smoother(grid, self.smoothing)
        return R[:, None] * S if R.ndim == 1 else R @ S

    def _rooted(self, A: Array) -> Array:
        R = like(self._factor(int(A.shape[1])), A)
        return A * R if R.ndim == 1 else A @ R.T

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """K = A G Bᵀ is linear in the smoothed metric G, which is analytic in its parameters."""
        values = {name: float(getattr(self, name, 0)) for name in ("weight", "smoothing")}
        values = {name: value for name, value in values.items() if value}

        def slopes(A: Array) -> dict[str, Array]:
            grid = self._on(int(A.shape[1]))

            def smoothed(kernel: CurveKernel) -> np.ndarray:
                G, S = kernel._metric(grid), smoother(grid, kernel.smoothing)
                return S.T @ (np.diag(G) if G.ndim == 1 else G) @ S

            return {name: like(slope(smoothed, self, name), A) for name in values}

        def diagonals(A: Array) -> dict[str, Array]:
            return {name: namespace(A).sum((A @ M) * A, axis=1) for name, M in slopes(A).items()}

        def grams(A: Array, B: Array) -> dict[str, Array]:
            return {name: A @ M @ B.T for name, M in slopes(A).items()}

        return ParameterGradient.of_grams(values, grams, diagonals)

    def _vjp(self, A: Array, B: Array, C: Array) -> Array:
        """Σ_j C_ij RᵀR b_j."""
        R = like(self._factor(int(B.shape[1])), B)
        return (C @ B) * R**2 if R.ndim == 1 else (C @ self._rooted(B)) @ R

    def _diag_vjp(self, A: Array, c: Array) -> Array:
        """2 c_i RᵀR a_i."""
        R = like(self._factor(int(A.shape[1])), A)
        rooted = 2.0 * c[:, None] * self._rooted(A)
        return rooted * R if R.ndim == 1 else rooted @ R


class L2(CurveKernel):
    """k(f, g) = ∫ f g, by quadrature on a grid.

    Parameters
    ----------
    grid
        The points at which curves are known, increasing; None for equally spaced ones on [0, 1].
        Curves on other points, pairs ``(t, values)``, are interpolated onto it.
    smoothing
        λ ≥ 0: curves are compared after smoothing, argmin_s ∫(f - s)² + λ∫s''². For inputs: it can
        be chosen like any other parameter of a kernel. Smooth outputs beforehand
        (`mercer.curves.Resample`).
    rule
        "trapezoid", or "simpson", exact for parabolas.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import L2
    >>> t = np.linspace(0, 1, 101)
    >>> L2(t)([np.sin(np.pi * t)]).round(4)
    array([[0.5]])
    """

    def __init__(self, grid: Array | None = None, smoothing: float = 0.0, rule: str = "trapezoid"):
        self.grid = grid
        self.smoothing = smoothing
        self.rule = rule

    def _metric(self, grid: np.ndarray) -> np.ndarray:
        return quadrature(grid, self.rule)


@parameters
class Sobolev(CurveKernel):
    """k(f, g) = ∫ f g + weight ∫ f⁽ᵒʳᵈᵉʳ⁾ g⁽ᵒʳᵈᵉʳ⁾: curves alike in value and in shape.

    Parameters
    ----------
    grid, smoothing
        As in `L2`.
    order
        The derivative, 1 or 2, by divided differences.
    weight
        What it counts for, in units of the grid to the power 2 · order.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Sobolev
    >>> t = np.linspace(0, 1, 1001)
    >>> Sobolev(t, weight=2.0)([3.0 * t]).round(4)  # 9/3 + 2 · 9
    array([[21.]])
    """

    grid: Array | None = None
    order: int = 1
    weight: float = 1.0
    smoothing: float = 0.0

    def _metric(self, grid: np.ndarray) -> np.ndarray:
        non_negative(np.real(self.weight), "weight")
        return np.diag(quadrature(grid)) + self.weight * roughness(grid, self.order)


RULES = ("trapezoid", "simpson")


def quadrature(grid: Array, rule: str = "trapezoid") -> np.ndarray:
    """Weights w with Σ_i w_i f(t_i) ≈ ∫f: by trapezia, or by Simpson's rule.

    Examples
    --------
    >>> from mercer.kernels.curves import quadrature
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


def smoother(grid: np.ndarray, smoothing: complex) -> np.ndarray:
    """The matrix of f ↦ argmin_s ∫(f - s)² + smoothing ∫s''²."""
    if not smoothing:
        return np.eye(len(grid))
    w = quadrature(grid)
    return np.linalg.solve(np.diag(w) + smoothing * roughness(grid, 2), np.diag(w))
