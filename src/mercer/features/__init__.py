"""Feature maps: finite coordinates of a kernel, exact or of low rank.

`transform(A) @ transform(B).T` gives the kernel back, exactly or nearly. The ridge equation is
solved in such coordinates, of the inputs (`features=`) and of the outputs (`output_features=`).
"""

from .base import Coordinates, FeatureMap, check_map
from .centered import CenteredFeatures
from .explicit import Explicit
from .fixed import Fixed
from .fourier import RandomFourier
from .landmarks import Exact, KernelPCA, Spanned
from .nystroem import Nystroem
from .operator_fourier import RandomOperatorFourier
from .pivoted import IncompleteCholesky, RandomPivotedCholesky
from .triangular import Triangular

__all__ = [
    "CenteredFeatures",
    "Coordinates",
    "Exact",
    "Explicit",
    "FeatureMap",
    "Fixed",
    "IncompleteCholesky",
    "KernelPCA",
    "Nystroem",
    "RandomFourier",
    "RandomOperatorFourier",
    "RandomPivotedCholesky",
    "Spanned",
    "Triangular",
    "check_map",
]
