import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer.kernels import (
    RBF,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Sum,
)
from tolerances import IDENTITY


@pytest.mark.parametrize("two", [2, 2.0, np.float64(2), np.float32(2), np.int64(2)], ids=repr)
def test_scaling_by_any_real_number(two, rng):
    A = rng.normal(size=(4, 2))
    for scaled in (two * RBF(1.0), RBF(1.0) * two):
        assert isinstance(scaled, Kernel)
        assert_allclose(scaled(A), 2 * RBF(1.0)(A), rtol=0, atol=IDENTITY)


def test_sum_of_a_list(rng):
    A = rng.normal(size=(4, 2))
    total = sum([RBF(1.0), Linear(), Laplacian(2.0)])
    assert isinstance(total, Sum)
    assert_allclose(total(A), RBF(1.0)(A) + Linear()(A) + Laplacian(2.0)(A), rtol=0, atol=IDENTITY)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.array([1, 2]) * RBF(1.0),
        lambda: RBF(1.0) * np.array([1, 2]),
        lambda: RBF(1.0) + 1,
        lambda: 1 + RBF(1.0),
        lambda: RBF(1.0) * None,
        lambda: RBF(1.0) + "rbf",
    ],
)
def test_refused(make):
    with pytest.raises(TypeError):
        make()


def test_a_negative_scale_is_no_kernel():
    with pytest.raises(ValueError, match="scaled by a number ≥ 0, got -1.0"):
        (-1 * RBF(1.0))([[1.0]])


@pytest.mark.parametrize("exponent", [0.5, 0, -1, "2"])
def test_powers_that_need_not_be_kernels(exponent):
    with pytest.raises(ValueError, match="positive integer power"):
        (RBF(1.0) ** exponent)([[1.0]])


def test_hashable():
    k = RBF(1.0)
    assert {k: 1}[k] == 1


def test_nested_parameters_of_an_expression():
    kernel = 2.0 * RBF(1.0) + Normalized(Linear() ** 2)
    kernel.set_params(left__kernel__length_scale=5.0, left__scale=3.0, right__kernel__exponent=4)
    assert (kernel.left.kernel.length_scale, kernel.left.scale) == (5.0, 3.0)
    assert kernel.right.kernel.exponent == 4


def test_fitting_an_expression_leaves_its_parts_as_given(rng):
    part = RBF()
    kernel = part + Gaussian(Linear()) * 2.0
    kernel.fit(rng.normal(size=(5, 2)))
    assert not hasattr(part, "length_scale_")
    assert kernel(rng.normal(size=(3, 2))).shape == (3, 3)
    assert clone(kernel).parts_ is None


def test_properties_pass_through():
    assert (RBF(1.0) + RBF(2.0)).radial and (2 * RBF(1.0)).radial
    assert not (RBF(1.0) + Linear()).radial and (RBF(1.0) * RBF(1.0)).radial
    assert (2 * Linear()).features.inverse and not (0 * Linear()).features.inverse
    assert (Linear() + 3 * Linear()).features.inverse and (Linear() + RBF()).features is None


def test_features_of_an_expression(rng):
    A, B = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    for kernel in (Linear(), 3 * Linear(), Linear() + 3 * Linear()):
        F, G = kernel.features(A), kernel.features(B)
        assert_allclose(F @ G.T, kernel(A, B), rtol=0, atol=IDENTITY)
    scaled = 3 * Linear()
    assert_allclose(scaled.features.inverse(scaled.features(A)), A, rtol=0, atol=IDENTITY)


def test_capabilities_are_decided_before_a_fit_and_used_after_it():
    kernel = RBF() * Matern(nu=2.5) + 2.0 * RBF()
    assert kernel.radial and kernel.radial.curvature and kernel.fourier and kernel.item_gradient
    for use in (kernel.radial.value, kernel.radial.slope, kernel.radial.curvature):
        with pytest.raises(ValueError, match="call fit"):
            use(np.zeros(1))
    with pytest.raises(ValueError, match="call fit"):
        kernel.fourier.sample(np.random.RandomState(0), (1, 2))


def test_vectors_of_unequal_length_are_named():
    with pytest.raises(ValueError, match="first batch has 1 features, the second 2"):
        RBF(1.0)([[1.0]], [[1.0, 2.0]])


def test_kernels_read_as_one_would_write_them():
    assert str(RBF(np.float64(2.0))) == "RBF(length_scale=2.0)"
    assert str(0.5 * RBF(np.float64(2.0)) + Linear()) == "(0.5 * RBF(length_scale=2.0) + Linear())"
    assert "RBF" in (RBF(1.0) + Linear())._repr_html_()
