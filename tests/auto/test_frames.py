"""Frames as users have them: every column type is read, or refused with a sentence."""

from datetime import date, time, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mercer import AutoDependency
from mercer.auto.dependency import _are_equal
from mercer.auto.tables.frames import as_table

RNG = np.random.default_rng(0)
N = 40
x = RNG.normal(size=N)


def fitted(frame, output="y", **parameters):
    return AutoDependency(output=output, random_state=0, **parameters).fit(frame)


@pytest.mark.parametrize("sizes", [(3, 4, 5), (4,)], ids=["several sizes", "one size"])
def test_a_column_of_graphs_is_an_input_and_an_output(sizes):
    networkx = pytest.importorskip("networkx")
    makes = [networkx.path_graph, networkx.cycle_graph]
    graphs = [makes[i % 2](sizes[i % len(sizes)]) for i in range(N)]
    edges = [float(graph.number_of_edges()) for graph in graphs]
    model = fitted(pd.DataFrame({"molecule": graphs, "y": edges}))
    assert model.spaces_ == {"molecule": "graph", "y": "number"}
    assert model.loo_score_ > 0.4
    kinds = [0.0 if graph.number_of_edges() < len(graph) else 1.0 for graph in graphs]
    model = fitted(pd.DataFrame({"x": kinds, "size": edges, "g": graphs}), "g")
    assert model.spaces_["g"] == "graph" and model.loo_score_ > 0.9
    predicted = model.predict(pd.DataFrame({"x": [1.0], "size": [4.0]}))["g"][0]
    assert isinstance(predicted, networkx.Graph)


def test_integers_of_128_bits_are_numbers():
    polars = pytest.importorskip("polars")
    columns = {"x": [10**30 + i * 10**29 for i in range(N)], "y": list(range(N))}
    assert fitted(polars.DataFrame(columns)).spaces_ == {"x": "number", "y": "number"}


def test_a_series_of_polars_is_flat():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": x})
    for y in (polars.Series("y", x**2), pd.Series(x**2, name="y")):
        model = AutoDependency(random_state=0).fit(frame, y)
        assert model.predict(frame).shape == (N,)


@pytest.mark.parametrize(
    "classes",
    [
        pd.array(np.where(np.arange(N) % 9, x > 0, None), dtype="boolean"),
        pd.Series(np.where(np.arange(N) % 9, 1 * (x > 0), None), dtype="Int64"),
        [bool(value > 0) if i % 9 else None for i, value in enumerate(x)],
        [np.bool_(value > 0) for value in x],
        [np.int64(value > 0) if i % 9 else np.nan for i, value in enumerate(x)],
    ],
    ids=["boolean", "Int64", "list of bool", "list of np.bool_", "list with NaN"],
)
def test_booleans_and_integers_with_missing_cells_are_classes(classes):
    model = fitted(pd.DataFrame({"x": x}).assign(y=pd.Series(classes, dtype=object)))
    same = AutoDependency(random_state=0, preset="fast").fit({"x": x}, classes)
    for fit in (model, same):
        assert fit.spaces_["y"] == "class"
        assert fit.classes_.tolist() == [False, True]
    predicted = model.predict({"x": x})["y"]
    assert predicted.dtype.kind in "bi"
    assert np.mean(predicted == (x > 0)) > 0.9


def test_arrays_of_pyarrow_are_columns():
    pyarrow = pytest.importorskip("pyarrow")
    words = np.where(x > 0, "p", "q")
    model = AutoDependency(random_state=0, preset="fast").fit(
        {"x": pyarrow.array(x)}, pyarrow.array(words.tolist())
    )
    assert model.spaces_ == {"x": "number", "y": "class"}
    assert np.mean(model.predict({"x": x}) == words) > 0.9


