"""Operator-valued kernels: a scalar kernel times an operator, and sums of those."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, count, host, like, namespace
from .._same import same
from ..kernels import RBF, Kernel, as_kernel
from ..spaces import Fields
from ..symmetric import SymMatrix, eigh
from .base import Operator
from .block_gram import BlockGram, KroneckerGram, SumGram
from .components import ComponentGram
from .identity import Identity
from .kernel import OperatorKernel
from .moments import SpectralMoments


class Separable(OperatorKernel):
    """K(x, x') = k(x, x') B, as ``scalar * operator`` makes it.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Covariance
    >>> K = RBF(6.0) * Covariance()
    >>> K.set_params(scalar__length_scale=3.0).scalar
    RBF(length_scale=3.0)
    """

    def __init__(self, scalar: Kernel, operator: Operator):
        self.scalar = scalar
        self.operator = operator

    def __str__(self) -> str:
        return f"{self.scalar} * {self.operator}"

    def __mul__(self, other: Any) -> Separable:
        if isinstance(other, Operator | OperatorKernel):
            raise TypeError(
                f"{self} has its operator already: a kernel takes one. Add operators "
                "(kernel * (a + b)) or kernels (kernel * a + other * b) instead."
            )
        return Separable(as_kernel(self.scalar) * other, self.operator)

    def __rmul__(self, other: Any) -> Separable:
        return Separable(other * as_kernel(self.scalar), self.operator)

    separable = True
    own_coordinates = property(lambda self: self.operator.own_coordinates)
    componentwise = property(lambda self: self.operator.uniform is not None)

    @property
    def inputs(self) -> Kernel:
        """The scalar kernel: fitted where this one is, else as given."""
        return getattr(self, "scalar_", None) or as_kernel(self.scalar)

    def separated(self) -> Separable:
        """Itself."""
        return self

    def fit(self, X: Items, V: Array, weights: np.ndarray | None = None) -> Separable:
        """Settle the scalar kernel, and B of the moments that it makes of the data."""
        self.scalar_ = clone(as_kernel(self.scalar)).fit(X)
        moments = DeferredMoments(self.scalar_, X, V, weights)
        self.B_ = SymMatrix.of(self.operator.matrix(moments))
        return self

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """The scalar Gram matrix and B, side by side."""
        return KroneckerGram(self.scalar_(A, B), self.B_)

    def pairings(self, A: Items, V: Array, B: Items, W: Array, L: Array) -> Array:
        """A multiple of the identity needs no coordinates, which may see a part of Φ only."""
        if self.operator.uniform is not None:
            return self.operator.uniform * self.scalar_(A, B) * L
        return super().pairings(A, V, B, W, L)

    def by_component(self, A: Items, B: Items | None = None) -> ComponentGram:
        """One scalar kernel for all components."""
        K = float(self.operator.uniform or 0.0) * self.scalar_(A, B)
        labels = np.zeros(int(self.B_.shape[0]), dtype=np.intp)
        return ComponentGram(labels, lambda label: K, int(K.shape[0]), int(K.shape[1]))

    spectral = property(lambda self: self.inputs.fourier is not None)

    def spectrum(
        self, random: np.random.RandomState, number: int, width: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Waves of the scalar kernel, pointing along the rows of a root of B."""
        omega = self.scalar_.fourier.sample(random, (number, width))
        height = float(self.scalar_.diag(np.zeros((1, width)))[0])
        b, Q = np.linalg.eigh(host(self.B_.full))
        b = np.maximum(b, 0.0)
        root = np.sqrt(b * height / number)[:, None] * Q.T
        return omega, np.repeat(np.arange(number), len(b)), np.tile(root, (number, 1))


