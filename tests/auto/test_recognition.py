"""What columns hold is guessed, read, learnt and written, whoever made the table."""

import numpy as np
import pandas
import pytest
from numpy.testing import assert_equal

import mercer
from mercer import AutoDependency
from mercer._base.arrays import object_array
from mercer.auto.kinds.guess import common_kind, input_kind, output_kind
from mercer.kernels import Normalized, Spectrum, Words
from mercer.tables import BadTable, Table
from mercer.testing import check_kernel


def table(**columns):
    n = len(next(iter(columns.values())))
    return Table("data.csv", columns, range(2, n + 2))


def letters(n, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abcde"), size=rng.integers(2, 5))) for _ in range(n)]


COLUMNS = {
    "text": letters(40),
    "labels": ["sea;sun", "sun", "sea", "rain;sun"] * 10,
    "lists": [["a", "b"], ["b"], [], ["a"]] * 10,
    "class": ["cat", "dog"] * 20,
    "order": ["a > b > c", "b>a>c", "c > b > a", "a>c>b"] * 10,
    "number": [str(i / 7) for i in range(40)],
    "smiles": ["CC(=O)O", "c1ccccc1", "CC#N", "C1CC1"] * 10,
    "image": np.random.default_rng(0).normal(size=(40, 4, 4)),
    "curve": np.cumsum(np.random.default_rng(1).normal(size=(40, 30)), axis=1),
    "noise": np.random.default_rng(2).normal(size=(40, 30)),
    "indicators": np.random.default_rng(3).integers(0, 2, size=(40, 5)),
    "ranks": np.array([np.random.default_rng(i).permutation(4) + 1 for i in range(40)]),
    "rank text": ["1 3 2", "2 1 3", "3 2 1", "1 2 3"] * 10,
    "rank list": ["[1, 3, 2]", "[2, 1, 3]", "[3, 2, 1]", "[1, 2, 3]"] * 10,
    "rank cells": ["1;3;2", "2;1;3", "3;2;1", "1;2;3"] * 10,
    "ties": ["a > b = c", "b>a>c", "c > b > a", "a=c>b"] * 10,
    "precedes": ["a ≻ b ≻ c", "b ≻ a ≻ c", "c ≻ b ≻ a", "a ≻ c ≻ b"] * 10,
    "order list": [["a", "b", "c"], ["b", "a", "c"], ["c", "b", "a"], ["a", "c", "b"]] * 10,
    "order json": ['["a", "b", "c"]', '["b", "a", "c"]', '["c", "b", "a"]', '["a", "c", "b"]'] * 10,
    "order words": ["fig pear plum", "pear fig plum", "plum fig pear", "fig plum pear"] * 10,
    "order cells": ["fig;pear;plum", "pear;fig;plum", "plum;fig;pear", "fig;plum;pear"] * 10,
    "count": [str(i % 3) for i in range(40)],
    "empty sets": ["sea;sun", "", "sea", "rain;sun"] * 10,
    "dates": [f"2024-01-{i % 28 + 1:02d}" for i in range(40)],
}
WANTED = {
    "text": "text", "labels": "labels", "lists": "labels", "class": "class", "order": "ranking",
    "number": "number", "image": "image", "curve": "curve", "noise": "number",
    "indicators": "labels", "ranks": "ranking", "rank text": "ranking", "rank list": "ranking",
    "rank cells": "ranking", "ties": "ranking", "precedes": "ranking", "order list": "ranking",
    "order json": "ranking", "order words": "ranking", "order cells": "ranking", "count": "class",
    "empty sets": "labels", "dates": "number",
}  # fmt: skip


@pytest.mark.parametrize("name", WANTED)
def test_guesses(name):
    assert output_kind(table(**COLUMNS), name) == WANTED[name]


def test_guesses_of_molecules_and_inputs():
    pytest.importorskip("rdkit")
    data = table(**COLUMNS)
    assert output_kind(data, "smiles") == input_kind(data, "smiles") == "smiles"
    assert [input_kind(data, name) for name in ("class", "number", "text", "labels", "curve")] == [
        "category", "number", "text", "labels", "number",
    ]  # fmt: skip


def test_places_are_rankings():
    orders = [["a", "b", "c"], ["b", "a", "c"], ["c", "b", "a"], ["a", "c", "b"]] * 10
    data = table(**{f"place {j + 1}": [order[j] for order in orders] for j in range(3)})
    assert common_kind(data, list(data.columns)) == "ranking"


@pytest.mark.parametrize("cell", [list, tuple, np.array, lambda order: list(np.array(order))])
@pytest.mark.parametrize("labels", [["a", "b", "c"], [0, 1, 2]])
def test_orders_in_one_cell_are_rankings(cell, labels):
    orders = [[labels[i] for i in order] for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0])]
    data = pandas.DataFrame({"y": [cell(o) for o in orders * 9]})
    data["x"] = np.tile(np.arange(3.0), 9)
    written = fitted(data, inputs="x", output="y").predict(data[:3])["y"]
    assert [list(order) for order in written] == orders


