"""Kernels made of another one."""

from __future__ import annotations

from sklearn.base import clone

from .._arrays import Array, Items
from .base import Kernel, as_kernel
from .capabilities import ItemGradient
from .gradients import ParameterGradient, Values, added


class Wrapper(Kernel):
    """A kernel made of another one, which it fits as a clone and hands its properties on."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    @property
    def inner(self) -> Kernel:
        """The kernel inside: fitted where this one is, else as given."""
        return self.__dict__.get("kernel_") or self._given()

    def _given(self) -> Kernel:
        return as_kernel(self.kernel)

    def check(self, A: Items, name: str = "X") -> Items:
        """As the kernel inside."""
        return self.inner.check(A, name)

    def as_outputs(self, Y: Items, name: str = "y") -> Items:
        """As the kernel inside."""
        return self.inner.as_outputs(Y, name)

    def fit(self, A: Items) -> Kernel:
        """Fit the kernel inside."""
        self.kernel_ = clone(self._given()).fit(A)
        return self

    space = property(lambda self: self.inner.space)
    accepts_sparse = property(lambda self: self.inner.accepts_sparse)
    centered = property(lambda self: self.inner.centered)


class OfValues(Wrapper):
    """A kernel that is a function of the values k(a, b), k(a, a) and k(b, b) of the one inside.

    A subclass says how derivatives pass through that function: `_pull` takes weights C of its
    values to weights of the three, None for the last two where they do not enter; `_diag_pull`
    takes weights of its diagonal to weights of k(a, a).
    """

    def _pull(self, A: Items, B: Items, C: Array) -> tuple[Array, Array | None, Array | None]:
        raise NotImplementedError

    def _diag_pull(self, A: Items, c: Array) -> Array:
        return 0.0 * c  # of a diagonal of ones

    @property
    def item_gradient(self) -> ItemGradient | None:
        """By the chain rule, through that of the kernel inside."""
        inner = self.inner.item_gradient
        if inner is None:
            return None

        def vjp(A: Array, B: Array, C: Array) -> Array:
            M, left, _ = self._pull(A, B, C)
            found = inner.vjp(A, B, M)
            return found if left is None else found + inner.diag_vjp(A, left)

        return ItemGradient(vjp, lambda A, c: inner.diag_vjp(A, self._diag_pull(A, c)))

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Those of the kernel inside, by the chain rule."""
        inner = self.inner.parameter_gradient.under("kernel")

        def vjp(A: Items, B: Items, C: Array) -> Values:
            M, left, right = self._pull(A, B, C)
            found = inner.vjp(A, B, M)
            if left is None or right is None:
                return found
            return added(added(found, inner.diag_vjp(A, left)), inner.diag_vjp(B, right))

        return inner.through(vjp, lambda A, c: inner.diag_vjp(A, self._diag_pull(A, c)))
