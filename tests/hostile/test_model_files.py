"""Model files of strangers: refused in a sentence, or predicted with; never a crash or a hang."""

import os
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import mercer
from hostile import impossible, zoo
from hostile.fuzz import drawn, fuzz
from hostile.mutations import Members
from mercer import ConformalSets, KernelDependency, SequenceTransducer
from mercer.decoders import NGramPath
from mercer.estimators import ForestDependency, MissingTargets
from mercer.features import Nystroem
from mercer.kernels import RBF, Kendall, Kernel, Spectrum, Tanimoto
from mercer.persistence import archive

COUNT = int(os.environ.get("MERCER_FUZZ", "400"))
"""Mutations in the default run; `python -m tests.hostile.fuzz` makes more."""
SEED = int(os.environ.get("MERCER_FUZZ_SEED", "0"))


@pytest.fixture(scope="module")
def models(tmp_path_factory, few_trees):
    """A folder with the files of models, of every ninth wrapped kernel, and inputs of each."""
    folder = tmp_path_factory.mktemp("models")
    zoo.write(folder, every=9)
    return folder


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="measures memory by /proc")
def test_mutations_of_every_model(models):
    outcomes, failures, most = fuzz(models, drawn(models, COUNT, SEED), SEED)
    assert not failures, failures[:5]
    assert outcomes["refused"] > 0.2 * COUNT, (outcomes, most)


@pytest.mark.filterwarnings("ignore")
def test_impossible_numbers_are_refused_or_change_no_answer(models):
    nightly = "MERCER_NIGHTLY" in os.environ
    outcomes = impossible.tried(models, impossible.MUTATIONS if nightly else impossible.SAMPLE)
    assert outcomes.keys() <= {"refused", "same"}, outcomes
    assert outcomes["refused"] > outcomes["same"]


def test_columns_of_missing_targets_are_a_permutation(tmp_path):
    X, y = np.linspace(0, 1, 12)[:, None], np.random.default_rng(0).normal(size=(12, 3))
    y[::3, 1:] = np.nan
    path = mercer.save(MissingTargets(KernelDependency(RBF(1.0))).fit(X, y), tmp_path / "model")
    file = Members(path.read_bytes())
    (name,) = (name for name in file.arrays if file.array(name).tolist() == [1, 2])
    for wrong in ([0, 1], [1, 1], [1, 3], [-1, 1], [1.0, 2.0]):
        file.put(name, np.array(wrong))
        path.write_bytes(file.packed()[0])
        refused(path, "PatternMap: columns")
    file.put(name, np.array([1]))
    path.write_bytes(file.packed()[0])
    fails(path, X)


# -- files made by hand -------------------------------------------------------------------------


def made(folder, root, arrays=(), **tree):
    """A file of a tree and arrays, with the right digests."""
    plain = mercer.save(RBF(1.0), folder / "model.mercer")
    file = Members(plain.read_bytes())
    file.tree |= {"root": root, **tree}
    for number, array in enumerate(arrays):
        file.put(f"arrays/{number}.npy", array)
    plain.write_bytes(file.packed()[0])
    return plain


def part(node):
    """A kernel with one more attribute."""
    return {"part": ["kernels.RBF", {"length_scale": 1.0, "extra_": node}]}


def refused(file, message, seconds=5.0):
    start = time.perf_counter()
    with pytest.raises(mercer.DamagedModel, match=message) as problem:
        mercer.load(file)
    assert time.perf_counter() - start < seconds
    assert str(file) in str(problem.value)


def fails(file, X):
    """Check that a file is refused, at the latest when it predicts."""
    with pytest.raises(mercer.DamagedModel):
        mercer.load(file).predict(X)


GOOD = [np.ones(3), np.array([0, 1, 1], np.int32), np.array([0, 1, 3], np.int32)]


