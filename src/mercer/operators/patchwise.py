from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, count, namespace
from ..kernels import RBF, Kernel, as_kernel
from .components import ComponentGram, ComponentKernel


class Patchwise(ComponentKernel):
    """Images by patches: J((x, y), (x', y')) = Σ_p k(x_p, x'_p) ⟨y_p, y'_p⟩ over patches p.

    As an operator-valued kernel it is diagonal: a pixel of the output sees the patches of the
    input that it lies in, K(x, x')_cc = Σ_{p ∋ c} k(x_p, x'_p). Pixels that lie in the same
    patches share one scalar kernel, so a fit is one ridge regression for each such set of pixels
    (64 of them for 32 × 32 pixels), never an equation over all pixels of all images.

    Parameters
    ----------
    kernel
        The kernel k between patches; None is ``RBF("median")``, the median over all patches.
    shape
        Height and width of the input images; None for square ones.
    size
        The patches' height and width, or one number for both.
    overlap
        The rows (and columns) that neighbouring patches share. The last patch ends flush with the
        border, and may share more.
    output_shape
        Height and width of the output images, where they differ: an output pixel then lies in the
        patches that its place, scaled to the input image, lies in.

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

    def scaled(self, factor: float) -> Patchwise:
        """The patches' kernel, scaled."""
        copy: Patchwise = clone(self)
        return copy.set_params(kernel=factor * self._given())

    def _given(self) -> Kernel:
        return RBF("median") if self.kernel is None else as_kernel(self.kernel)

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> Patchwise:
        """Lay the patches out, and settle their kernel on all of them."""
        super().fit(X, V)
        shape = _image_shape(self.shape, int(X.shape[1]), "shape", "input")
        given = self.output_shape or (shape if self.width_ == X.shape[1] else None)
        output_shape = _image_shape(given, self.width_, "output_shape", "output")
        size, overlap = _pair(self.size, "size"), _pair(self.overlap, "overlap")
        places = [starts(*axis) for axis in zip(shape, size, overlap, strict=True)]
        pixels = np.arange(shape[0] * shape[1]).reshape(shape)
        self.patches_ = [
            pixels[i : i + size[0], j : j + size[1]].reshape(-1)
            for i in places[0]
            for j in places[1]
        ]
        rows, columns = (
            _inside(*axis) for axis in zip(output_shape, shape, places, size, strict=True)
        )
        member = np.einsum("ri,cj->rcij", rows, columns).reshape(self.width_, -1)
        self.members_, labels = np.unique(member, axis=0, return_inverse=True)
        self.labels_ = labels.reshape(-1)
        self.kernel_ = clone(self._given()).fit(self._every(X))
        return self

    def _every(self, X: Array) -> Array:
        """All patches of all images, patch by patch."""
        xp = namespace(X)
        return xp.concat([xp.take(X, xp.asarray(patch), axis=1) for patch in self.patches_])

    def _parts(self, X: Array) -> list[Array]:
        """The same as one batch a patch, checked once for all."""
        every, n = self.kernel_.check(self._every(X), "patches"), count(X)
        return [every[start : start + n, ...] for start in range(0, count(every), n)]

    def by_component(self, A: Items, B: Items | None = None) -> ComponentGram:
        """The patches' matrices once each, summed as the pixels want them."""
        A = self.inputs.check(A, "A")
        B = A if B is None else self.inputs.check(B, "B")
        left = self._parts(A)
        right = left if B is A else self._parts(B)
        grams = [self.kernel_._gram(a, b) for a, b in zip(left, right, strict=True)]

        def scalar(label: int) -> Array:
            first, *rest = np.flatnonzero(self.members_[label])
            return sum((grams[p] for p in rest), start=grams[first] + 0.0)

        return ComponentGram(self.labels_, scalar, count(A), count(B))


def starts(length: int, size: int, overlap: int) -> list[int]:
    """Where patches begin along an axis; the last one ends flush with the border."""
    if not 0 < size <= length:
        raise ValueError(f"patches of size {size} do not fit into an image of {length} pixels.")
    if overlap < 0:
        raise ValueError(
            f"overlap={overlap} leaves {-overlap} pixels between patches: they do not cover the "
            "image. Use overlap ≥ 0."
        )
    if overlap >= size:
        raise ValueError(f"overlap must be less than the patches' size {size}, got {overlap}.")
    places = list(range(0, length - size, size - overlap))
    return [*places, length - size]


def _inside(outputs: int, inputs: int, places: list[int], size: int) -> np.ndarray:
    """Whether each output position, scaled to the input, lies in each patch."""
    at = (np.arange(outputs) + 0.5) * inputs / outputs
    begin = np.array(places)
    return (at[:, None] > begin) & (at[:, None] < begin + size)


def _pair(value: Any, name: str) -> tuple[int, int]:
    pair = tuple(value) if isinstance(value, list | tuple) else (value, value)
    whole = all(isinstance(v, int | np.integer) and not isinstance(v, bool) for v in pair)
    if len(pair) != 2 or not whole:
        raise ValueError(f"{name} must be a whole number or two of them, got {value!r}.")
    return int(pair[0]), int(pair[1])


def _image_shape(shape: Any, pixels: int, name: str, side: str) -> tuple[int, int]:
    """The shape given, or that of a square; refused where it is not that of the images."""
    if shape is None and isqrt(pixels) ** 2 == pixels:
        return isqrt(pixels), isqrt(pixels)
    if shape is None:
        raise ValueError(f"{side} images of {pixels} pixels are not square: give {name}=(h, w).")
    height, width = _pair(shape, name)
    if height * width != pixels:
        raise ValueError(
            f"{name}={(height, width)} has {height * width} pixels, but {side} images have "
            f"{pixels}. Give their height and width."
        )
    return height, width
