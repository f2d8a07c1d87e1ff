"""What AutoDependency takes of what it found."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import AutoDependency, KernelDependencyCV
from mercer.auto.blending import _weights_by_risk, averaged_weights, single_is_clearly_better
from mercer.auto.kinds.registry import kind_named
from mercer.estimators import Blend
from mercer.estimators.squares import Squares
from mercer.kernels import RBF, Linear


@pytest.fixture(scope="module")
def blend():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, [0]] + 0.3 * rng.normal(size=(80, 1))
    models = [KernelDependencyCV(Linear()), KernelDependencyCV(RBF(0.05), alphas=[1e-3])]
    return Blend(models).fit(X, y)


def test_a_single_model_of_numbers_is_better_row_by_row(blend):
    linear, narrow = 0, 1
    none = blend.reweighted([0.0, 0.0])
    assert single_is_clearly_better(linear, 0.9, 0.0, none, kind_named("number"))
    assert not single_is_clearly_better(
        narrow, 0.9, 0.0, blend, kind_named("number")
    )  # whatever its score
    assert single_is_clearly_better(narrow, 0.9, 0.0, blend, kind_named("labels"))
    assert not single_is_clearly_better(linear, 0.9, 0.89, none, kind_named("number"))


def test_many_columns_are_tried_by_their_principal_components():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(40, 2))
    X = factors @ rng.normal(size=(2, 60)) + rng.normal(size=(40, 60))
    model = AutoDependency(random_state=0).fit(X, factors)
    tried = model.leaderboard_.set_index("family")["score"]
    assert tried["linear, principal components"] > tried["linear"]


def test_weights_count_and_rows_of_weight_zero_do_not():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3))
    Y = X[:, :2] + 0.1 * rng.normal(size=(40, 2))
    Y[30:] = 1e3
    weights = np.where(np.arange(40) < 30, rng.integers(1, 3, size=40), 0)
    weighted = AutoDependency(random_state=0).fit(X, Y, sample_weight=weights)
    kept = AutoDependency(random_state=0).fit(X[:30], Y[:30], sample_weight=weights[:30])
    assert_array_equal(weighted.predict(X), kept.predict(X))
    assert weighted.loo_predict().shape == (30, 2)
    assert weighted.loo_score_ > 0.9


def test_weights_on_few_rows_are_shrunk_towards_an_average():
    rng = np.random.default_rng(3)
    truth = rng.normal(size=(25, 1))
    points = [truth + 0.5 * rng.normal(size=truth.shape) for _ in range(6)]  # all as good
    squares = Squares(
        np.stack([[(a * b).sum(axis=1) for a in points] for b in points]).transpose(2, 0, 1),
        np.stack([(a * truth).sum(axis=1) for a in points], axis=1),
        (truth**2).sum(axis=1),
        np.ones(25),
        np.arange(25) % 5,
    )
    weights, each = averaged_weights(squares)
    average, chance = _weights_by_risk(squares), squares.weights(robust=True)
    assert np.abs(weights - average).sum() < 0.9 * np.abs(chance - average).sum()
    np.testing.assert_allclose(average.sum(), 1.0)
    assert each.shape == (25, 6)
    assert (each >= 0).all()


def test_neighbourhoods_of_pixels_are_a_candidate_for_images():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(25, 8, 8))
    Y = np.tanh(X + np.roll(X, 1, axis=2))
    model = AutoDependency(random_state=0).fit(X, Y)
    tried = model.leaderboard_.groupby("family")["score"].max()
    assert tried["neighbourhoods"] > tried["linear"]
    assert "patches" in tried
    assert "array" not in model.chosen_
