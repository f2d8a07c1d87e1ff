"""Sums, products, scalings and powers of kernels are kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from numbers import Real

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from .._arrays import Array, Items, namespace, power
from .base import Kernel, Wrapper, as_kernel


class Pair(Kernel):
    """Two kernels on the same items."""

    symbol = "?"

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"({self.left} {self.symbol} {self.right})"

    @property
    def parts(self) -> tuple[Kernel, Kernel]:
        """The two kernels: fitted where this one is, else as given."""
        return getattr(self, "parts_", None) or (as_kernel(self.left), as_kernel(self.right))

    def check(self, A: Items, name: str = "X") -> Items:
        """As both kernels; each of them sees the batch as the first left it."""
        left, right = self.parts
        return right.check(left.check(A, name), name)

    def as_outputs(self, Y: Items, name: str = "y") -> Items:
        """As both kernels."""
        left, right = self.parts
        return right.as_outputs(left.as_outputs(Y, name), name)

    def fit(self, A: Items) -> Kernel:
        """Fit both kernels."""
        left, right = (clone(as_kernel(k)).fit(A) for k in (self.left, self.right))
        self.parts_ = (left, right)
        return self

    on_vectors = property(lambda self: any(k.on_vectors for k in self.parts))
    accepts_sparse = property(lambda self: all(k.accepts_sparse for k in self.parts))
    centered = property(lambda self: any(k.centered for k in self.parts))
    differentiable = property(lambda self: all(k.differentiable for k in self.parts))

    @property
    def pairwise(self) -> bool:  # type: ignore[override]
        """Both or neither: a matrix of kernel values is no batch for another kernel."""
        left, right = (k.pairwise for k in self.parts)
        if left != right:
            raise ValueError(
                f'{self} mixes "precomputed" with a kernel that computes: the same X cannot be '
                "both. Use Precomputed(gram) with indices, or add the Gram matrices yourself."
            )
        return left


class Sum(Pair):
    """k(a, b) = left(a, b) + right(a, b)."""

    symbol = "+"
    finite = property(lambda self: all(k.finite for k in self.parts))
    radial = property(lambda self: all(k.radial for k in self.parts))

    def _total(self, of: Callable[[Kernel], Array]) -> Array:
        return reduce(lambda x, y: x + y, map(of, self.parts))

    def _gram(self, A: Items, B: Items) -> Array:
        return self._total(lambda k: k._gram(A, B))

    def _diag(self, A: Items) -> Array:
        return self._total(lambda k: k._diag(A))

    def features(self, A: Items) -> Array:
        """The features of both, side by side."""
        both = [k.features(A) for k in self.parts]
        return namespace(*both).concat(both, axis=1)

    def slope(self, D2: Array) -> Array:
        """The sum of the slopes."""
        return self._total(lambda k: k.slope(D2))

    def vjp(self, A: Array, B: Array, C: Array) -> Array:
        """The sum of the gradients."""
        return self._total(lambda k: k.vjp(A, B, C))

    def diag_vjp(self, A: Array, c: Array) -> Array:
        """The sum of the gradients."""
        return self._total(lambda k: k.diag_vjp(A, c))


class Product(Pair):
    """k(a, b) = left(a, b) right(a, b)."""

    symbol = "*"
    spectral = property(lambda self: all(k.spectral for k in self.parts))
    isotropic = property(lambda self: all(k.isotropic for k in self.parts))

    def frequencies(self, random: np.random.RandomState, shape: tuple[int, int]) -> np.ndarray:
        """A product transforms to a convolution: draws of both, added."""
        left, right = self.parts
        return left.frequencies(random, shape) + right.frequencies(random, shape)

    def _gram(self, A: Items, B: Items) -> Array:
        left, right = self.parts
        return left._gram(A, B) * right._gram(A, B)

    def _diag(self, A: Items) -> Array:
        left, right = self.parts
        return left._diag(A) * right._diag(A)

    def vjp(self, A: Array, B: Array, C: Array) -> Array:
        """By the product rule."""
        left, right = self.parts
        return left.vjp(A, B, C * right._gram(A, B)) + right.vjp(A, B, C * left._gram(A, B))

    def diag_vjp(self, A: Array, c: Array) -> Array:
        """By the product rule."""
        left, right = self.parts
        return left.diag_vjp(A, c * right._diag(A)) + right.diag_vjp(A, c * left._diag(A))


class Scaled(Wrapper):
    """scale · k(a, b)."""

    def __init__(self, kernel: Kernel, scale: float):
        self.kernel = kernel
        self.scale = scale

    def __str__(self) -> str:
        return f"{self.scale:g} * {self.kernel}"

    finite = property(lambda self: self.inner.finite)
    invertible = property(lambda self: self.inner.invertible and self.scale > 0)
    radial = property(lambda self: self.inner.radial)
    spectral = property(lambda self: self.inner.spectral)
    isotropic = property(lambda self: self.inner.isotropic)

    def frequencies(self, random: np.random.RandomState, shape: tuple[int, int]) -> np.ndarray:
        """As the kernel inside."""
        return self.inner.frequencies(random, shape)

    def _factor(self) -> float:
        if not isinstance(self.scale, Real) or not 0 <= self.scale < float("inf"):
            raise ValueError(f"a kernel is scaled by a number ≥ 0, got {self.scale!r}.")
        return float(self.scale)

    def _gram(self, A: Items, B: Items) -> Array:
        return self._factor() * self.inner._gram(A, B)

    def _diag(self, A: Items) -> Array:
        return self._factor() * self.inner._diag(A)

    def features(self, A: Items) -> Array:
        """√scale times the features."""
        return self._factor() ** 0.5 * self.inner.features(A)

    def sparse_features(self, A: Items) -> csr_array:
        """The same, sparse."""
        return self._factor() ** 0.5 * self.inner.sparse_features(A)

    def preimage(self, F: Array) -> Items:
        """The pre-image of the features over √scale."""
        return self.inner.preimage(F / self._factor() ** 0.5)

    def slope(self, D2: Array) -> Array:
        """Scale times the slope."""
        return self._factor() * self.inner.slope(D2)

    def vjp(self, A: Array, B: Array, C: Array) -> Array:
        """Scale times the gradient."""
        return self._factor() * self.inner.vjp(A, B, C)

    def diag_vjp(self, A: Array, c: Array) -> Array:
        """Scale times the gradient."""
        return self._factor() * self.inner.diag_vjp(A, c)


class Power(Wrapper):
    """k(a, b)^exponent for a positive whole exponent."""

    def __init__(self, kernel: Kernel, exponent: int):
        self.kernel = kernel
        self.exponent = exponent

    def __str__(self) -> str:
        return f"{self.kernel} ** {self.exponent}"

    def _degree(self) -> int:
        if not isinstance(self.exponent, Real) or self.exponent < 1 or self.exponent % 1:
            raise ValueError(
                f"a kernel is raised to a positive whole power (others need not be kernels), "
                f"got {self.exponent!r}."
            )
        return int(self.exponent)

    def _gram(self, A: Items, B: Items) -> Array:
        return power(self.inner._gram(A, B), self._degree())

    def _diag(self, A: Items) -> Array:
        return power(self.inner._diag(A), self._degree())

    def vjp(self, A: Array, B: Array, C: Array) -> Array:
        """By the chain rule."""
        p = self._degree()
        return self.inner.vjp(A, B, C * p * self.inner._gram(A, B) ** (p - 1))

    def diag_vjp(self, A: Array, c: Array) -> Array:
        """By the chain rule."""
        p = self._degree()
        return self.inner.diag_vjp(A, c * p * self.inner._diag(A) ** (p - 1))
