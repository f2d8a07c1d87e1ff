"""Kernels: similarity on a set, as an inner product in some feature space.

Every kernel is called on batches of items (`k(A)`, `k(A, B)`), tells its diagonal, settles what
depends on data in `fit`, and takes part in an algebra: sums, products, scalings and whole powers
of kernels are kernels. `Kernel` says what one of your own must implement: a method.
"""

from .algebra import Power, Product, Scaled, Sum
from .base import Kernel, VectorKernel, as_kernel
from .function import Function
from .linear import Linear
from .local_window import LocalWindow
from .polynomial import Polynomial
from .positions import Positions
from .precomputed import Precomputed
from .spectrum import Spectrum
from .stationary import RBF, Laplacian, Matern
from .subsequences import Subsequences
from .weighted_degree import WeightedDegree
from .wrappers import Centered, Gaussian, Normalized

__all__ = [
    "RBF",
    "Centered",
    "Function",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "LocalWindow",
    "Matern",
    "Normalized",
    "Polynomial",
    "Positions",
    "Power",
    "Precomputed",
    "Product",
    "Scaled",
    "Spectrum",
    "Subsequences",
    "Sum",
    "VectorKernel",
    "WeightedDegree",
    "as_kernel",
]
