"""A killed run goes on from its checkpoint and ends with the same numbers."""

import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency, KernelDependencyCV
from mercer.features import IncompleteCholesky, Nystroem
from mercer.kernels import RBF, Labels, Linear, Spectrum
from mercer.operators import Covariance, Identity, Matrix
from mercer.sources import BadCheckpoint, RowBlocks, Stream
from tolerances import IDENTITY


def blocks(stop=None):
    """Twelve blocks of pairs; `stop` of them, then the end of everything."""
    for seed in range(12):
        if seed == stop:
            os.kill(os.getpid(), signal.SIGKILL)
        X = np.random.default_rng(seed).normal(size=(40, 3))
        yield X, np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]) + 3.0


def model(**params):
    params = {"alpha": 0.1, "features": IncompleteCholesky(15), "fit_intercept": True} | params
    return KernelDependency(RBF(2.0) * Covariance(), **params)


class Interrupted(Exception):
    pass


class Broken:
    """Blocks that can be read whole once, for the sample, and end early the second time."""

    def __init__(self, stop):
        self.stop, self.readings = stop, 0

    def __call__(self):
        self.readings += 1
        for number, block in enumerate(blocks()):
            if self.readings > 2 and number == self.stop:  # the first look, the sample, the moments
                raise Interrupted
            yield block


@pytest.fixture
def interrupted(tmp_path):
    """The path of a run that ended after eight of twelve blocks, its last checkpoint at six."""
    path = tmp_path / "run.npz"
    with pytest.raises(Interrupted):
        model().fit(Stream(Broken(8), checkpoint=path, every=3))
    return path


X = np.random.default_rng(99).normal(size=(20, 3))

KILLED = """
import sys
from sources.test_checkpoint import Stream, blocks, model
generator = blocks(stop=8)
model().fit(Stream(generator, sample=60, checkpoint=sys.argv[1], every=3))
"""


def test_killed_and_resumed(tmp_path, forks):
    """SIGKILL in a process of its own: nothing gets a chance to tidy up."""
    path = tmp_path / "run.npz"
    run = forks(KILLED, path)
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert path.exists()
    whole = model().fit(Stream(blocks(), sample=60))
    resumed = model().fit(Stream(blocks(), sample=60, checkpoint=path, every=3))
    assert_allclose(resumed.coef_, whole.coef_, rtol=0, atol=IDENTITY)
    assert_allclose(resumed.predict(X), whole.predict(X), rtol=0, atol=IDENTITY)
    assert resumed.stream_.gatherings[0].n == 480
    assert not list(tmp_path.iterdir())  # a run that ends leaves nothing to resume


def test_interrupted_and_resumed(interrupted):
    resumed = model().fit(Stream(blocks, checkpoint=interrupted, every=3))
    whole = model().fit(blocks)
    assert resumed.stream_.gatherings[0].n == whole.stream_.gatherings[0].n == 480
    assert_allclose(resumed.predict(X), whole.predict(X), rtol=0, atol=IDENTITY)


def test_what_moments_do_not_depend_on_may_change(interrupted):
    resumed = model(alpha=2.0).fit(Stream(blocks, checkpoint=interrupted))
    assert_allclose(resumed.predict(X), model(alpha=2.0).fit(blocks).predict(X), atol=IDENTITY)


