"""Kernels: similarities of items that are inner products in some feature space.

`k(A, B)` is the kernel matrix of two batches of items, and `k(A)` is the kernel matrix of one
batch. `k.diag(A)` is its diagonal. `fit` computes parameters that depend on data. Sums, products,
multiples and integer powers of kernels are kernels. A custom kernel derives from `Kernel` and
implements one method.
"""

from ._sequences import Alphabet, Codes, restore_container
from .algebra import Product, Sum
from .base import Kernel, Linear, VectorKernel, as_kernel, as_output_kernel
from .capabilities import Features
from .curves import L2, Sobolev
from .distances import squared_distances
from .fields import FieldL2
from .fingerprint import Fingerprint, molecule_graph
from .function import Function, Precomputed
from .graph import ShortestPath, WeisfeilerLehman
from .graph_counts import GraphCounts
from .histograms import ChiSquare, Hellinger, Intersection, Tanimoto
from .labels import Delta, Labels
from .laplacian_regularized import LaplacianRegularized
from .local_window import LocalWindow
from .mahalanobis import Mahalanobis
from .mapped import Mapped, On
from .mass_spectrum import MassSpectrum
from .multiples import Power, Scaled
from .polynomial import Polynomial
from .positions import Positions
from .principal_components import PrincipalComponents
from .rankings import Hamming, Kendall, Spearman
from .rational_quadratic import RationalQuadratic
from .records import UnitVariance
from .spectrum import Spectrum
from .standardized import Smoothed, Standardized
from .stationary import RBF, Laplacian, Matern
from .subsequences import Subsequences
from .tf_idf import TfIdf, Words
from .tree import Productions, SubsetTree, Subtree
from .weighted_degree import WeightedDegree
from .wrappers import Gaussian, Normalized

__all__ = [
    "L2", "RBF", "Alphabet", "ChiSquare", "Codes", "Delta", "Features", "FieldL2", "Fingerprint",
    "Function", "Gaussian",
    "GraphCounts", "Hamming", "Hellinger", "Intersection", "Kendall", "Kernel", "Labels",
    "Laplacian", "LaplacianRegularized", "Linear", "LocalWindow", "Mahalanobis", "Mapped",
    "MassSpectrum", "Matern", "Normalized", "On", "Polynomial", "Positions", "Power",
    "Precomputed", "PrincipalComponents", "Product", "Productions", "RationalQuadratic", "Scaled",
    "ShortestPath", "Smoothed", "Sobolev", "Spearman", "Spectrum", "Standardized", "Subsequences",
    "SubsetTree", "Subtree", "Sum", "Tanimoto", "TfIdf", "UnitVariance", "VectorKernel",
    "WeightedDegree", "WeisfeilerLehman", "Words", "as_kernel", "as_output_kernel",
    "molecule_graph",
    "restore_container", "squared_distances",
]  # fmt: skip
