"""Operators: how the outputs couple, and the operator-valued kernels that they make.

``scalar kernel * operator`` reads as the paper writes it: K(x, x') = k(x, x') B. All operators of
the paper follow from the same three moments of the data (`Moments`).
"""

from .base import Operator
from .covariance import ConditionalCovariance, Covariance
from .identity import Identity
from .matrix import Matrix
from .moments import Moments
from .separable import OperatorKernel, OperatorSum, Separable, as_operator_kernel

__all__ = [
    "ConditionalCovariance",
    "Covariance",
    "Identity",
    "Matrix",
    "Moments",
    "Operator",
    "OperatorKernel",
    "OperatorSum",
    "Separable",
    "as_operator_kernel",
]