class OperatorSum(OperatorKernel):
    """K = left + right, two operator-valued kernels.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> from mercer.operators import Covariance, Identity
    >>> RBF(1.0) * Identity() + Linear() * Covariance()
    OperatorSum(left=Separable(operator=Identity(), scalar=RBF(length_scale=1.0)),
                right=Separable(operator=Covariance(), scalar=Linear()))
    """

    def __init__(self, left: OperatorKernel, right: OperatorKernel):
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"{self.left} + {self.right}"

    def separated(self) -> Separable:
        """The sum under the common scalar kernel or the common operator, where there is one."""
        left, right = self.left.separated(), self.right.separated()
        if same(left.scalar, right.scalar):
            return Separable(left.scalar, left.operator + right.operator)
        if same(left.operator, right.operator):
            return Separable(as_kernel(left.scalar) + as_kernel(right.scalar), left.operator)
        raise ValueError(f"{self}: the terms share neither the scalar kernel nor the operator.")

    @property
    def separable(self) -> bool:  # type: ignore[override]
        """Whether the terms share the scalar kernel or the operator."""
        if not (self.left.separable and self.right.separable):
            return False
        left, right = self.left.separated(), self.right.separated()
        return same(left.scalar, right.scalar) or same(left.operator, right.operator)

    own_coordinates = property(lambda self: self.left.own_coordinates or self.right.own_coordinates)

    @property
    def centred_outputs(self) -> bool:  # type: ignore[override]
        """Whether both terms take centred outputs."""
        return self.left.centred_outputs and self.right.centred_outputs

    componentwise = property(lambda self: self.left.componentwise and self.right.componentwise)

    def for_outputs(self, shape: tuple[int, ...]) -> OperatorSum:
        """Both terms told."""
        return OperatorSum(self.left.for_outputs(shape), self.right.for_outputs(shape))

    @property
    def inputs(self) -> Kernel:
        """The common scalar kernel, else what the first term makes of the inputs."""
        if self.separable:
            return self.separated().inputs
        terms = [getattr(self, f"{side}_", getattr(self, side)) for side in ("left", "right")]
        left, right = (term.inputs for term in terms)
        return right if isinstance(right.space, Fields) else left

    def fit(self, X: Items, V: Array, weights: np.ndarray | None = None) -> OperatorSum:
        """Both terms."""
        self.left_ = fitted(self.left, X, V, weights)
        self.right_ = fitted(self.right, X, V, weights)
        return self

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Both terms, added."""
        return SumGram(self.left_.gram(A, B), self.right_.gram(A, B))

    def pairings(self, A: Items, V: Array, B: Items, W: Array, L: Array) -> Array:
        """Both terms, added."""
        terms = (self.left_, self.right_)
        left, right = (term.pairings(A, V, B, W, L) for term in terms)
        return left + right

    def by_component(self, A: Items, B: Items | None = None) -> ComponentGram:
        """Both terms, component by component."""
        return self.left_.by_component(A, B) + self.right_.by_component(A, B)

    def __rmul__(self, factor: Any) -> OperatorKernel:
        return factor * self.left + factor * self.right

    spectral = property(lambda self: self.left.spectral and self.right.spectral)

    def spectrum(
        self, random: np.random.RandomState, number: int, width: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Half of the waves from each."""
        half = (number + 1) // 2
        left = self.left_.spectrum(random, half, width)
        right = self.right_.spectrum(random, half, width)
        source = np.concatenate([left[1], right[1] + len(left[0])])
        return np.concatenate([left[0], right[0]]), source, np.concatenate([left[2], right[2]])


class DeferredMoments(SpectralMoments):
    """Moments of exact coordinates whose input side is factored only when an operator asks."""

    kernel: Kernel
    X: Items
    V: Array
    roots: Array | None

    def __init__(self, kernel: Kernel, X: Items, V: Array, weights: np.ndarray | None):
        roots = None if weights is None else like(np.sqrt(weights)[:, None], V)
        state = {"kernel": kernel, "X": X, "roots": roots, "V": V if roots is None else roots * V}
        total = count(X) if weights is None else float(weights.sum())
        for name, value in (state | {"n": total}).items():
            object.__setattr__(self, name, value)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        K = self.kernel.checked_gram(self.X)
        if self.roots is not None:
            K = self.roots * K * namespace(K).matrix_transpose(self.roots)
        return eigh(K, "Gram matrix", drop=False)

    @cached_property
    def uu(self) -> SymMatrix:
        """The spectrum of the Gram matrix."""
        return SymMatrix(diagonal=self._spectrum[0])

    @cached_property
    def EV(self) -> Array:
        """EᵀV."""
        return namespace(self.V).matrix_transpose(self._spectrum[1]) @ self.V

    @cached_property
    def vv(self) -> SymMatrix:
        """S_vv, which needs no spectrum."""
        return SymMatrix(namespace(self.V).matrix_transpose(self.V) @ self.V)

    @property
    def ones(self) -> Array:
        """The diagonal of the identity in output coordinates."""
        return namespace(self.V).ones_like(self.V[0, :])


def as_operator_kernel(kernel: Any) -> OperatorKernel:
    """An operator-valued kernel; a scalar kernel stands for that kernel times the identity.

    None stands for an RBF of the data's own length scale.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import as_operator_kernel
    >>> as_operator_kernel(RBF(1.0))
    Separable(operator=Identity(), scalar=RBF(length_scale=1.0))
    """
    if isinstance(kernel, OperatorKernel):
        return kernel
    if kernel is None:
        return Separable(RBF("median"), Identity())
    if isinstance(kernel, Operator):
        raise TypeError(
            f"{kernel} is an operator: multiply it by a scalar kernel, as in RBF() * {kernel}."
        )
    return Separable(as_kernel(kernel), Identity())


def fitted(kernel: OperatorKernel, X: Items, V: Array, weights: np.ndarray | None) -> Any:
    """A clone, fitted; kernels that know nothing of sample weights are not told of any."""
    fresh = clone(kernel)
    return fresh.fit(X, V) if weights is None else fresh.fit(X, V, weights)
