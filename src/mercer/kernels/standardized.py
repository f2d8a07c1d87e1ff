"""Kernels on vectors after a change of units, and on images after a blur."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse
from sklearn.base import clone

from .._base.arrays import Array, Items, dense, host, like, namespace, sqnorms
from .._base.parameters import integer, positive
from ..spaces import Vectors
from .base import Kernel, Linear
from .capabilities import Fourier, ItemGradient
from .gradients import ParameterGradient, complex_step_derivative, total
from .linear_map import LinearMap
from .mapped import OnTransformed
from .wrapper import Wrapper

UNIT_NAMES = ("each", "common")
"""The names that `units` may have."""
CORRECTED_MEAN = 1e3
"""Largest mean, in standard deviations, for which products of sparse rows are corrected."""
CONSTANT = 1e-12
"""A column is constant if it varies by less than this fraction of its largest value."""


class Standardized(OnTransformed):
    """Kernel on standardised vectors, k((a - m) / s, (b - m) / s) for column means m, spreads s.

    The kernel does not depend on the units of the columns. Sparse rows give the same values as
    dense ones. They stay sparse for kernels of differences, such as `RBF`, and for linear kernels;
    other kernels compare them as dense rows.

    Parameters
    ----------
    kernel : Kernel
        The kernel on the scaled vectors.
    units : str or array, default="each"
        "each": the unit of a column is its own standard deviation. "common": all columns have the
        same unit, their mean standard deviation, as is usual for the values of a curve; columns
        that differ from the others by powers of ten are rescaled by these first. Or an array, the
        unit s of each column.
    slopes : bool, default=False
        Whether to append the differences of neighbouring columns, the slopes of a curve, in a unit
        in which slopes and values vary equally. Dense rows only.

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

    def __init__(self, kernel: Kernel, units: str | Array = "each", slopes: bool = False):
        self.kernel = kernel
        self.units = units
        self.slopes = slopes

    depends_on_data = True

    def fit(self, A: Items) -> Kernel:
        """Determine mean and unit of each column; fit the inner kernel on standardised rows."""
        if not self.inner.on_vectors:
            raise ValueError(
                f"Standardized needs a kernel on vectors, such as RBF(), got {self.kernel}: its "
                f"items are {self.inner.space.name}, which have no columns."
            )
        A = self.check(A, "A")
        self.mean_, spread = _mean_and_spread(A)
        self.spread_ = self._column_units(spread)
        if self.slopes:
            Z = (host(dense(A)) - self.mean_) / self.spread_
            slope_variance = np.diff(Z, axis=1).var(axis=0).sum()
            self.steepness_ = (
                float(np.sqrt(slope_variance / Z.var(axis=0).sum())) if slope_variance > 0 else 1.0
            )
        self.kernel_ = clone(self._unfitted_inner()).fit(
            A if self._centres_products(A) else self._apply(A)
        )
        return self

    # Items are checked by the inner kernel, because only units change.
    check, as_outputs = Wrapper.check, Wrapper.as_outputs
    accepts_sparse = property(lambda self: self.inner.accepts_sparse)

    def _column_units(self, spread: np.ndarray) -> np.ndarray:
        """Return the unit of each column: as given, or from its standard deviation `spread`."""
        if not isinstance(self.units, str):
            given = np.asarray(self.units, dtype=float)
            if given.shape != spread.shape or not (given > 0).all():
                raise ValueError(f"units must be {len(spread)} positive numbers, one a column.")
            return given
        if self.units not in UNIT_NAMES:
            raise ValueError(f"units must be numbers or one of {UNIT_NAMES}, got {self.units!r}.")
        return common_units(spread) if self.units == "common" else np.where(spread > 0, spread, 1.0)

    def _apply(self, A: Array) -> Array:
        """Return standardised rows; sparse rows stay uncentred if only differences matter."""
        if issparse(A) and not self.slopes and (self._shift_invariant or not self.mean_.any()):
            return self._divide_by_units(A)
        A = dense(A)
        Z = (A - like(self.mean_, A)) / like(self.spread_, A)
        if not self.slopes:
            return Z
        return namespace(Z).concat([Z, (Z[:, 1:] - Z[:, :-1]) / self.steepness_], axis=1)

    def _divide_by_units(self, A: Array) -> csr_array:
        """Return sparse rows divided by the units of the columns, but not centred."""
        return csr_array(A @ diags_array(1.0 / self.spread_))

    @property
    def _shift_invariant(self) -> bool:
        """Whether the inner kernel depends on differences a - b only."""
        return self.inner.fourier is not None or self.inner.radial is not None

    def _centres_products(self, A: Array) -> bool:
        """Return whether products are centred instead of the sparse rows A, which stay sparse.

        Not for columns whose mean is many spreads from zero: products would lose digits.
        """
        means_are_small = (np.abs(self.mean_) <= CORRECTED_MEAN * self.spread_).all()
        linear = isinstance(self.inner.multiple.kernel, Linear) and not self.slopes
        return issparse(A) and means_are_small and linear

    def _gram(self, A: Array, B: Array) -> Array:
        """Return the matrix of the inner kernel on standardised rows."""
        if issparse(A) != issparse(B):  # otherwise only one of them would be centred
            A, B = dense(A), dense(B)
        if not self._centres_products(A):
            return super()._gram(A, B)
        shift = self.mean_ / self.spread_
        U, W = self._divide_by_units(A), self._divide_by_units(B)
        K = dense(U @ W.T) - (U @ shift)[:, None] - (W @ shift)[None, :] + shift @ shift
        return self.inner.multiple.scale * K

    def _diag(self, A: Array) -> Array:
        """Return the diagonal of the inner kernel on standardised rows."""
        if not self._centres_products(A):
            return super()._diag(A)
        shift = self.mean_ / self.spread_
        U = self._divide_by_units(A)
        return self.inner.multiple.scale * (sqnorms(U) - 2.0 * (U @ shift) + shift @ shift)

    def _inverse(self) -> Callable[[Array], Array]:
        """Return the function that maps standardised rows back to the original units."""

        def unstandardize(A: Array) -> Array:
            """Return standardised rows in the original units, without their slopes."""
            values = A[:, : len(self.spread_)]
            return values * like(self.spread_, A) + like(self.mean_, A)

        return unstandardize


