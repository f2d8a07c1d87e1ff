from __future__ import annotations

from .._base.arrays import Array, Items
from ..kernels import Kernel
from .base import FeatureMap, check_width


class CenteredFeatures(FeatureMap):
    """The map (features(a) - mean) @ matrix: a linear model that ignores the origin.

    Parameters
    ----------
    kernel
        A fitted kernel with finite features.
    mean
        The mean that is subtracted from the features.
    matrix
        The matrix that is applied last; None for no matrix.
    dual
        The dual coefficients from which `matrix` was computed, if known.
    """

    def __init__(
        self, kernel: Kernel, mean: Array, matrix: Array | None = None, dual: Array | None = None
    ):
        self.kernel = self.kernel_ = kernel
        self.mean = mean
        self.matrix = matrix
        self.dual = dual

    def transform(self, A: Items) -> Array:
        """Return (features(a) - mean) @ matrix, one row for each item."""
        F = self.kernel_.features(self.kernel_.check(A, "A"))
        check_width(F.shape[1], self.mean.shape[0], self.kernel_)
        return F - self.mean if self.matrix is None else (F - self.mean) @ self.matrix

    @property
    def coefficients(self) -> Array:
        """The dual coefficients, one row for each training item; if unknown, the matrix."""
        return self.matrix if self.dual is None else self.dual

    def compose(self, M: Array) -> FeatureMap:
        """Return the map A ↦ transform(A) @ M, with the two matrices multiplied."""
        matrix = M if self.matrix is None else self.matrix @ M
        return CenteredFeatures(self.kernel_, self.mean, matrix)
