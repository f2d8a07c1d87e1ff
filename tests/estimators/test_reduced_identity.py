"""The tridiagonal route of a choice is the spectral one, faster."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependencyCV
from mercer.kernels import RBF
from mercer.solvers import LeaveOneOut, cholesky


@pytest.fixture
def pairs(rng):
    X = rng.normal(size=(40, 3))
    X[7] = X[3]
    return X, np.sin(X @ rng.normal(size=(3, 2)))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("output_kernel", [None, RBF(1.0)])
@pytest.mark.parametrize("criterion", ["loo", "gcv"])
def test_equals_the_spectral_route(pairs, output_kernel, criterion, intercept, monkeypatch):
    choice = KernelDependencyCV(
        RBF(1.0),
        output_kernel,
        alphas=[1e-6, 1e-2, 1.0],
        criterion=criterion,
        fit_intercept=intercept,
    )
    general = choice.fit(*pairs).cv_results_["risk"]
    points, predicted = choice.loo_embed().inner(pairs[1]), choice.embed(pairs[0]).inner(pairs[1])
    monkeypatch.setattr(cholesky, "MANY", 10)
    choice.fit(*pairs)
    assert type(choice.fitted_.factorization).__name__ == "Tridiagonal"
    assert_allclose(choice.cv_results_["risk"], general, rtol=1e-6)
    assert_allclose(choice.loo_embed().inner(pairs[1]), points, atol=1e-6)
    assert_allclose(choice.embed(pairs[0]).inner(pairs[1]), predicted, atol=1e-6)
    if not intercept:
        K = RBF(1.0)(pairs[0])
        wanted = np.linalg.solve(K + choice.alpha_ * np.eye(40), K).T
        assert_allclose(choice.embed(pairs[0]).weights, wanted, atol=1e-6)


def test_residuals_equal_refits(pairs):
    X, Y = pairs
    K, alpha = RBF(1.0)(X), 0.01
    smoother = cholesky.TridiagonalSmoother(K.copy(), Y, None)
    residuals = next(LeaveOneOut(smoother).path([alpha]))
    for i in (0, 3, 7, 39):
        rest = np.delete(np.arange(40), i)
        weights = np.linalg.solve(K[np.ix_(rest, rest)] + alpha * np.eye(39), K[rest, i])
        assert_allclose(residuals[i], Y[i] - weights @ Y[rest], atol=1e-9)


def test_a_precomputed_gram_matrix_is_reduced_too(pairs, monkeypatch):
    X, Y = pairs
    wanted = KernelDependencyCV(RBF(1.0), alphas=[0.1]).fit(X, Y).loo_risk_
    monkeypatch.setattr(cholesky, "MANY", 10)
    model = KernelDependencyCV("precomputed", alphas=[0.1]).fit(RBF(1.0)(X), Y)
    assert model.loo_risk_ == pytest.approx(wanted)
