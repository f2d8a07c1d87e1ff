"""Feature maps: vectors whose inner products equal or approximate a kernel.

`transform(A) @ transform(B).T` is the exact or approximate kernel matrix of `A` and `B`. Pass a
feature map of the inputs as `features=`, and of the outputs as `output_features=`.
"""

from .base import FeatureMap
from .explicit import Explicit
from .fourier import RandomFourier
from .landmarks import KernelExpansion, KernelPCA
from .nystroem import Nystroem
from .pivoted import IncompleteCholesky, RandomPivotedCholesky

__all__ = [
    "Explicit", "FeatureMap", "IncompleteCholesky", "KernelExpansion", "KernelPCA",
    "Nystroem", "RandomFourier", "RandomPivotedCholesky",
]  # fmt: skip
