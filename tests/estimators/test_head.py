"""Regressors of other libraries in front of an output kernel."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from mercer import ConformalSets, ForestDependency, KernelDependency, RegressorDependency
from mercer._base.folds import fold_numbers
from mercer.decoders import ByLoss, Candidates, Threshold
from mercer.features import KernelPCA
from mercer.kernels import RBF, Delta, Kendall, Labels, Linear, On, Spectrum
from mercer.metrics import sample_f1

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
SETS = (X @ RNG.normal(size=(3, 4)) + 0.3 * RNG.normal(size=(60, 4)) > 0).astype(int)
RANKS = np.argsort(np.argsort(X @ RNG.normal(size=(3, 4)), axis=1), axis=1)
WORDS = ["".join("ab"[int(v > 0)] for v in row) * 2 for row in X]


def test_kernel_ridge_as_a_regressor_is_the_model_itself():
    ours = KernelDependency(RBF(1.0), Labels(), 0.5, fit_intercept=False).fit(X, SETS)
    head = RegressorDependency(KernelRidge(alpha=0.5, kernel="rbf", gamma=0.5), Labels())
    head.fit(X, SETS)
    points = head.embed(X[:9])
    np.testing.assert_allclose(points.coordinates, ours.embed(X[:9]).coordinates, atol=1e-8)
    np.testing.assert_allclose(points.weights @ head.targets(SETS), points.coordinates, atol=1e-8)


@pytest.mark.parametrize(
    ("output", "y"), [(Labels(), SETS), (Kendall(), RANKS), (Spectrum(2, True), WORDS),
                      (Linear(), X), (RBF(1.0), X), (None, X[:, 0])],
    ids=["sets", "ranks", "words", "vectors", "rbf", "numbers"],
)  # fmt: skip
def test_any_output(output, y):
    head = RegressorDependency(ExtraTreesRegressor(10, random_state=0), output, cv=3).fit(X, y)
    assert len(head.predict(X)) == len(head.loo_predict()) == 60
    assert head.score(X, y) > 0.2
    T = head.targets(y)
    elsewhere = clone(head.regressor).fit(X, T if T.shape[1] > 1 else T[:, 0]).predict(X)
    points = head.points_from(elsewhere)
    np.testing.assert_allclose(points.coordinates, head.embed(X).coordinates, atol=1e-6)


def test_left_out_folds_keep_groups_whole_and_calibrate():
    groups = np.arange(60) // 4
    head = RegressorDependency(Ridge(), Labels(), decoder=Threshold()).fit(X, SETS, groups=groups)
    assert head.decoder_.threshold_ != 0.5
    folds = fold_numbers(groups, head.cv)
    assert len(set(folds)) == head.cv
    for fold in range(head.cv):
        assert set(groups[folds == fold]).isdisjoint(groups[folds != fold])


def test_a_model_trained_elsewhere():
    head = RegressorDependency(output_kernel=Labels(), decoder=Threshold()).fit_outputs(SETS[:40])
    W = np.linalg.lstsq(X[:40], head.targets(SETS[:40]), rcond=None)[0]
    head.calibrate(X[:40] @ W, SETS[:40])
    assert sample_f1(SETS[40:], head.decode(X[40:] @ W)) > 0.6
    by_loss = RegressorDependency(output_kernel=Labels(), decoder=ByLoss("f1")).fit_outputs(SETS)
    assert by_loss.decode(X @ W).shape == SETS.shape
    with pytest.raises(ValueError, match="must have the 4 coordinates"):
        head.points_from(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="nothing to fit"):
        head.fit(X, SETS)


def test_outputs_of_a_model_trained_elsewhere_come_back_in_their_container(rng):
    y = pd.DataFrame({"size": rng.normal(size=20), "side": ["left", "right"] * 10})
    kernel = On("size", Linear()) + On("side", Delta())
    head = RegressorDependency(output_kernel=kernel).fit_outputs(y)
    found = head.decode(head.targets(y))
    pd.testing.assert_frame_equal(found, y)


def test_prediction_sets():
    sets = ConformalSets(RegressorDependency(Ridge(), Kendall(), cv=3), 0.8).fit(X, RANKS)
    found = sets.predict(X[:5])
    assert len(found) == 5


def test_other_models_tell_targets_too():
    model = KernelDependency(RBF(1.0), RBF(1.0), output_features=KernelPCA(5)).fit(X, X)
    T = model.targets(X)
    assert T.shape == (60, 5)
    np.testing.assert_allclose(model.points_from(T).inner(X), T @ T.T)
    spanned = KernelDependency(RBF(1.0), RBF(1.0), decoder=Candidates()).fit(X, X)
    with pytest.raises(ValueError, match="output_features"):
        spanned.targets(X)


def test_a_fitted_model_is_pickled_with_its_left_out_points():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = RegressorDependency(Ridge()).fit(X, X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.loo_predict(), model.loo_predict())
    np.testing.assert_array_equal(again.loo_embed().weights, model.loo_embed().weights)


@pytest.mark.parametrize(
    "model",
    [
        RegressorDependency(KNeighborsRegressor(3), cv=3),
        ForestDependency(n_trees=5, cv=3, random_state=0),
        ForestDependency(n_trees=5, bootstrap=True, random_state=0),
    ],
    ids=["regressor without weights", "forest", "bootstrap"],
)
def test_pairs_of_weight_zero_are_left_out(model):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    w = rng.integers(0, 2, 40).astype(float)
    groups = pd.Series(np.arange(40) // 2, index=np.arange(40) + 9)
    kept = w > 0
    found = clone(model).fit(X, Y, groups=groups, sample_weight=w)
    expected = clone(model).fit(X[kept], Y[kept], groups=groups[kept])
    np.testing.assert_allclose(found.predict(X), expected.predict(X))
    np.testing.assert_allclose(found.loo_predict(), expected.loo_predict())
