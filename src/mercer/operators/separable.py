"""Operator-valued kernels that are a scalar kernel times an operator, and fits of any kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, Items, count, like, namespace
from .._base.errors import NotSupported
from .._base.linalg import eigh, frobenius_norm
from .._base.parameters import fingerprint, parameters
from .._base.symmetric import check_symmetric
from ..kernels import RBF, Kernel, as_kernel
from ..kernels.base import fit_weighted
from .base import Operator
from .block_gram import BlockGram, KroneckerGram
from .components import ComponentGram
from .kernel import OperatorKernel
from .matrix import Identity


@parameters
class Separable(OperatorKernel):
    """Separable kernel K(x, x') = k(x, x') B, written ``scalar * operator``.

    Parameters
    ----------
    scalar : Kernel
        The scalar kernel k.
    operator : Operator
        The operator B.

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

    def scaled(self, factor: float) -> Separable:
        """Return a copy whose scalar kernel is multiplied by `factor`."""
        return self.__rmul__(factor)

    scalar_ = None
    separable = True
    own_coordinates = property(lambda self: self.operator.own_coordinates)
    depends_on_data = property(
        lambda self: as_kernel(self.scalar).depends_on_data or self.operator.depends_on_data
    )
    componentwise = property(lambda self: self.operator.uniform is not None)

    @property
    def inputs(self) -> Kernel:
        """The scalar kernel; the fitted one after `fit`."""
        return self.scalar_ or as_kernel(self.scalar)

    def separated(self) -> Separable:
        """Return the kernel itself, which is separable."""
        return self

    def fit(
        self, X: Items, V: Array, weights: np.ndarray | None = None, centred: bool = False
    ) -> Separable:
        """Fit the scalar kernel on X, and compute the matrix of the operator from the data.

        With `centred`, the operator is that of inputs minus their mean.
        """
        self.scalar_ = fit_weighted(as_kernel(self.scalar), X, weights)
        roots = None if weights is None else like(np.sqrt(weights)[:, None], V)

        def gram() -> Array:
            """Return the Gram matrix of the inputs, weighted by the sample weights."""
            K = self.inputs.checked_gram(X)
            K = centred_gram(K, weights) if centred else K
            return K if roots is None else roots * K * roots.T

        n = count(X) if weights is None else float(weights.sum())
        moments: Any = SpectralMoments(n, V if roots is None else roots * V, gram=gram)
        self.B_ = check_symmetric(self.operator.matrix(moments))
        return self

    def fit_centred(self, X: Items, V: Array, weights: np.ndarray | None = None) -> Separable:
        """Fit on outputs V minus their mean, with the operator of inputs minus their mean."""
        return self.fit(X, V, weights, centred=True)

    @property
    def _matrix(self) -> Array:
        """The matrix of the operator; a model that solves in its eigenbasis does not store it."""
        if "B_" not in vars(self):
            raise NotSupported(
                f"{self} has no matrix of its operator: fit the kernel to inputs and outputs, as "
                "in clone(kernel).fit(X, Y).gram(X_new)."
            )
        return self.B_

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Return the block Gram matrix, the Kronecker product of the scalar Gram matrix and B."""
        return KroneckerGram(self.inputs(A, B), self._matrix)

    def pairings(self, A: Items, V: Array, B: Items, W: Array, L: Array) -> Array:
        """Return ⟨K(a_i, b_j) Φ(u_j), Φ(y_i)⟩, the joint kernel of pairs (a_i, y_i), (b_j, u_j).

        The outputs y and u are given in coordinates V and W. If the operator is a multiple of the
        identity, their inner products L are used instead.
        """
        if self.operator.uniform is not None:
            return self.operator.uniform * self.inputs(A, B) * L
        return super().pairings(A, V, B, W, L)

    def by_component(self, A: Items, B: Items | None = None) -> ComponentGram:
        """Return the Gram matrix that all components share; the operator is a multiple of I."""
        K = float(self.operator.uniform or 0.0) * self.inputs(A, B)
        labels = np.zeros(int(self._matrix.shape[0]), dtype=np.intp)
        return ComponentGram(labels, lambda label: K, int(K.shape[0]), int(K.shape[1]))


@dataclass(frozen=True, eq=False)
class SpectralMoments:
    """Moments of the data in the eigenbasis of the input Gram matrix.

    With the complete eigenvectors E and the eigenvalues s, S_uu = diag(s) and
    S_vu = (EᵀV)ᵀ diag(√s).

    Attributes
    ----------
    n
        The number of pairs, or the sum of their weights.
    EV
        EᵀV with E complete, so that S_vv = (EᵀV)ᵀ(EᵀV); or V itself.
    s
        The spectrum of the input Gram matrix, zeros included; None where EV is V.
    gram
        Where EV is V, a function that returns the Gram matrix of the inputs, weighted as the rows
        of V are: it is computed and factored only when needed.
    """

    n: float
    EV: Array
    s: Array | None = None
    gram: Callable[[], Array] | None = None

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues of the input Gram matrix, and output coordinates in its eigenbasis."""
        if self.gram is None:
            return self.s, self.EV
        s, E = eigh(self.gram(), "Gram matrix", drop=False)
        return s, self.EV if E is None else E.T @ self.EV

    @property
    def uu(self) -> Array:
        """The second moments of the input coordinates, as a diagonal."""
        return self._spectrum[0]

    @property
    def ones(self) -> Array:
        """A vector of ones, the diagonal of the identity in output coordinates."""
        xp = namespace(self.EV)
        return xp.ones_like(xp.sum(self.EV, axis=0))

    @cached_property
    def vu(self) -> Array:
        """The cross moments of output coordinates (rows) and input coordinates (columns)."""
        s, EV = self._spectrum
        return (EV * namespace(EV).sqrt(s)[:, None]).T

    @cached_property
    def vv(self) -> Array:
        """The second moments of the output coordinates."""
        return self.EV.T @ self.EV

    @property
    def covariance(self) -> Array:
        """The output moments divided by n: the output covariance, if outputs are centred."""
        return self.EV.T @ self.EV * (1.0 / self.n)

    @property
    def total_variance(self) -> float:
        """The trace of the output covariance."""
        return frobenius_norm(self.EV) ** 2 / self.n

    def unexplained(self, epsilon: float) -> Array:
        """Return the part of the output moments that a ridge regression does not explain.

        It is (EᵀV)ᵀ diag(nε / (s + nε)) (EᵀV), a sum of non-negative terms.
        """
        s, EV = self._spectrum
        R = namespace(s).sqrt(self.n * epsilon / (s + self.n * epsilon))[:, None] * EV
        return R.T @ R  # one symmetric product, which takes half the time of a general one