def common_units(spread: np.ndarray) -> np.ndarray:
    """Return a unit for each column, given their spreads: units that differ by powers of ten only.

    In these units the mean square of the spreads is one.
    """
    varies = spread > 0
    if not varies.any():
        return np.ones_like(spread)
    logs = np.log10(spread[varies])
    powers = np.zeros_like(spread)
    powers[varies] = np.round(logs - np.median(logs))
    unit = np.sqrt(np.mean((spread[varies] / 10.0 ** powers[varies]) ** 2))
    return unit * 10.0**powers


def _mean_and_spread(A: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation of each column; 0 if it is constant."""
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
        unit = np.where(top > 0, top, 1.0)  # squares of tiny or huge entries overflow
        mean, spread = (A / unit).mean(axis=0), (A / unit).std(axis=0)
    return mean * unit, np.where(spread > CONSTANT, spread, 0.0) * unit


class Smoothed(OnTransformed):
    """Kernel on blurred images, k(S a, S b) with a Gaussian blur S, so that near pixels match.

    Pixels outside the image are zero.

    Parameters
    ----------
    kernel : Kernel or str
        The kernel k on vectors that compares the blurred images.
    width : float, default=1.0
        The standard deviation of the Gaussian in pixels.
    shape : tuple of two int, default=(16, 16)
        Height and width of the images; inputs may be flat, row by row.

    Examples
    --------
    Two neighbouring strokes have no pixel in common, but they match after a blur:

    >>> from mercer.kernels import Linear, Normalized, Smoothed
    >>> one, two = [[0, 1, 0, 0]] * 3, [[0, 0, 1, 0]] * 3
    >>> Normalized(Linear())([one, two]).round(2)
    array([[1., 0.],
           [0., 1.]])
    >>> Normalized(Smoothed(Linear(), 1.0, (3, 4)))([one, two]).round(2)
    array([[1.  , 0.79],
           [0.79, 1.  ]])
    """

    def __init__(self, kernel: Kernel, width: float = 1.0, shape: tuple[int, int] = (16, 16)):
        self.kernel = kernel
        self.width = width
        self.shape = shape

    space = Vectors()

    def check(self, A: Items, name: str = "X") -> Array:
        """Check images; return them as float64 rows, one per image."""
        return self.space.check(A, name, "Smoothed", rows=True)

    def _apply(self, A: Array) -> Array:
        """Return blurred images."""
        return self._blur_map(int(A.shape[1]))(A)

    def _blur_map(self, pixels: int) -> LinearMap:
        """Return the Gaussian blur as a linear map of flat images; check the number of pixels."""
        if self._pixels != pixels:
            raise ValueError(
                f"shape={self.shape} has {self._pixels} pixels, but the images have {pixels}."
            )
        return LinearMap(_image_blur(*self.shape, positive(self.width, "width")))

    @property
    def _pixels(self) -> int:
        """The number of pixels of an image."""
        height, width = (integer(side, "a side of shape") for side in self.shape)
        return height * width

    @property
    def fourier(self) -> Fourier | None:
        """The spectral measure of the kernel on images before the blur, or None."""
        inner = self.inner.fourier
        return inner and self._blur_map(self._pixels).fourier(inner)

    @property
    def item_gradient(self) -> ItemGradient | None:
        """Derivatives with respect to images before the blur, or None without inner ones."""
        inner = self.inner.item_gradient
        return inner and self._blur_map(self._pixels).gradient(inner)

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives with respect to the inner parameters and, with item gradients, the width."""
        inside, items = super().parameter_gradient, self.inner.item_gradient
        if items is None:
            return inside
        sigma = positive(self.width, "width")

        def blur_derivative(A: Array) -> Array:
            """Return the derivative of the blurred images with respect to the width."""
            return A @ like(
                complex_step_derivative(lambda x: _image_blur(*self.shape, x), sigma), A
            )

        def vjp(A: Array, B: Array, C: Array) -> dict:
            """Return Σ_ij C_ij ∂k(A_i, B_j)/∂θ for each parameter θ by name."""
            U, W, Ct = self._apply(A), self._apply(B), C.T
            ours = total(items.vjp(U, W, C) * blur_derivative(A))
            return {"width": ours + total(items.vjp(W, U, Ct) * blur_derivative(B))}

        def diag_vjp(A: Array, c: Array) -> dict:
            """Return Σ_i c_i ∂k(A_i, A_i)/∂θ for each parameter θ by name."""
            return {"width": total(items.diag_vjp(self._apply(A), c) * blur_derivative(A))}

        width_gradient = ParameterGradient({"width": sigma}, vjp, diag_vjp)
        return width_gradient.plus(inside)


def _image_blur(height: int, width: int, sigma: complex) -> np.ndarray:
    """Return the blur matrix of flat images, the Kronecker product of the blurs of both axes."""
    return np.kron(_line_blur(height, sigma), _line_blur(width, sigma))


def _line_blur(size: int, sigma: complex) -> np.ndarray:
    """Return the (size, size) matrix of Gaussian weights that blurs a row of pixels."""
    reach = int(np.ceil(8 * np.real(sigma)))
    far = np.arange(-reach, reach + 1)
    at = np.arange(size)
    steps = (at[:, None] - at[None, :]) / sigma
    return np.exp(-0.5 * steps**2) / np.exp(-0.5 * (far / sigma) ** 2).sum()
