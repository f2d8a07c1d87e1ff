"""vjp, diag_vjp and slope against central differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    RBF,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
)
from naive import numerical_gradient
from tolerances import DERIVATIVE

KERNELS = [
    Linear(),
    Polynomial(1),
    Polynomial(3, gamma=0.5, coef0=2.0),
    RBF(1.5),
    Matern(1.5, nu=1.5),
    Matern(1.5, nu=2.5),
    Matern(1.5, nu=np.inf),
    RationalQuadratic(1.5),
    RationalQuadratic(1.5, 0.6) * RBF(2.0),
    Normalized(Polynomial(2)),
    Normalized(RBF(1.0) + Linear()),
    Gaussian(Linear(), 2.0),
    Gaussian(Polynomial(2), 5.0),
    RBF(1.5) + Linear(),
    RBF(1.5) * Linear(),
    0.3 * RBF(1.5),
    Linear() ** 3,
    2 * (RBF(1.0) + 0.5 * Linear() ** 2) * RBF(3.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_vjp(kernel, rng):
    A, B, C = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), rng.normal(size=(4, 5))
    assert kernel.item_gradient
    wanted = numerical_gradient(lambda A: (C * kernel(A, B)).sum(), A)
    assert_allclose(kernel.item_gradient.vjp(A, B, C), wanted, rtol=DERIVATIVE, atol=DERIVATIVE)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_diag_vjp(kernel, rng):
    A, c = rng.normal(size=(4, 3)), rng.normal(size=4)
    wanted = numerical_gradient(lambda A: (c * kernel.diag(A)).sum(), A)
    assert_allclose(kernel.item_gradient.diag_vjp(A, c), wanted, rtol=DERIVATIVE, atol=DERIVATIVE)


RADIAL = [kernel for kernel in KERNELS if kernel.radial]


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_slope(kernel):
    D2 = np.array([0.1, 0.5, 2.0, 5.0])

    def value(D2):
        return np.array([kernel([[0.0]], [[d]])[0, 0] for d in np.sqrt(D2)])

    wanted = -(value(D2 + 1e-5) - value(D2 - 1e-5)) / 2e-5
    assert_allclose(kernel.radial.slope(D2), wanted, rtol=DERIVATIVE, atol=DERIVATIVE)


def test_which_are_radial():
    assert len(RADIAL) == 7
    assert not Gaussian(Linear(), 1.0).radial  # of the distance in another space


@pytest.mark.parametrize("kernel", [Laplacian(1.0), Matern(1.0, nu=0.5)], ids=str)
def test_no_derivative(kernel):
    assert not kernel.item_gradient and not kernel.radial
