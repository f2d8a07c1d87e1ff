"""Matrices from what is known of tasks, and mixtures, against the penalties they stand for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF, Linear
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    Identity,
    Matrix,
    Mixture,
    Moments,
    mixtures,
)
from tolerances import IDENTITY, ROOT

Q = 4
CHAIN = np.diag(np.ones(Q - 1), 1) + np.diag(np.ones(Q - 1), -1)


@pytest.fixture
def g(rng):
    """Values of q tasks at some points, the norm being Σ_st (B⁻¹)_st ⟨g_s, g_t⟩."""
    return rng.normal(size=(Q, 6))


def norm(operator, g):
    return np.trace(g.T @ np.linalg.solve(operator.B, g))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_mean_regularized_is_its_penalty(share, g):
    mean = g.mean(axis=0)
    wanted = ((g - mean) ** 2).sum() / (1 - share)
    wanted += Q * (mean**2).sum() / (1 - share + Q * share)
    assert_allclose(norm(Matrix.mean_regularized(Q, share), g), wanted, rtol=IDENTITY)


def test_graph_is_its_penalty(g, rng):
    A = rng.uniform(size=(Q, Q))
    A = A + A.T
    pairs = sum(A[s, t] * ((g[s] - g[t]) ** 2).sum() for s in range(Q) for t in range(s))
    wanted = pairs + 0.3 * (g**2).sum()
    assert_allclose(norm(Matrix.graph(A, ridge=0.3), g), wanted, rtol=IDENTITY)
    assert_allclose(Matrix.graph(csr_array(A), 0.3).B, Matrix.graph(A, 0.3).B, rtol=IDENTITY)


def test_similarity_is_its_penalty(g, rng):
    S = rng.uniform(size=(Q, Q))
    S = S + S.T
    pairs = sum(S[s, t] * ((g[s] - g[t]) ** 2).sum() for s in range(Q) for t in range(Q)) / 2
    wanted = pairs + sum(S[t, t] * (g[t] ** 2).sum() for t in range(Q))
    assert_allclose(norm(Matrix.similarity(S), g), wanted, rtol=ROOT)


def test_similarity_with_a_constant_diagonal_is_the_graph():
    assert_allclose(
        Matrix.similarity(CHAIN + 0.3 * np.eye(Q)).B,
        Matrix.graph(CHAIN, ridge=0.3).B,
        rtol=0,
        atol=IDENTITY,
    )


def test_one_task_for_all_is_their_mean(rng):
    X, Y = rng.normal(size=(9, 2)), rng.normal(size=(9, Q))
    predicted = (
        KernelDependency(RBF(1.0) * Matrix.mean_regularized(Q, 1.0), fit_intercept=False)
        .fit(X, Y)
        .predict(X)
    )
    assert_allclose(predicted, predicted[:, :1] @ np.ones((1, Q)), rtol=0, atol=IDENTITY)


def test_neighbours_lend_each_other_strength(rng):
    """The same task four times over, as a graph knows and the identity does not."""
    X = rng.normal(size=(30, 3))
    f = X @ rng.normal(size=3)
    Y = f[:, None] + 1.0 * rng.normal(size=(30, Q))
    X_new = rng.normal(size=(200, 3))
    truth = X_new @ np.linalg.lstsq(X, f, rcond=None)[0]

    def error(operator):
        predicted = (
            KernelDependency(Linear() * operator, alpha=1.0, fit_intercept=False)
            .fit(X, Y)
            .predict(X_new)
        )
        return ((predicted - truth[:, None]) ** 2).mean()

    assert error(Matrix.graph(10 * np.ones((Q, Q)), ridge=0.1)) < 0.6 * error(Identity())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Matrix.graph(np.ones((2, 3))), "adjacency must be a square matrix"),
        (lambda: Matrix.graph([[0, 1], [2, 0]]), "adjacency is not symmetric"),
        (lambda: Matrix.graph([[0, -1], [-1, 0]]), "adjacency must hold finite weights ≥ 0"),
        (lambda: Matrix.graph([[0, np.nan], [np.nan, 0]]), "adjacency must hold finite weights"),
        (lambda: Matrix.graph(CHAIN, ridge=0.0), "ridge must be a positive number"),
        (lambda: Matrix.similarity(np.ones(3)), "similarity must be a square matrix"),
        (lambda: Matrix.mean_regularized(0), "tasks must be a positive integer"),
        (lambda: Matrix.mean_regularized(3, 1.5), "share must lie between 0"),
        (lambda: mixtures([]), "nothing to mix"),
        (lambda: mixtures([Identity()], steps=0), "steps must be a positive integer"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# -- mixtures ---------------------------------------------------------------------------------


@pytest.fixture
def moments(rng):
    return Moments.of(rng.normal(size=(12, 3)), rng.normal(size=(12, Q)) * [1, 2, 3, 4])


def test_a_mixture_is_its_formula(moments):
    parts = [Identity(), Covariance(), ConditionalCovariance(0.1)]
    vv = np.array(moments.vv)
    C, D = (np.array(part.matrix(moments)) for part in parts[1:])
    C, D = (B * np.trace(vv) / np.trace(B @ vv) for B in (C, D))
    wanted = 0.2 * np.eye(Q) + 0.3 * C + 0.5 * D
    got = Mixture(parts, [0.2, 0.3, 0.5]).matrix(moments)
    assert_allclose(got, wanted, rtol=0, atol=IDENTITY)


def test_pure_mixtures_are_their_operators(moments):
    first, *_, last = mixtures([Identity(), Covariance()], steps=3)
    vv, C = np.array(moments.vv), np.array(Covariance().matrix(moments))
    wanted = C * np.trace(vv) / np.trace(C @ vv)
    assert_allclose(first.matrix(moments), wanted, rtol=0, atol=IDENTITY)
    assert_allclose(last.matrix(moments), np.ones(Q), rtol=0, atol=IDENTITY)


def test_all_mixtures_of_a_grid():
    found = mixtures([Identity(), Covariance(), ConditionalCovariance()], steps=4)
    assert len({mixture.weights for mixture in found}) == 15
    assert all(sum(mixture.weights) == pytest.approx(1) for mixture in found)


def test_leave_one_out_chooses_a_mixture(rng):
    X = rng.normal(size=(40, 4))
    Y = X @ rng.normal(size=(4, 1)) @ rng.normal(size=(1, 6)) + 0.5 * rng.normal(size=(40, 6))
    kernels = [Linear() * operator for operator in mixtures([Identity(), Covariance()], steps=4)]
    model = KernelDependencyCV(kernels, alphas=np.logspace(-2, 3, 6), fit_intercept=False).fit(X, Y)
    assert len(model.cv_results_["risk"]) == 30
    assert model.kernel_.operator.weights[1] > 0  # the outputs share one direction
    assert model.loo_risk_ == pytest.approx(model.cv_results_["risk"].min())


@pytest.mark.parametrize("weights", [[0.5], [0.5, 0.6], [-0.5, 1.5], [np.nan, 1.0]])
def test_weights_that_are_no_mixture(weights, moments):
    with pytest.raises(ValueError, match="weight"):
        Mixture([Identity(), Covariance()], weights).matrix(moments)
