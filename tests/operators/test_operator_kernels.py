"""Operator-valued kernels keep their contract, and their fits are those of the matrix in full."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF, Linear, Matern
from mercer.operators import (
    Blocks,
    Covariance,
    CurlFree,
    DivergenceFree,
    Identity,
)
from mercer.testing import check_operator_kernel
from tolerances import IDENTITY


def rotating(A, B):
    """Values that turn with the distance: no scalar kernel times an operator."""
    turn = A[:, None, 0] - B[None, :, 0]
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return np.exp(-(turn**2))[:, :, None, None] * R.transpose(2, 3, 0, 1)


KERNELS = {
    "separable": RBF(1.0) * Covariance(),
    "sum": RBF(1.0) * Covariance() + RBF(2.0) * Identity(),
    "curl-free": CurlFree(1.0),
    "curl-free, of the data's length scale": CurlFree(),
    "curl-free, Matérn": CurlFree(kernel=Matern(1.0, nu=2.5)),
    "divergence-free": DivergenceFree(1.5),
    "divergence-free, Matérn": DivergenceFree(kernel=Matern(1.0, nu=2.5)),
    "both": CurlFree(1.0) + DivergenceFree(2.0) + RBF(1.0) * Covariance(),
    "scaled": 0.5 * CurlFree(1.0) + 2.0 * (0.1 * DivergenceFree(2.0)),
    "function": Blocks(rotating),
    "function and scalar": Blocks(rotating) + Linear(),
}


@pytest.fixture
def data(rng):
    return rng.normal(size=(10, 2)), rng.normal(size=(10, 2))


@pytest.mark.parametrize("name", KERNELS)
def test_contract(name, data):
    check_operator_kernel(KERNELS[name], *data)


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "separable"])
def test_fits_and_left_out_predictions_are_those_of_the_whole_matrix(name, data):
    X, Y = data
    model = KernelDependencyCV(KERNELS[name], alphas=[0.1], fit_intercept=False).fit(X, Y)
    G = model.kernel_.gram(X).blocks().transpose(0, 2, 1, 3).reshape(20, 20)
    coef = np.linalg.solve(G + 0.1 * np.eye(20), Y.ravel())
    assert_allclose(model.coef_.ravel(), coef, atol=IDENTITY)
    once = KernelDependency(KERNELS[name], alpha=0.1, fit_intercept=False).fit(X, Y)
    assert_allclose(once.coef_.ravel(), coef, atol=IDENTITY)
    for i in range(10):
        own = np.arange(2 * i, 2 * i + 2)
        rest = np.setdiff1d(np.arange(20), own)
        c = np.linalg.solve(G[np.ix_(rest, rest)] + 0.1 * np.eye(18), Y.ravel()[rest])
        assert_allclose(model.loo_embed().coordinates[i], G[np.ix_(own, rest)] @ c, atol=IDENTITY)


def test_a_function_that_is_not_finite_is_named(data):
    X, Y = data
    with pytest.raises(ValueError, match="returned NaN"):
        KernelDependency(
            Blocks(lambda A, B: np.full((len(A), len(B), 2, 2), np.nan)), fit_intercept=False
        ).fit(X, Y)


def test_a_function_of_the_wrong_shape_is_named(data):
    X, Y = data
    with pytest.raises(ValueError, match=r"must return shape \(10, 10, 2, 2\)"):
        KernelDependency(Blocks(lambda A, B: np.ones((len(A), len(B)))), fit_intercept=False).fit(
            X, Y
        )


def test_kernels_are_scaled(data):
    X, Y = data
    for kernel in (CurlFree(1.0), CurlFree(1.0) + RBF(2.0) * Covariance(), Blocks(rotating)):
        wanted = KernelDependency(kernel, alpha=0.1, fit_intercept=False).fit(X, Y).predict(X)
        for scaled in (2.0 * kernel, kernel * 2.0):
            assert_allclose(
                KernelDependency(scaled, alpha=0.2, fit_intercept=False).fit(X, Y).predict(X),
                wanted,
            )
    with pytest.raises(ValueError, match="scaled by a positive number, got -1"):
        KernelDependency(-1.0 * CurlFree(1.0), fit_intercept=False).fit(X, Y)
    with pytest.raises(TypeError):
        CurlFree(1.0) * Covariance()
