"""Kernels made of an inner kernel, and kernels whose values are on a device."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from .._base.arrays import Array, Items, dense, host
from .._base.errors import require
from .base import Kernel, as_kernel
from .capabilities import Features, ItemGradient, Multiple
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


class OnDevice(Wrapper):
    """The inner kernel with its values on a device, where the linear algebra then runs.

    Vectors are moved to the device and compared there. Other items, such as strings and graphs, are
    compared on the host, and their Gram matrices are moved.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    device : str, default="cuda"
        A PyTorch device, such as "cuda" or "cpu".
    """

    def __init__(self, kernel: Kernel, device: str = "cuda"):
        self.kernel = kernel
        self.device = device

    def __str__(self) -> str:
        return str(self.inner)

    accepts_sparse = property(lambda self: self.inner.accepts_sparse and not self.on_vectors)
    radial = property(lambda self: self.inner.radial)
    fourier = property(lambda self: self.inner.fourier)
    item_gradient = property(lambda self: self.inner.item_gradient)

    @property
    def parameter_gradient(self) -> ParameterGradient:
        """Derivatives with respect to the parameters of the inner kernel."""
        inner = self.inner.parameter_gradient
        back = (lambda C: C) if self.on_vectors else host
        return inner.with_functions(
            lambda A, B, C: inner.vjp(A, B, back(C)), lambda A, c: inner.diag_vjp(A, back(c))
        )

    def _to_device(self, A: Any) -> Array:
        """Return an array as a PyTorch tensor on the device."""
        require("torch", "torch")
        import torch

        return torch.asarray(dense(A), device=self.device)

    def check(self, A: Items, name: str = "X") -> Items:
        """Check items by the inner kernel, and move vectors to the device."""
        checked = self.inner.check(A, name)
        return self._to_device(checked) if self.on_vectors else checked

    def as_outputs(self, Y: Items, name: str = "y") -> Items:
        """Check outputs by the inner kernel, and move vectors to the device."""
        outputs = self.inner.as_outputs(Y, name)
        return self._to_device(outputs) if self.on_vectors else outputs

    def fit(self, A: Items) -> Kernel:
        """Fit the inner kernel, on the device where it takes vectors."""
        return super().fit(self._to_device(A) if self.on_vectors else A)

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the matrix of the inner kernel as a tensor on the device."""
        return self._to_device(self.inner._gram(A, B))

    def _diag(self, A: Items) -> Array:
        """Return the diagonal of the inner kernel as a tensor on the device."""
        return self._to_device(self.inner._diag(A))

    @property
    def features(self) -> Features | None:
        """Features of the inner kernel as tensors on the device."""
        inner = self.inner.features
        return inner and inner.mapped(self._to_device, self._to_inner_device)

    @property
    def multiple(self) -> Multiple:
        """The `Multiple` of the inner kernel, for features that are on the device."""
        inner = self.inner.multiple
        return Multiple(
            inner.kernel, inner.scale, lambda F: inner.read(self._to_inner_device(F)), inner.copies
        )

    def _to_inner_device(self, F: Array) -> Array:
        """Return features on the host, unless items are vectors, which stay on the device."""
        return F if self.on_vectors else host(F)


def on_device(kernel: Kernel, device: str | None) -> Kernel:
    """Return a kernel with its values on a device; None returns it unchanged."""
    return kernel if device is None else OnDevice(kernel, device)
