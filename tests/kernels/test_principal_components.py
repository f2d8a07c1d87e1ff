"""Kernels on principal components, against scikit-learn's PCA."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from mercer import KernelDependency
from mercer.kernels import RBF, Linear, PrincipalComponents
from mercer.kernels import principal_components as module


@pytest.mark.parametrize("shape", [(40, 6), (12, 30)])
@pytest.mark.parametrize("variance", [0.5, 0.9, 0.99])
def test_components_are_those_of_scikit_learn(shape, variance):
    X = np.random.default_rng(0).normal(size=shape) * np.logspace(0, -2, shape[1])
    kernel, pca = PrincipalComponents(RBF(1.0), variance).fit(X), PCA(variance).fit(X)
    assert kernel.components_.shape == pca.components_.shape
    np.testing.assert_allclose(kernel(X), RBF(1.0)(pca.transform(X)), atol=1e-12)


def test_all_components_leave_differences_unchanged():
    X = np.random.default_rng(0).normal(size=(10, 25))
    kernel = PrincipalComponents(RBF(3.0), 1.0).fit(X)
    assert kernel.components_.shape == (9, 25)
    np.testing.assert_allclose(kernel(X), RBF(3.0)(X), atol=1e-12)


def test_components_of_many_rows_are_those_of_a_sample(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 3))
    monkeypatch.setattr(module, "MOST_ROWS", 20)
    once, again = (PrincipalComponents(Linear(), 1.0).fit(X).components_ for _ in range(2))
    np.testing.assert_array_equal(once, again)
    np.testing.assert_allclose(once @ once.T, np.eye(3), atol=1e-12)


def test_equal_rows_and_a_wrong_fraction():
    kernel = PrincipalComponents(RBF(1.0)).fit(np.ones((4, 3)))
    np.testing.assert_array_equal(kernel(np.ones((2, 3))), 1.0)
    for variance in (0.0, 1.5, "most"):
        with pytest.raises((TypeError, ValueError), match="variance"):
            PrincipalComponents(RBF(1.0), variance).fit(np.eye(3))


def test_fields_are_compared_by_their_leading_waves():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 20)
    X = rng.normal(size=(60, 1)) * np.sin(3 * x) + 0.1 * rng.normal(size=(60, 20))
    Y = np.sin(3 * X @ np.sin(3 * x)[:, None] / 10)
    errors = [
        np.abs(KernelDependency(k, alpha=1e-3).fit(X[:40], Y[:40]).predict(X[40:]) - Y[40:]).mean()
        for k in (PrincipalComponents(RBF(1.0), 0.5), RBF(1.0))
    ]
    assert errors[0] < 0.5 * errors[1]
