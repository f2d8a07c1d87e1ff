"""Kernels made of an inner kernel."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from .._base.arrays import Array, Items
from .base import Kernel, as_kernel
from .capabilities import ItemGradient
from .gradients import ParameterGradient, Values, add_values


class Wrapper(Kernel):
    """Base class of kernels made of an inner kernel, which they clone and fit."""

    kernel_: Kernel | None = None

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    @property
    def inner(self) -> Kernel:
        """The inner kernel; the fitted one if this kernel is fitted."""
        return self.kernel_ or self._unfitted_inner()

    def _unfitted_inner(self) -> Kernel:
        """Return the inner kernel as the user gave it, not fitted."""
        return as_kernel(self.kernel)

    def check(self, A: Items, name: str = "X") -> Items:
        """Check items by the inner kernel, and return them."""
        return self.inner.check(A, name)

    def as_outputs(self, Y: Items, name: str = "y") -> Items:
        """Check outputs by the inner kernel, and return them."""
        return self.inner.as_outputs(Y, name)

    def moves(self, y: Items) -> Any:
        """Return the moves of the training outputs y; of the inner kernel, if it is on them."""
        own = type(self.space) is not type(self.inner.space)
        return self.space.moves(y) if own else self.inner.moves(y)

    def fit(self, A: Items) -> Kernel:
        """Fit a clone of the inner kernel; return this kernel."""
        self.kernel_ = clone(self._unfitted_inner()).fit(A)
        return self

    def frozen(self) -> Kernel:
        """Return a fitted copy with the fitted inner kernel as parameter, which is saved once."""
        other: Any = super().frozen()
        other.kernel = self.inner.frozen()
        vars(other).pop("kernel_", None)
        return other

    depends_on_data = property(lambda self: self._unfitted_inner().depends_on_data)
    space = property(lambda self: self.inner.space)
    accepts_sparse = property(lambda self: self.inner.accepts_sparse)


class OfValues(Wrapper):
    """Base class of kernels computed from the values k(a, b), k(a, a), k(b, b) of a kernel k.

    A subclass implements the chain rule: `_value_vjp` maps weights C of its values to weights of
    the three, None for the last two if the kernel does not depend on them; `_diag_value_vjp` maps
    weights of its diagonal to weights of k(a, a).
    """

    def _value_vjp(self, A: Items, B: Items, C: Array) -> tuple[Array, Array | None, Array | None]:
        """Return the derivatives of Σ_ij C_ij k(a_i, b_j) by inner k(a, b), k(a, a) and k(b, b).

        None stands for zero.
        """
        raise NotImplementedError

    def _diag_value_vjp(self, A: Items, c: Array) -> Array:
        """Return the derivatives of Σ_i c_i k(a_i, a_i) by the inner k(a_i, a_i)."""
        return 0.0 * c  # by default, the diagonal is constant

    @property
    def item_gradient(self) -> ItemGradient | None:
        """Derivatives with respect to the items, by the chain rule through inner kernel values."""
        inner = self.inner.item_gradient
        if inner is None:
            return None

        def vjp(A: Array, B: Array, C: Array) -> Array:
            """Return the gradient of Σ_ij C_ij k(a_i, b_j) with respect to each a_i."""
            M, left, _ = self._value_vjp(A, B, C)
            derivatives = inner.vjp(A, B, M)
            return derivatives if left is None else derivatives + inner.diag_vjp(A, left)

        return ItemGradient(vjp, lambda A, c: inner.diag_vjp(A, self._diag_value_vjp(A, c)))

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives with respect to the parameters of the inner kernel, by the chain rule."""
        inner = self.inner.parameter_gradient.prefixed("kernel")

        def vjp(A: Items, B: Items, C: Array) -> Values:
            """Return Σ_ij C_ij ∂k(A_i, B_j)/∂θ for each parameter θ by name."""
            M, left, right = self._value_vjp(A, B, C)
            derivatives = inner.vjp(A, B, M)
            if left is None or right is None:
                return derivatives
            return add_values(
                add_values(derivatives, inner.diag_vjp(A, left)), inner.diag_vjp(B, right)
            )

        return inner.with_functions(vjp, lambda A, c: inner.diag_vjp(A, self._diag_value_vjp(A, c)))
