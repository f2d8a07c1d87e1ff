"""Optional abilities of a kernel: each an object, or None.

The parameters of an unfitted kernel determine whether the object exists; using it before a fit
raises an error if it needs data. Kernels made of other kernels derive their abilities from those of
their parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from .._base.arrays import Array, Items, namespace

AnyFunction = Callable[[Any], Any]
"""A function of a batch, or of its features."""


def composed(first: AnyFunction | None, second: AnyFunction | None) -> Any:
    """Return the function A ↦ second(first(A)); None if either of the functions is None."""
    return None if first is None or second is None else lambda A: second(first(A))


@dataclass(frozen=True)
class Features:
    """A feature map with finitely many features: features(A) @ features(B).T == k(A, B).

    Attributes
    ----------
    transform
        A function that returns the coordinates of a batch, one row for each item.
    sparse
        The same as a sparse matrix, if coordinates are many and mostly zero.
    inverse
        A function that returns the items whose features are nearest to given rows, if known.
    outside
        A function that returns how many features of each item are not among the columns, as
        n-grams that were not seen at fit; None if there are no such features.
    names
        A function that returns a description of each column, if known.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Features, Kernel
    >>> class Lengths(Kernel):
    ...     features = Features(lambda words: np.array([[float(len(w))] for w in words]))
    >>> Lengths()(["sun"], ["sea", "sand"])
    array([[ 9., 12.]])
    """

    transform: Callable[[Items], Array]
    sparse: Callable[[Items], Any] | None = None
    inverse: Callable[[Array], Items] | None = None
    outside: Callable[[Items], np.ndarray] | None = None
    names: Callable[[], list[str]] | None = None

    def __call__(self, A: Items) -> Array:
        """Return the features of a batch as an array, one row per item."""
        return self.transform(A)

    def rows(self, A: Items) -> csr_array:
        """Return the features of a batch as a sparse matrix, one row per item."""
        return csr_array(self.transform(A) if self.sparse is None else self.sparse(A))

    def mapped(self, forward: AnyFunction, backward: AnyFunction | None = None) -> Features:
        """Return the feature map A ↦ forward(features(A)); `backward` inverts `forward`."""
        return Features(
            composed(self.transform, forward),
            composed(self.sparse, forward),
            composed(backward, self.inverse),
        )

    def before(self, function: AnyFunction, undo: AnyFunction | None = None) -> Features:
        """Return the feature map A ↦ features(function(A)); `undo` is the inverse of `function`."""
        return Features(
            composed(function, self.transform),
            composed(function, self.sparse),
            composed(self.inverse, undo),
            composed(function, self.outside),
            self.names,
        )

    def scaled(self, scale: float) -> Features:
        """Return the feature map of the kernel scale · k."""
        root = scale**0.5
        found = self.mapped(lambda F: root * F, (lambda F: F / root) if scale > 0 else None)
        return replace(found, outside=self.outside, names=self.names)

    def plus(self, other: Features) -> Features:
        """Return the feature map of the sum of two kernels, the features of both concatenated."""
        both = self.sparse is not None or other.sparse is not None

        def dense(A: Items) -> Array:
            """Return the features of both kernels side by side, as an array."""
            parts = [self(A), other(A)]
            return namespace(*parts).concat(parts, axis=1)

        def sparse(A: Items) -> csr_array:
            """Return the features of both kernels side by side, as a sparse matrix."""
            return csr_array(hstack([self.rows(A), other.rows(A)]))

        outside = [one.outside for one in (self, other) if one.outside is not None]
        ours, theirs = self.names, other.names
        return Features(
            dense,
            sparse if both else None,
            outside=(lambda A: np.sum([one(A) for one in outside], axis=0)) if outside else None,
            names=None if ours is None or theirs is None else lambda: [*ours(), *theirs()],
        )


@dataclass(frozen=True)
class Radial:
    """The kernel k(a, b) = value(‖a - b‖²) as a positive and decreasing function `value`.

    Attributes
    ----------
    value, slope
        The function of the squared distance, and minus its derivative.
    curvature
        Its second derivative, if that exists at zero.
    bending
        Curvature over slope, if that is a constant, as for a Gaussian kernel.
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    curvature: Callable[[Array], Array] | None = None
    bending: Callable[[], float] | None = None

    def scaled(self, scale: float | Callable[[], float]) -> Radial:
        """Return the `Radial` of scale · k; `scale` is a number or a function that returns one."""

        def times(function: Any) -> Any:
            """Return the function times the scale; None for None."""
            factor = scale if callable(scale) else lambda: scale
            return None if function is None else lambda D2: factor() * function(D2)

        return Radial(times(self.value), times(self.slope), times(self.curvature), self.bending)

    def unit_height(self) -> Radial:
        """Return the `Radial` of k / k(0), which is 1 at distance zero."""
        return self.scaled(lambda: 1.0 / float(self.value(np.zeros(1))[0]))

    def plus(self, other: Radial) -> Radial:
        """Return the `Radial` of the sum of two kernels."""
        left, right = self.curvature, other.curvature
        return Radial(
            lambda D2: self.value(D2) + other.value(D2),
            lambda D2: self.slope(D2) + other.slope(D2),
            None if left is None or right is None else lambda D2: left(D2) + right(D2),
        )

    def times(self, other: Radial) -> Radial:
        """Return the `Radial` of the product of two kernels, by the product rule."""
        left, right = self.curvature, other.curvature
        ours, theirs = self.bending, other.bending

        def slope(D2: Array) -> Array:
            """Return minus the first derivative of the product."""
            return self.slope(D2) * other.value(D2) + self.value(D2) * other.slope(D2)

        def curvature(D2: Array) -> Array:
            """Return the second derivative of the product."""
            assert left is not None and right is not None
            mixed = 2.0 * self.slope(D2) * other.slope(D2)
            return left(D2) * other.value(D2) + mixed + self.value(D2) * right(D2)

        return Radial(
            lambda D2: self.value(D2) * other.value(D2),
            slope,
            None if left is None or right is None else curvature,
            None if ours is None or theirs is None else lambda: ours() + theirs(),
        )


