"""Closed-form leave-one-out and leave-group-out against refits, one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import naive
from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates
from mercer.features import IncompleteCholesky, KernelPCA
from mercer.kernels import RBF, Linear
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix
from mercer.solvers import left_out
from tolerances import IDENTITY, LEFT_OUT

N = 14
GROUPS = np.array([0, 1, 0, 2, 2, 3, 1, 0, 4, 3, 5, 5, 5, 5])
LABELS = {"one": np.arange(N), "group": GROUPS}
ROOT = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, 0.3], [0.0, 0.3, 1.0]])
SINGULAR = np.outer([1.0, 2.0, -1.0], [1.0, 2.0, -1.0])


def identity(U, V):
    return np.eye(V.shape[1])


OPERATORS = {
    "identity": (Identity(), identity),
    "covariance": (Covariance(), naive.covariance),
    "conditional covariance": (ConditionalCovariance(0.1), naive.conditional_covariance(0.1)),
    "sum": (0.5 * Identity() + Covariance(), lambda U, V: 0.5 * np.eye(V.shape[1]) + V.T @ V / N),
    "matrix": (Matrix(ROOT), lambda U, V: ROOT),
    "singular matrix": (Matrix(SINGULAR), lambda U, V: SINGULAR),
}


def pairs(rng):
    return rng.normal(size=(N, 2)), rng.normal(size=(N, 3)) + 1.0


def refits(U, V, matrix, alpha, labels, intercept):
    """Left-out points by brute force, with B that of the whole sample."""
    centred = [A - intercept * A.mean(axis=0) for A in (U, V)]
    return naive.left_out(U, V, matrix(*centred), alpha, labels, intercept)


def fitted(kernel, l, alpha, labels, X, Y, **params):
    model = KernelDependencyCV(kernel, l, alphas=[alpha], **params)
    return model.fit(X, Y, groups=None if labels is LABELS["one"] else labels)


def output_coordinates(l, Y):
    return Y if isinstance(l, Linear) else naive.coordinates(l(Y))


CASES = [
    (name, l)
    for name in OPERATORS
    for l in (Linear(), RBF(2.0))
    if isinstance(l, Linear) or "matrix" not in name  # a given matrix needs finite features
]


@pytest.mark.parametrize("left", LABELS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("name", "l"), CASES, ids=str)
def test_equals_refits(left, intercept, name, l, rng):
    X, Y = pairs(rng)
    operator, matrix = OPERATORS[name]
    U, V = naive.coordinates(RBF(1.0)(X)), output_coordinates(l, Y)
    for alpha in (1e-3, 0.5):
        wanted = refits(U, V, matrix, alpha, LABELS[left], intercept)
        model = fitted(RBF(1.0) * operator, l, alpha, LABELS[left], X, Y, fit_intercept=intercept)
        got = model.loo_embed()
        assert_allclose(got.inner(Y), wanted @ V.T, rtol=0, atol=LEFT_OUT)
        assert_allclose(got.sqnorm(), (wanted**2).sum(axis=1), rtol=0, atol=LEFT_OUT)
        risk = ((wanted - V) ** 2).sum() / N
        assert model.loo_risk_ == pytest.approx(risk, abs=LEFT_OUT)


@pytest.mark.parametrize("left", LABELS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "singular matrix"])
def test_equals_refits_at_a_tiny_alpha(left, intercept, name, rng):
    X, Y = pairs(rng)
    operator, matrix = OPERATORS[name]
    U = naive.coordinates(RBF(0.3)(X))
    wanted = refits(U, Y, matrix, 1e-8, LABELS[left], intercept)
    model = fitted(RBF(0.3) * operator, Linear(), 1e-8, LABELS[left], X, Y, fit_intercept=intercept)
    assert_allclose(model.loo_embed().inner(Y), wanted @ Y.T, rtol=0, atol=LEFT_OUT)


@pytest.mark.parametrize("left", LABELS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_equals_refits_with_duplicated_inputs(left, intercept, name, rng):
    X, Y = pairs(rng)
    X[7:] = X[:7]
    operator, matrix = OPERATORS[name]
    U = naive.coordinates(RBF(1.0)(X))
    wanted = refits(U, Y, matrix, 1e-2, LABELS[left], intercept)
    model = fitted(RBF(1.0) * operator, Linear(), 1e-2, LABELS[left], X, Y, fit_intercept=intercept)
    assert_allclose(model.loo_embed().inner(Y), wanted @ Y.T, rtol=0, atol=LEFT_OUT)


@pytest.mark.parametrize("left", LABELS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_equals_refits_in_features_of_low_rank(left, intercept, name, rng):
    X, Y = pairs(rng)
    operator, matrix = OPERATORS[name]
    features = IncompleteCholesky(rank=4)
    U = features.fit_transform(RBF(1.0), X)
    wanted = refits(U, Y, matrix, 1e-2, LABELS[left], intercept)
    model = fitted(
        RBF(1.0) * operator, Linear(), 1e-2, LABELS[left], X, Y,
        fit_intercept=intercept, features=features,
    )  # fmt: skip
    assert_allclose(model.loo_embed().inner(Y), wanted @ Y.T, rtol=0, atol=LEFT_OUT)


@pytest.mark.parametrize("left", LABELS)
@pytest.mark.parametrize("intercept", [False, True])
def test_equals_refits_of_inputs_of_low_rank(left, intercept, rng):
    X, Y = pairs(rng)
    wanted = refits(X, Y, naive.covariance, 1e-2, LABELS[left], intercept)
    model = fitted(
        Linear() * Covariance(), Linear(), 1e-2, LABELS[left], X, Y, fit_intercept=intercept
    )
    assert_allclose(model.loo_embed().inner(Y), wanted @ Y.T, rtol=0, atol=LEFT_OUT)


@pytest.mark.parametrize("intercept", [False, True])
def test_equals_refits_in_kernel_pca_coordinates(intercept, rng):
    X, Y = pairs(rng)
    map = KernelPCA(rank=2)
    V = map.fit_transform(RBF(2.0), Y)
    wanted = refits(
        naive.coordinates(RBF(1.0)(X)), V, naive.covariance, 1e-2, LABELS["one"], intercept
    )
    model = fitted(
        RBF(1.0) * Covariance(), RBF(2.0), 1e-2, LABELS["one"], X, Y,
        fit_intercept=intercept, output_features=map,
    )  # fmt: skip
    assert_allclose(model.loo_embed().inner(Y), wanted @ V.T, rtol=0, atol=LEFT_OUT)


def test_groups_of_one_are_leave_one_out(rng):
    X, Y = pairs(rng)
    one = KernelDependencyCV(RBF(1.0), fit_intercept=False).fit(X, Y)
    other = KernelDependencyCV(RBF(1.0), fit_intercept=False).fit(
        X, Y, groups=list("abcdefghijklmn")
    )
    assert_allclose(one.loo_embed().inner(Y), other.loo_embed().inner(Y), rtol=0, atol=IDENTITY)


def test_labels_of_groups_are_names_only(rng):
    X, Y = pairs(rng)
    numbers = KernelDependencyCV(RBF(1.0), fit_intercept=False).fit(X, Y, groups=GROUPS)
    names = KernelDependencyCV(RBF(1.0), fit_intercept=False).fit(
        X, Y, groups=[f"subject {10 - g}" for g in GROUPS]
    )
    assert numbers.alpha_ == names.alpha_
    assert_allclose(numbers.loo_risk_, names.loo_risk_, rtol=IDENTITY)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["identity", "covariance"])
@pytest.mark.parametrize("size", [1, 100, 2**24])
def test_a_path_of_alphas_in_parts_is_each_alpha_alone(intercept, name, size, rng, monkeypatch):
    X, Y = pairs(rng)
    kernel, alphas = RBF(1.0) * OPERATORS[name][0], [1e-6, 1e-3, 1.0, 1e3, 1e-2]
    monkeypatch.setattr(left_out, "ENTRIES", size)
    path = KernelDependencyCV(kernel, alphas=alphas, fit_intercept=intercept).fit(X, Y)
    for alpha, risk in zip(alphas, path.cv_results_["risk"], strict=True):
        alone = fitted(kernel, Linear(), alpha, LABELS["one"], X, Y, fit_intercept=intercept)
        assert alone.loo_risk_ == pytest.approx(risk, rel=LEFT_OUT)


# -- decoded --------------------------------------------------------------------------------


@pytest.mark.parametrize("left", LABELS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("l", [Linear(), RBF(2.0)], ids=str)
def test_left_out_predictions_are_those_of_literal_refits(left, intercept, l, rng):
    """A left-out output is no candidate, unless an example that stays has it too."""
    X, Y = pairs(rng)
    X += 0.3 * rng.normal(size=X.shape)
    Y[4], Y[9], Y[11] = Y[3], Y[0], Y[10]  # within a group, across groups, within the large one
    labels = LABELS[left]
    params = {"output_kernel": l, "decoder": Candidates(), "fit_intercept": intercept}
    model = KernelDependencyCV(RBF(1.0), alphas=[1e-2], **params)
    model.fit(X, Y, groups=None if left == "one" else labels)
    wanted = np.empty_like(Y)
    for label in np.unique(labels):
        out = labels == label
        refit = KernelDependency(RBF(1.0), alpha=1e-2, **params).fit(X[~out], Y[~out])
        wanted[out] = refit.predict(X[out])
    assert_allclose(model.loo_predict(), wanted, rtol=0, atol=0)


def test_left_out_scores_judge_decoded_predictions(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    model = KernelDependencyCV(
        RBF(1.0), alphas=[0.1, 1.0], scoring="neg_mean_absolute_error", fit_intercept=False
    )
    model.fit(X, y)
    assert model.loo_score_ == pytest.approx(-np.abs(model.loo_predict() - y).mean(), abs=IDENTITY)
    assert model.loo_score_ == model.cv_results_["score"].max()


# -- generalised cross-validation -------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
def test_gcv_is_its_formula(intercept, rng):
    """Σ ‖residual‖² / n over (tr(I - H) / n)², H the hat matrix of the identity operator."""
    X, Y = pairs(rng)
    K = RBF(1.0)(X)
    C = np.eye(N) - intercept / N
    K = C @ K @ C
    for alpha in (1e-2, 1.0):
        H = K @ np.linalg.inv(K + alpha * np.eye(N)) + intercept / N
        wanted = (((Y - H @ Y) ** 2).sum() / N) / (np.trace(np.eye(N) - H) / N) ** 2
        model = KernelDependencyCV(
            RBF(1.0), alphas=[alpha], criterion="gcv", fit_intercept=intercept
        ).fit(X, Y)
        assert model.loo_risk_ == pytest.approx(wanted, rel=IDENTITY)


def test_gcv_pools_leverages_over_directions(rng):
    """So that it depends neither on the basis that outputs are written in nor on the route."""
    X, Y = pairs(rng)
    U, B = naive.coordinates(RBF(1.0)(X)), naive.covariance(None, Y)
    b, Q = np.linalg.eigh(B)
    squares = left = 0.0
    for j in range(3):
        H = U @ np.linalg.inv(b[j] * U.T @ U + 0.1 * np.eye(U.shape[1])) @ U.T * b[j]
        residual = Y @ Q[:, j] - H @ Y @ Q[:, j]
        squares, left = squares + (residual**2).mean(), left + (1 - np.trace(H) / N) / 3
    model = KernelDependencyCV(
        RBF(1.0) * Covariance(), alphas=[0.1], criterion="gcv", fit_intercept=False
    ).fit(X, Y)
    assert model.loo_risk_ == pytest.approx(squares / left**2, rel=IDENTITY)
