"""Damaged, foreign and interrupted checkpoints and shards: the right answer or a sentence."""

import json
import zipfile

import numpy as np
import pytest

from mercer import KernelDependency
from mercer.features import Nystroem
from mercer.kernels import RBF
from mercer.operators import Covariance
from mercer.sources import BadBlock, BadCheckpoint, Shards, Stream

SEED = 20
EVERY_BYTE = bytes(range(256))
LANDMARKS = np.random.default_rng(7).normal(size=(5, 3))
X_NEW = np.random.default_rng(8).normal(size=(9, 3))


def pairs(blocks=6, rows=10):
    for seed in range(blocks):
        X = np.random.default_rng(seed).normal(size=(rows, 3))
        yield X, np.column_stack([np.sin(X[:, 0]), X[:, 1]])


def model():
    return KernelDependency(
        RBF(1.0) * Covariance(), alpha=0.1, features=Nystroem(landmarks=LANDMARKS)
    )


@pytest.fixture(scope="module")
def wanted():
    return model().fit(pairs).predict(X_NEW)


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """The bytes of a checkpoint after three of six blocks."""
    path, passes = tmp_path_factory.mktemp("left") / "run", []

    def killed():
        passes.append(1)
        for i, block in enumerate(pairs()):
            if i == 3 and len(passes) == 3:
                raise KeyboardInterrupt
            yield block

    with pytest.raises(KeyboardInterrupt):
        model().fit(Stream(killed, checkpoint=path, every=1))
    return path.read_bytes()


def resumed(path):
    return model().fit(Stream(pairs, checkpoint=path, every=1)).predict(X_NEW)


def tried(function, refusal):
    """What a function gives, or what its refusal says."""
    try:
        return function(), ""
    except refusal as error:
        return None, str(error)


def check(path, wanted):
    """A run that finds a checkpoint gives the undisturbed answer, or says what to do."""
    found, told = tried(lambda: resumed(path), BadCheckpoint)
    if found is None:
        assert str(path) in told and "delete it to start over" in told
    else:
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)


def flipped(raw, rng):
    raw[rng.integers(len(raw))] ^= int(rng.integers(1, 256))


def cut(raw, rng):
    del raw[rng.integers(len(raw)) :]


def dropped(raw, rng):
    start = rng.integers(len(raw))
    del raw[start : start + rng.integers(1, 64)]


def grown(raw, rng):
    at = rng.integers(len(raw))
    raw[at:at] = rng.integers(0, 256, rng.integers(1, 64), dtype=np.uint8).tobytes()


def zeroed(raw, rng):
    start = int(rng.integers(len(raw)))
    raw[start : start + 32] = bytes(len(raw[start : start + 32]))


DAMAGES = [flipped, cut, dropped, grown, zeroed]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damaged_bytes(damage, left, wanted, tmp_path):
    """What is not refused by `BadCheckpoint` is the undisturbed answer."""
    rng = np.random.default_rng(SEED)
    for number in range(40):
        path, raw = tmp_path / f"run-{number}", bytearray(left)
        damage(raw, rng)
        path.write_bytes(raw)
        check(path, wanted)


def mutated(array, rng):
    """Another array in its place: of another value, dtype, shape or order."""
    way = rng.integers(6)
    if array.dtype.kind == "U":
        return np.array(["", "{}", "[]", "null", "1" * 9, '{"format": 1}'][way])
    if way == 0:
        return array.astype(np.complex128)
    if way == 1:
        return array[..., None]
    if way == 2:
        return np.full_like(array, [np.nan, np.inf, -1e308][rng.integers(3)], dtype=float)
    if way == 3:
        return array.astype(str)
    return array.ravel()[:0] if way == 4 else np.array(array.tolist() if array.ndim else 1 + 1j)


def headers(rng):
    """Headers of which one entry is of another type or size."""
    wrong = [None, -1, 10**30, 1.5, "x", [], {}, True, "0" * 10**4]
    return {
        ["blocks", "pairs", "models", "digest", "center", "format"][rng.integers(6)]: wrong[
            rng.integers(len(wrong))
        ]
    }