IMAGE = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("cell", [np.array, np.ndarray.tolist, list, object_array])
def test_images_in_cells_of_any_container_keep_their_shape(cell):
    data = pandas.DataFrame(
        {"y": [cell(IMAGE + i % 3) for i in range(27)], "x": np.arange(27.0) % 3}
    )
    model = fitted(data, inputs="x", output="y")
    np.testing.assert_allclose(model.predict(data)["y"][1], IMAGE + 1.0, atol=0.1)


def test_a_sorted_table_is_looked_at_throughout():
    kinds = ["cat"] * 300 + ["dog"] * 300
    assert output_kind(table(y=kinds), "y") == "class"
    late = [*[str(i) for i in range(300)], *[f"word {i}" for i in range(300)]]
    assert input_kind(table(x=late), "x") == "text"


INPUT = [str(round(x, 3)) for x in np.linspace(-1, 1, 40)]


def fitted(data, **parameters):
    return AutoDependency(random_state=0, **parameters).fit(data)


@pytest.mark.parametrize("name", [*WANTED, "smiles"])
def test_every_kind_is_written_as_it_was_read(name):
    if name == "smiles":
        pytest.importorskip("rdkit")
    from mercer.auto.outputs import fit_outputs

    data = table(y=COLUMNS[name])
    outputs, items = fit_outputs(None, data, ["y"])
    written = outputs.write(items)
    assert len(outputs.read(Table("again", written, range(40)))) == 40
    if name not in ("ties", "lists", "number", "rank list", "empty sets", "order json"):
        for one, other in zip(written["y"], COLUMNS[name], strict=True):
            same = np.array_equal(np.asarray(one), np.asarray(other))
            assert same or str(one).replace(" ", "") == str(other).replace(" ", ""), (one, other)


@pytest.mark.parametrize("name", ["labels", "order", "image", "class", "curve", "text"])
def test_kinds_are_learnt_saved_and_written(name, tmp_path):
    data = table(x=INPUT, y=COLUMNS[name])
    model = fitted(data)
    loaded = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    cells = loaded.predict(data)["y"]
    assert len(cells) == 40
    for one, other in zip(cells, model.predict(data)["y"], strict=True):
        np.testing.assert_array_equal(one, other)
    assert set(loaded.evaluate(data)) >= {model.metric_name_}


def test_frames_and_files_are_read_alike(tmp_path):
    """The same cells in a file, a frame and a dictionary are one table."""
    from mercer.tables import read

    cells = {
        "price": ["1,5", "2,25", "1,75", "NA"] * 10,
        "share": ["10 %", "5 %", "7 %", "20 %"] * 10,
        "when": [f"{i % 28 + 1:02d}.01.2024" for i in range(40)],
        "tags": ["sea;sun", "sun", "sea", "rain;sun"] * 10,
        "order": ["a > b > c", "b>a>c", "c > b > a", "a>c>b"] * 10,
    }
    frame = pandas.DataFrame(cells)
    frame.to_csv(tmp_path / "t.csv", sep=";", index=False)
    file = read(tmp_path / "t.csv")
    from mercer.auto.tables.frames import as_table

    for data in (file, as_table(frame), as_table(cells)):
        kinds = [input_kind(data, name) for name in ("price", "share", "when", "tags")]
        assert kinds == ["number", "number", "number", "labels"]
        assert output_kind(data, "order") == "ranking"


