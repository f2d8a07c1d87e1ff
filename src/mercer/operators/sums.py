"""Sums and multiples of operator-valued kernels."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Array, Items
from .._base.parameters import same
from ..kernels import Kernel, as_kernel
from ..spaces import Fields
from .block_gram import BlockGram, SumGram
from .components import ComponentGram
from .kernel import OperatorKernel, Waves
from .separable import Separable, fitted


class OperatorSum(OperatorKernel):
    """Sum of two operator-valued kernels, K = left + right.

    Parameters
    ----------
    left, right : OperatorKernel
        The terms.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> from mercer.operators import Covariance, Identity
    >>> RBF(1.0) * Identity() + Linear() * Covariance()
    OperatorSum(left=Separable(operator=Identity(), scalar=RBF(length_scale=1.0)),
                right=Separable(operator=Covariance(), scalar=Linear()))
    """

    terms_: tuple[OperatorKernel, OperatorKernel] | None = None

    def __init__(self, left: OperatorKernel, right: OperatorKernel):
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"{self.left} + {self.right}"

    def separated(self) -> Separable:
        """Return the sum as a scalar kernel times an operator, one of which the terms share."""
        left, right = self.left.separated(), self.right.separated()
        if same(left.scalar, right.scalar):
            return Separable(left.scalar, left.operator + right.operator)
        if same(left.operator, right.operator):
            return Separable(as_kernel(left.scalar) + as_kernel(right.scalar), left.operator)
        raise ValueError(f"{self}: the terms share neither the scalar kernel nor the operator.")

    @property
    def separable(self) -> bool:  # type: ignore[override]
        """Whether both terms have the same scalar kernel or the same operator."""
        if not (self.left.separable and self.right.separable):
            return False
        left, right = self.left.separated(), self.right.separated()
        return same(left.scalar, right.scalar) or same(left.operator, right.operator)

    own_coordinates = property(lambda self: self.left.own_coordinates or self.right.own_coordinates)
    fields = property(lambda self: self.left.fields or self.right.fields)
    output_fields = property(lambda self: self.left.output_fields or self.right.output_fields)
    depends_on_data = property(lambda self: self.left.depends_on_data or self.right.depends_on_data)

    @property
    def centred_outputs(self) -> bool:  # type: ignore[override]
        """Whether both terms take centred outputs."""
        return self.left.centred_outputs and self.right.centred_outputs

    componentwise = property(lambda self: self.left.componentwise and self.right.componentwise)

    def for_outputs(self, shape: tuple[int, ...]) -> OperatorSum:
        """Return the sum of both terms for outputs of this shape."""
        return OperatorSum(self.left.for_outputs(shape), self.right.for_outputs(shape))

    @property
    def terms(self) -> tuple[OperatorKernel, OperatorKernel]:
        """The left and the right kernel; the fitted ones if this kernel is fitted."""
        return self.terms_ or (self.left, self.right)

    @property
    def inputs(self) -> Kernel:
        """The scalar kernel that checks inputs: the common one, that of fields, or the left one."""
        if self.separable:
            return self.separated().inputs
        left, right = (term.inputs for term in self.terms)
        return right if isinstance(right.space, Fields) else left

    def fit(self, X: Items, V: Array, weights: np.ndarray | None = None) -> OperatorSum:
        """Fit both terms."""
        left, right = (fitted(term, X, V, weights) for term in (self.left, self.right))
        self.terms_ = left, right
        return self

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Return the sum of the block Gram matrices of both terms."""
        return SumGram(*(term.gram(A, B) for term in self.terms))

    def pairings(self, A: Items, V: Array, B: Items, W: Array, L: Array) -> Array:
        """Return ⟨K(a_i, b_j) Φ(u_j), Φ(y_i)⟩ for all pairs, summed over both terms."""
        left, right = (term.pairings(A, V, B, W, L) for term in self.terms)
        return left + right

    def by_component(self, A: Items, B: Items | None = None) -> ComponentGram:
        """Return the Gram matrix of each output component, summed over both terms."""
        left, right = (term.by_component(A, B) for term in self.terms)
        return left + right

    def scaled(self, factor: float) -> OperatorKernel:
        """Return the sum with both terms multiplied by `factor`."""
        return self.left.scaled(factor) + self.right.scaled(factor)

    spectral = property(lambda self: self.left.spectral and self.right.spectral)

    def spectrum(self, random: np.random.RandomState, number: int, width: int) -> Waves:
        """Draw random waves whose mean is the kernel, half of them from each term."""
        half = (number + 1) // 2
        left, right = (term.spectrum(random, half, width) for term in self.terms)
        source = np.concatenate([left[1], right[1] + len(left[0])])
        return np.concatenate([left[0], right[0]]), source, np.concatenate([left[2], right[2]])


class ScaledKernel(OperatorKernel):
    """Operator-valued kernel times a number, written ``0.5 * CurlFree()``."""

    kernel_: OperatorKernel | None = None

    def __init__(self, kernel: OperatorKernel, scale: float):
        self.kernel = kernel
        self.scale = scale

    def __str__(self) -> str:
        return f"{self.scale:g} * {self.kernel}"

    own_coordinates = property(lambda self: self.kernel.own_coordinates)
    fields = property(lambda self: self.kernel.fields)
    output_fields = property(lambda self: self.kernel.output_fields)
    depends_on_data = property(lambda self: self.kernel.depends_on_data)
    centred_outputs = property(lambda self: self.kernel.centred_outputs)
    spectral = property(lambda self: self.kernel.spectral)
    componentwise = property(lambda self: self.kernel.componentwise)

    @property
    def inner(self) -> OperatorKernel:
        """The inner kernel; the fitted one if this kernel is fitted."""
        return self.kernel_ or self.kernel

    def for_outputs(self, shape: tuple[int, ...]) -> ScaledKernel:
        """Return the scaled kernel for outputs of this shape."""
        return ScaledKernel(self.kernel.for_outputs(shape), self.scale)

    @property
    def inputs(self) -> Kernel:
        """The scalar kernel with which the inner kernel checks inputs."""
        return self.inner.inputs

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> ScaledKernel:
        """Fit the inner kernel."""
        if not 0 < self.scale < float("inf"):
            raise ValueError(f"a kernel is scaled by a positive number, got {self.scale!r}.")
        self.kernel_ = fitted(self.kernel, X, V, weights)
        return self

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Return the block Gram matrix of the inner kernel times the scale."""
        return SumGram(self.inner.gram(A, B), scale=self.scale)

    def by_component(self, A: Items, B: Items | None = None) -> ComponentGram:
        """Return the Gram matrix of each output component times the scale."""
        return self.inner.by_component(A, B).scaled(self.scale)

    def scaled(self, factor: float) -> ScaledKernel:
        """Return the kernel with its scale multiplied by `factor`."""
        return ScaledKernel(self.kernel, factor * self.scale)

    def spectrum(self, random: np.random.RandomState, number: int, width: int) -> Waves:
        """Draw random waves of the inner kernel, multiplied by the square root of the scale."""
        omega, source, along = self.inner.spectrum(random, number, width)
        return omega, source, along * np.sqrt(self.scale)
