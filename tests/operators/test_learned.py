"""The operator learnt with the fit, against literal objectives and brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF, Linear
from mercer.operators import Covariance, Identity, LearnedOperator, Mixture, Moments, Operator
from mercer.solvers import ridge
from tolerances import IDENTITY

N, P, Q = 15, 4, 3


@pytest.fixture
def UV(rng):
    return rng.normal(size=(N, P)), rng.normal(size=(N, Q))


def objective(U, V, C, B, alpha, penalty, power=1.0):
    """Σ‖v - Cu‖² + α tr(Cᵀ B⁻¹ C) + μ tr B^p, written out."""
    misfit = ((V - U @ C.T) ** 2).sum()
    values = np.linalg.eigvalsh(B)
    return misfit + alpha * np.trace(C.T @ np.linalg.solve(B, C)) + penalty * (values**power).sum()


def solved(U, V, B, alpha):
    moments = Moments.of(U, V)
    return ridge(moments, B, alpha).T


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_the_objective_never_rises_and_is_the_one_stated(alpha, power, UV):
    U, V = UV
    operator = LearnedOperator(penalty=0.7, power=power).learn(Moments.of(U, V), alpha)
    history = np.array(operator.objective_)
    assert len(history) == operator.n_iter_ > 1
    assert (np.diff(history) <= IDENTITY * history[0]).all()
    B = operator.B_ + 1e-12 * np.eye(Q)
    stated = objective(U, V, solved(U, V, B, alpha), B, alpha, 0.7, power)
    assert_allclose(stated, history[-1], rtol=1e-4)  # the last half-round falls a little further


@given(
    seed=st.integers(0, 1000), alpha=st.floats(1e-3, 1e3), power=st.sampled_from([0.5, 1.0, 2.0])
)
def test_the_objective_never_rises_on_any_data(seed, alpha, power):
    rng = np.random.default_rng(seed)
    moments = Moments.of(rng.normal(size=(8, 3)), rng.normal(size=(8, 4)))
    history = LearnedOperator(power=power, max_iter=2000).learn(moments, alpha).objective_
    assert (np.diff(history) <= IDENTITY * history[0]).all()


def test_the_trace_penalty_is_nuclear_norm_regression(UV):
    """The convex problem that the rounds solve, minimised without them."""
    U, V = UV
    alpha, penalty = 2.0, 0.5

    def nuclear(C):
        C = C.reshape(Q, P)
        singular = np.linalg.svd(C, compute_uv=False).sum()
        return ((V - U @ C.T) ** 2).sum() + 2 * np.sqrt(alpha * penalty) * singular

    operator = LearnedOperator(penalty, tol=1e-12, max_iter=5000).learn(Moments.of(U, V), alpha)
    C = solved(U, V, operator.B_, alpha)
    best = minimize(nuclear, C.ravel(), method="Powell", options={"xtol": 1e-9, "ftol": 1e-12})
    assert nuclear(C) <= best.fun * (1 + 1e-6)
    assert nuclear(C) == pytest.approx(operator.objective_[-1], rel=1e-4)


def test_only_a_product_of_ridge_and_penalty_matters(rng):
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, Q))
    one, other = (
        KernelDependency(
            RBF(1.0) * LearnedOperator(penalty, power=0.5, tol=1e-12, max_iter=5000),
            alpha=alpha,
            fit_intercept=False,
        )
        .fit(X, Y)
        .predict(X)
        for penalty, alpha in ((1.0, 2.0), (2.0, 0.5))
    )
    assert_allclose(one, other, rtol=0, atol=1e-4)


def test_directions_that_tasks_share_are_found(rng):
    X = rng.normal(size=(200, 5))
    shared = rng.normal(size=(1, 8))
    Y = X @ rng.normal(size=(5, 1)) @ shared + 0.3 * rng.normal(size=(200, 8))
    model = KernelDependency(Linear() * LearnedOperator(), alpha=100.0, fit_intercept=False).fit(
        X, Y
    )
    values, vectors = np.linalg.eigh(model.kernel_.operator.B_)
    assert values[-2] < 0.2 * values[-1]
    assert abs(vectors[:, -1] @ shared[0]) / np.linalg.norm(shared) > 0.99


def test_too_few_rounds_are_warned_about(UV):
    with pytest.warns(ConvergenceWarning, match="still learning after 2 rounds"):
        LearnedOperator(max_iter=2).learn(Moments.of(*UV), 100.0)


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (LearnedOperator(penalty=0.0), "penalty must be a positive number"),
        (LearnedOperator(power=-1), "power must be a positive number"),
        (LearnedOperator(tol="small"), "tol must be a positive number"),
        (LearnedOperator(max_iter=0), "max_iter must be a positive integer"),
    ],
)
def test_parameters_that_make_no_sense(operator, message, UV):
    with pytest.raises(ValueError, match=message):
        operator.learn(Moments.of(*UV), 1.0)


def test_it_has_no_matrix_before_it_has_learnt(UV):
    with pytest.raises(ValueError, match="before it has learnt one"):
        LearnedOperator().matrix(Moments.of(*UV))


@pytest.mark.parametrize(
    "make",
    [
        lambda: LearnedOperator() + Identity(),
        lambda: Identity() + LearnedOperator(),
        lambda: 2.0 * LearnedOperator(),
        lambda: LearnedOperator() * 2.0,
    ],
)
def test_it_stands_alone(make):
    with pytest.raises(TypeError, match="stands alone"):
        make()


def test_it_is_not_mixed(UV):
    with pytest.raises(TypeError, match="mixes operators that the moments give"):
        Mixture([Covariance(), LearnedOperator()], [0.5, 0.5]).matrix(Moments.of(*UV))


class AtTheRidge(Operator):
    """B = α I, a custom operator that is learnt at the ridge."""

    learnt = True

    def learn(self, moments, alpha):
        learnt = clone(self)
        learnt.B_ = alpha * np.eye(len(moments.ones))
        return learnt


def test_a_custom_operator_that_is_learnt(UV):
    model = KernelDependencyCV(RBF(1.0) * AtTheRidge()).fit(*UV)
    assert_allclose(model.kernel_.operator.B_, model.alpha_ * np.eye(Q), rtol=0, atol=0)
    plain = KernelDependency(RBF(1.0), alpha=1.0).fit(*UV)
    assert_allclose(model.predict(UV[0]), plain.predict(UV[0]), rtol=0, atol=IDENTITY)
