from __future__ import annotations

from .._arrays import Array, Items, take
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

    trace_error_ = 0.0

    def fit(self, kernel: Kernel, A: Items) -> Explicit:
        """Nothing to choose."""
        if not kernel.finite:
            raise ValueError(f"{kernel} has no finite features: leave its features at None.")
        self.kernel_ = kernel
        self.width_ = int(kernel.features(take(kernel.check(A, "A"), [0])).shape[1])
        return self

    def transform(self, A: Items) -> Array:
        """The kernel's own features."""
        F = self.kernel_.features(A)
        if F.shape[1] != self.width_:
            raise ValueError(
                f"these items have {F.shape[1]} features under {self.kernel_}, but "
                f"{self.width_} features are expected, as in the items that were fitted."
            )
        return F

    def kernel_features(self, C: Array) -> Array:
        """The coordinates are the features."""
        return C