def test_a_lazy_frame_is_collected():
    polars = pytest.importorskip("polars")
    lazy = polars.LazyFrame({"x": x, "y": x**2})
    got = fitted(lazy).predict(lazy)
    assert isinstance(got, polars.DataFrame) and got.columns == ["y"] and len(got) == N


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame(np.ones((9, 3)), columns=["a", "a", "y"]), "column 'a' more than once"),
        (pd.DataFrame(), "the table has no columns"),
        (pd.DataFrame({"a": [], "y": []}), "0 rows: at least 4"),
        ({"a": [1.0, 2.0], "y": [1.0]}, "must have columns of one length"),
    ],
)
def test_frames_that_cannot_be_used(frame, message):
    with pytest.raises(ValueError, match=message):
        fitted(frame)


@pytest.mark.parametrize("table", [None, 3, 2.5, "table.csv", Path("table.csv")], ids=repr)
def test_what_is_not_a_table_is_named(table):
    model = fitted({"x": x, "y": x**2})
    for use in (model.predict, fitted):
        with pytest.raises(TypeError, match=r"a table must be a DataFrame.*mercer\.tables\.read"):
            use(table)


@pytest.mark.parametrize("row", [{"x": 0.5, "city": "Rome"}, {"city": "Rome"}, {"x": 1}])
def test_a_dictionary_of_single_values_is_not_a_table(row):
    with pytest.raises(
        ValueError, match=r"must hold columns, but '\w+' is .*: pass a list of value"
    ):
        as_table(row)


def test_durations_and_moments_come_back_as_they_are():
    hours = np.arange(N, dtype=float)
    new = pd.DataFrame({"x": [3.0, 4.0]})
    spans = pd.DataFrame({"x": hours, "y": pd.to_timedelta(hours, "h")})
    model = fitted(spans)
    assert model.found_["y"].endswith("days")
    got = model.predict(new)["y"]
    assert got.dtype.kind == "m" and abs(got[0] - timedelta(hours=3)) < timedelta(minutes=5)
    moments = pd.date_range("2024-03-01", periods=N, tz="Europe/Berlin")  # over a change of clocks
    got = fitted(pd.DataFrame({"x": hours, "y": moments})).predict(new)["y"]
    assert str(got.dt.tz) == "Europe/Berlin"
    assert list(got) == list(moments[3:5])
    assert fitted(pd.DataFrame({"when": moments, "y": hours})).loo_score_ > 0.99
    days = [date(2024, 1, 1) + timedelta(days=i) for i in range(N)]
    assert fitted({"x": hours, "y": days}).predict({"x": [3.0]})["y"] == [days[3]]
    model = fitted({"x": hours, "y": np.array(days, "M8[D]")})
    assert model.predict({"x": [3.0]})["y"][0] == days[3]


def test_periods_times_and_empty_columns():
    frame = pd.DataFrame({
        "month": pd.period_range("2020-01", periods=N, freq="M"),
        "start": [time(i % 24, 30) for i in range(N)],
        "nothing": [None] * N,
        "gaps": np.full(N, np.nan),
        "y": x,
    })  # fmt: skip
    model = fitted(frame)
    assert model.spaces_ == {
        "month": "number", "start": "number", "nothing": "nothing", "gaps": "nothing",
        "y": "number",
    }  # fmt: skip
    assert model.found_["month"] == "dates from 2020-01-01 to 2023-04-01"
    assert model.predict(frame)["y"].shape == (N,)
    with pytest.raises(ValueError, match="has 0 rows: at least 1 is needed to predict"):
        model.predict(frame[:0])
    with pytest.raises(ValueError, match="must not hold complex numbers"):
        fitted({"a": x + 1j, "y": x})
    with pytest.raises(ValueError, match="must not hold complex numbers"):
        fitted(pd.DataFrame({"a": x + 1j, "y": x}))


def test_lists_of_integers_are_labels_and_stay_integers():
    sets = [[1, 2] if v > 0 else [1] for v in x]
    model = AutoDependency(random_state=0).fit(x[:, None], sets)
    assert model.spaces_["y"] == "labels"
    assert model.predict([[1.0], [-1.0]]).tolist() == [[1, 2], [1]]
    assert model.classes_.tolist() == [1, 2]
    assert fitted({"tags": sets, "y": x}).spaces_["tags"] == "labels"


