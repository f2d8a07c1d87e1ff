"""Candidates are ranked by models that have not seen them."""

import tracemalloc
import warnings

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV, load, save
from mercer.decoders import Candidates
from mercer.features import Nystroem
from mercer.kernels import RBF, Fingerprint, Linear, Spectrum
from mercer.metrics import list_accuracy
from mercer.operators import Covariance, Identity, Matrix

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 3)), np.round(RNG.normal(size=(20, 2)), 1)
Y[7] = Y[3]  # one output of two examples
NEW, X_NEW = RNG.normal(size=(6, 2)), RNG.normal(size=(6, 3))
LISTS = [np.vstack([NEW[t], Y[t : t + 4], NEW[:2]]) for t in range(6)]
B = Matrix(np.array([[2.0, 0.5], [0.5, 1.0]]))
MODELS = {
    "cholesky": {"kernel": RBF(1.0), "output_kernel": RBF(1.0)},
    "vectors": {"kernel": RBF(1.0), "output_kernel": Linear()},
    "operator": {"kernel": RBF(1.0) * B, "output_kernel": Linear()},
    "sum": {"kernel": RBF(1.0) * B + RBF(2.0) * Identity(), "output_kernel": Linear()},
    "low rank": {"kernel": RBF(1.0), "output_kernel": RBF(1.0),
                 "features": Nystroem(landmarks=X[:8] + 0.1)},
    "low rank, vectors": {"kernel": RBF(1.0) * B, "features": Nystroem(landmarks=X[:8] + 0.1)},
}  # fmt: skip


def in_list(y, candidates):
    return (candidates == y).all(axis=1).any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_refits(name, intercept, weighted):
    parts = {**MODELS[name], "alpha": 0.3, "fit_intercept": intercept}
    w = np.where(np.arange(20) % 3, 1.0, 2.5) if weighted else np.ones(20)
    model = KernelDependency(**parts).fit(X, Y, sample_weight=w)
    found = model.predict_top(X_NEW, 7, candidates=LISTS, leave_out_candidates=True)
    for t, row in enumerate(found):
        rest = np.array([not in_list(y, LISTS[t]) for y in Y])
        assert not rest.all()
        refit = KernelDependency(**parts).fit(X[rest], Y[rest], sample_weight=w[rest])
        wanted = refit.predict_top(X_NEW[[t]], 7, candidates=[LISTS[t]])[0]
        assert [score for _, score in row] == pytest.approx([score for _, score in wanted])
        assert all((a == b).all() for (a, _), (b, _) in zip(row, wanted, strict=True))


def test_the_default_leaves_out_and_says_so():
    model = KernelDependencyCV(RBF(1.0), RBF(1.0)).fit(X, Y)
    asked = model.predict(X_NEW, candidates=LISTS, leave_out_candidates=True)
    with pytest.warns(UserWarning, match="6 of 6 candidate lists mix training outputs"):
        found = model.predict(X_NEW, candidates=LISTS)
    assert (found == asked).all()
    whole = model.predict(X_NEW, candidates=LISTS, leave_out_candidates=False)
    points = model.embed(X_NEW)
    best = [rows[np.argmax(points.scores(rows)[t])] for t, rows in enumerate(LISTS)]
    assert (whole == np.array(best)).all() and not (whole == found).all()


def test_lists_of_training_outputs_alone_are_ranked_by_the_whole_model():
    """No candidate has the advantage of having been seen; to leave all out would tell nothing."""
    model = KernelDependency(RBF(1.0), RBF(1.0), alpha=0.1).fit(X, Y)
    lists = [Y[t : t + 3] for t in range(6)]
    found = model.predict(X_NEW, candidates=lists)
    assert (found == model.predict(X_NEW, candidates=lists, leave_out_candidates=False)).all()
    with pytest.raises(ValueError, match="nothing to learn from"):
        model.predict(X_NEW, candidates=[Y] * 6, leave_out_candidates=True)


def test_without_a_closed_form_a_warning_says_why():
    model = KernelDependency(RBF(1.0) * Covariance() + RBF(2.0), alpha=0.3, solver="cg").fit(X, Y)
    with pytest.warns(UserWarning, match="ranked by the whole model.*give no left-out predictions"):
        found = model.predict(X_NEW, candidates=LISTS)
    assert (found == model.predict(X_NEW, candidates=LISTS, leave_out_candidates=False)).all()
    with pytest.raises(ValueError, match="give no left-out predictions"):
        model.predict(X_NEW, candidates=LISTS, leave_out_candidates=True)


