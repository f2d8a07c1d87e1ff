"""The base class of feature maps: finite coordinates in which a kernel is an inner product."""

from __future__ import annotations

from math import nan
from typing import Any

from sklearn.base import BaseEstimator

from .._base.arrays import Array, Items, is_foreign, namespace
from .._base.errors import NotSupported
from ..kernels import Kernel


class FeatureMap(BaseEstimator):
    """Map to finite coordinates, such that transform(A) @ transform(B).T ≈ kernel(A, B).

    A custom map implements `fit` and `transform`; `mercer.testing.check_feature_map` checks it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import IncompleteCholesky
    >>> from mercer.kernels import RBF
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> rows = IncompleteCholesky(8).fit(RBF(0.5), X).transform(X)
    >>> rows.shape, bool(abs(rows @ rows.T - RBF(0.5)(X)).max() < 1e-3)
    ((50, 8), True)
    """

    projects = False
    """Whether distances are those of the coordinates, as for finite features and kernel PCA."""
    centered = False
    """Whether the coordinates are those of Φ minus its mean."""
    depends_on_data: Any = True
    """Whether the coordinates change with the items that the map is fitted on."""
    uses_sample_weight = False
    """Whether `fit` takes a `sample_weight`, on which the coordinates depend."""
    rank: Any = None
    """The requested number of coordinates; None where the map or the tolerance determines it."""
    trace_error_ = nan
    """The error tr(K - UUᵀ) / tr K of the coordinates of the fitted items; NaN if unknown."""

    kernel_: Kernel
    known_items: Items = None
    """Items that the map was fitted on, as its kernel checked them; None if it keeps none."""

    def fit(self, kernel: Kernel, A: Items) -> FeatureMap:
        """Choose the coordinates for a fitted kernel from sample items A; return self."""
        raise NotImplementedError(f"{type(self).__name__} must implement fit(kernel, A)")

    def transform(self, A: Items) -> Array:
        """Return the coordinates of the items A, one row for each item."""
        raise NotImplementedError(f"{type(self).__name__} must implement transform(A)")

    def fit_transform(self, kernel: Kernel, A: Items) -> Array:
        """Fit the map to the items A, and return their coordinates, one row for each."""
        return self.fit(kernel, A).transform(A)

    def sqnorms(self, A: Items) -> Array:
        r"""Return the squared norm :math:`\lVert \Phi(a) \rVert^2` of each item.

        If the map `projects`, this is the squared norm of the item's coordinates.
        """
        if not self.projects:
            return self.kernel_.diag(A)
        U = self.transform(A)
        return namespace(U).sum(U * U, axis=1)

    def compose(self, M: Array) -> FeatureMap:
        """Return the map A ↦ transform(A) @ M."""
        return Composed(self, M)

    def unweighted(self) -> tuple[FeatureMap, Array | None]:
        """Split off the last matrix; return (map without it, matrix), (self, None) without one.

        Moments of the bare map, summed over many rows, become those of the whole map by one
        product at the end instead of one for every row.
        """
        return self, None

    @property
    def coefficients(self) -> Array | None:
        """The matrix by which the map multiplies last; None if there is none."""
        return None

    def expansion(self, C: Array) -> tuple[Array, Items]:
        r"""Return weights W and items a_j such that Σ_j W_ij Φ(a_j) has the coordinates C[i]."""
        raise NotSupported(
            f"{type(self).__name__} coordinates cannot be written as a sum over outputs, which "
            "this decoder or these weights need: use features built on items, such as Nystroem."
        )

    def kernel_features(self, C: Array) -> Array:
        """Convert points with coordinates C to finite features of the kernel."""
        weights, items = self.expansion(C)
        return weighted_features(weights, self.kernel_, items)


def weighted_features(weights: Array, kernel: Kernel, items: Items) -> Array:
    """Return weights @ (features of the items), from sparse features if the kernel has them."""
    features = kernel.features
    if features.sparse is None or is_foreign(weights):
        return weights @ features(items)
    return weights @ features.rows(items)


def check_width(found: int, expected: int, kernel: Kernel) -> None:
    """Raise a ValueError unless `found` features are as many as the `expected` ones of the fit."""
    if found != expected:
        raise ValueError(
            f"these items have {found} features under {kernel}, but {expected} features are "
            "expected, as in the items that were fitted."
        )


class Composed(FeatureMap):
    """The feature map a ↦ (map(a) - mean) @ matrix.

    Parameters
    ----------
    map
        A fitted feature map.
    matrix
        The matrix that is applied last; None for no matrix.
    mean
        The mean that is subtracted before: a linear model then does not depend on the origin.
    dual
        The dual coefficients from which `matrix` was computed, if known.
    """

    def __init__(
        self, map: FeatureMap, matrix: Array = None, mean: Array = None, dual: Array = None
    ):
        self.map = map
        self.matrix = matrix
        self.mean = mean
        self.dual = dual

    def transform(self, A: Items) -> Array:
        """Return (coordinates under `map` - mean) @ matrix, one row for each item."""
        U = self.map.transform(A)
        U = U if self.mean is None else U - self.mean
        return U if self.matrix is None else U @ self.matrix

    @property
    def known_items(self) -> Items:
        """The items of the inner map."""
        return self.map.known_items

    @property
    def coefficients(self) -> Array:
        """The dual coefficients, one row per training item, if known; else `matrix`."""
        return self.matrix if self.dual is None else self.dual

    def compose(self, M: Array) -> FeatureMap:
        """Return the map A ↦ transform(A) @ M, with the two matrices multiplied."""
        return Composed(self.map, M if self.matrix is None else self.matrix @ M, self.mean)
