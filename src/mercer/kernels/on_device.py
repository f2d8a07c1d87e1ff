from __future__ import annotations

from typing import Any

from .._arrays import Array, Items, dense, host
from .._extras import require
from .base import Kernel
from .capabilities import Features, Multiple
from .gradients import ParameterGradient
from .wrapper import Wrapper


class OnDevice(Wrapper):
    """The same kernel with its values on a device, so that the linear algebra runs there.

    Vectors are moved first and compared on the device; strings, graphs and the like are compared
    on the host, and their Gram matrices moved.

    Parameters
    ----------
    kernel
        The kernel.
    device
        A device of PyTorch's, such as "cuda" or "cpu".
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
        """Those of the kernel inside, under its own names."""
        inner = self.inner.parameter_gradient
        back = (lambda C: C) if self.on_vectors else host
        return inner.through(
            lambda A, B, C: inner.vjp(A, B, back(C)), lambda A, c: inner.diag_vjp(A, back(c))
        )

    def _moved(self, A: Any) -> Array:
        require("torch", "torch")
        import torch

        return torch.asarray(dense(A), device=self.device)

    def check(self, A: Items, name: str = "X") -> Items:
        """As the kernel inside; vectors on the device."""
        checked = self.inner.check(A, name)
        return self._moved(checked) if self.on_vectors else checked

    def as_outputs(self, Y: Items, name: str = "y") -> Items:
        """As the kernel inside; vectors on the device."""
        outputs = self.inner.as_outputs(Y, name)
        return self._moved(outputs) if self.on_vectors else outputs

    def fit(self, A: Items) -> Kernel:
        """Fit the kernel inside, on the device where it takes vectors."""
        return super().fit(self._moved(A) if self.on_vectors else A)

    def _gram(self, A: Items, B: Items) -> Array:
        return self._moved(self.inner._gram(A, B))

    def _diag(self, A: Items) -> Array:
        return self._moved(self.inner._diag(A))

    @property
    def features(self) -> Features | None:
        """Those of the kernel inside, moved; undone on the host unless it takes vectors."""
        inner = self.inner.features
        return inner and inner.mapped(self._moved, self._back)

    @property
    def multiple(self) -> Multiple:
        """As the kernel inside."""
        inner = self.inner.multiple
        return Multiple(
            inner.kernel, inner.scale, lambda F: inner.read(self._back(F)), inner.copies
        )

    def _back(self, F: Array) -> Array:
        return F if self.on_vectors else host(F)


def on_device(kernel: Kernel, device: str | None) -> Kernel:
    """The kernel, with its values on a device where one is named."""
    return kernel if device is None else OnDevice(kernel, device)
