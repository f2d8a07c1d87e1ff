"""Bad blocks, damaged checkpoints and extreme scales: a sentence each, and no wrong answer."""

import json
import os

import numpy as np
import pytest

from mercer import KernelDependency
from mercer.decoders import Candidates
from mercer.features import (
    IncompleteCholesky,
    KernelPCA,
    Nystroem,
    RandomFourier,
    RandomPivotedCholesky,
)
from mercer.kernels import RBF, Linear
from mercer.sources import BadCheckpoint, Shards, Stream


@pytest.fixture
def pairs(rng):
    return rng.normal(size=(30, 3)), rng.normal(size=(30, 2))


def model():
    return KernelDependency(RBF(1.0), features=Nystroem(5, random_state=0))


def blocks(pairs):
    X, Y = pairs
    return [(X[i : i + 10], Y[i : i + 10]) for i in (0, 10, 20)]


@pytest.fixture
def checkpoint(tmp_path, pairs):
    """What a run leaves that was killed in its second pass."""
    passes = []

    def killed():
        passes.append(1)
        for i, block in enumerate(blocks(pairs)):
            if i == 2 and len(passes) == 3:  # a look at the first block, the sample, the moments
                raise KeyboardInterrupt
            yield block

    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        model().fit(Stream(killed, checkpoint=path, every=1))
    return path


def refused(path, pairs, match):
    with pytest.raises(BadCheckpoint, match=match):
        model().fit(Stream(blocks(pairs), checkpoint=path, every=1))
    assert path.exists()


HEADER = {"format": "mercer stream 2", "blocks": 1, "pairs": 10, "models": 1}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("0.vv", np.ones((1, 1))),  # would spread over the right shape
        ("0.uu", np.full((5, 5), np.nan)),
        ("0.vv", np.array([["a", "b"], ["c", "d"]])),
        ("0.n", np.array(-3)),
        ("0.probe.0", np.zeros(3)),
        ("header", np.array("[1]")),
        ("header", np.array(json.dumps({"format": "mercer stream 2"}))),
        ("header", np.array(json.dumps(HEADER | {"blocks": -1}))),
        ("0.vv", None),
    ],
)
def test_a_checkpoint_of_other_contents_is_refused(checkpoint, pairs, name, value):
    with checkpoint.open("rb") as raw, np.load(raw) as file:
        arrays = dict(file) | ({} if value is None else {name: value})
    if value is None:
        del arrays[name]
    with checkpoint.open("wb") as file:
        np.savez(file, **arrays)
    refused(checkpoint, pairs, "damaged.*previous")


def test_a_bare_array_is_no_checkpoint(tmp_path, pairs):
    path = tmp_path / "run"
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    refused(path, pairs, "damaged or is none")


def test_flipped_bytes_of_a_checkpoint_change_no_answer(checkpoint, pairs):
    whole = checkpoint.read_bytes()
    previous = checkpoint.with_name("run.mercer-previous").read_bytes()
    want = model().fit(blocks(pairs)).predict(pairs[0])
    for at in np.random.default_rng(0).integers(0, len(whole), 40):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        checkpoint.write_bytes(damaged)
        checkpoint.with_name("run.mercer-previous").write_bytes(previous)
        try:
            got = model().fit(Stream(blocks(pairs), checkpoint=checkpoint, every=1))
        except BadCheckpoint:
            continue
        np.testing.assert_allclose(got.predict(pairs[0]), want, atol=1e-10)


def test_a_checkpoint_in_no_folder_is_refused_before_the_first_block(tmp_path, pairs):
    with pytest.raises(FileNotFoundError, match="folder that does not exist"):
        Stream(blocks(pairs), checkpoint=tmp_path / "none" / "run")


def test_files_that_are_no_archives_are_named(tmp_path, pairs):
    junk, objects = tmp_path / "junk.npz", tmp_path / "objects.npz"
    junk.write_bytes(b"PK junk")
    np.savez(objects, X=np.array([None, {}]), y=np.ones(2))
    with pytest.raises(ValueError, match=r"junk\.npz is damaged or no NPZ"):
        model().fit(os.fspath(junk))
    with pytest.raises(ValueError, match=r"objects\.npz is damaged or holds more"):
        model().fit(os.fspath(objects))
    with pytest.raises(IsADirectoryError, match=r"name its files.*npz"):
        Shards(tmp_path)


@pytest.mark.parametrize(
    "map", [IncompleteCholesky, RandomPivotedCholesky, Nystroem, RandomFourier, KernelPCA]
)
def test_a_rank_is_a_number(pairs, map):
    with pytest.raises(ValueError, match="rank must be"):
        KernelDependency(RBF(1.0), features=map(True)).fit(*pairs)


@pytest.mark.parametrize("name", ["features", "output_features"])
def test_what_is_no_feature_map_is_named(pairs, name):
    with pytest.raises(TypeError, match=f"^{name} must be None or a map"):
        KernelDependency(RBF(1.0), **{name: 5}).fit(*pairs)
    with pytest.raises(TypeError, match=f"^{name} must be None or a map"):
        KernelDependency(Linear(), **{name: 5}).fit(blocks(pairs))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("map", [IncompleteCholesky(5), RandomPivotedCholesky(5), RandomFourier(5)])
def test_items_too_large_for_a_kernel_are_refused(pairs, map):
    X, Y = pairs
    with pytest.raises(ValueError, match="too large"):
        KernelDependency(RBF("median"), features=map).fit(1e200 * X, Y)


class Apart(RBF):
    """No number for items that differ."""

    def _gram(self, A, B):
        return np.where(super()._gram(A, B) == 1.0, 1.0, np.nan)


@pytest.mark.parametrize("map", [IncompleteCholesky(5), RandomPivotedCholesky(5)])
def test_kernel_values_that_are_no_numbers_are_refused(pairs, map):
    with pytest.raises(ValueError, match="gave NaN or infinite values"):
        KernelDependency(Apart(1.0), features=map).fit(*pairs)


@pytest.mark.parametrize("center", [False, True])
def test_no_component_is_left_of_a_kernel_that_is_zero(pairs, center):
    X, Y = pairs
    with pytest.raises(ValueError, match="no component to keep"):
        KernelDependency(Linear(), features=KernelPCA(3, center=center)).fit(0 * X, Y)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_a_length_scale_without_a_square_is_refused(pairs, scale):
    with pytest.raises(ValueError, match="length_scale=.*rescale"):
        KernelDependency(RBF(scale)).fit(*pairs)


@pytest.mark.parametrize("index", ["faiss", "hnsw"])
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_an_index_finds_the_best_at_any_scale(pairs, index, scale):
    pytest.importorskip("faiss")
    X, Y = pairs[0], scale * pairs[1]
    exact = KernelDependency(RBF(1.0), decoder=Candidates()).fit(X, Y)
    found = KernelDependency(RBF(1.0), decoder=Candidates(index=index)).fit(X, Y)
    np.testing.assert_array_equal(found.predict(X), exact.predict(X))
