"""Kernels on curves: inner products of functions, computed from their values on a grid."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.integrate import simpson

from .._base.arrays import Array, Items, like, namespace
from .._base.parameters import non_negative, one_of, parameters
from ..spaces import Curves
from ..spaces.curve_grids import as_grid
from .base import Linear
from .capabilities import ItemGradient
from .gradients import ParameterGradient, parameter_derivative
from .linear_map import InnerProduct


class CurveKernel(InnerProduct):
    """Base class of inner products fᵀ G g of curves f, g given by their values on a grid."""

    grid: Array | None
    smoothing: float
    grid_: Array = None

    def _metric(self, grid: np.ndarray) -> np.ndarray:
        """Return the matrix G of the inner product fᵀ G g before smoothing, or its diagonal."""
        raise NotImplementedError

    def fit(self, A: Items) -> CurveKernel:
        """Store shape and grid of the curves, and factor the matrix of the inner product."""
        super().fit(A)
        self.grid_ = self._grid(*self.shape_)
        return self

    space = property(lambda k: Curves(k.grid_ if k.grid is None else k.grid))

    def check(self, A: Items, name: str = "X") -> Array:
        """Check curves; return an array with one row of grid values per curve."""
        return self.space.check(A, name, type(self).__name__)

    def as_outputs(self, Y: Items, name: str = "y") -> Array:
        """Check output curves; return one row of grid values per curve, as predictions have."""
        return self.check(Y, name)

    def _grid(self, width: int) -> np.ndarray:
        """Return the grid of curves with `width` values, by default equally spaced on [0, 1]."""
        grid = self.space.grid
        return np.linspace(0.0, 1.0, width) if grid is None else as_grid(grid)

    # The features after smoothing have no inverse.
    invertible = property(lambda self: not self.smoothing)

    def _root(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return R with RᵀR = G, the matrix of the inner product fᵀ G g after smoothing."""
        grid = self._grid(*shape)
        G = self._metric(grid)
        R = np.sqrt(G) if G.ndim == 1 else scipy.linalg.cholesky(G)
        if non_negative(self.smoothing, "smoothing") == 0:
            return R
        S = smoother(grid, self.smoothing)
        return R[:, None] * S if R.ndim == 1 else R @ S

    @property
    def item_gradient(self) -> ItemGradient:
        """Derivatives with respect to the curves f, by the chain rule through the features R f."""

        def gradient_for(A: Array) -> ItemGradient:
            """Return the gradient for curves with as many values as those of A."""
            return self._map((int(A.shape[1]),)).gradient(Linear.item_gradient)

        return ItemGradient(
            lambda A, B, C: gradient_for(A).vjp(A, B, C),
            lambda A, c: gradient_for(A).diag_vjp(A, c),
        )

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives with respect to the parameters `weight` and `smoothing`.

        They are computed by complex steps in the matrix G of k(A, B) = A G Bᵀ.
        """
        given = self.get_params(deep=False)
        values = {name: float(given[name]) for name in ("weight", "smoothing") if given.get(name)}

        def metric_derivatives(A: Array) -> dict[str, Array]:
            """Return the derivative of G with respect to each parameter, for curves such as A."""
            grid = self._grid(int(A.shape[1]))

            def smoothed_metric(kernel: CurveKernel) -> np.ndarray:
                """Return the matrix G of a kernel after smoothing."""
                G, S = kernel._metric(grid), smoother(grid, kernel.smoothing)
                return S.T @ (np.diag(G) if G.ndim == 1 else G) @ S

            return {
                name: like(parameter_derivative(smoothed_metric, self, name), A) for name in values
            }

        def gram(A: Array, B: Array) -> dict[str, Array]:
            """Return the derivative of k(A, B) with respect to each parameter."""
            return {name: A @ M @ B.T for name, M in metric_derivatives(A).items()}

        def diag(A: Array) -> dict[str, Array]:
            """Return the derivatives of k(a, a) with respect to each parameter."""
            xp = namespace(A)
            derivatives = metric_derivatives(A).items()
            return {name: xp.sum((A @ M) * A, axis=1) for name, M in derivatives}

        return ParameterGradient.of_grams(values, gram, diag)


class L2(CurveKernel):
    r"""Inner product of curves, :math:`k(f, g) = \int f g`, by quadrature on a grid.

    Parameters
    ----------
    grid : array or None, default=None
        The grid points of the curves, increasing; None for equally spaced ones on [0, 1]. Curves on
        other points, given as pairs ``(t, values)``, are interpolated to the grid.
    smoothing : float, default=0.0
        The weight :math:`\lambda \ge 0` of smoothing: curves are first replaced by
        :math:`\arg\min_s \int (f - s)^2 + \lambda \int s''^2`. It is meant for inputs, where it
        can be chosen like any other kernel parameter; smooth outputs with
        `mercer.fields.Resample` before the fit.
    rule : str, default="trapezoid"
        "trapezoid", or "simpson", which is exact for parabolas.

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
        """Return the quadrature weights of the grid points, the diagonal of the inner product."""
        return quadrature(grid, self.rule)


