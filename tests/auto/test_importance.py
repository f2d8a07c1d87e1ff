"""Which columns matter: the fall of the score when one is shuffled."""

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import AutoDependency

rng = np.random.default_rng(0)
N = 150
FRAME = pd.DataFrame({
    "noise": rng.normal(size=N),
    "size": rng.normal(size=N),
    "city": rng.choice(["Rome", "Oslo", "Lima"], N),
    "word": rng.choice(["a good day for walks", "a bad day for us all"], N),
    "day": pd.date_range("2024-01-01", periods=N),
})  # fmt: skip
FRAME["price"] = 3 * FRAME["size"] + (FRAME["city"] == "Oslo") + 0.1 * rng.normal(size=N)


@pytest.fixture(scope="module")
def model(few_trees):
    return AutoDependency(output="price", random_state=0).fit(FRAME)


def test_columns_that_matter_come_first(model):
    falls = model.importances_
    assert list(falls.index[:2]) == ["size", "city"]
    assert set(falls.index) == set(FRAME.columns) - {"price"}
    assert falls["size"] > 0.5 > 0.1 > falls["noise"]
    assert falls.name == "fall of mean R²"


def test_they_are_saved_once_computed(model, tmp_path):
    loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    pd.testing.assert_series_equal(loaded.importances_, model.importances_)


def test_only_one_column_is_shuffled(model):
    inputs, X = model.inputs_, model.training_.pairs.X
    order = np.arange(N)[::-1]
    for name in ("size", "city", "day"):
        shuffled = inputs.shuffled(X, name, order)
        Z, before = inputs.scaled_numbers(shuffled), inputs.scaled_numbers(X)
        own = inputs._features_of(name)
        np.testing.assert_array_equal(Z[:, own], before[::-1][:, own])
        np.testing.assert_array_equal(Z[:, ~own], before[:, ~own])
    words = [row["word"] for row in inputs.shuffled(X, "word", order)]
    assert words == [row["word"] for row in X[::-1]]


def test_classes_by_their_probabilities(few_trees):
    columns = FRAME[["noise", "size", "city"]]
    frame = columns.assign(kind=np.where(FRAME["size"] > 0, "big", "small"))
    model = AutoDependency(output="kind", scoring="neg_log_loss", random_state=0).fit(frame)
    assert model.importances_.index[0] == "size"
    assert model.importances_.iloc[0] > 0.2
