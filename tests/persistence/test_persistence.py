"""Models as files: the same model again, and nothing else whatever the file holds."""

import io
import json
import os
import pickle
import sys
import zipfile

import networkx
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.metrics import make_scorer

import mercer
from hostile.mutations import corrupted
from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF, Labels, Linear, Positions, Spectrum
from mercer.metrics import sample_f1
from mercer.operators import Covariance, Operator
from mercer.persistence.parts import FOLDERS, _import_modules, part_type
from mercer.persistence.reader import Reader
from mercer.persistence.writer import Writer

COUNT = int(os.environ.get("MERCER_CORRUPTIONS", "400"))
"""Corruptions in the default run; MERCER_CORRUPTIONS=10000 takes a minute or two."""


def again(value):
    writer = Writer()
    tree = json.loads(json.dumps(writer.write(value, "value"), allow_nan=False))
    return Reader(writer.arrays.__getitem__).read(tree)


VALUES = [
    None, True, 3, 2.5, float("inf"), "ψ", b"\x00\xff", [1, (2, "a")], {"a": 1, (1, "b"): [2]},
    {1, 2}, frozenset({"x", ("y", 1)}), slice(1, None), range(3), np.float32(0.1), np.int64(7),
    np.dtype("float32"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_plain_values(value):
    got = again(value)
    assert got == value
    assert type(got) is type(value)


def test_arrays(rng):
    for array in (rng.normal(size=(3, 2)), np.arange(3), np.array(["a", "bc"]), np.zeros((0, 2))):
        got = again(array)
        assert_array_equal(got, array)
        assert got.dtype == array.dtype
    things = np.empty(2, dtype=object)
    things[:] = [["a", "b"], ("c",)]
    assert again(things).tolist() == [["a", "b"], ("c",)]
    assert np.isnan(again(float("nan")))


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_sparse(layout, rng):
    for kind in (sparse.csr_array, sparse.csr_matrix):
        A = kind(rng.integers(0, 2, size=(4, 5))).asformat(layout)
        got = again(A)
        assert type(got) is type(A)
        assert_array_equal(got.toarray(), A.toarray())


def test_graphs():
    graph = networkx.Graph(name="g")
    graph.add_node(("a", 1), label="C")
    graph.add_edge(("a", 1), 2, label=2)
    got = again({"graph": graph, "same": graph})
    assert networkx.utils.graphs_equal(got["graph"], graph)
    assert got["graph"] is got["same"]
    assert got["graph"].graph == {"name": "g"}


def test_what_is_shared_stays_shared(rng):
    array, rows = rng.normal(size=3), [1, 2]
    got = again([array, rows, array, rows, {"a": array}])
    assert got[0] is got[2]
    assert got[0] is got[4]["a"]
    assert got[1] is got[3]


@pytest.fixture
def pairs(rng):
    return rng.normal(size=(12, 2)), rng.normal(size=(12, 2))


def test_functions_are_refused_by_name(pairs, tmp_path):
    def mine(A, B):
        return A @ B.T

    model = KernelDependency(mine).fit(*pairs)
    with pytest.raises(TypeError, match=r"KernelDependency\.kernel is .*mine, a function"):
        mercer.save(model, tmp_path / "model.mercer")
    with pytest.raises(TypeError, match="object, of an unknown type"):
        mercer.save(KernelDependency(object()), tmp_path / "model.mercer")
    assert not list(tmp_path.iterdir())


def test_custom_parts_are_refused_with_the_way_out(pairs, tmp_path):
    class Mine(Linear):
        pass

    class Plain(Operator):
        def matrix(self, moments):
            return moments.ones

    for part, call in ((Mine(), "Mine"), (RBF(1.0) * Plain(), "Plain")):
        model = KernelDependency(part).fit(*pairs)
        with pytest.raises(TypeError, match=rf"call mercer\.register\({call}\)"):
            mercer.save(model, tmp_path / "model.mercer")


def test_a_failed_save_keeps_the_old_file(pairs, tmp_path):
    file = mercer.save(KernelDependency().fit(*pairs), tmp_path / "model.mercer")
    before = file.read_bytes()
    with pytest.raises(TypeError):
        mercer.save(KernelDependency(lambda A, B: A @ B.T), file)
    assert file.read_bytes() == before
    assert mercer.save(KernelDependency().fit(*pairs), file).read_bytes() == before


def test_words(tmp_path):
    words, sounds = ["casa", "cane", "gatto"], ["kaza", "kane", "gatto"]
    for l in (Spectrum(2), Positions()):
        model = KernelDependency(Spectrum(2), l).fit(words, sounds)
        loaded = mercer.load(mercer.save(model, tmp_path / "words.mercer"))
        assert list(loaded.predict(words)) == list(model.predict(words))


# -- files from strangers ---------------------------------------------------------------------


@pytest.fixture
def file(pairs, tmp_path):
    model = KernelDependencyCV(RBF() * Covariance(), RBF(), alphas=[0.1]).fit(*pairs)
    return mercer.save(model, tmp_path / "model.mercer")


def rewritten(file, change):
    """The file with its members changed by a function of the dictionary of them."""
    with zipfile.ZipFile(file) as old:
        members = {name: old.read(name) for name in old.namelist()}
    change(members)
    with zipfile.ZipFile(file, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)
    return file


def tree_changed(change):
    def apply(members):
        tree = json.loads(members["model.json"])
        change(tree)
        members["model.json"] = json.dumps(tree).encode()

    return apply


class Bomb:
    def __reduce__(self):
        return (exec, ("import os; os.environ['MERCER_BOMB'] = '1'",))


def plant_pickle(members):
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    members["arrays/0.npy"] = buffer.getvalue()


def plant_hashed_pickle(members):
    from hashlib import sha256

    plant_pickle(members)
    digest = sha256(members["arrays/0.npy"]).hexdigest()
    tree_changed(lambda tree: tree["digests"].update({"arrays/0.npy": digest}))(members)


def swap_arrays(members):
    a, b = "arrays/0.npy", "arrays/1.npy"
    members[a], members[b] = members[b], members[a]


def plant(node):
    return tree_changed(lambda tree: tree.update(root=node))


def nest(members):
    deep = '{"list": [' * 5000 + "]}" * 5000
    tree = members["model.json"].decode()
    members["model.json"] = (tree[: tree.index('"root": ')] + '"root": ' + deep + "}").encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (plant_pickle, "not the one that was saved"),
        (plant_hashed_pickle, "pickle"),
        (swap_arrays, "not the one that was saved"),
        (lambda members: members.pop("arrays/0.npy"), "damaged"),
        (lambda members: members.pop("model.json"), "damaged"),
        (plant({"part": ["os.system", {}]}), "unknown type"),
        (plant({"part": ["cli.main", {}]}), "unknown type"),
        (plant({"part": ["kernels.np", {}]}), "unknown type"),
        (plant({"part": ["kernels.BaseEstimator", {}]}), "unknown type"),
        (plant({"part": ["kernels.Gone", {}]}), "unknown type"),
        (plant({"part": ["kernels.../os:system", {}]}), "not the name of a part"),
        (plant({"eval": "1"}), "'eval' is not a kind of value"),
        (plant({"dtype": "O"}), "not a dtype"),
        (nest, "damaged"),
        (plant({"ref": 5}), "damaged"),
        (tree_changed(lambda tree: tree.update(format=99)), "99, expected 4: upgrade mercer"),
        (tree_changed(lambda tree: tree.pop("format")), "damaged"),
    ],
)
def test_what_no_model_holds_is_refused(file, change, message, monkeypatch):
    monkeypatch.delenv("MERCER_BOMB", raising=False)
    with pytest.raises(ValueError, match="unknown type"):
        part_type("kernels.Gone")  # imports the modules in which parts are looked for
    rewritten(file, change)
    modules = set(sys.modules)
    with pytest.raises(mercer.DamagedModel, match=message):
        mercer.load(file)
    assert "MERCER_BOMB" not in os.environ
    assert all(name.startswith(("mercer", "numpy")) for name in set(sys.modules) - modules)


