from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, like
from .base import Kernel, VectorKernel, as_kernel, positive, whole
from .capabilities import Features, Fourier, ItemGradient


class Smoothed(VectorKernel):
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

    @property
    def inner(self) -> Kernel:
        """The kernel on blurred images: fitted where this one is, else as given."""
        return getattr(self, "kernel_", None) or as_kernel(self.kernel)

    def fit(self, A: Items) -> Smoothed:
        """Fit the kernel inside on blurred images."""
        self.kernel_ = clone(as_kernel(self.kernel)).fit(self._blurred(self.check(A, "A")))
        return self

    def _blurred(self, A: Array) -> Array:
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

    def _gram(self, A: Array, B: Array) -> Array:
        SA = self._blurred(A)
        return self.inner._gram(SA, SA if A is B else self._blurred(B))

    def _diag(self, A: Array) -> Array:
        return self.inner._diag(self._blurred(A))

    @property
    def features(self) -> Features | None:
        """Those of blurred images."""
        inner = self.inner.features
        return inner and Features(lambda A: inner(self._blurred(self.check(A, "A"))))

    @property
    def fourier(self) -> Fourier | None:
        """⟨ω, S(a - b)⟩ = ⟨Sω, a - b⟩: frequencies are blurred too."""
        inner = self.inner.fourier
        if inner is None:
            return None
        return Fourier(lambda *drawn: self._blurred(inner.sample(*drawn)), False, inner.height)

    @property
    def item_gradient(self) -> ItemGradient | None:
        """By the chain rule: S is its own transpose."""
        inner = self.inner.item_gradient
        return inner and ItemGradient(
            lambda A, B, C: self._blurred(inner.vjp(self._blurred(A), self._blurred(B), C)),
            lambda A, c: self._blurred(inner.diag_vjp(self._blurred(A), c)),
        )


def _blur(size: int, sigma: float) -> np.ndarray:
    """The weight of every pixel of a line in every other; those around a pixel sum to one."""
    far = np.arange(-int(np.ceil(8 * sigma)), int(np.ceil(8 * sigma)) + 1)
    at = np.arange(size)
    steps = (at[:, None] - at[None, :]) / sigma
    return np.exp(-0.5 * steps**2) / np.exp(-0.5 * (far / sigma) ** 2).sum()
