"""Operators, which describe how outputs vary together, and operator-valued kernels.

``kernel * operator`` is the operator-valued kernel :math:`K(x, x') = k(x, x') B`. The operator B
is a matrix, given or computed from the moments of the data (`Moments`).
"""

from .._base.moved import moved_names
from .base import Operator
from .block_gram import BlockGram, DenseGram
from .components import ComponentGram, ComponentKernel, Pointwise
from .coupled import Blocks, CoupledKernel
from .covariance import ConditionalCovariance, Covariance
from .fields import CurlFree, DivergenceFree
from .grids import field_grids, proximity
from .kernel import OperatorKernel
from .learned import ReducedRank, learn_operator
from .local import Boxes, Local
from .matrix import Identity, Matrix
from .mixture import Mixture, mixtures
from .moments import Moments
from .patchwise import Patchwise
from .positionwise import Positionwise
from .separable import Separable, as_operator_kernel
from .slots import Slots
from .sums import OperatorSum

__all__ = [
    "BlockGram", "Blocks", "Boxes", "ComponentGram", "ComponentKernel", "ConditionalCovariance",
    "CoupledKernel", "Covariance", "CurlFree", "DenseGram", "DivergenceFree",
    "Identity", "Local", "Matrix", "Mixture", "Moments",
    "Operator", "OperatorKernel", "OperatorSum", "Patchwise", "Pointwise", "Positionwise",
    "ReducedRank", "Separable", "Slots", "as_operator_kernel", "field_grids",
    "learn_operator", "mixtures", "proximity",
]  # fmt: skip

__getattr__ = moved_names(
    __name__,
    {"Shared": "mercer.fields"}
    | dict.fromkeys(("FromJoint", "JointKernel", "joint"), "experiments.peers"),
)