def test_a_pickle_is_no_model(tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(mercer.DamagedModel, match="is not a mercer model"):
        mercer.load(path)
    with pytest.raises(FileNotFoundError, match="is not a file"):
        mercer.load(tmp_path / "nothing")


def test_corrupted_files_fail_with_one_kind_of_error(file, pairs):
    rng = np.random.default_rng(0)
    whole, wanted = file.read_bytes(), mercer.load(file).predict(pairs[0])
    refused = 0
    for _ in range(COUNT):
        file.write_bytes(corrupted(whole, rng))
        try:
            model = mercer.load(file)
        except mercer.DamagedModel:
            refused += 1
        else:  # the damage was to bytes that say nothing, such as a zip's date
            assert_array_equal(model.predict(pairs[0]), wanted)
    assert refused > 0.8 * COUNT


def test_a_scorer_is_refused_with_the_way_out(tmp_path, rng):
    X = rng.normal(size=(30, 2))
    Y = (X > 0).astype(int)
    scorer = make_scorer(sample_f1)
    model = KernelDependencyCV(RBF(1.0), Labels(), alphas=[0.1, 1.0], scoring=scorer).fit(X, Y)
    with pytest.raises(TypeError, match=r"set_params\(scoring=None\)"):
        mercer.save(model, tmp_path / "model.mercer")
    before = model.predict(X)
    again = mercer.load(mercer.save(model.set_params(scoring=None), tmp_path / "model.mercer"))
    np.testing.assert_array_equal(again.predict(X), before)


def test_names_of_parts_are_unique_in_their_folder():
    for folder in FOLDERS:
        names = [
            name
            for module in _import_modules(folder)
            for name, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__
        ]
        twice = {name for name in names if names.count(name) > 1}
        assert not twice, f"two classes of {folder} are called {twice}"
