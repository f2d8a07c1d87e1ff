"""AutoDependency: one line from a table to a model."""

import io
import time

import numpy as np
import pandas
import pyarrow
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer

import mercer
from mercer import AutoDependency
from mercer._base import progress
from mercer.metrics import hamming_accuracy

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 3))
Y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 2] ** 2]) + 0.1 * RNG.normal(size=(N, 2))


def auto(**parameters):
    return AutoDependency(random_state=0, **parameters)


def table():
    city = np.array(["Rome", "Oslo", "Lima"], dtype=object)[RNG.integers(3, size=N)]
    price = X[:, 0].copy()
    price[3] = np.nan
    return pandas.DataFrame(
        {
            "id": [f"r{i}" for i in range(N)],
            "price": price,
            "city": city,
            "day": pandas.date_range("2024-01-01", periods=N),
            "warm": np.where(city == "Oslo", "no", "yes"),
        },
        index=np.arange(N) + 100,
    )


@pytest.fixture(scope="module")
def vectors():
    return auto().fit(X, Y)


def test_vectors_beat_the_mean_and_every_candidate_is_listed(vectors):
    model = vectors
    assert model.loo_score_ > max(model.baselines_["mean"], 0.5)
    families = {"RBF", "Laplacian", "Matern", "linear", "extra trees", "blend"}
    assert set(model.leaderboard_["family"]) >= families
    assert model.leaderboard_["score"].is_monotonic_decreasing
    assert model.predict(X[:4]).shape == (4, 2)
    assert model.loo_predict().shape == Y.shape
    assert model.score(X, Y) > model.loo_score_


def test_plain_numbers_come_back_plain():
    assert auto().fit(X, Y[:, 0]).predict(X[:4]).shape == (4,)
    assert auto().fit(X.tolist(), Y[:, 0].tolist()).predict(X[:4].tolist()).shape == (4,)


def test_a_data_frame_keeps_names_ids_and_index():
    frame = table()
    model = auto(output="warm", id="id").fit(frame)
    assert model.spaces_ == {
        "price": "number", "city": "category", "day": "number", "warm": "class",
    }  # fmt: skip
    got = model.predict(frame.iloc[5:9])
    assert list(got.columns) == ["id", "warm"]
    assert list(got.index) == [105, 106, 107, 108]
    assert list(got["id"]) == ["r5", "r6", "r7", "r8"]
    assert model.score(frame) > 0.9


def test_missing_values_and_unseen_categories_are_predicted_from():
    model = auto(output="warm", inputs=["price", "city"]).fit(table())
    new = pandas.DataFrame({"price": [np.nan, 0.1], "city": ["Paris", None]})
    with pytest.warns(UserWarning, match="categories of column 'city'.*: 'Paris'"):
        assert set(model.predict(new)["warm"]) <= {"yes", "no"}


@pytest.fixture(scope="module")
def from_arrays():
    """Predictions of a model of two columns, given as arrays."""
    return auto().fit(X[:, :2], Y[:, 0]).predict(X[:, :2])


@pytest.mark.parametrize("make", [dict, pandas.DataFrame, pyarrow.table, "rows"])
def test_tables_of_every_make(make, from_arrays):
    columns = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist(), "c": Y[:, 0].tolist()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    frame = rows if make == "rows" else make(columns)
    model = auto().fit(frame)  # the last column is the output
    got = model.predict(frame)
    np.testing.assert_allclose(np.asarray(got["c"], dtype=float), from_arrays)
    if make not in (dict, "rows"):
        assert type(got) is type(frame)


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": X[:, 0], "c": Y[:, 0]})
    got = auto(output="c").fit(frame).predict(frame)
    assert isinstance(got, polars.DataFrame)
    assert got.columns == ["c"]


def test_texts_and_numbers_to_label_sets():
    words = np.array(["sea sand sun hot", "snow ice cold hill", "rain tea book home"])
    kind = RNG.integers(3, size=30)
    texts = [f"{words[k]} number {i} of the list" for i, k in enumerate(kind)]
    tags = [["a"] if k == 0 else ["a", "b"] if k == 1 else [] for k in kind]
    frame = pandas.DataFrame({"text": texts, "x": X[:30, 0], "tags": tags})
    model = auto(output="tags").fit(frame)
    assert model.spaces_ == {"text": "text", "x": "number", "tags": "labels"}
    assert model.loo_score_ > 0.9
    assert sorted(model.predict(frame)["tags"][1]) == sorted(tags[1])


