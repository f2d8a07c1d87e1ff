import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from mercer.operators import Covariance, Moments
from mercer.solvers import ConjugateGradient, ridge


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    U = sparse.random_array((40, 25), density=0.2, rng=rng, format="csr")
    V = np.eye(4)[rng.integers(0, 4, size=40)]
    return U, V


def test_identity_is_ridge_regression(data):
    U, V = data
    dense = U.toarray()
    expected = np.linalg.solve(dense.T @ dense + 0.3 * np.eye(25), dense.T @ V)
    coef = ConjugateGradient(tolerance=1e-10).solve(U, V, 0.3)
    np.testing.assert_allclose(coef, expected, atol=1e-8)


def test_diagonal_operator_agrees_with_the_spectral_solver(data):
    U, V = data
    moments = Moments.of(U.toarray(), V)
    B = Covariance(0.5).matrix(moments)
    expected = ridge(moments, B, 0.3)
    coef = ConjugateGradient(tolerance=1e-10).solve(U, V, 0.3, np.diag(np.array(B)))
    np.testing.assert_allclose(coef, expected, atol=1e-8)


def test_a_direction_without_variance_is_not_learnt(data):
    U, V = data
    coef = ConjugateGradient().solve(U, V, 0.3, np.array([1.0, 0.0, 1.0, 1.0]))
    assert np.all(coef[:, 1] == 0)
    assert np.isfinite(coef).all()


def test_too_few_rounds_are_said(data):
    U, V = data
    with pytest.warns(ConvergenceWarning, match="1 rounds"):
        ConjugateGradient(tolerance=1e-12, rounds=1).solve(U, V, 1e-6)
