"""Output columns of different kinds, and of one kind that has a column for each output."""

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import AutoDependency

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    count=100.0 * X[:, 0] + 20.0 * RNG.normal(size=60),
    weather=np.where(X[:, 1] + 0.3 * RNG.normal(size=60) > 0, "sun", "rain"),
    tags=[";".join(["p"] * int(u > 0) + ["q"] * int(v > 0)) for u, v in X[:, :2]],
    day=pd.Timestamp("2024-05-01") + pd.to_timedelta(np.round(20 * X[:, 2]), unit="D"),
    best=[" > ".join(np.array(["u", "v", "w"])[np.argsort(-x)]) for x in X],
)
OUTPUTS = ["count", "weather", "tags", "day", "best"]


@pytest.fixture(scope="module")
def model():
    return AutoDependency(["a", "b", "c"], OUTPUTS, random_state=0).fit(FRAME[:50])


def test_kinds_are_guessed_column_by_column(model):
    kinds = {name: model.spaces_[name] for name in OUTPUTS}
    assert kinds == {
        "count": "number", "weather": "class", "tags": "labels", "day": "number", "best": "ranking",
    }  # fmt: skip
    assert model.outputs_.kind_ == "record"
    assert model.metric_name_ == "mean of R², accuracy, F1 and Kendall tau"
    assert model.loo_score_ > model.baselines_["mean"]


def test_predictions_have_the_columns_index_and_types_of_the_table(model):
    new = FRAME[50:]
    predicted = model.predict(new)
    assert list(predicted.columns) == OUTPUTS and predicted.index.equals(new.index)
    assert predicted["day"].dtype.kind == "M" and predicted["count"].dtype == float
    assert set(predicted["weather"]) <= {"sun", "rain"}
    assert all(" > " in order for order in predicted["best"])
    assert len(model.loo_predict()) == 50


def test_the_score_is_the_mean_over_columns(model):
    found = model.evaluate(FRAME[50:])
    each = [found[name] for name in OUTPUTS]
    np.testing.assert_allclose(found[model.metric_name_], np.mean(each))
    np.testing.assert_allclose(model.score(FRAME[50:]), np.mean(each))
    rows = model.diagnose()["labels"]
    assert [row["column"] for row in rows] == OUTPUTS and "score" in rows[0]


def test_prediction_sets_are_those_of_the_columns(model):
    sets = model.predict_set(FRAME[50:], coverage=0.8)
    assert list(sets.columns) == [
        "lower count", "upper count", "set of weather", "surely tags", "possibly tags",
        "lower day", "upper day", "set of best",
    ]  # fmt: skip
    alone = model.predict_set(FRAME[50:], coverage=0.8, joint=False)
    wider = sets["upper count"] - sets["lower count"] >= alone["upper count"] - alone["lower count"]
    assert wider.all()


def test_ranked_records_and_explanations_are_dictionaries_of_cells(model):
    (best,) = model.predict_top(FRAME[50:51], 2)
    assert list(best[0][0]) == OUTPUTS and isinstance(best[0][0]["day"], pd.Timestamp)
    (row,) = model.explain(FRAME[50:51], 1)
    assert list(row[0][2]) == OUTPUTS


def test_saved_models_and_reports(model, tmp_path):
    again = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    pd.testing.assert_frame_equal(again.predict(FRAME), model.predict(FRAME))
    sets = (m.predict_set(FRAME, coverage=0.8) for m in (again, model))
    pd.testing.assert_frame_equal(*sets)
    page = model.report(tmp_path / "report.html").read_text()
    assert "weather" in page


def test_units_of_a_column_do_not_matter():
    frames = [FRAME.assign(count=unit * FRAME["count"]) for unit in (1.0, 1e5)]
    first, second = (
        AutoDependency(["a", "b"], ["count", "weather"], random_state=0).fit(f) for f in frames
    )
    np.testing.assert_allclose(first.loo_score_, second.loo_score_)
    np.testing.assert_allclose(1e5 * first.predict(FRAME)["count"], second.predict(FRAME)["count"])


def test_kinds_may_be_given_and_several_classes_are_a_record():
    other = FRAME.assign(side=np.where(FRAME["a"] > 0, "left", "right"))
    kinds = {"weather": "class", "side": "class"}
    model = AutoDependency(["a", "b"], kinds, random_state=0).fit(other)
    assert model.outputs_.kind_ == "record" and model.metric_name_ == "mean accuracy"
    assert set(model.predict(other)["side"]) == {"left", "right"}
    mixed = {"count": "number", "weather": "class"}
    assert AutoDependency(["a"], mixed, random_state=0).fit(FRAME).spaces_["count"] == "number"


