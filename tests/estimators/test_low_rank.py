"""Fits at low rank: full rank is exact, and left-out points are those of refits."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
import naive
from mercer import KernelDependency, KernelDependencyCV
from mercer._base import memory as _memory
from mercer.decoders import Candidates
from mercer.features import IncompleteCholesky, KernelPCA, Nystroem, RandomPivotedCholesky
from mercer.kernels import RBF, Function, Linear
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix
from tolerances import LEFT_OUT, ROOT

N = 14
FULL = [
    IncompleteCholesky(), RandomPivotedCholesky(random_state=0), Nystroem(rank=N), KernelPCA(),
]  # fmt: skip
OPERATORS = [Identity(), Covariance(), Covariance(0.5), ConditionalCovariance(0.1)]
LABELS = {"one": np.arange(N), "group": np.array([0, 0, 1, 2, 2, 2, 3, 4, 5, 5, 6, 7, 7, 0])}
LANDMARKS = np.random.default_rng(9).normal(size=(5, 2))
SIDES = [("features",), ("output_features",), ("features", "output_features")]


def shared_letters(a, b):
    return len(set(a) & set(b)) + (a == b)


@pytest.fixture
def data(rng):
    return rng.normal(size=(N, 2)), rng.normal(size=(N, 3)), rng.normal(size=(6, 2))


# -- full rank --------------------------------------------------------------------------------


@pytest.mark.parametrize("map", FULL, ids=lambda map: type(map).__name__)
@pytest.mark.parametrize("operator", OPERATORS, ids=str)
@pytest.mark.parametrize("l", [Linear(), RBF(2.0)], ids=str)
@pytest.mark.parametrize(
    "sides", [("features",), ("output_features",), ("features", "output_features")]
)
def test_full_rank_is_exact(map, operator, l, sides, data):
    X, Y, X_new = data
    for intercept in (False, True):
        model = KernelDependency(RBF(1.0) * operator, l, alpha=0.1, fit_intercept=intercept)
        wanted = model.fit(X, Y).embed(X_new).inner(Y)
        got = model.set_params(**dict.fromkeys(sides, map)).fit(X, Y).embed(X_new).inner(Y)
        assert_allclose(got, wanted, rtol=0, atol=ROOT)


@pytest.mark.parametrize("map", FULL, ids=lambda map: type(map).__name__)
def test_full_rank_is_exact_under_a_given_matrix(map, data):
    X, Y, X_new = data
    model = KernelDependency(RBF(1.0) * Matrix(np.eye(3) + 0.3), alpha=0.1)
    wanted = model.fit(X, Y).predict(X_new)
    assert_allclose(model.set_params(features=map).fit(X, Y).predict(X_new), wanted, atol=ROOT)


@pytest.mark.parametrize("l", [Linear(), RBF(2.0)], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", [1e-18, 1e-3, 1.0])
def test_solvers_agree_at_low_rank(l, intercept, alpha, data):
    X, Y, X_new = data
    ways = [
        KernelDependency(
            RBF(1.0), l, alpha, features=Nystroem(landmarks=LANDMARKS), solver=solver,
            fit_intercept=intercept,
        ).fit(X, Y)
        for solver in ("cholesky", "spectral")
    ]  # fmt: skip
    short, long = (model.embed(X_new).inner(Y) for model in ways)
    assert_allclose(short, long, rtol=0, atol=ROOT)


# -- outputs that are not factored ------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
def test_weights_on_outputs_are_the_general_solution(intercept, data):
    """Against the same fit in exact coordinates of the outputs."""
    X, Y, X_new = data
    model = KernelDependency(
        RBF(1.0), RBF(2.0), alpha=0.1, features=Nystroem(landmarks=LANDMARKS),
        fit_intercept=intercept,
    )  # fmt: skip
    spanned = model.fit(X, Y).embed(X_new)
    assert_allclose(spanned.weights, spanned.coordinates, rtol=0, atol=0)
    if intercept:
        assert_allclose(spanned.weights.sum(axis=1), 1.0)
    shift = model.points_.offset if intercept else 0.0
    values = model.input_kernel_(X_new, LANDMARKS) @ model.coef_ + shift
    assert_allclose(values, spanned.coordinates, rtol=0, atol=ROOT)
    general = model.set_params(output_features=KernelPCA()).fit(X, Y).embed(X_new)
    assert_allclose(spanned.inner(Y), general.inner(Y), rtol=0, atol=ROOT)


@pytest.mark.parametrize("left", LABELS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", [1e-4, 1e-1])
def test_left_out_points_equal_refits_at_fixed_landmarks(left, intercept, alpha, data):
    X, Y, _ = data
    map = Nystroem(landmarks=LANDMARKS)
    U, V = map.fit_transform(RBF(1.0), X), naive.coordinates(RBF(2.0)(Y))
    wanted = naive.left_out(U, V, np.eye(V.shape[1]), alpha, LABELS[left], intercept)
    model = KernelDependencyCV(
        RBF(1.0), RBF(2.0), alphas=[alpha], features=map, fit_intercept=intercept
    ).fit(X, Y, groups=LABELS[left])
    points = model.loo_embed()
    assert_allclose(points.inner(Y), wanted @ V.T, rtol=0, atol=LEFT_OUT)
    assert model.loo_risk_ == pytest.approx(((wanted - V) ** 2).sum() / N, rel=1e-8)
    own = np.equal.outer(LABELS[left], LABELS[left])
    assert_allclose(points.coordinates[own], 0.0, atol=LEFT_OUT)
    assert len(points) == N


@pytest.mark.parametrize("left", LABELS)
@pytest.mark.parametrize(
    "map",
    [
        IncompleteCholesky(5), RandomPivotedCholesky(5, random_state=0),
        Nystroem(5, random_state=0), Nystroem(landmarks=LANDMARKS), Nystroem(rank=N),
    ],
    ids=str,
)  # fmt: skip
def test_left_out_points_equal_those_in_output_coordinates(left, map, data):
    """The short way, the general one, and generalised cross-validation between the two."""
    X, Y, _ = data
    for intercept in (False, True):
        model = KernelDependencyCV(RBF(1.0), RBF(2.0), features=map, fit_intercept=intercept)
        wanted = model.set_params(output_features=KernelPCA()).fit(X, Y, groups=LABELS[left])
        risks, left_out = wanted.cv_results_["risk"], wanted.loo_embed().inner(Y)
        model.set_params(output_features=None).fit(X, Y, groups=LABELS[left])
        assert_allclose(model.cv_results_["risk"], risks, rtol=1e-6)
        assert_allclose(model.loo_embed().inner(Y), left_out, rtol=0, atol=ROOT)
        assert model.loo_predict().shape == Y.shape
    if left == "one":
        model.set_params(criterion="gcv").fit(X, Y)
        risks = model.cv_results_["risk"]
        model.set_params(output_features=KernelPCA()).fit(X, Y)
        assert_allclose(risks, model.cv_results_["risk"], rtol=1e-6)


def test_a_calibrated_decoder_sees_left_out_points(data):
    class Keeper(Candidates):
        calibrates = True

        def calibrate(self, points, y):
            self.points_ = points
            return self

    X, Y, _ = data
    map = Nystroem(landmarks=LANDMARKS)
    model = KernelDependency(RBF(1.0), RBF(2.0), 0.1, features=map, decoder=Keeper()).fit(X, Y)
    general = KernelDependencyCV(RBF(1.0), RBF(2.0), [0.1], features=map).fit(X, Y)
    assert_allclose(
        model.decoder_.points_.inner(Y), general.loo_embed().inner(Y), rtol=0, atol=ROOT
    )


def test_outputs_of_any_kind_choose_by_risk_without_n_by_n_memory(monkeypatch):
    words = ["abc", "bcd", "cde", "xyz", "abcde", "yza"] * 50
    X = np.random.default_rng(0).normal(size=(300, 2))
    kernels, l = [RBF(0.5), RBF(2.0)], Function(shared_letters, of_items=True)
    model = KernelDependencyCV(kernels, l, features=RandomPivotedCholesky(10, random_state=0))
    monkeypatch.setattr(_memory, "available", lambda: 8.0 * 2 * 300**2)
    model.fit(X, words)
    assert model.predict(X[:3]).shape == (3,)
    again = pickle.loads(pickle.dumps(model))
    with pytest.raises(MemoryError, match="300 pairs"):
        again.loo_predict()
    monkeypatch.undo()
    assert again.loo_predict().shape == (300,)


@pytest.mark.parametrize("map", [Nystroem(4, random_state=0), RandomPivotedCholesky(4)], ids=str)
def test_models_of_low_rank_are_saved_and_loaded(map, data, tmp_path):
    X, Y, X_new = data
    for Model in (KernelDependency, KernelDependencyCV):
        model = Model(RBF(1.0), RBF(2.0), features=map, decoder=Candidates()).fit(X, Y)
        again = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
        assert_allclose(again.predict(X_new), model.predict(X_new), rtol=0, atol=0)


def test_a_model_of_finite_outputs_keeps_only_the_landmarks(data):
    """Nothing of the fitted map is as long as the training inputs."""
    X, Y, X_new = data
    model = KernelDependency(RBF(1.0), features=Nystroem(3, random_state=0)).fit(X, Y)
    kept = model.points_.map
    assert kept.landmarks_.shape == (3, 2) and kept.weights_.shape == (3, 3)
    assert model.predict(X_new).shape == (6, 3)
