"""Kernels k(R a, R b) after a linear map R: inner products on a grid, and blurred images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from .._base.arrays import Array, Items, host, is_foreign, like, namespace
from .base import VectorKernel
from .capabilities import Features, Fourier, ItemGradient


@dataclass(frozen=True)
class LinearMap:
    """The linear map f ↦ R f with a matrix R, applied to the rows of an array.

    Attributes
    ----------
    matrix
        R; its diagonal where it is diagonal.
    """

    matrix: np.ndarray

    def __call__(self, A: Array) -> Array:
        """Return R a for each row a of A."""
        R = like(self.matrix, A)
        return A * R if R.ndim == 1 else A @ R.T

    def adjoint(self, F: Array) -> Array:
        """Return Rᵀ f for each row f of F, with R the matrix of the map."""
        R = like(self.matrix, F)
        return F * R if R.ndim == 1 else F @ R

    def inverse(self, F: Array) -> Array:
        """Solve R a = f for each row f of F, with R diagonal or upper triangular; 0 / 0 is 0."""
        R = self.matrix
        if R.ndim == 1:
            return F / like(np.where(R > 0, R, 1.0), F)
        solved = scipy.linalg.solve_triangular(R, host(F).T).T
        return like(solved, F) if is_foreign(F) else solved

    def gradient(self, inner: ItemGradient) -> ItemGradient:
        """Return the item gradient of the kernel k(R a, R b), given that of k, `inner`."""
        return ItemGradient(
            lambda A, B, C: self.adjoint(inner.vjp(self(A), self(B), C)),
            lambda A, c: self.adjoint(inner.diag_vjp(self(A), c)),
        )

    def fourier(self, inner: Fourier) -> Fourier:
        """Return the spectral measure of the kernel k(R a, R b), given that of k, `inner`.

        Its frequencies are Rᵀω, because ⟨ω, R(a - b)⟩ = ⟨Rᵀω, a - b⟩.
        """
        return Fourier(lambda *drawn: self.adjoint(inner.sample(*drawn)), False, inner.height)


class InnerProduct(VectorKernel):
    """Base class of kernels k(f, g) = ⟨R f, R g⟩ on arrays of one shape, with a matrix R."""

    shape_ = tuple[int, ...]()
    root_: np.ndarray | None = None
    depends_on_data = False
    invertible = True
    """Whether R has an inverse."""

    def _root(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the matrix R of ⟨R f, R g⟩ for arrays of a shape, or its diagonal if diagonal."""
        raise NotImplementedError

    def fit(self, A: Items) -> InnerProduct:
        """Store the matrix R and the item shape, which `features.inverse` restores."""
        self.shape_ = _shape(self.check(A, "A"))
        self.root_ = self._root(self.shape_)
        return self

    def _map(self, shape: tuple[int, ...]) -> LinearMap:
        """Return the linear map to features for items of a shape; the fitted one if it exists."""
        return LinearMap(self._root(shape) if self.root_ is None else self.root_)

    @property
    def features(self) -> Features:
        """The features R f of items f, with an inverse if the matrix R has one."""

        def transform(A: Items) -> Array:
            """Return R f for each item f."""
            A = self.check(A, "A")
            return self._map(_shape(A))(namespace(A).reshape(A, (A.shape[0], -1)))

        def invert(F: Array) -> Array:
            """Return the items f with the given rows R f, in the shape of the items of the fit."""
            shape = self.shape_ or _shape(F)
            return namespace(F).reshape(self._map(shape).inverse(F), (F.shape[0], *shape))

        return Features(transform, inverse=invert if self.invertible else None)


def _shape(A: Array) -> tuple[int, ...]:
    """Return the shape of one item of a batch."""
    return tuple(int(size) for size in A.shape[1:])
