"""Histogram kernels against their sums, written out."""

import numpy as np
import pytest

from mercer import KernelDependency
from mercer.decoders import Direct
from mercer.kernels import ChiSquare, Gaussian, Hellinger, Intersection
from mercer.testing import check_decoder, check_kernel

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.full(6, 0.5), size=10)
P[0, 2] = 0.0
KERNELS = [Hellinger(), ChiSquare(), Intersection()]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_contract(kernel):
    check_kernel(kernel, np.vstack([P, P[:1], 7 * P[:2], np.zeros((1, 6))]))
    check_kernel(Gaussian(kernel, 0.5), P)


@pytest.mark.parametrize(
    ("kernel", "term"),
    [
        (Hellinger(), lambda a, b: np.sqrt(a * b)),
        (ChiSquare(), lambda a, b: 2 * a * b / (a + b) if a + b else 0.0),
        (Intersection(), min),
    ],
)
def test_against_the_sum(kernel, term):
    K = [[sum(term(a, b) for a, b in zip(p, q, strict=True)) for q in P] for p in P]
    np.testing.assert_allclose(kernel(P), K, atol=1e-12)
    large, small = np.array([[1e17, 0.0, 3e16]]), np.array([[2.0, 1.0, 0.25], [1e-9, 0.0, 0.0]])
    K = [[sum(term(a, b) for a, b in zip(large[0], q, strict=True)) for q in small]]
    np.testing.assert_allclose(kernel(large, small), K, rtol=1e-14)


def test_direct_recovers_a_histogram():
    check_decoder(Direct(), Hellinger(), P)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_negative_entries_are_refused(kernel):
    bad = P.copy()
    bad[4, 1] = -0.25
    with pytest.raises(ValueError, match=r"A\[4\] has a negative entry"):
        kernel(bad)
    with pytest.raises(ValueError, match=r"y\[4\] has a negative entry"):
        KernelDependency(output_kernel=kernel).fit(P, bad)
