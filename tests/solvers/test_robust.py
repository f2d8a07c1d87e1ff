"""Robust losses: their pieces against definitions, their fits against brute force."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelDependency, KernelDependencyCV
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF
from mercer.losses import EpsilonInsensitive, Huber, Loss, checked_loss, shorten_rows, tau_risk
from mercer.operators import Covariance, Identity, LearnedOperator, Matrix
from tolerances import IDENTITY

N, Q = 25, 3
LOSSES = [Huber(0.4), EpsilonInsensitive(0.3), EpsilonInsensitive(0.0)]
EXACT = {"tol": 1e-10, "max_iter": 100_000}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 2))
    Y = np.sin(X @ rng.normal(size=(2, Q))) + 0.1 * rng.normal(size=(N, Q))
    Y[:3] *= 10
    return X, Y


@given(r=st.floats(0, 10), tau=st.floats(0.05, 20), loss=st.sampled_from(LOSSES))
def test_proximal_steps_minimise_what_they_should(r, tau, loss):
    loss = loss.resolved(None)

    def cost(t):
        return float(loss.value(np.array([abs(t)]))[0]) + tau * (t - r) ** 2

    best = minimize_scalar(cost, bounds=(0, r + 1e-9), method="bounded", options={"xatol": 1e-10})
    got = float(loss.proximal(np.array([r]), tau)[0])
    assert got >= -IDENTITY
    assert cost(got) <= best.fun + 1e-8


def smooth(loss):
    """The loss with its kink rounded off by 1e-9, and its slope over r, for a general minimiser."""
    t = loss.threshold_
    if isinstance(loss, Huber):
        return lambda r: loss.value(r), lambda r: 2 * np.minimum(1, t / np.maximum(r, 1e-300))
    mu = 1e-7
    return (
        lambda r: (np.sqrt((r - t) ** 2 + mu**2) + r - t) / 2,
        lambda r: ((r - t) / np.sqrt((r - t) ** 2 + mu**2) + 1) / 2 / np.maximum(r, 1e-300),
    )


def brute_force(X, Y, B, loss, alpha, intercept):
    """g(x_i) that minimise Σ h(‖g(x_i) - y_i‖) + α‖g‖², by L-BFGS on coefficients."""
    value, slope = smooth(loss)
    s, P = np.linalg.eigh(RBF(1.0)(X))
    U, root = P * np.sqrt(np.maximum(s, 0)), np.linalg.cholesky(B)
    shape = (N, Q)

    def fitted(z):
        return U @ z[: N * Q].reshape(shape) @ root.T + intercept * z[N * Q :]

    def cost(z):
        R = Y - fitted(z)
        r = np.sqrt((R**2).sum(axis=1))
        pull = slope(r)[:, None] * R
        W = z[: N * Q]
        gradient = -(U.T @ pull @ root).ravel() + 2 * alpha * W
        return value(r).sum() + alpha * W @ W, np.r_[gradient, -intercept * pull.sum(axis=0)]

    z = np.zeros(N * Q + Q)
    options = {"maxiter": 3000, "maxfun": 4000, "ftol": 1e-15, "gtol": 1e-9}
    return fitted(minimize(cost, z, jac=True, method="L-BFGS-B", options=options).x)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_fits_are_the_minimisers(alpha, intercept, data):
    X, Y = data
    loss = Huber(0.4, **EXACT)
    B = np.eye(Q) + 0.5
    model = KernelDependency(
        RBF(1.0) * Matrix(B), alpha=alpha, loss=loss, fit_intercept=intercept
    ).fit(X, Y)
    wanted = brute_force(X, Y, B, loss.resolved(None), alpha, intercept)
    assert_allclose(model.predict(X), wanted, rtol=0, atol=1e-5)


def test_insensitive_fits_cost_no_more_than_brute_force(data):
    """A kink stops L-BFGS a little short of the minimum."""
    X, Y = data
    loss, alpha = EpsilonInsensitive(0.3, **EXACT), 0.3
    G = KernelDependency(RBF(1.0), alpha=alpha, loss=loss, fit_intercept=False).fit(X, Y).predict(X)
    found = brute_force(X, Y, np.eye(Q), loss.resolved(None), alpha, False)
    K = RBF(1.0)(X) + 1e-12 * np.eye(N)

    def cost(G):
        r = np.sqrt(((Y - G) ** 2).sum(axis=1))
        return np.maximum(r - 0.3, 0).sum() + alpha * np.trace(G.T @ np.linalg.solve(K, G))

    assert cost(found) * (1 - 1e-3) <= cost(G) <= cost(found) * (1 + 1e-6)


@pytest.mark.parametrize("operator", [Identity(), Covariance()], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_a_threshold_that_none_reaches_is_the_square_loss(operator, intercept, rng):
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, Q))
    square, huber = (
        KernelDependency(RBF(1.0) * operator, alpha=0.1, loss=loss, fit_intercept=intercept)
        .fit(X, Y)
        .predict(X)
        for loss in (None, Huber(1e6, **EXACT))
    )
    assert_allclose(huber, square, rtol=0, atol=1e-8)


@pytest.mark.parametrize("operator", [Identity(), Covariance(), LearnedOperator()], ids=str)
@pytest.mark.parametrize("features", [None, IncompleteCholesky(10)], ids=str)
def test_wrong_outputs_stop_mattering(operator, features, rng):
    """However wrong: ten times and a million times give nearly the same model."""
    X = rng.normal(size=(60, 2))
    truth = np.sin(X @ rng.normal(size=(2, Q)))
    predicted = []
    for factor in (10.0, 1e6):
        Y = truth.copy()
        Y[:6] *= factor
        model = KernelDependency(
            RBF(1.0) * operator, alpha=0.1, loss=Huber(), features=features, fit_intercept=True
        )
        predicted.append(model.fit(X, Y).predict(X))
        assert ((predicted[-1] - truth) ** 2).mean() < 0.1 * (truth**2).mean()
        assert model.loss_.threshold_ < 1.0
    assert_allclose(*predicted, rtol=0, atol=0.05)


def test_rbf_outputs_have_no_wild_residuals(rng):
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    Y[0] *= 100
    square, huber = (
        KernelDependency(RBF(1.0), RBF(1.0), alpha=0.1, loss=loss, fit_intercept=False)
        .fit(X, Y)
        .embed(X)
        for loss in (None, Huber(2.0, **EXACT))
    )
    assert_allclose(huber.inner(Y), square.inner(Y), rtol=0, atol=1e-8)


def test_outputs_that_are_mostly_nothing(rng):
    """Half of the outputs are zero, so that the median length is no scale."""
    X = rng.normal(size=(40, 2))
    Y = np.where(X[:, :1] > 0.3, X + 1.0, 0.0)
    for intercept in (False, True):
        model = KernelDependency(RBF(1.0), alpha=0.1, loss=Huber(), fit_intercept=intercept)
        assert model.fit(X, Y).score(X, Y) > 0.8


def test_weights_refer_to_the_given_outputs(rng):
    X, Y = rng.normal(size=(8, 2)), rng.normal(size=(8, 8))
    points = (
        KernelDependency(RBF(1.0), alpha=0.1, loss=Huber(0.1), fit_intercept=False)
        .fit(X, Y)
        .embed(X)
    )
    assert_allclose(points.weights @ Y, points.coordinates, rtol=0, atol=1e-8)


def test_steps_that_do_not_suffice_are_warned_about(data):
    model = KernelDependency(
        RBF(1.0), alpha=0.01, loss=Huber(0.4, max_iter=2, tol=1e-9), fit_intercept=False
    )
    with pytest.warns(ConvergenceWarning, match="Huber was not solved to tol=1e-09 in 2 steps"):
        model.fit(*data)


def test_the_risk_of_clean_residuals_is_their_mean_square(rng):
    R = rng.normal(size=(50, 20))
    assert tau_risk(R) == pytest.approx((R**2).sum() / 50)
    R[:5] *= 1e6
    assert tau_risk(R) < 2 * (R[5:] ** 2).sum() / 45


def test_outputs_are_shortened_to_three_medians(rng):
    V = rng.normal(size=(30, 4))
    assert_allclose(shorten_rows(V, None), V, rtol=0, atol=0)
    long = np.r_[V, 100 * V[:1]]
    limit = 3 * np.median(np.linalg.norm(long, axis=1))
    got = shorten_rows(long, None)
    assert_allclose(got[:30], V, rtol=0, atol=0)
    assert_allclose(got[30], limit * V[0] / np.linalg.norm(V[0]), rtol=1e-12)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (Huber(-1.0), "delta must be a positive number"),
        (Huber("mean"), 'delta must be a positive number or "median"'),
        (Huber(factor=0), "factor must be a positive number"),
        (Huber(tol=0), "tol must be a positive number"),
        (Huber(max_iter=0), "max_iter must be a positive integer"),
        (EpsilonInsensitive(-0.1), "epsilon must be a positive number"),
    ],
)
def test_parameters_that_make_no_sense(loss, message, data):
    with pytest.raises(ValueError, match=message):
        KernelDependency(loss=loss, fit_intercept=False).fit(*data)


def test_what_is_no_loss(data):
    with pytest.raises(TypeError, match="loss must be None"):
        KernelDependency(loss="huber", fit_intercept=False).fit(*data)
    assert checked_loss(None) is None


def test_a_loss_of_ones_own_says_what_it_lacks():
    class Mine(Loss):
        def __init__(self, max_iter=10, tol=1e-3):
            self.max_iter, self.tol = max_iter, tol

    for missing in (lambda: Mine().value(1.0), lambda: Mine().proximal(1.0, 1.0)):
        with pytest.raises(NotImplementedError, match="Mine must implement"):
            missing()


def test_weights_are_kept_where_left_out_predictions_are_computed_again(data):
    X, Y = data
    model = KernelDependency(RBF(1.0) * Covariance(), alpha=0.1, loss=Huber(0.4))
    model.fit(X, Y, sample_weight=0.5 + np.arange(len(X)) % 4)
    again = pickle.loads(pickle.dumps(model))  # without left-out predictions
    assert_allclose(again.loo_predict(), model.loo_predict(), atol=IDENTITY)


def test_the_risk_of_weights_is_that_of_repeated_rows(data):
    X, Y = data
    counts, labels = 1 + np.arange(len(X)) % 3, np.arange(len(X)) // 3  # folds of equal size
    loss = Huber(0.4, tol=1e-10, max_iter=5000)
    model = KernelDependencyCV(RBF(1.0), alphas=[0.1, 1.0], loss=loss)
    weighted = model.fit(X, Y, groups=labels, sample_weight=counts).cv_results_["risk"]
    X, Y, labels = (np.repeat(A, counts, axis=0) for A in (X, Y, labels))
    assert_allclose(weighted, model.fit(X, Y, groups=labels).cv_results_["risk"], rtol=1e-6)
