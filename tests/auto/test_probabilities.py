"""Probabilities of classes and labels: calibrated, saved, known to scikit-learn."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_validate

import mercer
from mercer import AutoDependency, Blend, ForestDependency, KernelDependency, KernelDependencyCV
from mercer.kernels import RBF, Delta, Labels, Linear, Tanimoto

RNG = np.random.default_rng(0)
N = 240
X = RNG.normal(size=(N, 3))
ODDS = np.column_stack([2.0 * X[:, 0], 2.0 * X[:, 1], np.zeros(N)])
y = np.array(["sun", "rain", "fog"])[(ODDS + RNG.gumbel(size=ODDS.shape)).argmax(axis=1)]
SETS = (RNG.random((N, 3)) < 1.0 / (1.0 + np.exp(-2.0 * X))).astype(int)
OLD, NEW = slice(0, 160), slice(160, N)


def models(output):
    forest = ForestDependency(output_kernel=output, n_trees=50, min_samples_leaf=5, random_state=0)
    ridge = KernelDependencyCV([RBF(3.0), Linear()], output)
    return [ridge, forest, Blend([ridge, forest])]


@pytest.mark.parametrize("output", [Delta(), 3.0 * Delta()])
def test_classes_of_every_model_are_calibrated(output):
    peer = LogisticRegression().fit(X[OLD], y[OLD]).predict_proba(X[NEW])
    for model in models(output):
        model.fit(X[OLD], y[OLD])
        P = model.predict_proba(X[NEW])
        assert model.classes_.tolist() == ["fog", "rain", "sun"]
        assert (P > 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        assert log_loss(y[NEW], P) < log_loss(y[NEW], peer) + 0.1
        assert is_classifier(model)


def test_scores_that_tell_all_apart_are_not_certain():
    model = KernelDependencyCV(RBF(1.0), Delta()).fit(np.r_[np.zeros(9), np.ones(9)][:, None],
                                                      ["a"] * 9 + ["b"] * 9)  # fmt: skip
    assert 0.9 < model.predict_proba([[0.0]])[0, 0] < 0.999


@pytest.mark.parametrize("output", [Delta(), Labels()])
@pytest.mark.parametrize("kernel", [None, RBF(0.1)])
def test_inputs_that_say_nothing_do_not_turn_probabilities_around(kernel, output):
    """A left-out score lacks the example, so that without signal it is lower for its class."""
    classes = np.arange(N) % 2
    outputs = classes if isinstance(output, Delta) else np.column_stack([1 - classes, classes])
    model = KernelDependencyCV(kernel, output).fit(X, outputs)
    P = model.predict_proba(np.random.default_rng(1).normal(size=(500, 3)))
    assert -np.log(P * (1.0 - P)).mean() / 2.0 < np.log(2.0) + 0.02  # the loss on either class


@pytest.mark.parametrize("output", [Labels(), Labels(Tanimoto())])
@pytest.mark.parametrize("named", [False, True])
def test_labels_have_probabilities_of_their_own(output, named):
    names = np.array(["a", "b", "c"], dtype=object)
    sets = [list(names[row > 0]) for row in SETS] if named else SETS
    model = KernelDependencyCV(RBF(3.0), output).fit(X[OLD], sets[OLD])
    P = model.predict_proba(X[NEW])
    assert model.classes_.tolist() == (["a", "b", "c"] if named else [0, 1, 2])
    likely = np.tile(SETS[OLD].mean(axis=0), (len(P), 1))
    for j in range(3):
        assert log_loss(SETS[NEW][:, j], P[:, j]) < log_loss(SETS[NEW][:, j], likely[:, j])


def test_a_saved_model_knows_them(tmp_path):
    for model in [*models(Delta()), AutoDependency(random_state=0)]:
        model.fit(X[OLD], y[OLD])
        again = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
        np.testing.assert_allclose(again.predict_proba(X[NEW]), model.predict_proba(X[NEW]))


def test_other_outputs_have_none():
    for model in (KernelDependencyCV(), AutoDependency(random_state=0)):
        assert not hasattr(model, "predict_proba")
        model.fit(X, X)
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "classes_")
        assert not is_classifier(model)


SCORERS = ["neg_log_loss", "roc_auc_ovr", "accuracy"]


@pytest.mark.parametrize(
    "model", [AutoDependency(random_state=0), KernelDependencyCV(RBF(3.0), Delta())]
)
def test_scorers_of_scikit_learn(model):
    found = cross_validate(model, X, y, scoring=SCORERS, cv=StratifiedKFold(3))
    for scoring in SCORERS:
        assert np.isfinite(found[f"test_{scoring}"]).all()


@pytest.mark.parametrize("scoring", SCORERS)
def test_a_choice_by_scorers_of_scikit_learn(scoring):
    model = AutoDependency(random_state=0, scoring=scoring).fit(X[OLD], y[OLD])
    assert model.loo_score_ > model.baselines_["mean"]
    assert model.score(X[NEW], y[NEW]) > model.baselines_["mean"]


def test_columns_of_labels_keep_their_names():
    table = {**{f"x{j}": X[:, j] for j in range(3)}, **dict(zip("abc", SETS.T, strict=True))}
    model = AutoDependency(output=["a", "b", "c"], random_state=0).fit(table)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(table).shape == (N, 3)


def test_pairs_count_as_often_as_they_weigh():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.choice(["a", "b"], 60)
    weights = np.where(y == "a", 50.0, 1.0)
    model = KernelDependency(RBF(1.0), Delta()).fit(X, y, sample_weight=weights)
    assert abs(model.predict_proba(X)[:, 0].mean() - weights[y == "a"].sum() / weights.sum()) < 0.05


def test_a_name_of_a_kernel_on_classes_makes_a_classifier():
    assert is_classifier(KernelDependency(output_kernel="delta"))
