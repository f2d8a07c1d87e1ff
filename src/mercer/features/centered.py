from __future__ import annotations

from .._arrays import Array, Items
from ..kernels import Kernel
from .base import FeatureMap, check_width


class CenteredFeatures(FeatureMap):
    """Finite features less a mean, times a matrix: a linear model that does not mind its origin.

    Parameters
    ----------
    kernel
        A fitted kernel with finite features.
    mean
        What is taken off the features.
    matrix
        What follows; None for nothing.
    dual
        The dual coefficients that `matrix` was made of, where they are known.
    """

    def __init__(
        self, kernel: Kernel, mean: Array, matrix: Array | None = None, dual: Array | None = None
    ):
        self.kernel = self.kernel_ = kernel
        self.mean = mean
        self.matrix = matrix
        self.dual = dual

    def transform(self, A: Items) -> Array:
        """(features(a) - mean) @ matrix."""
        F = self.kernel_.features(self.kernel_.check(A, "A"))
        check_width(F.shape[1], self.mean.shape[0], self.kernel_)
        return F - self.mean if self.matrix is None else (F - self.mean) @ self.matrix

    @property
    def coefficients(self) -> Array:
        """The dual coefficients, one row a training item; else the matrix."""
        return self.matrix if self.dual is None else self.dual

    def compose(self, M: Array) -> FeatureMap:
        """Both matrices in one."""
        matrix = M if self.matrix is None else self.matrix @ M
        return CenteredFeatures(self.kernel_, self.mean, matrix)
