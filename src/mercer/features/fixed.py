from __future__ import annotations

from typing import Any

from .._arrays import Array, Items
from ..kernels import Kernel
from .base import FeatureMap


class Fixed(FeatureMap):
    """A feature map that was fitted before and stays as it is, whatever it is fitted on.

    What was drawn at random (landmarks, frequencies) is drawn once: a model that is factored again
    is the same model.

    Parameters
    ----------
    map
        The fitted map.
    """

    def __init__(self, map: Any):
        self.map = map

    def __sklearn_clone__(self) -> Fixed:
        return self

    @property
    def kernel_(self) -> Kernel:  # type: ignore[override]
        """The kernel that the map was fitted for."""
        return self.map.kernel_

    @property
    def projects(self) -> bool:  # type: ignore[override]
        """As the map."""
        return self.map.projects

    def fit(self, kernel: Kernel, A: Items) -> Fixed:
        """Nothing to choose."""
        return self

    def transform(self, A: Items) -> Array:
        """As the map."""
        return self.map.transform(A)

    def sqnorms(self, A: Items) -> Array:
        """As the map."""
        return self.map.sqnorms(A)

    def compose(self, M: Array) -> FeatureMap:
        """As the map."""
        return self.map.compose(M)

    def expansion(self, C: Array) -> tuple[Array, Items]:
        """As the map."""
        return self.map.expansion(C)

    def kernel_features(self, C: Array) -> Array:
        """As the map."""
        return self.map.kernel_features(C)
