from __future__ import annotations

from .._arrays import Array, Items
from ..kernels import Kernel
from .base import FeatureMap


class Explicit(FeatureMap):
    """The finite features that the kernel itself has, such as the vectors of a linear kernel.

    Examples
    --------
    >>> from mercer.features import Explicit
    >>> from mercer.kernels import Linear
    >>> Explicit().fit_transform(4.0 * Linear(), [[1.0, 2.0]])
    array([[2., 4.]])
    """

    def fit(self, kernel: Kernel, A: Items) -> Explicit:
        """Nothing to choose."""
        if not kernel.finite:
            raise ValueError(f"{kernel} has no finite features: leave output_features=None.")
        self.kernel_ = kernel
        return self

    def transform(self, A: Items) -> Array:
        """The kernel's own features."""
        return self.kernel_.features(A)

    def kernel_features(self, C: Array) -> Array:
        """The coordinates are the features."""
        return C
