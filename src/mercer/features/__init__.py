"""Feature maps: finite coordinates of a kernel, exact or of low rank.

`transform(A) @ transform(B).T` equals the kernel, exactly or approximately. The ridge equation is
solved in such coordinates, of the inputs (`features=`) and of the outputs (`output_features=`).
"""

from .base import FeatureMap
from .explicit import Explicit
from .fourier import RandomFourier, RandomOperatorFourier
from .landmarks import KernelPCA
from .nystroem import Nystroem
from .pivoted import IncompleteCholesky, RandomPivotedCholesky

__all__ = [
    "Explicit", "FeatureMap", "IncompleteCholesky", "KernelPCA",
    "Nystroem", "RandomFourier", "RandomOperatorFourier", "RandomPivotedCholesky",
]  # fmt: skip