OTHERS = {
    "another kernel": lambda: KernelDependency(
        RBF(1.0) * Covariance(), features=IncompleteCholesky(15), fit_intercept=True
    ),
    "another rank": lambda: model(features=IncompleteCholesky(14)),
    "other landmarks": lambda: model(features=Nystroem(landmarks=X[:15])),
    "an output kernel": lambda: model(output_kernel=2.0 * RBF(1.0), output_features=Nystroem(5)),
    "no intercept": lambda: model(fit_intercept=False),
    "more kernels": lambda: KernelDependencyCV(
        [RBF(2.0), RBF(1.0)], features=IncompleteCholesky(15)
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_checkpoint_of_another_model_is_refused(interrupted, name):
    with pytest.raises(BadCheckpoint, match="is of another run: .*delete it to start over"):
        OTHERS[name]().fit(Stream(blocks, checkpoint=interrupted))
    assert interrupted.exists()


def test_the_checkpoint_of_other_data_is_refused(interrupted):
    with pytest.raises(BadCheckpoint, match="the same pairs have other coordinates"):
        model().fit(Stream([(1.5 * x, y) for x, y in blocks()], checkpoint=interrupted))


def changed(number, part):
    """The blocks with one number changed in one of them, which the sample may not hold."""
    found = [tuple(A.copy() for A in block) for block in blocks()]
    found[number][part][-1, -1] += 1e-3
    return found


CHANGES = {
    "an output": lambda: changed(3, 1),
    "an input": lambda: changed(3, 0),
    "weights": lambda: [(x, y, np.full(len(x), 1.0 + (i == 2))) for i, (x, y) in blocks_numbered()],
    "larger blocks": lambda: RowBlocks(*whole_pairs(), block=80),
    "smaller blocks": lambda: RowBlocks(*whole_pairs(), block=20),
    "another order": lambda: [list(blocks())[i] for i in (1, 0, *range(2, 12))],
}


def blocks_numbered():
    return enumerate(blocks())


def whole_pairs():
    return tuple(np.concatenate(parts) for parts in zip(*blocks(), strict=True))


@pytest.mark.parametrize("name", CHANGES)
def test_the_checkpoint_of_changed_blocks_is_refused(interrupted, name):
    fixed = Nystroem(landmarks=X[:15])
    interrupted.unlink()
    interrupted.with_name("run.npz.mercer-previous").unlink()
    with pytest.raises(Interrupted):
        model(features=fixed).fit(Stream(Broken(8), sample=10, checkpoint=interrupted, every=3))
    with pytest.raises(BadCheckpoint, match="is of another run: .*delete it to start over"):
        model(features=fixed).fit(Stream(CHANGES[name](), sample=10, checkpoint=interrupted))
    assert interrupted.exists()
    again = model(features=fixed).fit(Stream(blocks, sample=10, checkpoint=interrupted))
    assert_allclose(again.predict(X), model(features=fixed).fit(blocks).predict(X), atol=IDENTITY)


def test_words_and_labels_resume(tmp_path):
    """The digest of items that are no arrays does not depend on which objects are shared."""
    words = [["ab", "abc", "bca", "cab", "bb", "ca"][i % 6] for i in range(36)]
    passes = []

    def pairs():
        passes.append(1)
        for i in range(0, 36, 9):
            if i == 27 and len(passes) == 3:
                raise Interrupted
            some = ["".join(list(word)) for word in words[i : i + 9]]
            yield some, [frozenset(word[:2]) for word in some]

    path = tmp_path / "run"
    tags = KernelDependency(
        Spectrum(2), Labels(), alpha=0.1, features=Nystroem(landmarks=words[:6])
    )
    with pytest.raises(Interrupted):
        tags.fit(Stream(pairs, checkpoint=path, every=1))
    resumed = tags.fit(Stream(pairs, checkpoint=path)).predict(words)
    assert list(resumed) == list(tags.fit(pairs).predict(words))


def test_two_fits_on_one_checkpoint(tmp_path):
    """The second is refused with a sentence, and the first is not disturbed."""
    path, refusals = tmp_path / "run.npz", []

    def meanwhile():
        for number, block in enumerate(blocks()):
            if number == 5:
                with pytest.raises(BadCheckpoint, match="in use by another process or fit: wait"):
                    model().fit(Stream(blocks, checkpoint=path))
                refusals.append(number)
            yield block

    fitted = model().fit(Stream(meanwhile, checkpoint=path, every=1))
    assert len(refusals) == 2  # in both passes
    assert_allclose(fitted.predict(X), model().fit(blocks).predict(X), rtol=0, atol=IDENTITY)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("keep", [0, 10, 1000, -200])
def test_a_truncated_checkpoint_is_refused_and_the_previous_one_kept(interrupted, keep):
    whole = interrupted.read_bytes()
    previous = interrupted.with_name("run.npz.mercer-previous")
    before = previous.read_bytes()
    interrupted.write_bytes(whole[:keep])
    with pytest.raises(
        BadCheckpoint, match=r"damaged or is none.*move .*\.mercer-previous, which is kept"
    ):
        model().fit(Stream(blocks, checkpoint=interrupted))
    assert previous.read_bytes() == before
    os.replace(previous, interrupted)  # what the message says
    resumed = model().fit(Stream(blocks, checkpoint=interrupted))
    assert_allclose(resumed.predict(X), model().fit(blocks).predict(X), atol=IDENTITY)


def test_a_run_killed_between_its_two_renames(interrupted):
    os.remove(interrupted)  # the last one moved away, the new one not yet in its place
    interrupted.with_name("run.npz.mercer-unfinished").write_bytes(b"half of it")
    resumed = model().fit(Stream(blocks, checkpoint=interrupted))
    assert_allclose(resumed.predict(X), model().fit(blocks).predict(X), atol=IDENTITY)
    assert not list(interrupted.parent.iterdir())


def test_moments_outlive_a_model_that_is_refused(tmp_path):
    """Hours of gathering are not lost to a matrix of the wrong size."""
    path = tmp_path / "run.npz"
    wrong = KernelDependency(
        RBF(2.0) * Matrix(np.eye(3)), features=IncompleteCholesky(15), fit_intercept=True
    )
    with pytest.raises(ValueError, match=r"must be \(2, 2\)"):
        wrong.fit(Stream(blocks, checkpoint=path))
    right = model().fit(Stream(blocks, checkpoint=path))
    assert_allclose(right.predict(X), model().fit(blocks).predict(X), atol=IDENTITY)


def test_nothing_in_a_checkpoint_is_executed(tmp_path):
    path = tmp_path / "run.npz"
    np.savez(path, header=np.array([print], dtype=object))
    with pytest.raises(BadCheckpoint, match="damaged or is none.*delete it to start over"):
        model().fit(Stream(blocks, checkpoint=path))


def test_a_checkpoint_of_a_longer_stream(interrupted):
    with pytest.raises(ValueError, match="the checkpoint"):
        model().fit(Stream(list(blocks())[:4], checkpoint=interrupted))


def test_a_choice_resumes_too(tmp_path):
    path = tmp_path / "run.npz"
    kernels = [RBF(s) * op for s in (1.0, 2.0) for op in (Identity(), Covariance())]
    choice = KernelDependencyCV(kernels, alphas=[0.1, 1.0], features=IncompleteCholesky(15))
    with pytest.raises(Interrupted):
        choice.fit(Stream(Broken(8), checkpoint=path, every=3))
    assert path.exists()
    resumed = choice.fit(Stream(blocks, checkpoint=path, every=3))
    risks = resumed.cv_results_["risk"]
    assert_allclose(risks, choice.fit(blocks).cv_results_["risk"], rtol=IDENTITY)


@pytest.mark.parametrize("name", ["run.lock", "run.unfinished", "run.previous"])
def test_files_of_the_user_beside_a_checkpoint_are_left_alone(name, tmp_path):
    own = tmp_path / name
    own.write_text("my own")
    blocks = [(np.eye(3) + i, np.eye(3)) for i in range(4)]
    KernelDependency(Linear()).fit(Stream(blocks, checkpoint=tmp_path / "run", every=1))
    assert own.read_text() == "my own" and [*tmp_path.iterdir()] == [own]
