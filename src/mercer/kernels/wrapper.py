"""A kernel made of another one."""

from __future__ import annotations

from sklearn.base import clone

from .._arrays import Items
from .base import Kernel, as_kernel


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