@dataclass(frozen=True)
class Fourier:
    """The spectral measure of a shift-invariant kernel, k(a, b) = k(0) E[cos⟨ω, a - b⟩] over ω.

    Attributes
    ----------
    sample
        A function of a generator and a shape that draws frequencies ω, one in each row.
    isotropic
        Whether the frequencies have no preferred direction.
    height
        k(0).
    """

    sample: Callable[[np.random.RandomState, tuple[int, int]], np.ndarray]
    isotropic: bool = False
    height: float = 1.0

    def scaled(self, scale: float) -> Fourier:
        """Return the spectral measure of the kernel scale · k."""
        return Fourier(self.sample, self.isotropic, scale * self.height)

    def plus(self, other: Fourier) -> Fourier:
        """Return the spectral measure of the sum of two kernels, the mixture of both measures."""
        total = self.height + other.height

        def sample(random: np.random.RandomState, shape: tuple[int, int]) -> np.ndarray:
            """Draw each row from one of the two measures, with probabilities by their heights."""
            left, right = self.sample(random, shape), other.sample(random, shape)
            share = self.height / total if total > 0 else 0.5
            return np.where(random.uniform(size=(shape[0], 1)) < share, left, right)

        return Fourier(sample, self.isotropic and other.isotropic, total)

    def times(self, other: Fourier) -> Fourier:
        """Return the spectral measure of the product of two kernels, the convolution of both."""
        return Fourier(
            lambda random, shape: self.sample(random, shape) + other.sample(random, shape),
            self.isotropic and other.isotropic,
            self.height * other.height,
        )


@dataclass(frozen=True)
class ItemGradient:
    """Derivatives of a kernel with respect to its items, which are vectors.

    Attributes
    ----------
    vjp
        (A, B, C) to the gradient of Σ_ij C_ij k(A_i, B_j) with respect to A.
    diag_vjp
        (A, c) to the gradient of Σ_i c_i k(A_i, A_i) with respect to A.
    """

    vjp: Callable[[Array, Array, Array], Array]
    diag_vjp: Callable[[Array, Array], Array]

    def with_functions(self, vjp: Any, diag_vjp: Any) -> ItemGradient:
        """Return the `ItemGradient` that consists of the two given functions."""
        return ItemGradient(vjp, diag_vjp)

    def plus(self, other: ItemGradient) -> ItemGradient:
        """Return the item gradient of the sum of two kernels."""
        return ItemGradient(
            lambda A, B, C: self.vjp(A, B, C) + other.vjp(A, B, C),
            lambda A, c: self.diag_vjp(A, c) + other.diag_vjp(A, c),
        )


@dataclass(frozen=True)
class Multiple:
    """A kernel k = scale · kernel, where decoders made for `kernel` are used for k too.

    Attributes
    ----------
    kernel, scale
        The kernel that decoders have a method for, and its factor.
    read
        A function from the features of a point under k to those under `kernel`.
    copies
        How many times the features of `kernel` are repeated in those of k.
    """

    kernel: Any
    scale: float = 1.0
    read: Callable[[Array], Array] = lambda F: F
    copies: int = 1

    def scaled(self, scale: float) -> Multiple:
        """Return the `Multiple` of the kernel scale · k, for a scale > 0."""
        root = scale**0.5
        return Multiple(self.kernel, scale * self.scale, lambda F: self.read(F / root), self.copies)

    def plus(self, other: Multiple) -> Multiple:
        """Return the `Multiple` of the sum of two multiples of the same kernel."""
        copies, total = self.copies + other.copies, self.scale + other.scale

        def read(F: Array) -> Array:
            """Return the weighted mean of the features that both multiples read."""
            width = F.shape[1] // copies * self.copies
            left, right = self.read(F[:, :width]), other.read(F[:, width:])
            return (self.scale / total) * left + (other.scale / total) * right

        return Multiple(self.kernel, total, read, copies)