def test_a_text_column_may_be_called_numbers():
    frame = pd.DataFrame({"numbers": [f"word{i % 7} and {i} others" for i in range(N)], "x": x})
    model = fitted(frame.assign(y=x))
    assert model.spaces_["numbers"] == "text"
    assert model.predict(frame)["y"].shape == (N,)


def test_a_missing_cell_is_not_a_category():
    cells = ["None", "b", None, "c"] * 10
    model = fitted({"c": cells, "y": x})
    assert model.inputs_.values_ == {"c": ["None", "b", "c"]}
    rows = model.inputs_._numeric_blocks(model.training_.table)["c"]
    assert rows[0].tolist() == [1, 0, 0] and rows[2].tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", [bool, float])
def test_an_empty_cell_of_two_values_is_their_mean(kind):
    member = np.arange(N) % 4 > 0
    model = fitted(pd.DataFrame({"x": x, "member": member.astype(kind), "y": x + 3.0 * member}))
    new = pd.DataFrame({"x": [0.0], "member": [None]})
    mean = pd.DataFrame({"x": [0.0], "member": [0.75]})
    np.testing.assert_allclose(model.predict(new), model.predict(mean))


def test_integers_and_floats_are_the_same_categories():
    frame = pd.DataFrame({"zip": np.resize([10, 20, 30], N), "x": x})
    frame["y"] = frame["zip"].map({10: 5.0, 20: -5.0, 30: 0.0}) + 0.1 * x
    model = fitted(frame, preset="fast", inputs={"zip": "category", "x": "number"})
    new = frame[:3].drop(columns="y")
    with_gap = pd.DataFrame({"zip": [*new["zip"], None], "x": [*new["x"], 0.0]})
    assert with_gap["zip"].dtype == float
    np.testing.assert_allclose(model.predict(with_gap)["y"][:3], model.predict(new)["y"])
    floats = fitted(frame.astype(float), preset="fast", inputs={"zip": "category", "x": "number"})
    np.testing.assert_allclose(floats.predict(new)["y"], model.predict(new)["y"])


def test_a_new_category_is_ignored_with_a_warning():
    frame = pd.DataFrame({"city": np.resize(["Rome", "Oslo"], N), "x": x, "y": x + 1.0})
    model = fitted(frame, preset="fast", inputs={"city": "category"})
    with pytest.warns(UserWarning, match="categories of column 'city' .* ignored: 'Lima'") as seen:
        model.predict(pd.DataFrame({"city": ["Rome", None, "Lima"], "x": [0.0, 1.0, 2.0]}))
    assert len(seen) == 1


def test_a_new_tag_is_ignored_with_a_note():
    model = fitted({"tags": [["a"], ["b"], ["a", "c"], []] * 10, "y": x})
    expected = model.predict({"tags": [["a"]]})["y"]
    with pytest.warns(UserWarning, match="not seen in training are ignored: 'new'"):
        got = model.predict({"tags": [["a", "new"]]})["y"]
    np.testing.assert_array_equal(got, expected)


