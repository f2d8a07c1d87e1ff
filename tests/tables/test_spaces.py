"""What columns hold is guessed, read, learnt and written."""

import numpy as np
import pytest

import mercer
from mercer.kernels import Normalized, Spectrum, Words
from mercer.tables import BadTable, Table, TableModel, guess
from mercer.tables.spaces.numbers import Vectors
from mercer.tables.spaces.text import Text
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
}
WANTED = {
    "text": "text", "labels": "labels", "lists": "labels", "class": "labels", "order": "ranking",
    "number": "vector", "image": "image", "curve": "curve", "noise": "vector",
    "indicators": "labels", "ranks": "ranking",
}  # fmt: skip


@pytest.mark.parametrize("name", WANTED)
def test_guesses(name):
    assert guess(table(**COLUMNS), [name], output=True) == WANTED[name]


def test_guesses_of_molecules_and_inputs():
    pytest.importorskip("rdkit")
    assert guess(table(**COLUMNS), ["smiles"], output=True) == "smiles"
    assert guess(table(**COLUMNS), ["class"], output=False) == "text"
    assert guess(table(**COLUMNS), ["number", "class"], output=False) == "vector"


INPUT = [str(round(x, 3)) for x in np.linspace(-1, 1, 40)]


@pytest.mark.parametrize("name", [*WANTED, "smiles"])
def test_every_space_is_learnt_saved_and_written(name, tmp_path):
    if name == "smiles":
        pytest.importorskip("rdkit")
    data = table(x=INPUT, y=COLUMNS[name])
    model = TableModel(["x"], ["y"]).fit(data)
    assert model.left_out_
    loaded = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    cells = [loaded.output_space_.cells(y) for y in loaded.predict(data)]
    assert [list(c) for c in cells] == [["predicted y"]] * 40
    for one, other in zip(cells, model.predict(data), strict=True):
        np.testing.assert_array_equal(
            one["predicted y"], model.output_space_.cells(other)["predicted y"]
        )
    assert set(loaded.evaluate(data)) == set(model.left_out_)


def test_text_to_text_goes_letter_by_letter():
    words = letters(60)
    model = TableModel(["x"], ["y"]).fit(table(x=words, y=[w.upper() for w in words]))
    assert type(model.estimator_).__name__ == "SequenceTransducer"
    assert model.predict(table(x=["abba"])) == ["ABBA"]


def test_several_columns(rng):
    X = rng.normal(size=(50, 2))
    kind = ["red" if x > 0 else "blue" for x in X[:, 0]]
    data = table(
        a=[str(v) for v in X[:, 0]],
        kind=kind,
        u=[str(100 * v) for v in X[:, 0]],
        v=[str(v) for v in X[:, 1]],
    )
    model = TableModel(["a", "kind"], ["u", "v"]).fit(data)
    (first, *_) = model.predict(data)
    cells = model.output_space_.cells(first)
    assert abs(cells["predicted u"] - 100 * X[0, 0]) < 10
    with pytest.raises(BadTable, match="'green' was not among the values learnt from: blue, red"):
        model.predict(table(a=["1"], kind=["green"]))


@pytest.mark.parametrize(
    ("columns", "space", "message"),
    [
        ({"x": INPUT, "y": ["1"] * 39 + ["one"]}, "curve", "line 41, column 'y': 'one' is no num"),
        ({"x": INPUT, "y": ["1 2"] * 39 + ["1"]}, "curve", "line 41, column 'y': 1 numbers, where"),
        ({"x": INPUT, "y": ["1"] * 39 + ["inf"]}, "curve", "not finite"),
        ({"x": INPUT, "y": ["a>b"] * 39 + ["a>c"]}, "ranking", "line 41, column 'y': 'a>c' does"),
        ({"x": INPUT, "y": ['["a"]'] * 39 + ["[a"]}, "labels", "line 41, column 'y': .* no list"),
        ({"x": INPUT, "y": letters(40)}, "vector", "hold text|no number"),
        ({"x": INPUT[:3], "y": INPUT[:3]}, None, "has 3 usable rows"),
        ({"x": INPUT[:1], "y": INPUT[:1]}, None, "has 1 usable row:"),
        ({"x": INPUT, "y": [*INPUT[:39], "oops"]}, None, "line 41, column 'y': 'oops' is no numb"),
        ({"x": [*INPUT[:39], "oops"], "y": INPUT}, None, "though 39 of 40 cells are"),
        ({"x": INPUT, "y": [""] * 40}, None, "line 2: column 'y' is empty"),
    ],
)
def test_bad_cells(columns, space, message):
    with pytest.raises(BadTable, match=message):
        TableModel(["x"], ["y"], output_space=space).fit(table(**columns))


def test_a_column_that_is_both():
    with pytest.raises(BadTable, match="'x' cannot be both"):
        TableModel(["x"], ["x"]).fit(table(x=INPUT))


def test_mixed_columns_are_refused_wherever_they_are(rng):
    many = [str(v) for v in rng.normal(size=300)]
    late = [*many[:-1], "oops"]  # past the rows that a guess looks at
    with pytest.raises(BadTable, match="line 301, column 'x': 'oops' is no number"):
        TableModel(["x", "z"], ["y"]).fit(table(x=late, y=many, z=many))
    model = TableModel(["x"], ["y"], input_space="text").fit(table(x=late, y=many))
    assert model.input_space_.name == "text"


def test_words_keep_the_contract_of_kernels():
    texts = ["The sea, the sun.", "a sun", "the sand", "Sea!", "the sea the sun"]
    for kernel in (Words(Spectrum(1)), Normalized(Words(Spectrum(2, blended=True)))):
        check_kernel(kernel, texts)


def test_sentences_are_compared_by_words_too(rng, tmp_path):
    words = ["".join(rng.choice(list("abcdefg"), size=6)) for _ in range(30)]
    texts = [" ".join(rng.permutation(words)[:8]) for _ in range(80)]
    tags = ["sea" if words[0] in text.split() else "sun" for text in texts]
    data = table(x=texts, y=tags)
    model = TableModel(["x"], ["y"]).fit(data)
    assert len(model.input_space_.kernels(np.array(texts))) == 5
    assert len(model.input_space_.kernels(np.array(words))) == 3
    loaded = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    assert loaded.evaluate(data) == model.evaluate(data)


def test_a_few_sets_make_labels():
    cells = [*["sea", "sun", "sand"] * 20, *["sea;sun", "sand;sea"] * 2]
    assert guess(table(y=cells), ["y"], output=True) == "labels"


def test_text_is_measured_without_edit_distances(monkeypatch):
    monkeypatch.setattr("mercer.tables.spaces.text.find_spec", lambda name: None)
    assert Text().measures(["a", "b"], ["a", "c"]) == {"exact match": 0.5}


def test_one_row_has_no_variance():
    assert set(Vectors().measures(np.ones((1, 1)), np.ones((1, 1)))) == {"root mean squared error"}
