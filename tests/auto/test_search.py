"""How much a search tries: climbing over length scales, presets, boosted trees."""

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import AutoDependency
from mercer.auto.climbing import climb
from mercer.estimators import BoostedDependency, ForestDependency

rng = np.random.default_rng(0)
X = rng.normal(size=(160, 4))
Y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], (X[:, 2] > 0) + 0.1 * rng.normal(size=160)])


@pytest.mark.parametrize(
    ("values", "start", "best", "tried"),
    [
        ([1, 2, 5, 4, 3, 0], 2, 2, {1, 2, 3}),
        ([1, 2, 3, 4, 9, 5], 2, 4, {2, 3, 4, 5}),
        ([9, 5, 3, 2, 1, 0], 2, 0, {3, 2, 1, 0}),
        ([0, 0, 3.0, 3.1, 9, 0], 2, 3, {2, 3}),  # a gain within the error ends the search
        ([7], 0, 0, {0}),
    ],
)
def test_climbing_stops_when_nothing_is_gained(values, start, best, tried):
    seen = set()

    def fit(k):
        seen.add(k)
        return values[k]

    found = climb(len(values), start, fit, lambda one, other: (one > other, one > other + 0.5))
    assert found == (best, values[best])
    assert seen == tried


def test_climbing_ends_when_there_is_no_time():
    assert climb(3, 1, lambda k: None, lambda one, other: (True, True)) is None
    assert climb(3, 1, {1: "a"}.get, lambda one, other: (True, True)) == (1, "a")


def test_presets_differ_in_what_they_try():
    fast, best = (
        AutoDependency(preset=preset, random_state=0).fit(X[:80], Y[:80]).best_estimator_
        for preset in ("fast", "best")
    )
    for kind in (BoostedDependency, ForestDependency):
        few, many = (
            next(model.n_trees for model in blend.models_ if isinstance(model, kind))
            for blend in (fast, best)
        )
        assert few < many
    with pytest.raises(ValueError, match="preset must be one of fast, default, best"):
        AutoDependency(preset="slow").fit(X, Y)


def test_boosted_trees_are_a_candidate_and_a_baseline(few_trees, tmp_path):
    steps = pd.DataFrame(X, columns=list("abcd")).assign(y=np.floor(3 * X[:, 0]) * np.sign(X[:, 1]))
    model = AutoDependency(output="y", random_state=0).fit(steps)
    row = model.leaderboard_.set_index("family").loc["boosted trees"]
    assert model.baselines_["boosted trees"] == row["score"]
    loaded = mercer.load(mercer.save(model, tmp_path / "steps.mercer"))
    np.testing.assert_array_equal(loaded.predict(steps)["y"], model.predict(steps)["y"])
