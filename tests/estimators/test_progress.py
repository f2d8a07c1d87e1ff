"""Long fits: silent by default, shown where asked, told to callbacks, clean when interrupted."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import mercer
from mercer import (
    ConformalSets,
    KernelDependency,
    KernelDependencyCV,
    SequenceTransducer,
)
from mercer._base import loops, progress
from mercer.kernels import RBF
from mercer.operators import Covariance, Identity
from mercer.sequences.transduction import task

CHOICE = KernelDependencyCV([RBF(1.0) * Identity(), RBF(2.0) * Covariance()], alphas=[0.1, 1.0])
WORDS = ["casa", "cane", "gatto", "cassa", "gattone", "canto"]
LOUD = [word.upper() for word in WORDS]


@pytest.fixture
def pairs(rng):
    return rng.normal(size=(12, 2)), rng.normal(size=(12, 2))


def test_nothing_is_printed_by_default(pairs, capfd, monkeypatch):
    monkeypatch.setattr(loops.notice, "printed", True)  # compiling for the first time is announced
    CHOICE.fit(*pairs)
    SequenceTransducer().fit(WORDS, LOUD)
    assert capfd.readouterr() == ("", "")


def test_a_bar_is_shown_where_asked(pairs, capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    clone(CHOICE).set_params(verbose=True).fit(*pairs)
    SequenceTransducer(verbose=True).fit(WORDS, LOUD)
    out, err = capfd.readouterr()
    assert out == ""
    assert "trial" in err
    assert "fitting" in err


def test_a_log_has_lines(pairs, capfd, monkeypatch):
    monkeypatch.setattr(progress, "LINE", 0.0)
    clone(CHOICE).set_params(verbose=True).fit(*pairs)
    assert "mercer: 50% done (trial), step 2 of at most 4\n" in capfd.readouterr().err


class Interrupted(RBF):
    """A kernel in whose middle somebody presses the keys."""

    def _gram(self, A, B):
        raise KeyboardInterrupt


@pytest.mark.parametrize("Model", [KernelDependency, KernelDependencyCV])
def test_interrupted_fits_leave_the_model_as_it_was(Model, pairs):
    X, Y = pairs
    model = Model(RBF(1.0)).fit(X, Y)
    before, names = model.predict(X), set(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.set_params(kernel=Interrupted(1.0)).fit(X, Y)
    assert_array_equal(model.predict(X), before)
    assert set(vars(model)) == names
    assert_array_equal(model.set_params(kernel=RBF(1.0)).fit(X, Y).predict(X), before)


@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
def test_interrupted_sets(calibration, rng):
    X = rng.normal(size=(40, 2))
    sets = ConformalSets(KernelDependency(RBF(1.0)), calibration=calibration).fit(X, X)
    before = sets.sizes(X)
    with pytest.raises(KeyboardInterrupt):
        sets.set_params(model=KernelDependency(Interrupted(1.0))).fit(X, X)
    assert_array_equal(sets.sizes(X), before)


@pytest.mark.parametrize("verbose", [False, True])
def test_interrupted_transducers(verbose, monkeypatch):
    model = SequenceTransducer(verbose=verbose).fit(WORDS, LOUD)
    before, names = model.predict(WORDS), set(vars(model))

    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(task, "align", pressed)
    with pytest.raises(KeyboardInterrupt):
        model.fit(LOUD, WORDS)
    assert_array_equal(model.predict(WORDS), before)
    assert set(vars(model)) == names


def test_older_versions_of_scikit_learn_have_no_callbacks(monkeypatch, pairs):
    monkeypatch.setattr("mercer._base.progress.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="callbacks from 1.9 on"):
        KernelDependency().set_callbacks(Counts())


# -- scikit-learn's callbacks -----------------------------------------------------------------


class Counts:
    """A callback that counts, and may have seen enough."""

    def __init__(self, enough=None):
        self.calls, self.enough = [], enough

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.calls.append(f"end {context.task_name}")
        return self.enough is not None and self.calls.count("end trial") >= self.enough


@pytest.fixture
def callback():
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    return Counts()


def test_callbacks_see_every_trial(pairs, callback, tmp_path):
    model = clone(CHOICE).set_callbacks(callback).fit(*pairs)
    assert callback.calls == [
        "setup", "begin fit", *["begin trial", "end trial"] * 4, "end fit", "teardown",
    ]  # fmt: skip
    assert "_steps" not in vars(model)
    again = mercer.load(mercer.save(model, tmp_path / "model.mercer"))  # without who watched it
    assert_array_equal(again.predict(pairs[0]), model.predict(pairs[0]))


def test_callbacks_of_one_fit(pairs, callback):
    KernelDependency().set_callbacks(callback).fit(*pairs)
    assert callback.calls == ["setup", "begin fit", "end fit", "teardown"]


def test_callbacks_may_have_seen_enough(pairs, callback):
    callback.enough = 3
    model = clone(CHOICE).set_callbacks(callback).fit(*pairs)
    assert len(model.cv_results_["alpha"]) == 3


def test_callbacks_are_torn_down_whatever_happens(pairs, callback):
    model = KernelDependencyCV(Interrupted(1.0)).set_callbacks(callback)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*pairs)
    assert callback.calls[-1] == "teardown"
    assert not hasattr(model, "_callback_fit_ctx")


def test_callbacks_see_the_steps_of_a_transducer(callback):
    SequenceTransducer(folds=3).set_callbacks(callback).fit(WORDS, LOUD)
    assert callback.calls.count("end leaving pairs out") == 3
    assert callback.calls[-3:] == ["end fitting", "end fit", "teardown"]


def test_callbacks_pass_through_searches(pairs):
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    from sklearn.callback import ProgressBar
    from sklearn.model_selection import GridSearchCV

    X, Y = pairs
    search = GridSearchCV(KernelDependency(), {"alpha": [0.1, 1.0]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(X, Y)
    assert np.isfinite(search.best_score_)
