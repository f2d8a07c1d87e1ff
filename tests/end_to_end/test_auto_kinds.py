"""What a user does with each kind of table: fit, save, load, predict and evaluate."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import AutoDependency, KernelDependencyCV
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF
from mercer.tables import read

WORDS = {"sea": "waves sand salt", "snow": "ice cold white", "town": "street house bus"}


def split(frame: pd.DataFrame, n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    return frame[:n], frame[n:]


def saved(model: AutoDependency, new: pd.DataFrame, folder) -> pd.DataFrame:
    """Predictions for new rows, the same after saving and loading."""
    predicted = model.predict(new)
    loaded = mercer.load(mercer.save(model, folder / "model.mercer"))
    again = loaded.predict(new)
    assert list(predicted.index) == list(new.index)
    for one, other in zip(predicted.to_numpy().ravel(), again.to_numpy().ravel(), strict=True):
        np.testing.assert_array_equal(one, other)
    return predicted


def test_curves(tmp_path):
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(220, 2)), np.linspace(0, 1, 30)
    Y = np.sin(3 * t + X[:, :1]) * np.exp(0.3 * X[:, 1:])
    columns = [f"t{j}" for j in range(30)]
    frame = pd.DataFrame(np.hstack([X, Y]), columns=["phase", "size", *columns])
    train, new = split(frame, 200)
    model = AutoDependency(output=columns, random_state=0).fit(train)
    assert model.spaces_["t0"] == "curve"
    predicted = saved(model, new, tmp_path)
    error = ((predicted - new[columns]) ** 2).to_numpy().mean() / new[columns].to_numpy().var()
    assert error < 0.05
    bands = model.predict_set(new, coverage=0.9)
    assert (bands["lower t3"] <= predicted["t3"]).all()


def test_five_thousand_label_sets(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_100, 4))
    names = np.array(["sun", "wind", "rain"])
    tags = [";".join(names[row > 0]) for row in X[:, :3] + 0.2 * rng.normal(size=(5_100, 3))]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(tags=tags)
    train, new = split(frame, 5_000)
    model = AutoDependency(output="tags", time_limit=10, random_state=0).fit(train)
    assert model.spaces_["tags"] == "labels"
    found = {tag for cell in saved(model, new, tmp_path)["tags"] for tag in cell.split(";") if tag}
    assert found == set(names)
    assert model.score(new) > 0.8
    assert model.predict_proba(new).shape == (100, 3)
    assert set(model.classes_) == set(names)


def test_classes_and_their_probabilities(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = np.where(X[:, 0] > 0, "warm", np.where(X[:, 1] > 0, "mild", "cold"))
    train, new = split(frame, 120)
    model = AutoDependency(output="kind", coverage=0.9, random_state=0).fit(train)
    assert (saved(model, new, tmp_path)["kind"] == new["kind"]).mean() > 0.8
    likely = model.classes_[model.predict_proba(new).argmax(axis=1)]
    assert (likely == new["kind"]).mean() > 0.8
    covered = [k in found for k, found in zip(new["kind"], model.predict_set(new)["set of kind"],
                                              strict=True)]  # fmt: skip
    assert np.mean(covered) > 0.8


def test_rankings(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(140, 4))
    names = np.array(["fig", "pear", "plum", "kiwi"])
    orders = [" > ".join(names[np.argsort(-row)]) for row in X + 0.2 * rng.normal(size=X.shape)]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(order=orders)
    train, new = split(frame, 120)
    model = AutoDependency(output="order", random_state=0).fit(train)
    assert model.spaces_["order"] == "ranking"
    assert sorted(saved(model, new, tmp_path)["order"].iloc[0].split(" > ")) == sorted(names)
    assert model.evaluate(new)["Kendall tau"] > 0.7


def _posts(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        tags = [tag for tag in WORDS if rng.random() < 0.5]
        words = [rng.choice(WORDS[tag].split()) for tag in tags for _ in range(2)]
        rows.append({"text": " ".join(["we", "saw", *words, f"number {i}"]), "tags": tags})
    return pd.DataFrame(rows)


def test_texts_to_tags(tmp_path):
    train, new = split(_posts(170), 150)
    model = AutoDependency(output="tags", random_state=0).fit(train)
    assert model.spaces_ == {"text": "text", "tags": "labels"}
    assert isinstance(saved(model, new, tmp_path)["tags"].iloc[0], list)
    assert model.score(new) > 0.8


def test_graphs(tmp_path):
    networkx = pytest.importorskip("networkx")
    makes = {"ring": networkx.cycle_graph, "line": networkx.path_graph, "star": networkx.star_graph}
    names = [list(makes)[i % 3] for i in range(66)]
    graphs = [makes[name](4 + i % 5) for i, name in enumerate(names)]
    train, new = split(pd.DataFrame({"graph": graphs, "shape": names}), 60)
    model = AutoDependency(output="shape", random_state=0).fit(train)
    assert model.spaces_ == {"graph": "graph", "shape": "class"}
    assert list(saved(model, new, tmp_path)["shape"]) == list(new["shape"])


def test_strings(tmp_path):
    rng = np.random.default_rng(0)
    stems = ["".join(rng.choice(list("bdgkl")) + rng.choice(list("aeiou")) for _ in range(2))
             for _ in range(100)]  # fmt: skip
    frame = pd.DataFrame({"word": stems, "plural": [f"{stem}s" for stem in stems]})
    train, new = split(frame, 80)
    model = AutoDependency(output="plural", random_state=0).fit(train)
    assert "SequenceTransducer" in model.chosen_
    assert (saved(model, new, tmp_path)["plural"] == new["plural"]).mean() > 0.9


def _flats(n: int) -> pd.DataFrame:
    """A table as people have them: dates, money, categories, texts, and missing cells."""
    rng = np.random.default_rng(0)
    size, city = rng.uniform(20, 120, n), rng.choice(["Rome", "Oslo", "Lima"], n)
    built = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 25_000, n), "D")
    rent = size * pd.Series(city).map({"Rome": 12.0, "Oslo": 18.0, "Lima": 6.0}) + built.year / 100
    frame = pd.DataFrame({
        "flat": [f"f{i}" for i in range(n)],
        "size": [f"{v:.1f}".replace(".", ",") for v in size],
        "city": city,
        "built": built.strftime("%d.%m.%Y"),
        "note": [f"{'quiet' if i % 3 else 'loud'} flat near the park {i}" for i in range(n)],
        "rent": [f"{v:,.2f} €".translate(str.maketrans(",.", ".,")) for v in rent],
    })  # fmt: skip
    frame.loc[frame.index % 9 == 0, "city"] = None
    frame.loc[frame.index % 11 == 0, "size"] = ""
    return frame


def test_a_mixed_table_from_a_frame_and_from_a_file(tmp_path):
    train, new = split(_flats(200), 170)
    model = AutoDependency(output="rent", id="flat", time_limit=20, random_state=0).fit(train)
    assert model.spaces_ == {
        "size": "number", "city": "category", "built": "number", "note": "text", "rent": "number",
    }  # fmt: skip
    assert "dates from 19" in model.found_["built"]
    predicted = saved(model, new, tmp_path)
    assert list(predicted["flat"]) == list(new["flat"])
    assert model.score(new) > 0.4
    train.to_csv(tmp_path / "flats.csv", sep=";", index=False)
    file = read(tmp_path / "flats.csv")
    assert file.decimal == ","
    again = AutoDependency(output="rent", id="flat", time_limit=20, random_state=0).fit(file)
    assert again.spaces_ == model.spaces_


def test_dask():
    pytest.importorskip("dask.dataframe")
    import dask.array
    import dask.dataframe

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]])
    blocks = [dask.array.from_array(A, chunks=(100, A.shape[1])) for A in (X, Y)]
    model = KernelDependencyCV(RBF("median"), features=IncompleteCholesky(100)).fit(*blocks)
    assert ((np.asarray(model.predict(X)) - Y) ** 2).mean() < 0.05
    frame = pd.DataFrame(np.hstack([X, Y[:, :1]]), columns=[*"abc", "y"])
    lazy = dask.dataframe.from_pandas(frame, npartitions=4)
    assert AutoDependency(output="y", time_limit=10, random_state=0).fit(lazy).loo_score_ > 0.9


def test_a_stream():
    def blocks():
        rng = np.random.default_rng(0)
        for _ in range(20):
            X = rng.uniform(-1, 1, size=(500, 2))
            yield X, np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] * X[:, 1]])

    model = KernelDependencyCV(RBF("median"), features=IncompleteCholesky(100)).fit(blocks)
    X = np.random.default_rng(1).uniform(-1, 1, size=(50, 2))
    truth = np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] * X[:, 1]])
    assert np.abs(model.predict(X) - truth).mean() < 0.05


@pytest.mark.skipif("MERCER_NIGHTLY" not in os.environ, reason="set MERCER_NIGHTLY=1")
@pytest.mark.parametrize("n", [20_000, 100_000])
def test_many_rows(n, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 200, 5))
    Y = np.column_stack([X[:, 0] + np.sin(X[:, 1]), X[:, 2] * X[:, 3]])
    frame = pd.DataFrame(np.hstack([X, Y]), columns=[*"abcde", "y", "z"])
    train, new = split(frame, n)
    train.to_csv(tmp_path / "rows.csv", index=False)
    model = AutoDependency(output=["y", "z"], random_state=0).fit(read(tmp_path / "rows.csv"))
    assert model.score(new) > 0.95


def test_dates_know_weekdays_and_seasons(tmp_path):
    rng = np.random.default_rng(0)
    day = pd.date_range("2022-03-01", periods=500)
    weekend, season = day.day_of_week >= 5, np.cos(2 * np.pi * day.day_of_year / 365)
    rentals = 100 + 30 * weekend - 40 * season + 0.05 * np.arange(500) + 5 * rng.normal(size=500)
    frame = pd.DataFrame({"day": day, "rentals": rentals}).sample(frac=1.0, random_state=0)
    train, new = split(frame, 400)
    model = AutoDependency(output="rentals", random_state=0).fit(train)
    assert "'day' is used as a trend, and by the position in the year and the week." in model.notes_
    saved(model, new, tmp_path)
    assert model.score(new) > 0.93
