"""Operators: how the outputs couple, and the operator-valued kernels that they make.

``scalar kernel * operator`` reads as the paper writes it: K(x, x') = k(x, x') B. All operators of
the paper follow from the same three moments of the data (`Moments`).
"""

from .base import Operator
from .block_gram import BlockGram, DenseGram, Slots
from .coupled import Blocks, CoupledKernel
from .covariance import ConditionalCovariance, Covariance
from .identity import Identity
from .kernel import OperatorKernel
from .learned import LearnedOperator
from .matrix import Matrix
from .mixture import Mixture, mixtures
from .moments import Moments
from .separable import OperatorSum, Separable, as_operator_kernel

__all__ = [
    "BlockGram",
    "Blocks",
    "ConditionalCovariance",
    "CoupledKernel",
    "Covariance",
    "DenseGram",
    "Identity",
    "LearnedOperator",
    "Matrix",
    "Mixture",
    "Moments",
    "Operator",
    "OperatorKernel",
    "OperatorSum",
    "Separable",
    "Slots",
    "as_operator_kernel",
    "mixtures",
]