def test_other_contents(left, wanted, tmp_path):
    """The archive is whole, with sums of its own: what it holds is another thing."""
    rng = np.random.default_rng(SEED)
    source = tmp_path / "run"
    source.write_bytes(left)
    with source.open("rb") as raw, np.load(raw) as file:
        arrays = dict(file)
    for number in range(100):
        path, some = tmp_path / f"run-{number}", dict(arrays)
        if number % 3:
            name = sorted(some)[rng.integers(len(some))]
            some[name] = mutated(some[name], rng)
        else:
            header = json.loads(str(some["header"])) | headers(rng)
            some["header"] = np.array(json.dumps(header))
        with path.open("wb") as file:
            np.savez(file, **some)
        check(path, wanted)


def test_damaged_shards(tmp_path):
    """A damaged file of pairs is named; one whose bytes are whole again gives its pairs."""
    rng = np.random.default_rng(SEED)
    (X, y), *_ = pairs()
    whole = tmp_path / "whole.npz"
    np.savez(whole, X=X, y=y)
    for number in range(100):
        path, raw = tmp_path / f"part-{number}.npz", bytearray(whole.read_bytes())
        DAMAGES[number % len(DAMAGES)](raw, rng)
        path.write_bytes(raw)
        found, told = tried(lambda path=path: list(Shards(path)), ValueError)
        if found is None:
            assert path.name in told
        else:
            ((a, b),) = found
            np.testing.assert_array_equal(a, X)
            np.testing.assert_array_equal(b, y)


@pytest.mark.parametrize(
    "contents",
    [b"", b"PK\x05\x06" + bytes(18), EVERY_BYTE, b"\x93NUMPY\x01\x00"],
    ids=["empty", "empty archive", "bytes", "bare array"],
)
def test_shards_that_are_no_archives(contents, tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(contents)
    with pytest.raises(ValueError, match=r"a\.npz (is damaged|has no array)"):
        list(Shards(path))


def test_shards_of_another_kind(tmp_path):
    """A table whose name says archive, an archive with a member that is none, and other widths."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("X.npy", b"no array")
        file.writestr("y.npy", b"")
    with pytest.raises(ValueError, match=r"a\.npz has no array"):
        list(Shards(tmp_path / "a.npz"))
    np.savez(tmp_path / "b.npz", X=np.ones((3, 2)), y=np.ones(3))
    np.savez(tmp_path / "c.npz", X=np.ones((3, 4)), y=np.ones(3))
    with pytest.raises(BadBlock, match="block 1 of the stream: each item of X has shape"):
        model().fit(Shards([tmp_path / "b.npz", tmp_path / "c.npz"]))


KILLS = """
import os, signal, sys, time
import numpy as np
from hostile.test_checkpoints import X_NEW, Stream, model, pairs

path, rng, kills = sys.argv[1], np.random.default_rng(20), 0


def slowly():
    for block in pairs(12):
        time.sleep(0.002)
        yield block


while True:
    child = os.fork()
    if not child:
        found = model().fit(Stream(slowly, checkpoint=path, every=1)).predict(X_NEW)
        np.save(path + ".answer.npy", found)
        os._exit(0)
    if kills < 20:
        time.sleep(rng.uniform(0.0, 0.12))
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    kills += os.WIFSIGNALED(status)
    if kills >= 20 and status == 0:
        break
print(kills)
"""


def test_killed_at_random_moments(tmp_path, forks):
    """SIGKILL twenty times, and each next run goes on: the answer is the undisturbed one."""
    run = forks(KILLS, tmp_path / "run")
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) == 20
    found = np.load(tmp_path / "run.answer.npy")
    wanted = model().fit(lambda: pairs(12)).predict(X_NEW)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    assert [path.name for path in tmp_path.iterdir()] == ["run.answer.npy"]