def test_rankings_may_leave_labels_out():
    orders = ["a > b > c" if v > 0 else "b > a" for v in x]
    model = fitted({"x": x, "y": orders})
    assert "rankings leave out some labels" in model.notes_[0]
    first, second = model.predict({"x": [1.0, -1.0]})["y"]
    assert first == "a > b > c" and second.replace(" > ", "").replace("c", "") == "ba"
    ranks = np.array([[1, 2, 3] if v > 0 else [2, 1, -1] for v in x])
    model = AutoDependency(output={"y": "ranking"}, random_state=0).fit(x[:, None], ranks)
    assert model.predict([[1.0]]).tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"coverage": 90}, "coverage must be a number between 0 and 1, got 90"),
        ({"coverage": 0.99}, "40 rows or groups are too few for coverage 0.99: need at least 99"),
        ({"time_limit": float("nan")}, "time_limit must be a positive number of seconds"),
        ({"inputs": {"x": "song"}}, r"inputs\['x'\] must be one of number"),
        ({"scoring": "song"}, "'song' is neither a scorer"),
        ({"groups": "who"}, "no column 'who'"),
        ({"id": "who"}, "no column 'who'"),
    ],
)
def test_arguments_are_checked_before_anything_is_fitted(parameters, message, monkeypatch):
    monkeypatch.setattr("mercer.auto.search.ModelSearch.run", None)
    with pytest.raises(ValueError, match=message):
        fitted({"x": x, "y": x}, **parameters)


def test_intervals_of_columns_are_narrower_than_joint_ones():
    frame = pd.DataFrame({"x": x, "y": x + RNG.normal(size=N), "z": x - RNG.normal(size=N)},
                         index=np.arange(N) + 100)  # fmt: skip
    model = fitted(frame, ["y", "z"], coverage=0.8)
    joint, each = model.predict_set(frame), model.predict_set(frame, joint=False)
    assert list(joint.columns) == ["lower y", "upper y", "lower z", "upper z"]
    assert list(joint.index) == list(frame.index) == list(model.loo_predict().index)
    inside = [frame[n].between(each[f"lower {n}"], each[f"upper {n}"]).mean() for n in ("y", "z")]
    assert min(inside) > 0.7
    widths = [(sets["upper y"] - sets["lower y"]).mean() for sets in (each, joint)]
    assert widths[0] < widths[1]


@pytest.mark.parametrize(
    ("column", "cell", "sentence"),
    [
        ("size", pd.Timestamp("2020-03-03"), "is a date, but the training rows have numbers"),
        ("size", "2020-03-03", "is a date, but the training rows have numbers"),
        ("day", 5, "5 is a number, but the training rows have dates"),
        ("size", timedelta(hours=1), "is a duration, but the training rows have numbers"),
    ],
)
def test_new_rows_have_values_of_the_training_kind(column, cell, sentence):
    days = pd.date_range("2024-01-01", periods=N)
    model = fitted(pd.DataFrame({"size": x, "day": days, "y": x + np.arange(N)}))
    new = {"size": 1.0, "day": days[3]} | {column: cell}
    with pytest.raises(ValueError, match=sentence):
        model.predict(pd.DataFrame({name: [value] for name, value in new.items()}))


def test_numbers_have_intervals_and_not_ranked_lists():
    model = fitted(pd.DataFrame({"x": x, "y": 2 * x}), preset="fast")
    with pytest.raises(ValueError, match="use predict_set"):
        model.predict_top({"x": x[:2]}, 2)


def test_a_copy_of_an_output_with_missing_integers_is_not_an_input():
    counts = pd.Series(np.where(np.arange(N) % 9, 1000 + np.arange(N), None), dtype="Int64")
    with pytest.warns(UserWarning, match="also in y are not used"):
        model = AutoDependency(random_state=0, preset="fast").fit(
            pd.DataFrame({"x": x, "y": counts}), pd.DataFrame({"y": counts})
        )
    assert model.spaces_ == {"x": "number", "y": "number"}
    assert model.loo_score_ < 0.5


def test_a_copy_of_an_output_of_floats_in_a_list_is_not_an_input():
    """One text makes a list of the column; the copy has other objects of equal value."""
    sizes = [*np.exp(x[1:]).tolist(), "NA"]
    copied = [*map(float, map(repr, sizes[:-1])), "NA"]
    with pytest.warns(UserWarning, match="also in y are not used as inputs: 'size'"):
        model = AutoDependency(random_state=0, preset="fast").fit(
            {"x": np.append(x[1:], 0.0), "size": sizes}, {"size": copied}
        )
    assert list(model.inputs_.kinds_) == ["x"]


