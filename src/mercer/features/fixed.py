from __future__ import annotations

from operator import attrgetter
from typing import Any

from .._arrays import Items
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

    def fit(self, kernel: Kernel, A: Items) -> Fixed:
        """Nothing to choose."""
        return self


for _name in ("kernel_", "projects", "transform", "sqnorms", "compose", "expansion",
              "kernel_features"):  # fmt: skip
    setattr(Fixed, _name, property(attrgetter(f"map.{_name}")))  # all as the map has it