@parameters
class Sobolev(CurveKernel):
    r"""Sobolev inner product of curves: that of their values plus that of their derivatives.

    :math:`k(f, g) = \int f g + \text{weight} \int f^{(\text{order})} g^{(\text{order})}`.

    Parameters
    ----------
    grid : array or None, default=None
        As in `L2`.
    order : int, default=1
        The derivative, 1 or 2, by divided differences.
    weight : float, default=1.0
        The weight of the derivative, in units of the grid to the power 2 · order.
    smoothing : float, default=0.0
        As in `L2`.

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
        """Return the matrix of the inner product: quadrature weights plus weighted roughness."""
        non_negative(np.real(self.weight), "weight")
        return np.diag(quadrature(grid)) + self.weight * roughness(grid, self.order)


RULES = ("trapezoid", "simpson")
"""The names of the quadrature rules."""


def quadrature(grid: Array, rule: str = "trapezoid") -> np.ndarray:
    """Return weights w with Σ_i w_i f(t_i) ≈ ∫f for grid points t_i, by the named rule.

    Examples
    --------
    >>> from mercer.kernels.curves import quadrature
    >>> quadrature([0.0, 1.0, 3.0])
    array([0.5, 1.5, 1. ])
    """
    grid = as_grid(grid)
    one_of(rule, "rule", RULES)
    if rule == "trapezoid":
        return np.convolve(np.diff(grid), [0.5, 0.5])
    w = simpson(np.eye(len(grid)), x=grid)
    if w.min() <= 0:
        raise ValueError(
            'rule="simpson" has weights ≤ 0 on this grid, and a kernel needs positive ones. Use '
            'rule="trapezoid".'
        )
    return w


def roughness(grid: np.ndarray, order: int) -> np.ndarray:
    """Return the matrix M with fᵀ M g ≈ ∫ f⁽ʳ⁾ g⁽ʳ⁾, where r = `order` is that of the derivatives.

    The approximation is exact for polynomials of degree `order`. Second derivatives exist at inner
    points only; the first and the last one are used for the ends too, so that the error is of
    second order in the step sizes.
    """
    if order not in (1, 2) or isinstance(order, bool):
        raise ValueError(f"order must be 1 or 2, got {order!r}.")
    if len(grid) <= order:
        raise ValueError(f"order={order} needs more than {order} points, got {len(grid)}.")
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
    """Return the matrix S of the smoother s = S f that minimises ∫(f - s)² + smoothing ∫s″²."""
    if not smoothing:
        return np.eye(len(grid))
    w = quadrature(grid)
    return np.linalg.solve(np.diag(w) + smoothing * roughness(grid, 2), np.diag(w))
