"""Sums whose operators have common eigenvectors, direction by direction."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF, Linear
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix
from mercer.solvers.by_direction import uncoupled_directions
from tolerances import IDENTITY, LEFT_OUT

TOGETHER = {
    "identity and covariance": RBF(0.5) * Identity() + RBF(1.0) * Covariance(),
    "powers": RBF(0.5) * Covariance() + RBF(1.0) * Covariance(0.5) + Linear() * Identity(),
    "identity and matrix": RBF(0.5) * Matrix(np.ones((3, 3))) + RBF(1.0) * (2.0 * Identity()),
}
APART = RBF(0.5) * Covariance() + RBF(1.0) * ConditionalCovariance() + Linear() * Identity()


@pytest.fixture
def data(rng):
    X = rng.uniform(-1, 1, size=(14, 2))
    return X, rng.normal(size=(14, 3)) @ rng.normal(size=(3, 3)) + 5.0


def refitted(kernel, X, Y, alpha, left_out, intercept):
    """The prediction of some examples by the equation of the others, written out."""
    n, q = Y.shape
    rest = np.setdiff1d(np.arange(n), left_out)
    G = kernel.gram(X).blocks().transpose(0, 2, 1, 3).reshape(n * q, n * q)
    own, others = ((np.asarray(i)[:, None] * q + np.arange(q)).ravel() for i in (left_out, rest))
    E = np.tile(np.eye(q), (len(rest), 1)) * intercept
    left = np.block([[G[np.ix_(others, others)] + alpha * np.eye(len(others)), E],
                     [E.T, np.eye(q) * (not intercept)]])  # fmt: skip
    solved = np.linalg.solve(left, np.append(Y.ravel()[others], np.zeros(q)))
    c, b = solved[: len(others)], solved[len(others) :]
    return (G[np.ix_(own, others)] @ c).reshape(-1, q) + b


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", TOGETHER)
def test_as_the_matrix_written_out(name, intercept, data):
    X, Y = data
    parts = {"alpha": 0.1, "fit_intercept": intercept}
    short = KernelDependency(TOGETHER[name], **parts).fit(X, Y)
    assert uncoupled_directions(short.kernel_, X) is not None
    whole = KernelDependency(TOGETHER[name], solver="dense", **parts).fit(X, Y)
    assert_allclose(short.coef_, whole.coef_, atol=1e-9)
    assert_allclose(short.predict(X[:3] + 0.1), whole.predict(X[:3] + 0.1), atol=IDENTITY)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kernel", [*TOGETHER.values(), APART], ids=[*TOGETHER, "apart"])
def test_left_out_predictions_are_refits(kernel, intercept, grouped, data):
    X, Y = data
    groups = np.arange(14) // 3 if grouped else np.arange(14)
    model = KernelDependencyCV(kernel, alphas=[0.1, 1.0], fit_intercept=intercept)
    model.fit(X, Y, groups=groups if grouped else None)
    for group in (0, 2):
        own = np.flatnonzero(groups == group)
        wanted = refitted(model.kernel_, X, Y, model.alpha_, own, intercept)
        assert_allclose(model.loo_predict()[own], wanted, atol=LEFT_OUT)


def test_an_infinite_output_kernel(rng):
    X, Y = rng.normal(size=(9, 2)), rng.normal(size=(9, 2))
    kernel = RBF(1.0) * Identity() + RBF(2.0) * Covariance()
    short = KernelDependency(kernel, RBF(1.0), alpha=0.1, fit_intercept=False).fit(X, Y)
    whole = KernelDependency(kernel, RBF(1.0), alpha=0.1, solver="dense", fit_intercept=False).fit(
        X, Y
    )
    assert_allclose(short.embed(X).inner(Y), whole.embed(X).inner(Y), atol=IDENTITY)


def test_operators_that_do_not_commute_are_told(data):
    X, Y = data
    model = KernelDependency(APART, alpha=0.1, fit_intercept=False).fit(X, Y)
    assert uncoupled_directions(model.kernel_, X) is None


def test_directions_of_equal_weights_share_their_matrix(data):
    X, Y = data
    model = KernelDependency(TOGETHER["identity and matrix"], fit_intercept=False).fit(X, Y)
    _, grams = uncoupled_directions(model.kernel_, X)
    assert sorted(len(gram.columns) for gram in grams) == [1, 2]


def test_a_ridge_near_rounding(data):
    X, Y = data
    model = KernelDependency(TOGETHER["powers"], alpha=1e-15, fit_intercept=False).fit(X, Y)
    assert_allclose(model.predict(X), Y, atol=1e-6)


def test_generalised_cross_validation_and_the_path(data):
    X, Y = data
    model = KernelDependencyCV(TOGETHER["powers"], alphas=[0.1, 1.0], fit_intercept=False).fit(X, Y)
    factorization = model.fitted_.factorization
    first, second = factorization.residuals([0.1, 1.0])
    assert_allclose(next(factorization.residuals([1.0])), second)
    assert not np.allclose(first, second)
    KernelDependencyCV(TOGETHER["powers"], criterion="gcv", fit_intercept=False).fit(X, Y)
