"""Sets around fitted models from their left-out predictions, at any coverage."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import mercer
from mercer import (
    AutoDependency,
    Blend,
    ConformalSets,
    ForestDependency,
    KernelDependency,
    KernelDependencyCV,
)
from mercer.estimators import MissingTargets
from mercer.kernels import RBF, Delta
from mercer.sets import LeftOutSets, set_columns


def pairs(seed, n=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.hstack([np.sin(X[:, :1]), X[:, 1:2]]) + rng.normal(scale=0.3, size=(n, 2))


RIDGE, FOREST = KernelDependencyCV(RBF(1.0)), ForestDependency(n_trees=20, random_state=0)


MODELS = {"ridge": RIDGE, "forest": FOREST, "blend": Blend([RIDGE, FOREST])}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_bands_cover_about_what_is_asked_for(model):
    X, Y = pairs(0)
    sets = LeftOutSets.of(model.fit(X[:150], Y[:150]))
    wide, narrow = (sets.predict(X[150:], coverage) for coverage in (0.9, 0.5))
    for bands, asked in ((wide, 0.9), (narrow, 0.5)):
        inside = ((bands.lower <= Y[150:]) & (Y[150:] <= bands.upper)).all(axis=1)
        assert abs(inside.mean() - asked) < 0.09
    assert (wide.upper - wide.lower > narrow.upper - narrow.lower).all()
    columns = set_columns(wide, ["a", "b"])
    assert list(columns) == ["a lower", "a upper", "b lower", "b upper"]
    np.testing.assert_array_equal(columns["b upper"], wide.upper[:, 1])


def test_lists_of_classes(rng):
    X = rng.normal(size=(300, 2))
    level = np.digitize(X[:, 0] + 0.5 * rng.normal(size=300), [-1, 1])
    y = np.array(["low", "middle", "high"])[level]
    sets = LeftOutSets.of(KernelDependencyCV(RBF(1.0), Delta()).fit(X[:150], y[:150]))
    lists = sets.predict(X[150:], 0.9)
    assert abs(np.mean([a in some for a, some in zip(y[150:], lists, strict=True)]) - 0.9) < 0.08
    columns = set_columns(lists, ["level"])
    assert columns["level number"] == [len(some) for some in lists]


def test_what_is_refused():
    X, Y = pairs(0, 20)
    with pytest.raises(TypeError, match="ConformalSets around it"):
        LeftOutSets.of(Ridge().fit(X, Y))
    sets = LeftOutSets.of(KernelDependencyCV(RBF(1.0), alphas=[1.0]).fit(X, Y))
    with pytest.raises(ValueError, match="need at least 99"):
        sets.predict(X, 0.99)
    with pytest.raises(ValueError, match="between 0 and 1"):
        sets.predict(X, 90)
    balls = ConformalSets(KernelDependencyCV(RBF(1.0), alphas=[1.0]), 0.5).fit(X, Y).predict(X)
    with pytest.raises(TypeError, match='use kind="band"'):
        set_columns(balls, ["a", "b"])


def test_sets_around_tables_read_them(tmp_path, few_trees):
    rng = np.random.default_rng(0)
    n = 120
    frame = {"size": rng.normal(size=n) * 100, "town": list(rng.choice(["Oslo", "Rome"], size=n))}
    warm = (frame["size"] > 0) ^ (np.array(frame["town"]) == "Rome")
    X = np.column_stack([frame["size"], np.array(frame["town"]) == "Rome"])
    y = np.where(warm, "yes", "no")
    auto = AutoDependency(time_limit=2.0, random_state=0)
    sets = ConformalSets(auto, 0.8).fit(X, y)
    first = [some[0] for some in sets.predict(X)]
    np.testing.assert_array_equal(first, sets.model_.predict(X))
    assert sets.covers(X, y).mean() > 0.75
    model = AutoDependency(output="warm", coverage=0.8, time_limit=2.0, random_state=0)
    table = {**frame, "warm": list(y)}
    again = mercer.load(mercer.save(model.fit(table), tmp_path / "model.mercer"))
    assert again.predict_set(frame, coverage=0.6) == model.predict_set(frame, coverage=0.6)


@pytest.mark.parametrize("blended", [False, True])
@pytest.mark.parametrize("joint", [False, True])
def test_values_that_were_filled_in_do_not_widen_sets(blended, joint):
    X, Y = pairs(0)
    some = Y.copy()
    some[::3, 1] = np.nan
    model = MissingTargets(KernelDependency(RBF(1.0), alpha=0.1))
    model = Blend([model, model]) if blended else model
    plain = LeftOutSets.of(KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y)).predict(X, 0.9, joint)
    found = LeftOutSets.of(model.fit(X, some)).predict(X, 0.9, joint)
    ratio = (found.upper - found.lower).mean(axis=0) / (plain.upper - plain.lower).mean(axis=0)
    assert (np.abs(ratio - 1) < 0.2).all()


def test_sets_need_a_complete_output():
    X, Y = pairs(0, 20)
    Y[::2, 0], Y[1::2, 1] = np.nan, np.nan
    model = MissingTargets(KernelDependency(RBF(1.0), alpha=0.1)).fit(X, Y)
    with pytest.raises(ValueError, match="no training output has all of its values"):
        LeftOutSets.of(model)
