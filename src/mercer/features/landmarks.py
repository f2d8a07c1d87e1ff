"""Coordinates spanned by items: any landmarks, kernel PCA."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, Items, count, dense, like, namespace
from .._linalg import spectral_norm, times
from .._parameters import parameters
from ..kernels import Kernel
from ..symmetric import eigh
from .base import FeatureMap

FEW = 256
"""Items by which it is decided how moments are summed, and whose mean they are taken about."""
STEADY = 1e3
"""How much weights may magnify the rounding of moments of kernel values: 1e3 ε ≈ 2e-13."""


class LandmarkMap(FeatureMap):
    """Coordinates k(a, landmarks) @ weights: those of the projection on the landmarks' span."""

    landmarks_: Items
    weights_: Array

    def fit(self, kernel: Kernel, A: Items) -> FeatureMap:
        """Choose the landmarks, as `fit_transform` does."""
        self.fit_transform(kernel, A)
        return self

    def transform(self, A: Items) -> Array:
        """Kernel values against the landmarks, times the weights."""
        K, W = self.kernel_(A, self.landmarks_), self.weights_
        return K if W is None else times(K, W)

    @property
    def coefficients(self) -> Array:
        """The weights."""
        return self.weights_

    def unweighted(self) -> tuple[FeatureMap, Array | None]:
        """Bare kernel values, and the weights."""
        return Spanned(self.kernel_, self.landmarks_), self.weights_

    def compose(self, M: Array) -> FeatureMap:
        """The same landmarks under other weights: one product at prediction, not two."""
        return Spanned(self.kernel_, self.landmarks_, self.weights_ @ M)

    def expansion(self, C: Array) -> tuple[Array, Items]:
        """The basis vectors are sums over the landmarks, with these weights."""
        return C @ self.weights_.T, self.landmarks_


@parameters
class Spanned(LandmarkMap):
    """Given landmarks under given weights; without weights kernel values, as they are."""

    kernel: Kernel
    landmarks: Items
    weights: Array | None = None
    kernel_ = property(lambda self: self.kernel)
    landmarks_ = property(lambda self: self.landmarks)
    weights_ = property(lambda self: self.weights)


def bare_map(map: FeatureMap, A: Items) -> tuple[FeatureMap, Array | None, Array]:
    """The map to sum moments of, the matrix to turn their sums by, and the coordinates of a few.

    The bare map and its weights where those magnify little of what is lost by rounding (see
    `Gathering`), else the map as it is and None.
    """
    bare, W = map.unweighted()
    U = dense(bare.transform(A))
    if W is None:
        return map, None, U
    spread = spectral_norm(U - namespace(U).mean(U, axis=0)) ** 2 / U.shape[0]
    if spread * spectral_norm(W) ** 2 <= STEADY:
        return bare, W, U
    return map, None, dense(map.transform(A))


class KernelPCA(LandmarkMap):
    """The leading `rank` principal components: Weston's coordinates of the outputs.

    Distances are taken in these coordinates, as in Weston et al. (2003).

    Parameters
    ----------
    rank
        The number of components; None keeps all of them.
    center
        Whether the mean of Φ is taken off first.

    Examples
    --------
    >>> from mercer.features import KernelPCA
    >>> from mercer.kernels import Linear
    >>> KernelPCA(rank=1).fit_transform(Linear(), [[3.0, 0.0], [0.0, 1.0]]).shape
    (2, 1)
    """

    projects = True
    weighs = True
    shares_: Array | None = None
    """The weight of each item in the mean, the weights of all being one; None for equal ones."""

    def __init__(self, rank: int | None = None, center: bool = False):
        self.rank = rank
        self.center = center

    centered = property(lambda self: self.center)

    def fit(self, kernel: Kernel, A: Items, sample_weight: Any = None) -> KernelPCA:
        """One eigendecomposition of the (centred, weighted) Gram matrix, the leading part kept."""
        check_rank(self.rank)
        K = kernel.checked_gram(A)
        xp, w = namespace(K), np.ones(count(A)) if sample_weight is None else sample_weight
        shares, roots = like(w / w.sum(), K), like(np.sqrt(w)[:, None], K)
        means = shares @ K
        if self.center:
            K = K - means
            K -= (K @ shares)[:, None]
        s, P = eigh(roots * K * roots.T, "Gram matrix", overwrite=True)
        assert P is not None
        if not count(s):
            same = "the same for" if self.center else "zero on"
            raise ValueError(f"{kernel} is {same} all items: there is no component to keep.")
        if self.center:  # next to a tiny eigenvalue rounding mixes the constant in
            P -= roots * (roots.T @ P / float(w.sum()))
        top = slice(-min(self.rank or count(A), count(s)), None)
        self.kernel_, self.landmarks_ = kernel, kernel.check(A, "A")
        self.weights_ = roots * P[:, top] / xp.sqrt(s[top])
        self.mean_ = means @ self.weights_ if self.center else 0.0
        self.shares_ = None if sample_weight is None else shares
        self.trace_error_ = 1.0 - float(xp.sum(s[top]) / xp.sum(s))
        return self

    def transform(self, A: Items) -> Array:
        """The components of Φ(a), or of Φ(a) minus the mean."""
        return super().transform(A) - self.mean_

    def unweighted(self) -> tuple[FeatureMap, Array | None]:
        """As it is where the mean must come off last."""
        return (self, None) if self.center else super().unweighted()

    def compose(self, M: Array) -> FeatureMap:
        """As it is where the mean must come off first."""
        return FeatureMap.compose(self, M) if self.center else super().compose(M)

    def expansion(self, C: Array) -> tuple[Array, Items]:
        """As a sum over all training items; of centred components, with the mean put back."""
        weights, items = super().expansion(C)
        if not self.center:
            return weights, items
        return weights + (1.0 / count(items) if self.shares_ is None else self.shares_), items


def check_rank(rank: int | None) -> None:
    """A rank is a positive whole number or None."""
    number = isinstance(rank, int | np.integer) and not isinstance(rank, bool)
    if rank is not None and (not number or rank < 1):
        raise ValueError(f"rank must be a positive whole number or None, got {rank!r}.")
