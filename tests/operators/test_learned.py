"""The learnt operator, against literal objectives and brute force."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF, Labels, Linear
from mercer.operators import Identity, Matrix, Moments, Operator, learn_operator
from mercer.operators.learned import learning_rounds
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


def learnt(U, V, alpha, penalty=1.0, power=1.0, rounds=2000):
    """The matrix after a number of rounds, and the objective after each."""
    found = list(islice(learning_rounds(Moments.of(U, V), alpha, penalty, power), rounds))
    return found[-1][0], np.array([value for _, value in found])


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_the_objective_never_rises_and_is_the_one_stated(alpha, power, UV):
    U, V = UV
    B, history = learnt(U, V, alpha, 0.7, power, 300)
    assert (np.diff(history) <= IDENTITY * history[0]).all()
    B = B + 1e-12 * np.eye(Q)
    stated = objective(U, V, solved(U, V, B, alpha), B, alpha, 0.7, power)
    assert_allclose(stated, history[-1], rtol=1e-4)  # the last half-round falls a little further


@given(
    seed=st.integers(0, 1000), alpha=st.floats(1e-3, 1e3), power=st.sampled_from([0.5, 1.0, 2.0])
)
def test_the_objective_never_rises_on_any_data(seed, alpha, power):
    rng = np.random.default_rng(seed)
    _, history = learnt(rng.normal(size=(8, 3)), rng.normal(size=(8, 4)), alpha, 1.0, power, 50)
    assert (np.diff(history) <= IDENTITY * history[0]).all()


def test_the_trace_penalty_is_nuclear_norm_regression(UV):
    """The convex problem that the rounds solve, minimised without them."""
    U, V = UV
    alpha, penalty = 2.0, 0.5

    def nuclear(C):
        C = C.reshape(Q, P)
        singular = np.linalg.svd(C, compute_uv=False).sum()
        return ((V - U @ C.T) ** 2).sum() + 2 * np.sqrt(alpha * penalty) * singular

    B, history = learnt(U, V, alpha, penalty, rounds=5000)
    C = solved(U, V, B, alpha)
    best = minimize(nuclear, C.ravel(), method="Powell", options={"xtol": 1e-9, "ftol": 1e-12})
    assert nuclear(C) <= best.fun * (1 + 1e-6)
    assert nuclear(C) == pytest.approx(history[-1], rel=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_moments_are_those_of_centred_pairs(intercept, UV):
    U, V = UV
    operator = learn_operator(
        Linear(), U, V, 0.5, penalty=0.7, fit_intercept=intercept, max_iter=2000, tol=1e-13
    )
    if intercept:
        U, V = U - U.mean(axis=0), V - V.mean(axis=0)
    assert isinstance(operator, Matrix)
    assert_allclose(operator.B, learnt(U, V, 0.5, 0.7)[0], rtol=0, atol=1e-6)


def test_only_a_product_of_ridge_and_penalty_matters(rng):
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, Q))

    def predicted(penalty, alpha):
        operator = learn_operator(
            RBF(1.0), X, Y, alpha, penalty=penalty, power=0.5, fit_intercept=False, tol=1e-12,
            max_iter=5000,
        )  # fmt: skip
        model = KernelDependency(RBF(1.0) * operator, alpha=alpha, fit_intercept=False)
        return model.fit(X, Y).predict(X)

    assert_allclose(predicted(1.0, 2.0), predicted(2.0, 0.5), rtol=0, atol=1e-4)


def test_directions_that_tasks_share_are_found(rng):
    X = rng.normal(size=(200, 5))
    shared = rng.normal(size=(1, 8))
    Y = X @ rng.normal(size=(5, 1)) @ shared + 0.3 * rng.normal(size=(200, 8))
    operator = learn_operator(Linear(), X, Y, 100.0, fit_intercept=False)
    values, vectors = np.linalg.eigh(operator.B)
    assert values[-2] < 0.2 * values[-1]
    assert abs(vectors[:, -1] @ shared[0]) / np.linalg.norm(shared) > 0.99


def test_it_is_compared_like_any_operator(rng):
    X = rng.normal(size=(60, 5))
    Y = X @ rng.normal(size=(5, 1)) @ rng.normal(size=(1, 8)) + rng.normal(size=(60, 8))
    operator = learn_operator(Linear(), X, Y, 100.0)
    best = KernelDependencyCV([Linear() * Identity(), Linear() * operator]).fit(X, Y)
    assert "Matrix" in str(best.kernel_)
    fixed = KernelDependencyCV(Linear() * operator).fit(X, Y)
    assert_allclose(best.loo_predict(), fixed.loo_predict(), rtol=0, atol=IDENTITY)


def test_what_is_refused(UV):
    with pytest.warns(ConvergenceWarning, match="still learning after 2 rounds"):
        learn_operator(Linear(), *UV, 100.0, max_iter=2)
    for wrong, message in [
        ({"penalty": 0.0}, "penalty must be a positive number"),
        ({"power": -1}, "power must be a positive number"),
        ({"tol": "small"}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"output_kernel": RBF()}, "outputs with finite features"),
    ]:
        with pytest.raises(ValueError, match=message):
            learn_operator(Linear(), *UV, 1.0, **wrong)
    with pytest.raises(ValueError, match="equal lengths, got 15 and 14"):
        learn_operator(Linear(), UV[0], UV[1][1:], 1.0)


def test_label_sets_have_finite_features(rng):
    X, Y = rng.normal(size=(20, 3)), (rng.normal(size=(20, 4)) > 0).astype(float)
    operator = learn_operator(RBF(1.0), X, Y, 1.0, output_kernel=Labels())
    model = KernelDependency(RBF(1.0) * operator, Labels()).fit(X, Y)
    assert operator.B.shape == (4, 4) and model.loo_predict().shape == Y.shape


class AtTheRidge(Operator):
    """B = α I, a custom operator that depends on the ridge."""

    depends_on_ridge = True

    def at_ridge(self, moments, alpha):
        found = clone(self)
        found.B_ = alpha * np.eye(len(moments.ones))
        return found


def test_a_custom_operator_that_depends_on_the_ridge(UV):
    model = KernelDependencyCV(RBF(1.0) * AtTheRidge()).fit(*UV)
    assert_allclose(model.kernel_.operator.B_, model.alpha_ * np.eye(Q), rtol=0, atol=0)
    plain = KernelDependency(RBF(1.0), alpha=1.0).fit(*UV)
    assert_allclose(model.predict(UV[0]), plain.predict(UV[0]), rtol=0, atol=IDENTITY)
