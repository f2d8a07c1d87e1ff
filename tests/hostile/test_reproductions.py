"""Model files that once crashed, hung or filled the memory, and files lost by saving."""

import struct
import time
import tracemalloc
import uuid
import warnings
from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.preprocessing import PolynomialFeatures

import mercer
from hostile.mutations import Members
from hostile.test_model_files import changed, refused
from mercer import KernelDependency
from mercer.decoders import Kemeny, Viterbi
from mercer.estimators import ForestDependency
from mercer.features import Nystroem
from mercer.kernels import (
    RBF,
    Delta,
    Kendall,
    Labels,
    LaplacianRegularized,
    Linear,
    LocalWindow,
    Mapped,
    Positions,
    Tanimoto,
)
from mercer.operators import Covariance
from mercer.sources import Shards
from mercer.spaces import Vectors

RNG = np.random.default_rng(0)
WORDS = ["ab", "ba", "bba", "aaba", "abbb", "b"]
NUMBERS = np.linspace(0, 1, 6)[:, None]


def fails(path, X):
    """Check that a file is refused, at the latest when it predicts."""
    start = time.perf_counter()
    with pytest.raises(ValueError):  # noqa: PT011  DamagedModel, or the sentence of a kernel
        mercer.load(path).predict(X)
    assert time.perf_counter() - start < 5.0


def every(node, key):
    """Return all values of a key in a tree."""
    found = [node[key]] if isinstance(node, dict) and key in node else []
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return found + [value for child in children for value in every(child, key)]


def rewritten(model, folder, change):
    """Save a model and change the members of its file."""
    path = mercer.save(model, folder / "model.mercer")
    file = Members(path.read_bytes())
    change(file)
    path.write_bytes(file.packed()[0])
    return path


# -- arrays that do not fit each other ----------------------------------------------------------


def test_weights_wider_than_the_positions(tmp_path):
    decoder = Viterbi(length="input", weight=0.1)
    kernel = Positions() * Covariance()
    model = KernelDependency(kernel, Positions(), 0.1, decoder).fit(WORDS, WORDS)
    width = model.coef_.shape[1]

    def widen(file):
        for name in file.arrays:
            array = file.array(name)
            if array.ndim == 2 and array.shape[1] == width:
                file.put(name, np.tile(array, 40))

    fails(rewritten(model, tmp_path, widen), WORDS)


def test_known_inputs_of_fewer_columns(tmp_path):
    X = sparse.csr_array(RNG.integers(0, 3, size=(8, 30)).astype(float))
    model = KernelDependency(LaplacianRegularized(Tanimoto()), alpha=0.1).fit(X, np.arange(8.0))

    def narrow(file):
        for node in every(every(file.tree["root"], "known_"), "sparse"):
            node[1] = [node[1][0], 3]
            name = f"arrays/{node[3]['array']}.npy"
            file.put(name, np.minimum(file.array(name), 2))

    fails(rewritten(model, tmp_path, narrow), X)


@pytest.mark.parametrize("position", [40, -40, -1, 10**9])
def test_positions_outside_their_word(position, tmp_path):
    X = [("cat", 1), ("car", 1), ("bat", 1), ("cot", 2), ("tact", 3), ("act", 0)]
    model = KernelDependency(LaplacianRegularized(LocalWindow()), alpha=0.1).fit(X, np.arange(6.0))

    def move(file):
        for items in every(every(file.tree["root"], "known_"), "tuple"):
            items[1] = position

    fails(rewritten(model, tmp_path, move), X)


@pytest.mark.parametrize("column", [10**9, 3, -1, -(10**9)])
def test_columns_of_labels_out_of_range(column, tmp_path):
    X = [["a", "b"], ["c"], ["a", "b", "c"], ["a", "c"], ["b"], ["a"]]
    model = KernelDependency(Labels(Tanimoto()), alpha=0.1).fit(X, np.arange(6.0))
    wanted = model.predict(X)

    def renumber(file):
        for node in every(file.tree["root"], "columns_"):
            node["dict"] = [[label, column] for label, _ in node["dict"]]

    path = rewritten(model, tmp_path, renumber)
    try:
        found = mercer.load(path).predict(X)
    except mercer.DamagedModel:
        return
    np.testing.assert_array_equal(found, wanted)  # columns are numbered again


def test_leaves_that_are_no_nodes(tmp_path):
    X = RNG.normal(size=(30, 2))
    forest = ForestDependency(n_trees=3, random_state=0).fit(X, X)
    path = changed(forest, tmp_path, "trees.roots", lambda array: array + 10**6)
    fails(path, X)


# -- time and memory ----------------------------------------------------------------------------


