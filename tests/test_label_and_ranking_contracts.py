"""Label sets and rankings keep the contracts of every part."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Assignment, Borda, Candidates, Kemeny, Threshold
from mercer.kernels import Gaussian, Hamming, Kendall, Labels, Linear, Spearman, Tanimoto
from mercer.testing import check_decoder, check_kernel, check_structured_estimator

RNG = np.random.default_rng(0)
SETS = [["a", "b"], ["c"], [], ["a", "c"], ["b"], ["a", "b", "c"]]
ROWS = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]])
COUNTS = RNG.integers(0, 4, size=(8, 5))
RANKS = np.stack([RNG.permutation(5) for _ in range(10)])
PARTIAL = np.where(RNG.random(RANKS.shape) < 0.2, np.nan, RANKS // 2)

KERNELS = [
    (Labels(), SETS),
    (Labels(), csr_array(ROWS)),
    (Labels(Tanimoto()), SETS),
    (Gaussian(Labels(Tanimoto())), SETS),
    (Tanimoto(), COUNTS),
    *(
        (kernel, ranks)
        for kernel in (Kendall(), Spearman(), Hamming())
        for ranks in (RANKS, PARTIAL)
    ),
    (Gaussian(Kendall()), RANKS),
]
DECODERS = [
    (Threshold(), Labels(), SETS),
    (Threshold(), Labels(), csr_array(ROWS)),
    (Threshold(metric="subset"), Linear(), ROWS),
    (Candidates(), Labels(Tanimoto()), SETS),
    (Candidates(), Labels(), csr_array(ROWS)),
    (Candidates(), Kendall(), RANKS),
    (Kemeny(), Kendall(), RANKS),
    (Borda(), Kendall(), RANKS),
    (Borda(), Spearman(), RANKS),
    (Assignment(), Spearman(), RANKS),
    (Assignment(), Hamming(), RANKS),
]


@pytest.mark.parametrize(("kernel", "items"), KERNELS, ids=str)
def test_kernels(kernel, items):
    check_kernel(kernel, items)


@pytest.mark.parametrize(("decoder", "kernel", "outputs"), DECODERS, ids=str)
def test_decoders(decoder, kernel, outputs):
    check_decoder(decoder, kernel, outputs)


@pytest.mark.parametrize(
    ("kernel", "X", "y"),
    [
        (Labels(), np.linspace(0, 1, 6)[:, None], SETS),
        (Kendall(), np.linspace(0, 1, 10)[:, None], RANKS),
        (Hamming(), np.linspace(0, 1, 10)[:, None], RANKS),
    ],
    ids=str,
)
@pytest.mark.parametrize("estimator", [KernelDependency, KernelDependencyCV])
def test_estimators(estimator, kernel, X, y):
    check_structured_estimator(estimator(output_kernel=kernel), X, y)
