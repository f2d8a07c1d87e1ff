"""Curl-free and divergence-free kernels: their formulas, their fields, what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF, Laplacian, Matern, RationalQuadratic
from mercer.operators import CurlFree, DivergenceFree
from mercer.operators.fields import FieldGram
from tolerances import DERIVATIVE, IDENTITY

POTENTIALS = [
    None,
    Matern(1.3, nu=2.5),
    RationalQuadratic(1.3, 0.7),
    2.0 * RBF(1.0) + RBF(0.5) * RBF(2.0),
]


def jacobian(field, x, step=1e-5):
    """∂g_p/∂x_r by central differences."""
    steps = step * np.eye(len(x))
    return np.stack([(field(x + e) - field(x - e)) / (2 * step) for e in steps], axis=1)


def fitted(kernel, d, rng):
    X, Y = rng.uniform(-1, 1, size=(15, d)), rng.normal(size=(15, d))
    model = KernelDependency(kernel, alpha=0.1, fit_intercept=False).fit(X, Y)
    return lambda x: model.predict(x[None])[0]


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_curl_free_fields_have_no_curl(d, potential, rng):
    J = jacobian(fitted(CurlFree(1.0, potential), d, rng), rng.uniform(-1, 1, size=d))
    assert_allclose(J, J.T, atol=DERIVATIVE)
    assert abs(np.trace(J)) > 1e-3


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_divergence_free_fields_have_no_divergence(d, potential, rng):
    J = jacobian(fitted(DivergenceFree(1.0, potential), d, rng), rng.uniform(-1, 1, size=d))
    assert abs(np.trace(J)) < DERIVATIVE
    assert np.abs(J - J.T).max() > 1e-3


@pytest.mark.parametrize("d", [2, 3])
def test_values_are_the_formulas(d, rng):
    A, B, ell = rng.normal(size=(4, d)), rng.normal(size=(3, d)), 1.7
    kernels = [Kernel(ell).fit(A, A) for Kernel in (CurlFree, DivergenceFree)]
    curl, div = (kernel.gram(A, B).blocks() for kernel in kernels)
    for i in range(4):
        for j in range(3):
            delta = (A[i] - B[j]) / ell
            phi, outer = np.exp(-0.5 * delta @ delta), np.outer(delta, delta)
            assert_allclose(curl[i, j], phi * (np.eye(d) - outer), atol=IDENTITY)
            other = phi * (outer + (d - 1 - delta @ delta) * np.eye(d)) / (d - 1)
            assert_allclose(div[i, j], other, atol=IDENTITY)


def test_the_matern_of_infinite_smoothness_is_the_gaussian(rng):
    X = rng.normal(size=(5, 3))
    for Kernel in (CurlFree, DivergenceFree):
        one, other = Kernel(1.2), Kernel(kernel=Matern(1.2, nu=np.inf))
        values = (k.fit(X, X).gram(X).matrix() for k in (one, other))
        assert_allclose(*values, atol=IDENTITY)


@pytest.mark.parametrize("d", [2, 5, 9])
@pytest.mark.parametrize("multiple", [True, False])
def test_products_in_few_and_in_many_dimensions(d, multiple, rng):
    A, B = rng.normal(size=(140, d)), rng.normal(size=(6, d))
    outer = rng.normal(size=(140, 6))
    isotropic = -0.7 if multiple else rng.normal(size=(140, 6))
    gram = FieldGram(A, B, isotropic, outer)
    G, D = gram.matrix(), rng.normal(size=(6 * d, 2))
    assert_allclose(gram.apply(D), G @ D, atol=IDENTITY)
    assert_allclose(gram.some_columns(np.array([5, 0, 3])), G[:, [5, 0, 3]], atol=IDENTITY)


def test_points_far_from_the_origin_keep_their_digits(rng):
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    near = KernelDependency(CurlFree(1.0), alpha=0.1, fit_intercept=False).fit(X, Y)
    far = KernelDependency(CurlFree(1.0), alpha=0.1, fit_intercept=False).fit(X + 1e5, Y)
    assert_allclose(far.predict(X + 1e5), near.predict(X), atol=1e-8)


def test_the_median_is_settled_and_nested_parameters_are_reached(rng):
    X = rng.normal(size=(12, 2))
    model = KernelDependency(CurlFree(), fit_intercept=False).fit(X, X)
    assert_allclose(model.kernel_.potential_.length_scale_, RBF().fit(X).length_scale_)
    assert (
        KernelDependency(CurlFree(), fit_intercept=False)
        .set_params(kernel__length_scale=2.0)
        .kernel.length_scale
        == 2
    )
    KernelDependency(CurlFree(kernel=Matern(1.0, 2.5)), fit_intercept=False).set_params(
        kernel__kernel__length_scale=2.0
    )


def test_refusals(rng):
    X = rng.normal(size=(8, 2))
    with pytest.raises(ValueError, match="X has 2 dimensions, y has 3"):
        KernelDependency(CurlFree(), fit_intercept=False).fit(X, rng.normal(size=(8, 3)))
    with pytest.raises(ValueError, match="zero in one dimension"):
        KernelDependency(DivergenceFree(), fit_intercept=False).fit(X[:, :1], X[:, :1])
    for rough in (Laplacian(1.0), Matern(1.0, nu=0.5), Matern(1.0, nu=1.5)):
        with pytest.raises(ValueError, match="takes second derivatives of its kernel"):
            KernelDependency(CurlFree(kernel=rough), fit_intercept=False).fit(X, X)
    with pytest.raises(ValueError, match="length_scale must be a positive number"):
        KernelDependency(DivergenceFree(-1.0), fit_intercept=False).fit(X, X)


def test_knowing_that_there_are_no_sources_helps():
    rng = np.random.default_rng(0)
    X, T = rng.uniform(-2, 2, size=(80, 2)), rng.uniform(-2, 2, size=(200, 2))

    def swirl(X):
        return np.stack([-X[:, 1], X[:, 0]], 1) * np.exp(-(X**2).sum(axis=1, keepdims=True))

    Y = swirl(X) + 0.02 * rng.normal(size=X.shape)
    errors = []
    for Kernel in (RBF, DivergenceFree):
        model = KernelDependencyCV(
            [Kernel(s) for s in (0.7, 1.2)], alphas=[1e-3, 1e-2, 0.1], fit_intercept=False
        )
        errors.append(((model.fit(X, Y).predict(T) - swirl(T)) ** 2).mean())
    assert errors[1] < 0.75 * errors[0]


@pytest.mark.parametrize("kind", [CurlFree, DivergenceFree])
def test_the_scale_of_a_potential_does_not_count(kind, rng):
    X, Y = rng.uniform(-1, 1, size=(15, 2)), rng.normal(size=(15, 2))
    wanted = KernelDependency(kind(1.0), alpha=0.1).fit(X, Y).predict(X)
    for potential in (1.0 * RBF(1.0), 3.0 * RBF(1.0), RBF(np.sqrt(2.0)) * RBF(np.sqrt(2.0))):
        model = KernelDependency(kind(kernel=potential), alpha=0.1).fit(X, Y)
        assert_allclose(model.predict(X), wanted, atol=IDENTITY)
