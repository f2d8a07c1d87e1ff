"""Operator-valued kernels: a scalar kernel times an operator, and sums of those."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, count, host, like, namespace
from .._parameters import parameters
from ..kernels import RBF, Kernel, as_kernel
from ..symmetric import SymMatrix, eigh
from .base import Operator
from .block_gram import BlockGram, KroneckerGram
from .components import ComponentGram
from .identity import Identity
from .kernel import OperatorKernel, Waves
from .moments import Moments


@parameters
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

    scalar: Kernel
    operator: Operator

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
        roots = None if weights is None else like(np.sqrt(weights)[:, None], V)

        def gram() -> Array:
            K = self.scalar_.checked_gram(X)
            return K if roots is None else roots * K * roots.T

        n = count(X) if weights is None else float(weights.sum())
        moments = DualMoments(n, gram, V if roots is None else roots * V)
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

    def spectrum(self, random: np.random.RandomState, number: int, width: int) -> Waves:
        """Waves of the scalar kernel, pointing along the rows of a root of B."""
        omega = self.scalar_.fourier.sample(random, (number, width))
        height = float(self.scalar_.diag(np.zeros((1, width)))[0])
        b, Q = np.linalg.eigh(host(self.B_.full))
        b = np.maximum(b, 0.0)
        root = np.sqrt(b * height / number)[:, None] * Q.T
        return omega, np.repeat(np.arange(number), len(b)), np.tile(root, (number, 1))


class SpectralMoments(Moments):
    """Moments in the complete eigenbasis of the inputs: S_uu = diag(s), S_vu = (EᵀV)ᵀ diag(√s).

    Parameters
    ----------
    n
        The number of pairs, or the sum of their weights.
    s
        The spectrum of the input Gram matrix, zeros included.
    EV
        EᵀV with E complete, so that S_vv = (EᵀV)ᵀ(EᵀV).
    """

    EV: Array

    def __init__(self, n: float, s: Array, EV: Array):
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "uu", SymMatrix(diagonal=s))
        object.__setattr__(self, "EV", EV)

    @property
    def ones(self) -> Array:
        """The diagonal of the identity in output coordinates."""
        return namespace(self.EV).ones_like(self.EV[0, :])

    @cached_property
    def vu(self) -> Array:
        """S_vu."""
        return (self.EV * namespace(self.EV).sqrt(self.uu.diagonal)[:, None]).T

    @cached_property
    def vv(self) -> SymMatrix:
        """S_vv."""
        return SymMatrix(self.EV.T @ self.EV)

    def unexplained(self, epsilon: float) -> SymMatrix:
        """(EᵀV)ᵀ diag(nε / (s + nε)) (EᵀV): a sum of non-negative terms, nothing cancels."""
        share = self.n * epsilon / (self.uu.diagonal + self.n * epsilon)
        return SymMatrix((self.EV.T * share) @ self.EV)


class DualMoments(SpectralMoments):
    """Moments of outputs V and a Gram matrix that is made and factored only when asked for.

    Parameters
    ----------
    n
        The number of pairs, or the sum of their weights.
    gram
        A function that returns the Gram matrix of the inputs, weighted as the rows of V are.
    V
        Output coordinates, one row an input: any basis of the rows serves S_vv.
    """

    gram: Callable[[], Array]

    def __init__(self, n: float, gram: Callable[[], Array], V: Array):
        for name, value in {"n": n, "gram": gram, "EV": V}.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _spectral(self) -> SpectralMoments:
        s, E = eigh(self.gram(), "Gram matrix", drop=False)
        return SpectralMoments(self.n, s, self.EV if E is None else E.T @ self.EV)

    uu = cached_property(lambda self: self._spectral.uu)
    vu = cached_property(lambda self: self._spectral.vu)

    def unexplained(self, epsilon: float) -> SymMatrix:
        """That of the spectrum."""
        return self._spectral.unexplained(epsilon)


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
