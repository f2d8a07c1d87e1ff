from __future__ import annotations

from math import isqrt
from typing import Any

from .._base.arrays import Array
from ..kernels import Kernel, Linear
from ..spaces import Fields
from ..spaces.fields import Grid
from .local import Boxes, Local, per_axis


class Patchwise(Local):
    r"""Kernel of images: an output pixel depends on the input patches that contain it.

    :math:`J((x, y), (x', y')) = \sum_p k(x_p, x'_p) \langle y_p, y'_p \rangle` over patches
    :math:`p`.

    As an operator-valued kernel it is diagonal: an output pixel depends on the input patches
    that it lies in, :math:`K(x, x')_{cc} = \sum_{p \ni c} k(x_p, x'_p)`, as in `Local` with
    `Boxes`. Pixels that lie in the same patches share one scalar kernel, so a fit is one ridge
    regression for each such set of pixels (64 of them for 32 × 32 pixels), never an equation over
    all pixels of all images.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        The kernel k between patches; None is ``RBF("median")``, the median over all patches.
    shape : tuple of two int or None, default=None
        Height and width of the input images; None for square ones.
    size : int or tuple of two int, default=10
        The patches' height and width, or one number for both.
    overlap : int or tuple of two int, default=5
        The rows (and columns) that neighbouring patches share. The last patch ends flush with the
        border, and may share more.
    output_shape : tuple of two int or None, default=None
        Height and width of the output images, where they differ: an output pixel then lies in the
        patches that its position, scaled to the input image, lies in.

    References
    ----------
    Weston, Schölkopf, Bousquet, Mann, Noble: Joint kernel maps. In: Predicting structured data,
    MIT Press 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Patchwise
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 6, 6))
    >>> model = KernelDependency(Patchwise(RBF(5.0), size=3, overlap=1), alpha=1e-3)
    >>> model.fit(X, X[:, ::-1] + X).predict(X[:2]).shape
    (2, 6, 6)
    """

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        shape: tuple[int, int] | None = None,
        size: int | tuple[int, int] = 10,
        overlap: int | tuple[int, int] = 5,
        output_shape: tuple[int, int] | None = None,
    ):
        self.kernel = kernel
        self.shape = shape
        self.size = size
        self.overlap = overlap
        self.output_shape = output_shape

    def _input_kernel(self) -> Kernel:
        """Return `Linear`, which checks images as vectors."""
        return Linear()

    def for_outputs(self, shape: tuple[int, ...]) -> Patchwise:
        """Return the kernel itself: the shapes of images are parameters."""
        return self

    def _boxes(self) -> Boxes:
        """Return the boxes of pixels that are the patches."""
        return Boxes(self.size, self.overlap)

    def _grids(self, X: Array) -> tuple[Grid, Grid]:
        """Return the grids of input and output images."""
        shape = _image_shape(self.shape, int(X.shape[1]), "shape", "input")
        given = self.output_shape or (shape if self.width_ == X.shape[1] else None)
        output_shape = _image_shape(given, self.width_, "output_shape", "output")
        return Fields().grid(shape), Fields().grid(output_shape)


def _image_shape(shape: Any, pixels: int, name: str, side: str) -> tuple[int, int]:
    """Return the checked height and width of images; a shape of None means square ones.

    For messages, `name` is the parameter with the shape, and `side` is "input" or "output".
    """
    if shape is None and isqrt(pixels) ** 2 == pixels:
        return isqrt(pixels), isqrt(pixels)
    if shape is None:
        raise ValueError(f"{side} images of {pixels} pixels are not square: give {name}=(h, w).")
    height, width = per_axis(shape, name)
    if height * width != pixels:
        raise ValueError(
            f"{name}={(height, width)} has {height * width} pixels, but {side} images have "
            f"{pixels}. Give their height and width."
        )
    return height, width
