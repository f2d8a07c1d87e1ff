"""Boosted trees: equality to scikit-learn, left-out predictions, decoding, saving."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import threadpool_limits

import mercer
from mercer._base.checks import DamagedModel, Limits
from mercer.estimators import Blend, BoostedDependency, KernelDependencyCV
from mercer.estimators.boosted import BoostedMap
from mercer.estimators.trees import Scaling
from mercer.kernels import RBF, Kendall, Labels, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.column_stack([X[:, 0] ** 2, np.sign(X[:, 1]), X[:, 0] + 0.1 * RNG.normal(size=300)])


def test_trees_predict_what_scikit_learn_predicts():
    grown = [
        HistGradientBoostingRegressor(max_iter=n, min_samples_leaf=leaf).fit(X, y)
        for n, leaf, y in zip((5, 40, 1), (20, 1, 100), Y.T, strict=True)
    ]
    trees = BoostedMap.of(
        Linear().fit(X), Scaling.of(X, np.ones(len(X))), grown, np.zeros(3), np.eye(3)
    )
    new = RNG.normal(size=(500, 3))
    expected = np.column_stack([regressor.predict(new) for regressor in grown])
    np.testing.assert_allclose(trees.predict(new), expected, rtol=1e-12, atol=1e-12)


def test_left_out_predictions_do_not_use_the_row():
    model = BoostedDependency(n_trees=30).fit(X, Y)
    changed = Y.copy()
    changed[7] += 1000.0
    other = BoostedDependency(n_trees=30).fit(X, changed)
    assert abs(other.loo_predict()[7]).max() < 500.0
    assert ((model.loo_predict() - Y) ** 2).mean() > ((model.predict(X) - Y) ** 2).mean()
    assert min(model.n_trees_) >= 1 and max(model.n_trees_) <= 30


def test_groups_are_left_out_whole():
    twice, outputs = np.repeat(X, 2, axis=0), np.repeat(RNG.normal(size=300), 2)
    groups = np.repeat(np.arange(300), 2)
    by_group = BoostedDependency().fit(twice, outputs, groups=groups)
    assert ((by_group.loo_predict() - outputs) ** 2).mean() > 0.8 * outputs.var()


def test_many_outputs_are_predicted_by_their_principal_directions():
    many = np.hstack([Y, Y @ RNG.normal(size=(3, 40))])
    model = BoostedDependency(directions=3).fit(X, many)
    assert len(model.n_trees_) == 3
    assert ((model.predict(X) - many) ** 2).mean() < 0.2 * many.var()


def test_constant_outputs_are_predicted():
    with pytest.warns(UserWarning, match="equal"):
        model = BoostedDependency(n_trees=2).fit(X, np.ones((300, 2)))
    np.testing.assert_allclose(model.predict(X), 1.0)


def test_points_are_decoded_blended_and_saved(tmp_path):
    ranks = np.argsort(np.argsort(-X, axis=1), axis=1)
    model = BoostedDependency(output_kernel=Kendall(), n_trees=50).fit(X, ranks)
    assert (model.predict(X) == ranks).mean() > 0.8
    loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    sets = [[name for name, x in zip("abc", row, strict=True) if x > 0] for row in X]
    assert BoostedDependency(output_kernel=Labels(), n_trees=50).fit(X, sets).score(X, sets) > 0.9
    blend = Blend([KernelDependencyCV(RBF()), BoostedDependency()]).fit(X, Y)
    assert (blend.weights_ > 0).all()


def test_outputs_of_infinitely_many_features_are_refused():
    with pytest.raises(ValueError, match="use ForestDependency"):
        BoostedDependency(output_kernel=RBF()).fit(X, Y)


def test_trees_that_were_tampered_with_are_refused():
    model = BoostedDependency(kernel=Linear(), n_trees=3).fit(X, Y)
    trees = model.points_.map
    for name, value in (("starts", trees.starts[::-1].copy()), ("values", trees.values[1:])):
        changed = BoostedMap(**{**vars(trees), name: value})
        with pytest.raises(DamagedModel):
            changed.check_loaded(Limits())


def test_few_rows_are_grown_by_one_thread(monkeypatch):
    threads, fit = [], HistGradientBoostingRegressor.fit

    def counted(regressor, *arguments):
        threads.append(_openmp_effective_n_threads())
        return fit(regressor, *arguments)

    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", counted)
    with threadpool_limits(2, user_api="openmp"):
        assert _openmp_effective_n_threads() == 2
        BoostedDependency(n_trees=3, random_state=0).fit(X, Y)
    assert set(threads) == {1}
