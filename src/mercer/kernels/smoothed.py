from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, Items, like
from .._parameters import positive, whole
from ..spaces import Vectors
from .capabilities import Fourier, ItemGradient
from .gradients import ParameterGradient, total
from .mapped import After


class Smoothed(After):
    """k(Sa, Sb), where S blurs images by a Gaussian of some pixels: strokes that nearly meet count.

    Pixels outside the image are zero.

    Parameters
    ----------
    kernel
        The kernel k on vectors that compares the blurred images.
    width
        The standard deviation of the Gaussian in pixels.
    shape
        Height and width of the images; inputs may be flat, row by row.

    Examples
    --------
    Two strokes side by side have nothing in common, until they are blurred:

    >>> from mercer.kernels import Linear, Normalized, Smoothed
    >>> one, two = [[0, 1, 0, 0]] * 3, [[0, 0, 1, 0]] * 3
    >>> Normalized(Linear())([one, two]).round(2)
    array([[1., 0.],
           [0., 1.]])
    >>> Normalized(Smoothed(Linear(), 1.0, (3, 4)))([one, two]).round(2)
    array([[1.  , 0.79],
           [0.79, 1.  ]])
    """

    def __init__(self, kernel: Any, width: float = 1.0, shape: tuple[int, int] = (16, 16)):
        self.kernel = kernel
        self.width = width
        self.shape = shape

    space = Vectors()

    def check(self, A: Items, name: str = "X") -> Array:
        """Images as float64 rows."""
        return self.space.check(A, name, "Smoothed", rows=True)

    def _apply(self, A: Array) -> Array:
        return A @ like(self._matrix(int(A.shape[1])), A)

    def _matrix(self, pixels: int) -> np.ndarray:
        """S, the product of a blur along columns and one along rows; symmetric."""
        height, width = (whole(side, "a side of shape") for side in self.shape)
        if height * width != pixels:
            raise ValueError(
                f"shape={self.shape} has {height * width} pixels, but the images have {pixels}."
            )
        sigma = positive(self.width, "width")
        return np.kron(_blur(height, sigma), _blur(width, sigma))

    @property
    def fourier(self) -> Fourier | None:
        """⟨ω, S(a - b)⟩ = ⟨Sω, a - b⟩: frequencies are blurred too."""
        inner = self.inner.fourier
        if inner is None:
            return None
        return Fourier(lambda *drawn: self._apply(inner.sample(*drawn)), False, inner.height)

    @property
    def item_gradient(self) -> ItemGradient | None:
        """By the chain rule: S is its own transpose."""
        inner = self.inner.item_gradient
        return inner and ItemGradient(
            lambda A, B, C: self._apply(inner.vjp(self._apply(A), self._apply(B), C)),
            lambda A, c: self._apply(inner.diag_vjp(self._apply(A), c)),
        )

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Those of the kernel inside; the width too, where that kernel tells item gradients."""
        inside, items = super().parameter_gradient, self.inner.item_gradient
        if items is None:
            return inside

        def moved(A: Array) -> Array:
            return A @ like(self._widened(), A)

        def vjp(A: Array, B: Array, C: Array) -> dict:
            U, W, Ct = self._apply(A), self._apply(B), C.T
            ours = total(items.vjp(U, W, C) * moved(A))
            return {"width": ours + total(items.vjp(W, U, Ct) * moved(B))}

        def diag_vjp(A: Array, c: Array) -> dict:
            return {"width": total(items.diag_vjp(self._apply(A), c) * moved(A))}

        own = ParameterGradient({"width": positive(self.width, "width")}, vjp, diag_vjp)
        return own.plus(inside)

    def _widened(self) -> np.ndarray:
        """The derivative of S in the width."""
        (height, width), sigma = self.shape, positive(self.width, "width")
        down = np.kron(_blur_slope(height, sigma), _blur(width, sigma))
        return down + np.kron(_blur(height, sigma), _blur_slope(width, sigma))


def _blur_slope(size: int, sigma: float) -> np.ndarray:
    """The derivative of `_blur` in sigma: each weight times its squared step less their mean."""
    far = np.arange(-int(np.ceil(8 * sigma)), int(np.ceil(8 * sigma)) + 1) / sigma
    weights = np.exp(-0.5 * far**2)
    mean = (weights * far**2).sum() / weights.sum()
    steps = (np.arange(size)[:, None] - np.arange(size)[None, :]) / sigma
    return _blur(size, sigma) * (steps**2 - mean) / sigma


def _blur(size: int, sigma: float) -> np.ndarray:
    """The weight of every pixel of a line in every other; those around a pixel sum to one."""
    far = np.arange(-int(np.ceil(8 * sigma)), int(np.ceil(8 * sigma)) + 1)
    at = np.arange(size)
    steps = (at[:, None] - at[None, :]) / sigma
    return np.exp(-0.5 * steps**2) / np.exp(-0.5 * (far / sigma) ** 2).sum()
