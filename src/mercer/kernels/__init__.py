"""Kernels: similarity on a set, as an inner product in some feature space.

Every kernel is called on batches of items (`k(A)`, `k(A, B)`), tells its diagonal, settles what
depends on data in `fit`, and takes part in an algebra: sums, products, scalings and whole powers
of kernels are kernels. `Kernel` says what one of your own must implement: a method.
"""

from .algebra import Power, Product, Scaled, Sum
from .base import Kernel, VectorKernel, as_kernel
from .fingerprint import Fingerprint
from .function import Function
from .graph import ShortestPath, WeisfeilerLehman
from .linear import Linear
from .mass_spectrum import MassSpectrum
from .molecules import molecule_graph
from .polynomial import Polynomial
from .precomputed import Precomputed
from .stationary import RBF, Laplacian, Matern
from .tree import SubsetTree, Subtree
from .wrappers import Centered, Gaussian, Normalized

__all__ = [
    "RBF",
    "Centered",
    "Fingerprint",
    "Function",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "MassSpectrum",
    "Matern",
    "Normalized",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "Scaled",
    "ShortestPath",
    "SubsetTree",
    "Subtree",
    "Sum",
    "VectorKernel",
    "WeisfeilerLehman",
    "as_kernel",
    "molecule_graph",
]
