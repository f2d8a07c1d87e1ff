"""Sums, products, scalings and powers of kernels are kernels."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from numbers import Real
from typing import Any

from scipy.sparse import issparse
from sklearn.base import clone

from .._arrays import Array, Items, power
from .._parameters import same
from ._joint_items import are_joint, joined, same_items, separated
from .base import Kernel, as_kernel
from .capabilities import Features, Fourier, ItemGradient, Multiple, Radial
from .gradients import ParameterGradient
from .wrapper import OfValues


class Pair(Kernel):
    """Two kernels on the same items."""

    symbol = "?"
    _combined: Callable[[Array, Array], Array]

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"({self.left} {self.symbol} {self.right})"

    @property
    def parts(self) -> tuple[Kernel, Kernel]:
        """The two kernels: fitted where this one is, else as given."""
        return self.__dict__.get("parts_") or (as_kernel(self.left), as_kernel(self.right))

    space = property(lambda self: self.parts[0].space.join(self.parts[1].space))

    def check(self, A: Items, name: str = "X") -> Items:
        """Check the items for both kernels; where their forms differ, keep both."""
        if are_joint(A):
            return A
        space = self.space
        given = A if issparse(A) else space.check(A, name)
        left, right = (kernel.check(given, name) for kernel in self.parts)
        if space.on_vectors:
            return left if left.shape == right.shape else given
        return left if same_items(left, right) else joined(left, right)

    def _forms(self, A: Items) -> tuple[Items, Items]:
        """The checked items in the form of each kernel."""
        if are_joint(A):
            return separated(A)
        if A.ndim <= 2:
            return A, A
        left, right = self.parts
        return left.check(A, "A"), right.check(A, "A")  # arrays whose axes one kernel flattens

    def _pairs(self, A: Items, B: Items) -> list[tuple[Kernel, Items, Items]]:
        """Each kernel with both batches in its form."""
        ours = self._forms(A)
        theirs = ours if B is A else self._forms(B)
        return list(zip(self.parts, ours, theirs, strict=True))

    def as_outputs(self, Y: Items, name: str = "y") -> Items:
        """As both kernels."""
        Y = Y if issparse(Y) else self.space.check(Y, name)
        left, right = self.parts
        return right.as_outputs(left.as_outputs(Y, name), name)

    @property
    def depends_on_data(self) -> bool:
        """Whether one of the two kernels does."""
        return any(as_kernel(k).depends_on_data for k in (self.left, self.right))

    def fit(self, A: Items) -> Kernel:
        """Fit both kernels."""
        if are_joint(A):
            forms = separated(A)
        else:
            A = A if issparse(A) else self.space.check(A, "A")
            forms = A, A
        given = as_kernel(self.left), as_kernel(self.right)
        left, right = (clone(k).fit(form) for k, form in zip(given, forms, strict=True))
        self.parts_ = (left, right)
        return self

    def _gram(self, A: Items, B: Items) -> Array:
        return self._combined(*(k._gram(ours, theirs) for k, ours, theirs in self._pairs(A, B)))

    def _diag(self, A: Items) -> Array:
        return self._combined(*(k._diag(ours) for k, ours, _ in self._pairs(A, A)))

    def _both(self, name: str, combine: Callable[[Any, Any], Any]) -> Any:
        """A capability that both kernels have, combined."""
        left, right = (getattr(k, name) for k in self.parts)
        return None if left is None or right is None else combine(left, right)

    def _gradients(self) -> tuple[ParameterGradient, ParameterGradient]:
        left, right = (k.parameter_gradient for k in self.parts)
        return (
            left.under("left").on(lambda A: self._forms(A)[0]),
            right.under("right").on(lambda A: self._forms(A)[1]),
        )

    accepts_sparse = property(lambda self: all(k.accepts_sparse for k in self.parts))


class Sum(Pair):
    """k(a, b) = left(a, b) + right(a, b).

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> kernel = RBF(1.0) + Linear()
    >>> kernel([[1.0]], [[1.0]])
    array([[2.]])
    """

    symbol = "+"
    _combined = staticmethod(operator.add)

    @property
    def features(self) -> Features | None:
        """The features of both, side by side; undone where both are of one kernel."""
        both = self._both("features", self._side_by_side)
        if both is None:
            return None
        alone = self.multiple
        if alone.kernel is self or alone.kernel.features.inverse is None:
            return both
        undo = alone.kernel.features.inverse
        return Features(both.transform, both.sparse, lambda F: undo(alone.read(F)))

    def _side_by_side(self, left: Features, right: Features) -> Features:
        def form(A: Items, side: int) -> Items:
            return separated(A)[side] if are_joint(A) else A

        return left.before(partial(form, side=0)).plus(right.before(partial(form, side=1)))

    radial = property(lambda self: self._both("radial", Radial.plus))
    fourier = property(lambda self: self._both("fourier", Fourier.plus))
    item_gradient = property(lambda self: self._both("item_gradient", ItemGradient.plus))
    parameter_gradient = property(lambda self: ParameterGradient.plus(*self._gradients()))

    @property
    def multiple(self) -> Multiple:
        """Of the kernel of which both are multiples, where there is one."""
        left, right = (k.multiple for k in self.parts)
        return left.plus(right) if same(left.kernel, right.kernel) else Multiple(self)


class Product(Pair):
    """k(a, b) = left(a, b) right(a, b).

    It has no finite features: they would be as many as the product of both numbers.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> kernel = RBF(1.0) * Linear()
    >>> kernel([[2.0]], [[2.0]])
    array([[4.]])
    """

    symbol = "*"
    _combined = staticmethod(operator.mul)

    radial = property(lambda self: self._both("radial", Radial.times))
    fourier = property(lambda self: self._both("fourier", Fourier.times))
    item_gradient = property(lambda self: self._both("item_gradient", self._product_rule))
    parameter_gradient = property(lambda self: self._product_rule(*self._gradients()))

    def _product_rule(self, of_left: Any, of_right: Any) -> Any:
        """Derivatives in the items or in the parameters."""
        return self._times(of_left, 1).plus(self._times(of_right, 0))

    def _times(self, gradient: Any, other: int) -> Any:
        """The derivatives of one kernel times the values of the other."""

        def vjp(A: Items, B: Items, C: Array) -> Any:
            kernel, ours, theirs = self._pairs(A, B)[other]
            return gradient.vjp(A, B, C * kernel._gram(ours, theirs))

        def diag_vjp(A: Items, c: Array) -> Any:
            kernel, ours, _ = self._pairs(A, A)[other]
            return gradient.diag_vjp(A, c * kernel._diag(ours))

        return gradient.through(vjp, diag_vjp)


class Scaled(OfValues):
    """scale · k(a, b).

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> (0.5 * RBF(1.0))([[1.0]], [[1.0]])
    array([[0.5]])
    """

    def __init__(self, kernel: Kernel, scale: float):
        self.kernel = kernel
        self.scale = scale

    def __str__(self) -> str:
        return f"{self.scale:g} * {self.kernel}"

    def _factor(self) -> float:
        if not isinstance(self.scale, Real) or not 0 <= self.scale < float("inf"):
            raise ValueError(f"a kernel is scaled by a number ≥ 0, got {self.scale!r}.")
        return float(self.scale)

    def _gram(self, A: Items, B: Items) -> Array:
        return self._factor() * self.inner._gram(A, B)

    def _diag(self, A: Items) -> Array:
        return self._factor() * self.inner._diag(A)

    def _mapped(self, capability: Any) -> Any:
        return None if capability is None else capability.scaled(self._factor())

    features = property(lambda self: self._mapped(self.inner.features))
    radial = property(lambda self: self._mapped(self.inner.radial))
    fourier = property(lambda self: self._mapped(self.inner.fourier))

    def _pull(self, A: Items, B: Items, C: Array) -> tuple[Array, None, None]:
        return self._factor() * C, None, None

    def _diag_pull(self, A: Items, c: Array) -> Array:
        return self._factor() * c

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """The scale, and those of the kernel inside, scaled."""
        inner, scale = super().parameter_gradient, self._factor()
        if scale == 0:
            return inner
        own = ParameterGradient.of_grams(
            {"scale": scale},
            lambda A, B: {"scale": self.inner._gram(A, B)},
            lambda A: {"scale": self.inner._diag(A)},
        )
        return own.plus(inner)

    @property
    def multiple(self) -> Multiple:
        """Of the same kernel as the one inside; a factor of zero leaves nothing to read."""
        return self.inner.multiple.scaled(self._factor()) if self._factor() > 0 else Multiple(self)


class Power(OfValues):
    """k(a, b)^exponent for a positive whole exponent.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (Linear() ** 2)([[2.0]], [[3.0]])
    array([[36.]])
    """

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

    def _product(self, capability: Any) -> Any:
        """A capability that multiplies, as often as the exponent says."""
        if capability is None:
            return None
        return reduce(lambda x, y: x.times(y), [capability] * self._degree())

    radial = property(lambda self: self._product(self.inner.radial))
    fourier = property(lambda self: self._product(self.inner.fourier))

    def _pull(self, A: Items, B: Items, C: Array) -> tuple[Array, None, None]:
        p = self._degree()
        return C * p * self.inner._gram(A, B) ** (p - 1), None, None

    def _diag_pull(self, A: Items, c: Array) -> Array:
        p = self._degree()
        return c * p * self.inner._diag(A) ** (p - 1)