def test_saved_models_have_forgotten_what_they_were_trained_on(tmp_path):
    model = KernelDependency(RBF(1.0), Linear(), alpha=0.3).fit(X, Y)
    save(model, tmp_path / "model.mercer")
    loaded = load(tmp_path / "model.mercer")
    assert loaded.predict(X_NEW, candidates=LISTS).shape == (6, 2)
    with pytest.raises(ValueError, match="needs the training data"):
        loaded.predict(X_NEW, candidates=LISTS, leave_out_candidates=True)


def test_saved_models_that_choose_among_training_outputs_warn_of_them(tmp_path):
    model = KernelDependency(RBF(1.0), RBF(1.0), alpha=0.3, decoder=Candidates()).fit(X, Y)
    save(model, tmp_path / "model.mercer")
    loaded = load(tmp_path / "model.mercer")
    with pytest.warns(UserWarning, match="6 of 6 .* by the whole model.*needs the training data"):
        found = loaded.predict(X_NEW, candidates=LISTS)
    assert (found == model.predict(X_NEW, candidates=LISTS, leave_out_candidates=False)).all()
    assert loaded.predict(X_NEW, candidates=[NEW] * 6).shape == (6, 2)


def test_lists_come_one_by_one():
    model = KernelDependency(RBF(1.0), RBF(1.0), alpha=0.1).fit(X, Y)
    found = model.predict(X_NEW, candidates=(rows for rows in LISTS), leave_out_candidates=True)
    assert (found == model.predict(X_NEW, LISTS, True)).all()
    for lists, message in ((LISTS[:5], "got 5"), ([*LISTS, LISTS[0]], "got more")):
        with pytest.raises(ValueError, match=message):
            model.predict(X_NEW, candidates=iter(lists), leave_out_candidates=True)


def test_long_lists_stream_in_bounded_memory():
    """Twenty-four lists of 3,000 strings take no more room than six, which are held at once."""
    rng = np.random.default_rng(1)
    letters = np.array(list("abcdefgh"))
    words = ["".join(rng.choice(letters, 6)) for _ in range(300)]
    model = KernelDependency(RBF(1.0), Spectrum(2), alpha=0.1).fit(rng.normal(size=(300, 3)), words)

    def lists(n):
        for t in range(n):
            yield [*words[t : t + 3], *("".join(w) for w in rng.choice(letters, (3000, 6)))]

    def peak(n):
        tracemalloc.start()
        model.predict(rng.normal(size=(n, 3)), candidates=lists(n), leave_out_candidates=True)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1)
    assert peak(24) < 1.2 * peak(6)


def test_single_numbers_come_back_as_numbers():
    model = KernelDependency(RBF(1.0), Linear(), alpha=0.1).fit(X, Y[:, 0])
    lists = [[Y[t, 0], 9.0] for t in range(6)]
    assert model.predict(X_NEW, lists, leave_out_candidates=True).shape == (6,)


def test_scores_over_lists_report_chance():
    score = list_accuracy(["a", "b", "c"], ["a", "x", "c"], [["a", "b", "b"], ["b", "x"], ["c"]])
    assert score.accuracy == 0.5 and score.chance == 0.5 and score.lists == 2
    with pytest.raises(ValueError, match="no list has two candidates"):
        list_accuracy(["a"], ["a"], [["a"]])
    with pytest.raises(ValueError, match="one list for each"):
        list_accuracy(["a"], ["a"], [])


def test_operators_of_the_outputs_are_held_fixed():
    """A covariance is that of all outputs, as in every left-out prediction."""
    model = KernelDependency(RBF(1.0) * Covariance(), alpha=0.3).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(X_NEW, LISTS, leave_out_candidates=True).shape == (6, 2)


def test_a_molecule_written_in_another_way_is_the_same_training_output():
    pytest.importorskip("rdkit")
    model = KernelDependency(RBF(1.0), Fingerprint(), alpha=0.1)
    model.fit(X[:4], ["CCO", "CCN", "CCC", "C=O"])
    with pytest.warns(UserWarning, match="1 of 1 candidate lists mix training outputs"):
        found = model.predict_top(X[:1], 2, candidates=[["OCC", "OCCC"]])
    plain = model.predict_top(X[:1], 2, [["CCO", "OCCC"]], leave_out_candidates=True)
    assert [score for _, score in found[0]] == [score for _, score in plain[0]]
