"""Sums and products of two kernels."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from scipy.sparse import issparse
from sklearn.base import clone

from .._base.arrays import Array, Items
from .._base.parameters import same
from ._joint_items import are_joint, join_items, same_items, split_items
from .base import Kernel, as_kernel
from .capabilities import Features, Fourier, ItemGradient, Multiple, Radial
from .gradients import ParameterGradient


class Pair(Kernel):
    """Base class of the sum and the product of two kernels on the same items."""

    symbol = "?"
    parts_: tuple[Kernel, Kernel] | None = None
    _operation: Callable[[Array, Array], Array]

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"({self.left} {self.symbol} {self.right})"

    @property
    def parts(self) -> tuple[Kernel, Kernel]:
        """The left and the right kernel; the fitted ones if this kernel is fitted."""
        return self.parts_ or (as_kernel(self.left), as_kernel(self.right))

    space = property(lambda self: self.parts[0].space.join(self.parts[1].space))

    def check(self, A: Items, name: str = "X") -> Items:
        """Check items by both kernels; return `JointItem` objects if the results differ."""
        if are_joint(A):
            return A
        space = self.space
        given = A if issparse(A) else space.check(A, name)
        left, right = (kernel.check(given, name) for kernel in self.parts)
        if space.on_vectors:
            return left if left.shape == right.shape else given
        return left if same_items(left, right) else join_items(left, right)

    def _items_by_kernel(self, A: Items) -> tuple[Items, Items]:
        """Return checked items in the form for the left kernel, and in that for the right one."""
        if are_joint(A):
            return split_items(A)
        if A.ndim <= 2:
            return A, A
        left, right = self.parts
        return left.check(A, "A"), right.check(A, "A")  # arrays whose axes one kernel flattens

    def _kernels_and_items(self, A: Items, B: Items) -> list[tuple[Kernel, Items, Items]]:
        """Return (kernel, A, B) for both kernels, with A and B as that kernel needs them."""
        ours = self._items_by_kernel(A)
        theirs = ours if B is A else self._items_by_kernel(B)
        return list(zip(self.parts, ours, theirs, strict=True))

    def as_outputs(self, Y: Items, name: str = "y") -> Items:
        """Check a batch of outputs by both kernels and return it."""
        Y = Y if issparse(Y) else self.space.check(Y, name)
        left, right = self.parts
        return right.as_outputs(left.as_outputs(Y, name), name)

    def moves(self, y: Items) -> Any:
        """Return the moves of the training outputs y, those of the left kernel."""
        return self.parts[0].moves(y)

    @property
    def depends_on_data(self) -> bool:
        """Whether the left or the right kernel depends on the data that it is fitted on."""
        return any(as_kernel(k).depends_on_data for k in (self.left, self.right))

    def fit(self, A: Items) -> Kernel:
        """Fit both kernels on the items and return this kernel."""
        if are_joint(A):
            batches = split_items(A)
        else:
            A = A if issparse(A) else self.space.check(A, "A")
            batches = A, A
        given = as_kernel(self.left), as_kernel(self.right)
        left, right = (clone(k).fit(items) for k, items in zip(given, batches, strict=True))
        self.parts_ = (left, right)
        return self

    def frozen(self) -> Kernel:
        """Return a fitted copy with the fitted kernels as parameters, so files store them once."""
        other: Any = super().frozen()
        other.left, other.right = (kernel.frozen() for kernel in self.parts)
        vars(other).pop("parts_", None)
        return other

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the sum or the product of the Gram matrices of both kernels."""
        return self._operation(
            *(k._gram(ours, theirs) for k, ours, theirs in self._kernels_and_items(A, B))
        )

    def _diag(self, A: Items) -> Array:
        """Return the sum or the product of the diagonals of both kernels."""
        return self._operation(*(k._diag(ours) for k, ours, _ in self._kernels_and_items(A, A)))

    def _combine_abilities(
        self, ability: Callable[[Kernel], Any], combine: Callable[[Any, Any], Any]
    ) -> Any:
        """Return combine(ability(left), ability(right)), or None if one of the two is None."""
        left, right = map(ability, self.parts)
        return None if left is None or right is None else combine(left, right)

    def _parameter_gradients(self) -> tuple[ParameterGradient, ParameterGradient]:
        """Return the parameter gradients of both kernels, as functions of joint items."""
        left, right = (k.parameter_gradient for k in self.parts)
        return (
            left.prefixed("left").before(lambda A: self._items_by_kernel(A)[0]),
            right.prefixed("right").before(lambda A: self._items_by_kernel(A)[1]),
        )

    accepts_sparse = property(lambda self: all(k.accepts_sparse for k in self.parts))


