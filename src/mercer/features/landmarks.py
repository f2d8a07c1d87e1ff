"""Feature maps on the span of items: landmarks and kernel principal components."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Array, Items, count, dense, like, namespace
from .._base.linalg import eigh, spectral_norm, times
from .._base.parameters import parameters
from ..kernels import Kernel
from .base import FeatureMap

CENTRING_ITEMS = 256
"""Number of items used to decide how moments are summed; moments are taken about their mean."""
MAGNIFICATION = 1e3
"""Largest magnification of rounding errors by the weights; the errors are then below 2e-13."""


class LandmarkMap(FeatureMap):
    """Base class of the maps a ↦ k(a, landmarks) @ weights, on the span of landmarks."""

    landmarks_: Items
    weights_: Array
    known_items = property(lambda self: self.landmarks_)

    def fit(self, kernel: Kernel, A: Items) -> FeatureMap:
        """Choose the landmarks from the items A; return self."""
        self.fit_transform(kernel, A)
        return self

    def transform(self, A: Items) -> Array:
        """Return k(a, landmarks) @ weights, one row for each item."""
        K, W = self.kernel_(A, self.landmarks_), self.weights_
        return K if W is None else times(K, W)

    @property
    def coefficients(self) -> Array:
        """The weights, one row for each landmark."""
        return self.weights_

    def unweighted(self) -> tuple[FeatureMap, Array | None]:
        """Split off the weights; return (map to the values k(a, landmarks), weights)."""
        return KernelExpansion(self.kernel_, self.landmarks_), self.weights_

    def compose(self, M: Array) -> FeatureMap:
        """Return the map A ↦ transform(A) @ M, with weights @ M on the same landmarks."""
        return KernelExpansion(self.kernel_, self.landmarks_, self.weights_ @ M)

    def expansion(self, C: Array) -> tuple[Array, Items]:
        """Express points with coordinates C by landmarks; return (weights, landmarks)."""
        return C @ self.weights_.T, self.landmarks_


@parameters
class KernelExpansion(LandmarkMap):
    """Feature map with given landmarks and weights; without weights, to kernel values.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import KernelExpansion
    >>> from mercer.kernels import RBF
    >>> X = np.array([[0.0], [1.0]])
    >>> KernelExpansion(RBF(1.0).fit(X), X, np.array([[1.0], [-1.0]])).transform(X).round(2)
    array([[ 0.39],
           [-0.39]])
    """

    kernel: Kernel
    landmarks: Items
    weights: Array | None = None
    kernel_ = property(lambda self: self.kernel)
    """The fitted kernel."""
    landmarks_ = property(lambda self: self.landmarks)
    """The landmarks."""
    weights_ = property(lambda self: self.weights)
    """The weights of the kernel values; None for kernel values themselves."""


def split_last_matrix(map: FeatureMap, A: Items) -> tuple[FeatureMap, Array | None, Array]:
    """Split off the last matrix of a map if that is stable; return map, matrix, coordinates.

    The matrix (the weights of the map) is split off if it magnifies rounding errors only a little,
    see `Gathering`; otherwise the map is unchanged and the matrix is None.
    """
    bare, W = map.unweighted()
    U = dense(bare.transform(A))
    if W is None:
        return map, None, U
    spread = spectral_norm(U - namespace(U).mean(U, axis=0)) ** 2 / U.shape[0]
    if spread * spectral_norm(W) ** 2 <= MAGNIFICATION:
        return bare, W, U
    return map, None, dense(map.transform(A))


class KernelPCA(LandmarkMap):
    """Leading kernel principal components, the output coordinates of Weston et al. (2003).

    Distances are measured in these coordinates.

    Parameters
    ----------
    rank : int, default=None
        The number of components; None keeps all of them.
    center : bool, default=False
        Whether the mean of Φ is subtracted first.

    Examples
    --------
    >>> from mercer.features import KernelPCA
    >>> from mercer.kernels import Linear
    >>> KernelPCA(rank=1).fit_transform(Linear(), [[3.0, 0.0], [0.0, 1.0]]).shape
    (2, 1)
    """

    projects = True
    uses_sample_weight = True
    mean_weights_: Array | None = None
    """Weight of each item in the mean, with sum one; None for equal weights."""

    def __init__(self, rank: int | None = None, center: bool = False):
        self.rank = rank
        self.center = center

    centered = property(lambda self: self.center)

    def fit(self, kernel: Kernel, A: Items, sample_weight: Array | None = None) -> KernelPCA:
        """Compute leading eigenvectors of the Gram matrix, which may be centred and weighted."""
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
        if self.center:  # rounding mixes constants into small components
            P -= roots * (roots.T @ P / float(w.sum()))
        top = slice(-min(self.rank or count(A), count(s)), None)
        self.kernel_, self.landmarks_ = kernel, kernel.check(A, "A")
        self.weights_ = roots * P[:, top] / xp.sqrt(s[top])
        self.mean_ = means @ self.weights_ if self.center else 0.0
        self.mean_weights_ = None if sample_weight is None else shares
        self.trace_error_ = 1.0 - float(xp.sum(s[top]) / xp.sum(s))
        return self

    def transform(self, A: Items) -> Array:
        r"""Return the principal components of the items, centred if `center` is true."""
        return super().transform(A) - self.mean_

    def unweighted(self) -> tuple[FeatureMap, Array | None]:
        """Split off the weights; return (map to k(a, items), weights), (self, None) if centred."""
        return (self, None) if self.center else super().unweighted()

    def compose(self, M: Array) -> FeatureMap:
        """Return the map A ↦ transform(A) @ M."""
        return FeatureMap.compose(self, M) if self.center else super().compose(M)

    def expansion(self, C: Array) -> tuple[Array, Items]:
        """Express points with coordinates C by training items; return (weights, items)."""
        weights, items = super().expansion(C)
        if not self.center:
            return weights, items
        return weights + (
            1.0 / count(items) if self.mean_weights_ is None else self.mean_weights_
        ), items


def check_rank(rank: int | None) -> None:
    """Raise an error unless a rank is a positive integer or None."""
    number = isinstance(rank, int | np.integer) and not isinstance(rank, bool)
    if rank is not None and (not number or rank < 1):
        raise ValueError(f"rank must be a positive integer or None, got {rank!r}.")
