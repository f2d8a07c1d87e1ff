"""What node potentials are made of: kernel values against all places, or coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from ..._arrays import host
from ..._plan import require_exact
from ...features import FeatureMap
from ...features.landmarks import Spanned
from ...kernels import Kernel
from .dual import Point

SQUARES = 3.0
"""Matrices of the size of the Gram matrix that making it takes."""


@dataclass(frozen=True)
class Span:
    """The places that a model learns from, under a fitted kernel.

    Attributes
    ----------
    kernel, map, vectors
        The kernel; the fitted map to coordinates, None for the kernel as it is; the places.
    rows
        The Gram matrix of the places, or their coordinates.
    """

    kernel: Kernel
    map: FeatureMap | None
    vectors: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, features: FeatureMap | None, vectors: np.ndarray) -> Span:
        """Make the rows; refuse a Gram matrix that has no room."""
        if features is None:
            require_exact(len(vectors), SQUARES, "places")
            rows, map = kernel.checked_gram(vectors), None
        else:
            map = clone(features)
            rows = map.fit_transform(kernel, vectors)
        return cls(kernel, map, vectors, np.ascontiguousarray(host(rows), dtype=np.float64))

    @property
    def gram(self) -> bool:
        """Whether the rows are the Gram matrix."""
        return self.map is None

    def potentials(self, point: Point) -> FeatureMap:
        """The node potentials as a map from vectors; places without weight are left out."""
        if self.map is not None:
            return self.map.compose(point.W.T)
        used = np.any(point.A != 0, axis=1)
        used = np.flatnonzero(used) if used.any() else np.array([0])
        return Spanned(self.kernel, self.vectors[used], point.A[used])