GAP, DAY = float("nan"), date(2024, 1, 1)


@pytest.mark.parametrize(
    ("cells", "others"),
    [
        ([0.5, 1e300], [0.5, 1e300]),
        ([0.5, GAP, None], [0.5, None, float("nan")]),
        ([0.5, GAP, "NA"], [0.5, float("nan"), "NA"]),
        ([1, None], np.array([1.0, np.nan])),
        ([DAY, None], [date(2024, 1, 1), pd.NaT]),
        ([[0.5, GAP], [1.5]], [[0.5, float("nan")], [1.5]]),
        ([np.array([0.5, GAP]), np.ones(1)], [np.array([0.5, GAP]), np.ones(1)]),
        (np.array([[0.5, GAP]]), np.array([[0.5, GAP]])),
    ],
)
def test_copies_of_columns_are_equal(cells, others):
    """Equal numbers in this file are one object, so that floats are copied."""
    copied = [float(repr(c)) if type(c) is float else c for c in others]
    assert _are_equal(cells, copied if isinstance(others, list) else others)


@pytest.mark.parametrize(
    ("cells", "others"),
    [
        ([0.5, 1.5], [0.5, 1.5, 2.5]),
        ([0.5, 1.5], [0.5]),
        ([0.5, None], [0.5, 0.0]),
        ([0.5, GAP], [0.5, "nan"]),
        ([1.5], ["1.5"]),
        (["a"], [["a"]]),
        ([pd.NA], [1]),
        ([np.zeros(0)], ["a"]),
        ([[0.5, 1.5]], [[0.5]]),
        (np.array([DAY], dtype="datetime64[us]"), np.array([0.0])),
    ],
)
def test_columns_with_other_cells_are_not_equal(cells, others):
    assert not _are_equal(cells, others)
    assert not _are_equal(others, cells)


def test_rankings_by_mean_rank_have_sets_and_not_ranked_lists():
    ranks = np.argsort(np.argsort(np.outer(x, np.ones(11)) + RNG.normal(size=(N, 11)), axis=1))
    model = AutoDependency(preset="fast", random_state=0).fit(x[:, None], ranks)
    with pytest.raises(ValueError, match="mean rank.*use predict_set"):
        model.predict_top(x[:2, None], 2)
    assert all(model.predict_set(x[:2, None], 0.8))


def test_columns_of_booleans_come_back_as_booleans():
    truth = np.column_stack([x > 0, x < 1])
    frame = pd.DataFrame({"x": x, "sea": truth[:, 0], "sun": truth[:, 1]})
    model = fitted(frame, ["sea", "sun"], preset="fast")
    tables = model.predict(frame), model.loo_predict(), model.predict_set(frame, 0.8)
    assert all(dtype.kind == "b" for table in tables for dtype in table.dtypes)
    assert isinstance(model.predict_top(frame[:1], 1)[0][0][0]["sun"], bool)
    model = AutoDependency(preset="fast", random_state=0).fit(x[:, None], truth)
    assert model.predict(x[:, None]).dtype == model.loo_predict().dtype == bool
    model.fit(x[:, None], truth.astype(int))
    assert model.predict(x[:, None]).dtype == int


def test_masked_entries_are_missing():
    mask = np.arange(N) % 4 == 0
    y = np.ma.masked_array(np.where(mask, 1e6, 2 * x), mask)
    model = AutoDependency(preset="fast", random_state=0).fit(x[:, None], y)
    assert model.n_rows_ == 30
    np.testing.assert_allclose(model.predict(x[:5, None]), 2 * x[:5], atol=0.1)
    days = np.ma.masked_array(np.datetime64("2024-01-01") + np.arange(N), mask)
    table = as_table({"whole": y.astype(int), "days": days, "images": np.ma.stack([y, y], 1)})
    assert [len(table.empty(name)) for name in table.columns] == [10, 10, 10]
    assert len(as_table(np.ma.stack([y, y], 1)).empty(1)) == 10
