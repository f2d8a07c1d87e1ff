"""Kernels: similarity on a set, as an inner product in some feature space.

Every kernel is called on batches of items (`k(A)`, `k(A, B)`), tells its diagonal, settles what
depends on data in `fit`, and takes part in an algebra: sums, products, scalings and whole powers
of kernels are kernels. `Kernel` says what one of your own must implement: a method.
"""

from .algebra import Power, Product, Scaled, Sum
from .base import Kernel, VectorKernel, as_kernel
from .curves import L2, Sobolev
from .function import Function
from .histograms import ChiSquare, Hellinger, Intersection
from .labels import Labels
from .linear import Linear
from .local_window import LocalWindow
from .polynomial import Polynomial
from .positions import Positions
from .precomputed import Precomputed
from .rankings import Hamming, Kendall, Spearman
from .spectrum import Spectrum
from .stationary import RBF, Laplacian, Matern
from .subsequences import Subsequences
from .tanimoto import Tanimoto
from .weighted_degree import WeightedDegree
from .wrappers import Centered, Gaussian, Normalized

__all__ = [
    "L2",
    "RBF",
    "Centered",
    "ChiSquare",
    "Function",
    "Gaussian",
    "Hamming",
    "Hellinger",
    "Intersection",
    "Kendall",
    "Kernel",
    "Labels",
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
    "Sobolev",
    "Spearman",
    "Spectrum",
    "Subsequences",
    "Sum",
    "Tanimoto",
    "VectorKernel",
    "WeightedDegree",
    "as_kernel",
]