def test_text_to_text_goes_letter_by_letter(tmp_path):
    words = letters(60)
    model = fitted(table(x=words, y=[w.upper() for w in words]))
    assert "SequenceTransducer" in model.chosen_
    assert model.predict(table(x=["abba"]))["y"][0] == "ABBA"
    loaded = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    assert loaded.predict_top(table(x=["abba"]), 2)[0][0][0] == "ABBA"
    with pytest.raises(ValueError, match="use predict_top"):
        loaded.predict_set(table(x=["abba"]), 0.9)


def test_several_columns_and_an_unseen_category(rng):
    X = rng.normal(size=(50, 2))
    data = table(
        a=[str(v) for v in X[:, 0]],
        kind=["red" if x > 0 else "blue" for x in X[:, 0]],
        u=[str(100 * v) for v in X[:, 0]],
        v=[str(v) for v in X[:, 1]],
    )
    model = fitted(data, inputs=["a", "kind"], output=["u", "v"])
    assert abs(model.predict(data)["u"][0] - 100 * X[0, 0]) < 10
    with pytest.warns(UserWarning, match="categories of column 'kind'.*: 'green'"):
        assert np.isfinite(model.predict(table(a=["1"], kind=["green"]))["u"][0])


@pytest.mark.parametrize(
    ("columns", "kind", "message"),
    [
        (
            {"x": INPUT, "y": ["1"] * 39 + ["one"]},
            "curve",
            "line 41, column 'y': 'one' is not a",
        ),
        ({"x": INPUT, "y": ["1 2"] * 39 + ["1"]}, "curve", "line 41, column 'y': 1 numbers, but"),
        ({"x": INPUT, "y": ["1"] * 39 + ["inf"]}, "curve", "not finite"),
        ({"x": INPUT, "y": ["a>b"] * 39 + ["a"]}, "ranking", "line 41, column 'y': 'a' is not a r"),
        (
            {"x": INPUT, "y": ['["a"]'] * 39 + ["[a"]},
            "labels",
            "line 41, column 'y': .* not a l",
        ),
        ({"x": INPUT, "y": letters(40)}, "number", "not a number"),
        ({"x": INPUT, "y": [[np.arange(2), "a"]] * 40}, "labels", "is not a set of labels"),
        ({1: letters(40), "1": letters(40, 1), "y": INPUT}, None, "such as 1 and '1': rename one"),
        ({"x": INPUT[:3], "y": INPUT[:3]}, None, "has 3 rows"),
        ({"x": INPUT[:1], "y": INPUT[:1]}, None, "has 1 row:"),
        ({"x": INPUT, "y": [*INPUT[:39], "oops"]}, None, "line 41, column 'y': 'oops' is not a n"),
        ({"x": [*INPUT[:39], "oops"], "y": INPUT}, None, "but 39 of 40 cells are"),
        ({"x": INPUT, "y": [""] * 40}, None, "line 2: column 'y' is empty"),
    ],
)
def test_bad_cells(columns, kind, message):
    output = "y" if kind is None else {"y": kind}
    with pytest.raises(BadTable, match=message):
        fitted(Table("data.csv", columns, range(2, len(columns["y"]) + 2)), output=output)


def test_labels_of_several_types_are_scored_by_scikit_learn():
    sets = [[1, "1"] if float(x) > 0 else [2] for x in INPUT]
    truth = object_array(sets)
    model = fitted(table(x=INPUT, y=sets), output={"y": "labels"}, scoring="f1_macro")
    assert model.score(table(x=INPUT, y=sets)) == model._metric(truth, truth) == 1.0


