"""A coupled kernel times a number: how much a term counts in a sum."""

from __future__ import annotations

import numpy as np

from .._arrays import Array, Items
from ..kernels import Kernel
from .block_gram import BlockGram, SumGram
from .kernel import OperatorKernel, Waves


class ScaledKernel(OperatorKernel):
    """K = scale · kernel, as ``0.5 * CurlFree()`` makes it."""

    def __init__(self, kernel: OperatorKernel, scale: float):
        self.kernel = kernel
        self.scale = scale

    def __str__(self) -> str:
        return f"{self.scale:g} * {self.kernel}"

    own_coordinates = property(lambda self: self.kernel.own_coordinates)
    centred_outputs = property(lambda self: self.kernel.centred_outputs)
    spectral = property(lambda self: self.kernel.spectral)

    def for_outputs(self, shape: tuple[int, ...]) -> ScaledKernel:
        """The kernel inside told."""
        return ScaledKernel(self.kernel.for_outputs(shape), self.scale)

    @property
    def inputs(self) -> Kernel:
        """Those of the kernel inside."""
        return (self.kernel_ if hasattr(self, "kernel_") else self.kernel).inputs

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> ScaledKernel:
        """Fit the kernel inside."""
        if not 0 < self.scale < float("inf"):
            raise ValueError(f"a kernel is scaled by a positive number, got {self.scale!r}.")
        from .separable import fitted

        self.kernel_ = fitted(self.kernel, X, V, weights)
        return self

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """The values, scaled."""
        return SumGram(self.kernel_.gram(A, B), scale=self.scale)

    def spectrum(self, random: np.random.RandomState, number: int, width: int) -> Waves:
        """The same waves, longer by the root of the scale."""
        omega, source, along = self.kernel_.spectrum(random, number, width)
        return omega, source, along * np.sqrt(self.scale)