def test_many_labels_in_circles(tmp_path):
    m = 250
    model = KernelDependency(RBF(1.0), Kendall(), alpha=0.1, decoder=Kemeny(time_limit=1.0))
    model.fit(NUMBERS, np.stack([RNG.permutation(m) for _ in range(6)]))
    loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the program may run out of time
        assert sorted(loaded.predict([[0.5]])[0]) == list(range(m))
    assert time.process_time() - start < 10.0


def test_sizes_that_the_directory_of_the_archive_states(tmp_path):
    path = tmp_path / "model.mercer"
    plain = mercer.save(RBF(1.0), path)
    file = Members(plain.read_bytes())
    file.tree["root"] = {"list": [[]] * 4_000_000}
    data = bytearray(file.packed()[0])
    for signature, field in ((b"PK\x01\x02", 20), (b"PK\x03\x04", 18)):
        at = data.index(signature)
        struct.pack_into("<I", data, at + field, 2**31)  # the packed size of the tree
    path.write_bytes(bytes(data))
    tracemalloc.start()
    with pytest.raises(mercer.DamagedModel):
        mercer.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


@pytest.mark.parametrize(
    ("transformer", "change"),
    [
        (NMF(2, random_state=0), {"max_iter": 10**12, "tol": 0.0}),
        (PolynomialFeatures(2), {"degree": 300, "_max_degree": 300}),
        (PolynomialFeatures(2), {"n_features_in_": None}),
        (PolynomialFeatures(2), {"_n_out_full": 10**6}),
    ],
    ids=["NMF", "degree", "features", "columns"],
)
def test_parameters_of_transformers_are_bounded(transformer, change, tmp_path):
    X = RNG.random((6, 4))
    model = KernelDependency(Mapped(transformer, Linear(), Vectors()), alpha=0.1).fit(X, X)
    np.testing.assert_allclose(
        mercer.load(mercer.save(model, tmp_path / "model.mercer")).predict(X), model.predict(X)
    )

    def enlarge(file):
        for name, state in every(file.tree["root"], "part"):
            if name.startswith("sklearn."):
                state.update(change)

    refused(rewritten(model, tmp_path, enlarge), type(transformer).__name__)


# -- saving -------------------------------------------------------------------------------------


def test_integers_beyond_64_bits_are_saved(tmp_path):
    labels = [uuid.UUID(int=2**127 + i).int for i in (1, 2, 3)] * 2
    model = KernelDependency(RBF(1.0), Delta(), alpha=0.01).fit(NUMBERS, labels)
    loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    assert list(loaded.predict(NUMBERS)) == list(model.predict(NUMBERS))


def test_a_file_is_replaced_only_by_one_that_loads(tmp_path):
    path = mercer.save(RBF(1.0), tmp_path / "model.mercer")
    before = path.read_bytes()
    broken = RBF(2.0)
    broken.check = "a method hidden by an attribute, which no file may hold"
    with pytest.raises(ValueError, match=r"RBF.*check.*model\.mercer is unchanged"):
        mercer.save(broken, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# -- other files and other questions ------------------------------------------------------------


@pytest.mark.parametrize("at", range(10, 128, 4))
def test_damaged_headers_of_shards(at, tmp_path):
    path = tmp_path / "pairs.npz"
    np.savez(path, X=NUMBERS, y=NUMBERS)
    data = bytearray(path.read_bytes())
    start = data.index(b"\x93NUMPY")
    data[start + at : start + at + 3] = b"'(\n"
    path.write_bytes(bytes(data))
    with suppress(ValueError):  # a sentence; any other error fails
        list(Shards(path))


def shrink(file, shape, part):
    """Replace the arrays of a shape by a part of them."""
    names = [name for name in file.arrays if file.array(name).shape == shape]
    assert names
    for name in names:
        file.put(name, file.array(name)[part])


def test_moments_and_posteriors_that_do_not_fit_are_refused(tmp_path):
    X = RNG.normal(size=(20, 2))
    model = KernelDependency(RBF(1.0), features=Nystroem(5, random_state=0), alpha=0.1)
    model.partial_fit(X, X)
    path = rewritten(model, tmp_path, lambda file: shrink(file, (5, 5), np.s_[:3]))
    with pytest.raises(mercer.DamagedModel, match=r"model\.mercer"):
        mercer.load(path)
    exact = KernelDependency(RBF(1.0), alpha=0.1).fit(X, X)
    path = mercer.save(exact, tmp_path / "model.mercer", variance=True)
    file = Members(path.read_bytes())
    shrink(file, (19, 19), np.s_[:7])
    path.write_bytes(file.packed()[0])
    with pytest.raises(mercer.DamagedModel, match=r"model\.mercer"):
        mercer.load(path)