def test_indicators_rankings_classes_and_curves_are_told_apart():
    sets = (X > 0).astype(int)
    ranks = np.argsort(np.argsort(-X, axis=1), axis=1)
    curves = np.cumsum(X @ RNG.normal(size=(3, 20)), axis=1)
    for outputs, kind in [(sets, "labels"), (ranks + 1, "ranking"), (curves, "curve")]:
        model = auto().fit(X, outputs)
        assert model.outputs_.kind_ == kind
        got = model.predict(X[:5])
        assert got.shape == outputs[:5].shape
        assert kind == "curve" or np.isin(got, np.unique(outputs)).all()
    assert auto().fit(X, sets[:, 0]).outputs_.kind_ == "class"


def test_a_guess_can_be_overridden():
    model = auto(output={"c": "number"}, inputs={"b": "category"}).fit(
        {"a": X[:, 0], "b": RNG.integers(3, size=N), "c": RNG.integers(3, size=N)}
    )
    assert model.spaces_ == {"a": "number", "b": "category", "c": "number"}


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_change_no_prediction(factor, vectors):
    expected = vectors.predict(X)
    scaled = X * [1.0, factor, 1.0]
    for got in (
        auto().fit(scaled, Y).predict(scaled),
        auto().fit(X, Y * factor).predict(X) / factor,
    ):
        assert (np.abs(got - expected) <= 1e-6 * np.ptp(expected, axis=0)).all()


def test_groups_are_left_out_together():
    groups = np.repeat(range(N // 2), 2)
    twice, outputs = X[groups], RNG.normal(size=N)[groups]
    assert auto().fit(twice, outputs).loo_score_ > 0.8
    assert auto().fit(twice, outputs, groups=groups).loo_score_ < 0.3
    frame = {"x": twice[:, 0], "y": twice[:, 1], "who": groups, "out": outputs}
    model = auto(groups="who").fit(frame)
    assert model.loo_score_ < 0.3
    assert "who" not in model.spaces_


def test_scoring_and_weights():
    sets = (X > 0).astype(int)
    model = auto(scoring=make_scorer(hamming_accuracy)).fit(X, sets, sample_weight=np.ones(N))
    assert model.loo_score_ == pytest.approx(hamming_accuracy(sets, model.loo_predict()), abs=0.05)


def test_sets_cover():
    new = RNG.normal(size=(200, 3))
    truth = np.column_stack([np.sin(2 * new[:, 0]) + new[:, 1], new[:, 2] ** 2])
    model = auto(coverage=0.8).fit(X, Y)
    low, high = model.predict_set(new)
    inside = ((low <= truth) & (truth <= high)).all(axis=1).mean()
    assert 0.65 < inside < 0.97
    low, high = model.predict_set(new, joint=False)
    found = model.evaluate(new, truth)
    assert found["coverage of rows"] == inside
    assert found["coverage of values"] == ((low <= truth) & (truth <= high)).mean()
    kinds = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, "up", "down")
    sets = auto(coverage=0.9).fit(X, kinds).predict_set(X)
    assert np.mean([kind in found for kind, found in zip(kinds, sets, strict=True)]) > 0.8
    with pytest.raises(ValueError, match="need at least 99"):
        auto(coverage=0.99).fit(X, Y)
    with pytest.raises(ValueError, match="give coverage="):
        auto().fit(X, kinds).predict_set(X)


def test_a_model_is_saved_whole(tmp_path):
    frame = table()
    model = auto(output="warm", id="id", coverage=0.8).fit(frame)
    again = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    pandas.testing.assert_frame_equal(again.predict(frame), model.predict(frame))
    pandas.testing.assert_frame_equal(again.leaderboard_, model.leaderboard_)
    pandas.testing.assert_frame_equal(again.predict_set(frame), model.predict_set(frame))


def saved_and_loaded(inputs, outputs, path):
    """Return a model that was fitted in a short time, and a copy from a file."""
    model = auto(preset="fast", time_limit=0.01).fit(inputs, outputs)
    return model, mercer.load(mercer.save(model, path))


def test_intervals_of_many_rows_are_saved(tmp_path):
    inputs = np.random.default_rng(0).normal(size=(4001, 2))
    models = saved_and_loaded(inputs, inputs[:, 0], tmp_path / "m")
    np.testing.assert_allclose(*(m.predict_set(inputs[:5], coverage=0.9) for m in models))


def test_a_model_saved_without_sets_says_how_to_get_them(tmp_path):
    inputs = np.random.default_rng(0).normal(size=(4001, 2))
    _, again = saved_and_loaded(inputs, (inputs > 0).astype(int), tmp_path / "m")
    with pytest.raises(ValueError, match=r"AutoDependency\(coverage=0.9\)"):
        again.predict_set(inputs[:5], coverage=0.9)


def test_a_time_limit_is_kept():
    many = RNG.normal(size=(700, 10))
    start = time.perf_counter()
    auto(time_limit=2.0).fit(many, np.sin(many[:, :2]))
    assert time.perf_counter() - start < 20.0  # generous: machines are shared


def test_the_report_is_one_file(tmp_path, vectors):
    path = vectors.report(tmp_path / "report.html")
    text = path.read_text()
    assert "Laplacian" in text and "nearest neighbours" in text and "http" not in text


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"output": "nothing"}, "no column 'nothing'"),
        ({"output": []}, "no column to predict"),
        ({"inputs": ["a", "zz"], "output": "c"}, "no column 'zz'"),
        ({"output": {"c": "song"}}, "output\\['c'\\] must be one of number"),
        ({"inputs": {"a": "song"}, "output": "c"}, "inputs\\['a'\\] must be one of number"),
    ],
)
def test_what_is_not_there_is_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        auto(**parameters).fit({"a": [1.0, 2.0, 3.0, 5.0], "c": [1.0, 2.0, 3.0, 4.0]})


