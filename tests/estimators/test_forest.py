"""Output-kernel forests: weights, left-out predictions, groups, units."""

import numpy as np
import pytest

from mercer.estimators import ForestDependency
from mercer.kernels import RBF, Kendall, Labels, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.column_stack([X[:, 0] ** 2, np.sign(X[:, 1]), X[:, 0] + 0.1 * RNG.normal(size=60)])


def forest(**parameters):
    return ForestDependency(**{"n_trees": 20, "random_state": 0, **parameters})


@pytest.mark.parametrize("output", [Linear(), RBF(1.0)])
@pytest.mark.parametrize("bootstrap", [False, True])
def test_points_are_weighted_sums_of_training_outputs(output, bootstrap):
    model = forest(output_kernel=output, bootstrap=bootstrap).fit(X, Y)
    points = model.embed(X[:5] + 0.3)
    np.testing.assert_allclose(points.weights.sum(axis=1), 1.0)
    assert (points.weights >= 0).all()
    np.testing.assert_allclose(points.inner(Y), points.weights @ model.output_kernel_(Y), atol=1e-9)


def test_a_forest_agrees_with_scikit_learn():
    """One tree without bootstrap on outputs as they are predicts what scikit-learn's does."""
    from sklearn.tree import DecisionTreeRegressor

    model = forest(n_trees=1, random_splits=False, min_samples_leaf=5).fit(X, Y)
    scaled = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(X, scaled)
    expected = tree.predict(X) * Y.std(axis=0) + Y.mean(axis=0)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-4)


def test_out_of_bag_predictions_are_those_of_trees_that_did_not_see_the_row():
    model = forest(bootstrap=True).fit(X, Y)
    changed = Y.copy()
    changed[7] += 100.0
    # Trees split differently once a row changes, so ask only that the row's own output is unused.
    assert abs(forest(bootstrap=True).fit(X, changed).loo_predict()[7]).max() < 50.0
    assert ((model.loo_predict() - Y) ** 2).mean() > ((model.predict(X) - Y) ** 2).mean()


@pytest.mark.parametrize("bootstrap", [False, True])
def test_groups_are_left_out_whole(bootstrap):
    """Copies of a row predict each other perfectly unless they are left out together."""
    twice, outputs = np.repeat(X, 2, axis=0), np.repeat(RNG.normal(size=60), 2)
    groups = np.repeat(np.arange(60), 2)

    def risk(**keywords):
        model = forest(n_trees=60, bootstrap=bootstrap).fit(twice, outputs, **keywords)
        return ((model.loo_predict() - outputs) ** 2).mean()

    assert risk(groups=groups) > 0.8 * outputs.var() > 1.5 * risk()


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_change_nothing(factor):
    model = forest(bootstrap=True).fit(X, Y)
    other = forest(bootstrap=True).fit(X * [1.0, factor, 1.0], Y * factor)
    np.testing.assert_allclose(
        other.predict(X * [1.0, factor, 1.0]) / factor, model.predict(X), rtol=1e-9, atol=1e-9
    )


def test_weights_count_as_copies_do():
    w = RNG.integers(1, 4, size=60)
    weighted = forest(n_trees=1, random_splits=False).fit(X, Y, sample_weight=w)
    np.testing.assert_allclose(weighted.predict(X), Y, atol=1e-9)


def test_every_decoder_takes_its_points():
    ranks = np.argsort(np.argsort(-X, axis=1), axis=1)
    model = forest(output_kernel=Kendall()).fit(X, ranks)
    assert (model.predict(X) == ranks).all()
    sets = [[name for name, x in zip("abc", row, strict=True) if x > 0] for row in X]
    model = forest(output_kernel=Labels()).fit(X, sets)
    assert sum(list(a) == b for a, b in zip(model.predict(X), sets, strict=True)) >= 55


def test_an_infinite_kernel_on_inputs_is_refused():
    with pytest.raises(ValueError, match="no finite ones"):
        ForestDependency(RBF(1.0)).fit(X, Y)


@pytest.mark.parametrize(
    "bad", [{"max_features": -1}, {"max_features": "foo"}, {"min_samples_leaf": 0}]
)
def test_parameters_of_trees_are_checked(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        forest(**bad).fit(X, Y)
