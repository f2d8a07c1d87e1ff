from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, Items, dense, host
from .._extras import require
from .base import Kernel, Wrapper


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

    finite = property(lambda self: self.inner.finite)
    invertible = property(lambda self: self.inner.invertible)
    radial = property(lambda self: self.inner.radial)
    accepts_sparse = property(lambda self: self.inner.accepts_sparse and not self.on_vectors)
    spectral = property(lambda self: self.inner.spectral)
    isotropic = property(lambda self: self.inner.isotropic)

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

    def features(self, A: Items) -> Array:
        """Those of the kernel inside, moved."""
        return self._moved(self.inner.features(A))

    def frequencies(self, random: np.random.RandomState, shape: tuple[int, int]) -> np.ndarray:
        """As the kernel inside."""
        return self.inner.frequencies(random, shape)

    def preimage(self, F: Array) -> Items:
        """As the kernel inside, on the host unless it takes vectors."""
        return self.inner.preimage(F if self.on_vectors else host(F))

    def slope(self, D2: Array) -> Array:
        """As the kernel inside."""
        return self.inner.slope(D2)

    def vjp(self, A: Array, B: Array, C: Array) -> Array:
        """As the kernel inside."""
        return self.inner.vjp(A, B, C)

    def diag_vjp(self, A: Array, c: Array) -> Array:
        """As the kernel inside."""
        return self.inner.diag_vjp(A, c)