@pytest.mark.parametrize("method", ["predict", "explain", "evaluate", "score"])
def test_a_model_must_be_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(auto(), method)([[1.0]])


def test_rows_without_an_output_are_left_out():
    frame = pandas.DataFrame({"x": X[:, 0], "t": 2.0 * X[:, 0]})
    frame.loc[[0, 5], "t"] = np.nan
    model = auto(output="t", preset="fast").fit(frame)
    assert "2 rows without an output are left out." in model.notes_
    complete = auto(output="t", preset="fast").fit(frame.dropna())
    pandas.testing.assert_frame_equal(model.predict(frame), complete.predict(frame))
    assert model.loo_predict().index.equals(frame.dropna().index)


def test_a_copy_of_the_output_is_not_an_input():
    frame = pandas.DataFrame({"x": X[:, 0], "t": X[:, 1]})
    with pytest.warns(UserWarning, match="also in y are not used as inputs: 't'"):
        model = auto(preset="fast").fit(frame, frame["t"])
    assert list(model.inputs_.kinds_) == ["x"]
    other = auto(preset="fast").fit(frame, (2.0 * frame["t"]).rename("t"))
    assert list(other.inputs_.kinds_) == ["x", "t"]


def test_constant_inputs_and_missing_outputs_are_refused():
    with pytest.raises(ValueError, match="nothing to learn from"):
        auto().fit(np.ones((10, 2)), np.arange(10.0))
    with pytest.raises(ValueError, match="row 0: column 'y' is empty"):
        auto().fit(X[:10], np.full(10, np.nan))


def test_images_to_images_try_neighbourhoods():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4, 4))
    model = AutoDependency(time_limit=20, random_state=0).fit(X, X * np.roll(X, 1, axis=1))
    assert "patches" in set(model.leaderboard_["family"])
    assert model.predict(X[:2]).shape == (2, 4, 4)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("verbose", [False, True])
def test_a_terminal_shows_how_far_a_fit_is_whether_asked_or_not(monkeypatch, verbose):
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    auto(verbose=verbose).fit(X[:20], Y[:20])
    assert "left" in shown.getvalue()


@pytest.mark.parametrize("verbose", [False, True])
def test_a_log_has_lines_only_where_they_are_asked_for(monkeypatch, verbose):
    log = io.StringIO()
    monkeypatch.setattr("sys.stderr", log)
    monkeypatch.setattr(progress, "LINE", 0.0)
    auto(verbose=verbose).fit(X[:20], Y[:20])
    assert ("% done" in log.getvalue()) is verbose