@pytest.mark.parametrize(
    ("change", "shape"),
    [
        ({1: np.array([0, 1, 10**6], np.int32)}, (2, 2)),
        ({1: np.array([0, 1, -(10**6)], np.int32)}, (2, 2)),
        ({2: np.array([0, 10**6, 3], np.int32)}, (2, 2)),
        ({2: np.array([0, 5, 3], np.int32)}, (2, 2)),
        ({2: np.array([-1, 1, 3], np.int32)}, (2, 2)),
        ({1: np.array([0.0, 1.0, 1.0])}, (2, 2)),
        ({0: np.ones((3, 1))}, (2, 2)),
        ({0: np.array(["a", "b", "c"])}, (2, 2)),
        ({}, (10**6, 2)),
        ({}, (2, 10**12)),
        ({}, (2, -2)),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array"])
def test_sparse_matrices_are_checked(change, shape, kind, tmp_path):
    arrays = [change.get(i, array) for i, array in enumerate(GOOD)]
    node = {"sparse": [kind, list(shape), *({"array": i} for i in range(3))]}
    refused(made(tmp_path, part(node), arrays), "sparse")
    good = made(tmp_path, part({**node, "sparse": [kind, [2, 2], *node["sparse"][2:]]}), GOOD)
    assert mercer.load(good).extra_.sum() == 3.0


def doubled(kind, levels, first):
    """Values that hold the one before twice: as many as 2^levels to whoever walks them."""
    return {"list": [first, *({kind: [{"ref": i}, {"ref": i}]} for i in range(levels))]}


def nested(levels):
    """A list in a list in a list."""
    return {"list": [nested(levels - 1)]} if levels else {"list": []}


BOMBS = {
    "hashes": (
        {"list": [*doubled("tuple", 40, {"tuple": []})["list"], {"set": [{"ref": 40}]}]},
        "references repeat",
    ),
    "tuples": (doubled("tuple", 60, {"tuple": []}), "references repeat"),
    "lists": (doubled("list", 60, {"list": []}), "references repeat"),
    "kernels": (
        {"list": [{"part": ["kernels.RBF", {}]}]
         + [{"part": ["kernels.Sum", {"left": {"ref": i}, "right": {"ref": i}}]}
            for i in range(40)]},
        "parts",
    ),
    "many": ({"list": [{"list": []}] * 1_200_000}, "more than"),
    "deep": (nested(300), "nested deeper"),
    "range": ({"range": [0, 10**15, 1]}, "range"),
    "again": ({"list": [{"array": 0}] * 3}, "used twice"),
    "wide dtype": ({"dtype": "<U99999999"}, "dtype"),
    "parts as keys": ({"dict": [[{"part": ["kernels.RBF", {}]}, 1]]}, "plain value"),
    "shadow": ({"part": ["kernels.RBF", {"check": 1}]}, "not an attribute"),
    "dunder": ({"part": ["kernels.RBF", {"__class__": 1}]}, "not an attribute"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused(name, tmp_path):
    node, message = BOMBS[name]
    refused(made(tmp_path, part(node), [np.ones(2)]), message)


def test_headers_that_lie_are_refused(tmp_path):
    file = Members(made(tmp_path, part({"array": 0}), [np.ones(2)]).read_bytes())
    name = "arrays/0.npy"
    for claim, message in ((b"(1000000000000,)", "as large"), (b"(1,)", "as large")):
        lying = Members(file.packed()[0])
        lying.members[name] = lying.members[name].replace(b"(2,)", claim)
        path = tmp_path / "lying.mercer"
        path.write_bytes(lying.packed()[0])
        refused(path, message)
    refused(made(tmp_path, part({"array": 0}), [np.zeros((0, 10**9))]), "empty but claims")


def test_members_larger_than_memory_are_refused(tmp_path):
    file = made(tmp_path, part({"array": 0}), [np.zeros(10**6)])
    with pytest.raises(mercer.DamagedModel, match="more than"):
        mercer.load(file, limits=mercer.Limits(memory=10**6))
    assert len(mercer.load(file, limits=mercer.Limits(memory=10**7)).extra_) == 10**6


def test_members_that_unpack_to_far_more_are_refused(tmp_path, monkeypatch):
    assert archive.UNPACKED_BYTES <= 300 * 10**6  # what any file may have; here a hundredth of it
    monkeypatch.setattr(archive, "UNPACKED_BYTES", archive.UNPACKED_BYTES / 100)
    file = made(tmp_path, part({"array": 0}), [np.zeros(4 * 10**5)])
    assert file.stat().st_size < 10**4
    refused(file, "allowed")
    assert mercer.load(file, limits=mercer.Limits(memory=10**7)).extra_.size == 4 * 10**5


@pytest.mark.parametrize("root", [3, None, "x", {"list": [1]}, {"dict": []}, {"float": "inf"}])
def test_only_models_load(root, tmp_path):
    refused(made(tmp_path, root), "not a model")
    with pytest.raises(TypeError, match="a model or a part"):
        mercer.save([1], tmp_path / "list.mercer")


@pytest.mark.parametrize("number", [True, -1, 3, 5, 4.0, "4", None])
def test_only_the_present_format_loads(number, tmp_path):
    written = f"read it with mercer {mercer.__version__}, which wrote it, or fit the model again"
    way_out = "upgrade mercer" if number == 5 else f"{written} and save it"
    refused(made(tmp_path, part(1), format=number), rf"expected 4: {re.escape(way_out)}\.$")


def test_limits_can_be_raised(tmp_path):
    file = made(tmp_path, part({"list": [0] * 520_000}))
    refused(file, "more than 5")
    assert len(mercer.load(file, limits=mercer.Limits(nodes=600_000)).extra_) == 520_000


# -- numbers that reach compiled loops ----------------------------------------------------------


def changed(model, folder, attribute, change):
    """The file of a model with the value or the array of one attribute changed."""
    path = mercer.save(model, folder / "model.mercer")
    file = Members(path.read_bytes())
    holder, key = next(_named(file.tree["root"], attribute.split(".")))
    node = holder[key]
    if isinstance(node, dict) and "array" in node:
        name = f"arrays/{node['array']}.npy"
        file.put(name, change(file.array(name)))
    else:
        holder[key] = change(node)
    path.write_bytes(file.packed()[0])
    return path


def _named(node, names):
    """Where in a tree the last of some names stands, in an object of the one before."""
    if isinstance(node, dict):
        for key, child in node.items():
            if key == names[0]:
                yield from [(node, key)] if len(names) == 1 else _named(child, names[1:])
            yield from _named(child, names)
    elif isinstance(node, list):
        for child in node:
            yield from _named(child, names)


@pytest.fixture(scope="module")
def transducer():
    return SequenceTransducer(folds=None).fit(zoo.LONGER, zoo.SPELT)


@pytest.fixture(scope="module")
def strings():
    kernel = Spectrum(2, blended=True, width=2)
    return KernelDependency(kernel, kernel, 0.1, NGramPath(bonus=0.1)).fit(zoo.WORDS, zoo.WORDS)


def large(array):
    return np.full_like(array, 10**6)


def negative(array):
    return np.full_like(array, -7)


def unsorted(array):
    return array[::-1].copy()


def floating(array):
    return array.astype(np.float64)


@pytest.mark.parametrize("change", [large, negative, floating])
@pytest.mark.parametrize(
    "attribute",
    ["emissions.offset", "emissions.first", "emissions.width", "emissions.chunk", "chunks.symbols",
     "chunks.lengths", "ngram.next", "ngram.last"],
)  # fmt: skip
def test_arrays_of_transducers_are_checked(attribute, change, transducer, tmp_path):
    fails(changed(transducer, tmp_path, attribute, change), zoo.LONGER)


@pytest.mark.parametrize("change", [unsorted, floating])
def test_keys_of_transducers_are_checked(change, transducer, tmp_path):
    refused(changed(transducer, tmp_path, "emissions.keys", change), "Emissions: keys")


@pytest.mark.parametrize("change", [large, negative, floating])
@pytest.mark.parametrize(
    "attribute", ["starts", "target", "roots", "symbols", "chain", "known", "level", "suffix"]
)
def test_arrays_of_paths_are_checked(attribute, change, strings, tmp_path):
    fails(changed(strings, tmp_path, f"graph_.{attribute}", change), zoo.WORDS)


@pytest.mark.parametrize(
    "attribute", ["contexts.radius", "contexts.history", "beam_", "start", "temperature_"]
)
@pytest.mark.parametrize("value", [-(10**9), 10**9, None])
def test_numbers_that_steer_a_transducer_are_bounded(attribute, value, transducer, tmp_path):
    path = changed(transducer, tmp_path, attribute, lambda _: value)
    if (attribute, value) not in [("beam_", None), ("temperature_", 10**9)]:
        refused(path, "is damaged")


@pytest.mark.parametrize("attribute", ["longest_", "max_nodes", "width", "n"])
def test_numbers_that_steer_paths_are_bounded(attribute, strings, tmp_path):
    refused(changed(strings, tmp_path, attribute, lambda value: 10**9), "is damaged")


def test_sparse_landmarks_are_checked(tmp_path):
    X = sparse.csr_array(np.round(np.abs(np.random.default_rng(0).normal(size=(6, 3)) * 2)))
    model = KernelDependency(Tanimoto(), features=Nystroem(3, random_state=0)).fit(
        X, np.arange(6.0)
    )
    path = mercer.save(model, tmp_path / "model.mercer")
    file = Members(path.read_bytes())
    holder, key = next(_named(file.tree["root"], ["sparse"]))
    name = f"arrays/{holder[key][3]['array']}.npy"
    file.put(name, file.array(name) + 10**6)
    path.write_bytes(file.packed()[0])
    refused(path, "sparse")


def test_models_whose_parts_do_not_fit_together_are_refused(tmp_path):
    X, Y = np.random.default_rng(0).normal(size=(2, 6, 2))
    model = KernelDependency(RBF(1.0)).fit(X, Y)
    path = changed(model, tmp_path, "landmarks", lambda array: array[:-1])
    refused(path, "is damaged .*mismatch")
    good = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    with pytest.raises(ValueError, match="features") as problem:  # the inputs' fault, as ever
        good.predict(X[:, :1])
    assert not isinstance(problem.value, mercer.DamagedModel)


# -- classes of one's own -----------------------------------------------------------------------


class FirstLetter(Kernel):
    """Whether two words begin alike."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def _gram(self, A, B):
        return np.array([[self.scale * (a[0] == b[0]) for b in B] for a in A])

    def check_loaded(self, limits):
        if self.scale < 0:
            raise mercer.DamagedModel("scale is negative")


def test_registered_classes_are_saved_and_loaded_by_name(tmp_path, monkeypatch):
    monkeypatch.setitem(mercer.register.__globals__, "REGISTERED", {})
    model = KernelDependency(FirstLetter()).fit(["ab", "ba", "bb"], [0.0, 1.0, 1.0])
    path = tmp_path / "model.mercer"
    with pytest.raises(TypeError, match="FirstLetter"):
        mercer.save(model, path)
    assert mercer.register(FirstLetter) is FirstLetter
    mercer.save(model, path)
    assert_array_equal(mercer.load(path).predict(["bx"]), model.predict(["bx"]))
    refused(changed(model, tmp_path, "scale", lambda value: -1.0), "FirstLetter: scale is negative")
    mercer.save(model, path)
    monkeypatch.setitem(mercer.register.__globals__, "REGISTERED", {})
    refused(path, "call mercer.register")
    with pytest.raises(TypeError, match="register takes a class"):
        mercer.register(lambda: None)
    with pytest.raises(ValueError, match="mercer's own"):
        mercer.register(RBF)


# -- where models are saved ---------------------------------------------------------------------


def test_links_and_pipes_stay_what_they_are(tmp_path):
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    mercer.save(RBF(1.0), target)
    link.symlink_to(target)
    mercer.save(RBF(2.0), link)
    assert link.is_symlink()
    assert mercer.load(target).length_scale == 2.0
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    mercer.save(RBF(1.0), pipe)
    reader.join(timeout=30)
    assert pipe.is_fifo() and got[0].startswith(b"PK")


@pytest.mark.parametrize("attribute", ["roots", "feature", "left", "right"])
@pytest.mark.parametrize("change", [large, floating, np.zeros_like])
def test_trees_that_never_end_are_refused(attribute, change, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    forest = ForestDependency(n_trees=3, random_state=0).fit(X, X)
    path = changed(forest, tmp_path, f"trees.{attribute}", change)
    if change is not np.zeros_like or attribute in ("left", "right"):
        refused(path, "TreeNodes")


def test_attributes_of_another_type_are_refused(transducer, tmp_path):
    path = changed(transducer, tmp_path, "coder_.context", lambda _: 70000)
    refused(path, "context is int")


def test_sets_whose_model_does_not_fit_together_are_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    sets = ConformalSets(KernelDependency(RBF(1.0), Kendall()), 0.6)
    sets.fit(X, np.argsort(np.random.default_rng(1).normal(size=(20, 3)), axis=1))
    refused(changed(sets, tmp_path, "landmarks", lambda array: array[:-1]), "mismatch")