def as_operator_kernel(
    kernel: OperatorKernel | Kernel | str | Callable[..., Any] | None,
) -> OperatorKernel:
    """Return an operator-valued kernel; a scalar kernel is multiplied by the identity.

    None stands for an RBF kernel whose length scale is the median distance of the data.

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


def group_by_scalar_kernel(kernels: Sequence[OperatorKernel]) -> list[list[OperatorKernel]]:
    """Group kernels with equal scalar kernels; a kernel that is not separable is a group of one."""
    if len(kernels) == 1:
        return [list(kernels)]
    groups: dict[str, list[OperatorKernel]] = {}
    for i, kernel in enumerate(kernels):
        key = fingerprint(kernel.separated().scalar) if kernel.separable else f"coupled {i}"
        groups.setdefault(key, []).append(kernel)
    return list(groups.values())


def fit_clone(
    kernel: OperatorKernel,
    X: Items,
    V: Array,
    weights: np.ndarray | None,
    centred: bool = False,
) -> Any:
    """Fit a clone of the kernel, and return it; `weights` are only passed to `fit` if given.

    `centred` says whether V are outputs minus their mean, as in a model with an intercept.
    """
    fresh: Any = clone(kernel)
    fit = fresh.fit_centred if centred else fresh.fit
    return fit(X, V) if weights is None else fit(X, V, weights)


def fit_about_means(
    kernel: OperatorKernel, X: Items, V: Array, weights: np.ndarray | None, intercept: bool
) -> Any:
    """Fit a clone of the kernel on outputs V, minus their mean if there is an intercept.

    A kernel that needs the outputs unchanged (`centred_outputs` is False) gets them unchanged.
    """
    centred = intercept and kernel.centred_outputs
    if centred:
        V = V - _mean_weights(V, weights) @ V
    return fit_clone(kernel, X, V, weights, centred)


def centred_gram(K: Array, weights: np.ndarray | None) -> Array:
    """Return the Gram matrix K for features minus their weighted mean."""
    shares = _mean_weights(K, weights)
    K = K - shares @ K
    return K - (K @ shares)[:, None]


def _mean_weights(A: Array, weights: np.ndarray | None) -> Array:
    """Return the weights of the rows of A in their mean, as an array like A; None is equal."""
    w = np.ones(int(A.shape[0])) if weights is None else weights
    return like(w / w.sum(), A)