def test_outputs_given_as_y_come_back_as_they_were():
    y = FRAME[["count", "weather"]]
    model = AutoDependency(random_state=0).fit(FRAME[["a", "b"]], y)
    assert list(model.predict(FRAME[["a", "b"]]).columns) == ["count", "weather"]
    bare = AutoDependency(random_state=0).fit(X, y.to_numpy())
    assert bare.predict(X).shape == (60, 2)
    ends = bare.predict_set(X[:3], coverage=0.8)
    assert len(ends) == 3  # the lower and the upper count, and the weather


def test_a_scorer_of_one_kind_is_refused():
    with pytest.raises(ValueError, match="scoring must be None for output columns"):
        AutoDependency(["a"], ["count", "weather"], scoring="r2").fit(FRAME)


@pytest.fixture(scope="module")
def gaps():
    """The same rows, with a third of the cells of some columns empty."""
    frame, rng = FRAME[:50].copy(), np.random.default_rng(1)
    for name in ("count", "weather", "day"):
        frame.loc[rng.random(50) < 0.3, name] = None
    return frame


@pytest.fixture(scope="module")
def of_gaps(gaps):
    return AutoDependency(["a", "b", "c"], OUTPUTS, random_state=0).fit(gaps)


def test_rows_count_for_the_outputs_that_they_have(gaps, of_gaps):
    lost = int(gaps[OUTPUTS].isna().sum().sum())
    assert any(note.startswith(f"{lost} of 250 output cells are empty") for note in of_gaps.notes_)
    predicted = of_gaps.predict(FRAME[50:])
    assert list(predicted.columns) == OUTPUTS and predicted.notna().all(axis=None)
    assert predicted["day"].dtype.kind == "M"
    assert of_gaps.score(FRAME[50:]) > 0.6


def test_what_is_missing_counts_as_no_error(gaps, of_gaps):
    found = of_gaps.evaluate(gaps)
    rows = gaps["weather"].notna()
    right = (of_gaps.predict(gaps)["weather"] == gaps["weather"])[rows].mean()
    np.testing.assert_allclose(found["weather"], right)
    assert len(of_gaps.diagnose()["worst"]) == 10


def test_sets_reports_and_files_of_outputs_with_gaps(of_gaps, tmp_path):
    sets = of_gaps.predict_set(FRAME[50:], coverage=0.8)
    assert (sets["lower count"] <= sets["upper count"]).all()
    again = mercer.load(mercer.save(of_gaps, tmp_path / "model.mercer"))
    pd.testing.assert_frame_equal(again.predict_set(FRAME[50:], coverage=0.8), sets)
    assert "output cells are empty" in of_gaps.report(tmp_path / "report.html").read_text()


def test_numbers_with_gaps_in_an_array_come_back_as_an_array():
    Y = X @ np.random.default_rng(0).normal(size=(3, 4))
    Y[np.random.default_rng(1).random(Y.shape) < 0.4] = np.nan
    model = AutoDependency(random_state=0).fit(X, Y)
    assert model.metric_name_ == "mean R²" and model.loo_score_ > 0.9
    assert model.predict(X).dtype == float and model.predict(X).shape == Y.shape
    assert set(model.spaces_.values()) == {"number"}


def test_lists_of_numbers_next_to_numbers_and_dates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = X @ rng.normal(size=(2, 4)) + 0.1 * rng.normal(size=(60, 4))
    days = pd.Timestamp("2021-01-05") + pd.to_timedelta((30 * Y[:, 2]).round(), unit="D")
    table = pd.DataFrame(X, columns=["a", "b"])
    table = table.assign(size=Y[:, :2].tolist(), weight=Y[:, 3], day=days)
    outputs = ["size", "weight", "day"]
    model = AutoDependency(output=outputs, preset="fast", random_state=0).fit(table)
    predicted = model.predict(table)
    assert list(predicted) == outputs and predicted["day"].dtype == table["day"].dtype
    assert np.abs(np.stack(predicted["size"]) - Y[:, :2]).mean() < 0.3
    assert np.abs(predicted["weight"] - Y[:, 3]).mean() < 0.3
    ends = model.predict_set(table[:5], coverage=0.8)
    assert (ends["lower weight"] <= predicted["weight"][:5]).all()
    assert (np.stack(ends["lower size"]) <= np.stack(predicted["size"][:5])).all()


def test_labels_of_several_types_among_the_inputs():
    rng = np.random.default_rng(0)
    labels = [[("x", 1, 2.5)[j] for j in range(3) if keep[j]] for keep in rng.random((40, 3)) > 0.4]
    table = pd.DataFrame({"labels": labels, "y": [float(1 in cell) for cell in labels]})
    table["y"] += 0.1 * rng.normal(size=40)
    model = AutoDependency(preset="fast", random_state=0).fit(table)
    assert model.spaces_["labels"] == "labels" and model.score(table) > 0.8