class Sum(Pair):
    """Sum of two kernels, k(a, b) = left(a, b) + right(a, b).

    Parameters
    ----------
    left, right : Kernel
        The terms.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> kernel = RBF(1.0) + Linear()
    >>> kernel([[1.0]], [[1.0]])
    array([[2.]])
    """

    symbol = "+"
    _operation = staticmethod(operator.add)

    @property
    def features(self) -> Features | None:
        """Concatenated features of both kernels; invertible if both are multiples of one kernel."""
        both = self._combine_abilities(lambda k: k.features, self._concatenate_features)
        if both is None:
            return None
        as_multiple = self.multiple
        if as_multiple.kernel is self or as_multiple.kernel.features.inverse is None:
            return both
        undo = as_multiple.kernel.features.inverse
        return replace(both, inverse=lambda F: undo(as_multiple.read(F)))

    def _concatenate_features(self, left: Features, right: Features) -> Features:
        """Return the concatenation of both features, each applied to the items of its kernel."""

        def own_items(A: Items, side: int) -> Items:
            """Return the items for the left kernel (side 0) or the right kernel (side 1)."""
            return split_items(A)[side] if are_joint(A) else A

        return left.before(partial(own_items, side=0)).plus(
            right.before(partial(own_items, side=1))
        )

    radial = property(lambda self: self._combine_abilities(lambda k: k.radial, Radial.plus))
    fourier = property(lambda self: self._combine_abilities(lambda k: k.fourier, Fourier.plus))
    item_gradient = property(
        lambda self: self._combine_abilities(lambda k: k.item_gradient, ItemGradient.plus)
    )
    parameter_gradient = property(lambda self: ParameterGradient.plus(*self._parameter_gradients()))

    @property
    def multiple(self) -> Multiple:
        """The sum as a multiple of a kernel, if both terms are multiples of the same kernel."""
        left, right = (k.multiple for k in self.parts)
        return left.plus(right) if same(left.kernel, right.kernel) else Multiple(self)


class Product(Pair):
    """Product of two kernels, k(a, b) = left(a, b) right(a, b).

    It has no finite features: their number would be the product of the numbers of both kernels.

    Parameters
    ----------
    left, right : Kernel
        The factors.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> kernel = RBF(1.0) * Linear()
    >>> kernel([[2.0]], [[2.0]])
    array([[4.]])
    """

    symbol = "*"
    _operation = staticmethod(operator.mul)

    radial = property(lambda self: self._combine_abilities(lambda k: k.radial, Radial.times))
    fourier = property(lambda self: self._combine_abilities(lambda k: k.fourier, Fourier.times))
    item_gradient = property(
        lambda self: self._combine_abilities(lambda k: k.item_gradient, self._product_rule)
    )
    parameter_gradient = property(lambda self: self._product_rule(*self._parameter_gradients()))

    def _product_rule(self, of_left: Any, of_right: Any) -> Any:
        """Return the gradient of the product, given those of both factors.

        Both are `ItemGradient` or both are `ParameterGradient` objects.
        """
        return self._times_values(of_left, 1).plus(self._times_values(of_right, 0))

    def _times_values(self, gradient: Any, other: int) -> Any:
        """Return the gradient of one factor times the values of the other, self.parts[other]."""

        def vjp(A: Items, B: Items, C: Array) -> Any:
            """Return the derivatives of Σ_ij C_ij k(A_i, B_j) through this factor of k."""
            kernel, ours, theirs = self._kernels_and_items(A, B)[other]
            return gradient.vjp(A, B, C * kernel._gram(ours, theirs))

        def diag_vjp(A: Items, c: Array) -> Any:
            """Return the derivatives of Σ_i c_i k(A_i, A_i) through this factor of k."""
            kernel, ours, _ = self._kernels_and_items(A, A)[other]
            return gradient.diag_vjp(A, c * kernel._diag(ours))

        return gradient.with_functions(vjp, diag_vjp)