def test_a_column_that_is_both():
    with pytest.raises(BadTable, match="'x' cannot be both"):
        fitted(table(x=INPUT, y=INPUT), inputs=["x"], output="x")


def test_mixed_columns_are_refused_wherever_they_are(rng):
    many = [str(v) for v in rng.normal(size=300)]
    late = [*many[:-1], "oops"]  # past the rows that a guess looks at
    with pytest.raises(BadTable, match="line 301, column 'x': 'oops' is not a number"):
        fitted(table(x=late, z=many, y=many))
    found = {"x": "text", "z": "number"}
    assert AutoDependency(inputs={"x": "text"}).get_params()["inputs"] == {"x": "text"}
    from mercer.auto.inputs import Inputs

    assert Inputs(["x", "z"], {"x": "text"}).fit(table(x=late, z=many)).kinds_ == found


@pytest.mark.parametrize("signs", [("-1", "1"), ("-1", "+1"), ("−2", "0"), (-1, 1)])
def test_signed_integers_in_text_are_classes_as_they_are_in_arrays(signs):
    assert output_kind(table(y=[*signs] * 10), "y") == "class"
    assert output_kind(table(y=[*signs] * 10 + ["1.5"]), "y") == "number"


def test_an_index_that_pandas_wrote_is_no_input(tmp_path):
    from mercer.tables import read

    frame = pandas.DataFrame({"a": np.linspace(0, 1, 30), "y": np.linspace(0, 2, 30)})
    frame.to_csv(tmp_path / "t.csv")
    assert input_kind(read(tmp_path / "t.csv"), "Unnamed: 0") == "nothing"
    model = fitted(read(tmp_path / "t.csv"))
    new = {"a": [0.5]}
    assert_equal(model.predict(new), model.predict({"Unnamed: 0": [7], **new}))


def test_empty_cells_of_label_sets_are_sets_without_labels():
    model = fitted(table(x=INPUT, y=COLUMNS["empty sets"]))
    assert "10 empty cells of 'y' are read as sets without labels" in model.notes_[0]
    assert "" in model.outputs_.write([[], ["sea"]])["y"]


def test_words_keep_the_contract_of_kernels():
    texts = ["The sea, the sun.", "a sun", "the sand", "Sea!", "the sea the sun"]
    for kernel in (Words(Spectrum(1)), Normalized(Words(Spectrum(2, blended=True)))):
        check_kernel(kernel, texts)


def test_a_few_sets_make_labels():
    cells = [*["sea", "sun", "sand"] * 20, *["sea;sun", "sand;sea"] * 2]
    assert output_kind(table(y=cells), "y") == "labels"


def test_text_is_measured_without_edit_distances(monkeypatch):
    from mercer.auto import measures as room
    from mercer.auto.kinds import texts
    from mercer.auto.kinds.registry import kind_named

    outputs = kind_named("text")
    outputs.fit(table(y=["a", "b"]), ["y"])
    assert set(room.metrics_by_name(outputs, ["a", "b"], ["a", "c"])) >= {"exact match"}
    monkeypatch.setattr(texts, "find_spec", lambda name: None)
    assert room.metrics_by_name(outputs, ["a", "b"], ["a", "c"]) == {"exact match": 0.5}
    numbers = kind_named("number")
    numbers.fit(table(y=["1", "2"]), ["y"])
    one = room.metrics_by_name(numbers, np.ones((1, 1)), np.ones((1, 1)))
    assert set(one) == {"root mean squared error"}  # one row has no variance


def test_outputs_of_arrays_have_names_of_their_own(rng):
    X = rng.normal(size=(30, 1))
    model = fitted({"X": X[:, 0], "y": X[:, 0] ** 2})
    assert model.predict({"X": [1.0]}).keys() == {"y"}
    outputs = np.column_stack([X[:, 0], X[:, 0] ** 2])
    assert list(AutoDependency(random_state=0).fit(X, outputs).spaces_) == [0, "y 0", "y 1"]
