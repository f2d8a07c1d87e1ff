"""Confidence tells good predictions from bad ones, and the nested score is honest."""

import numpy as np
import pytest
from sklearn.metrics import make_scorer

from mercer import KernelDependency, KernelDependencyCV, plots
from mercer.decoders import Candidates, FixedPoint
from mercer.estimators.confidence import confidence_of, risk_coverage
from mercer.features import Nystroem
from mercer.kernels import RBF, Delta, Kendall
from mercer.metrics import accuracy, kendall_tau


def classes(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    noisy = rng.uniform(size=n) < np.where(X[:, 1] > 0, 0.5, 0.0)
    return X, np.where(noisy, rng.integers(3, size=n), np.digitize(X[:, 0], [-0.7, 0.7]))


def test_confidence_is_the_expected_accuracy():
    X, y = classes(0, 900)
    model = KernelDependency(RBF(0.7), Delta(), alpha=3.0).fit(X[:400], y[:400])
    sure = model.confidence(X[400:])
    hits = accuracy(y[400:], model.predict(X[400:]), average=False)
    assert ((sure >= 0) & (sure <= 1)).all()
    assert abs(sure.mean() - hits.mean()) < 0.05
    order = np.argsort(sure)
    assert hits[order[-150:]].mean() > hits[order[:150]].mean() + 0.2
    for rows in np.array_split(order, 3):
        assert abs(sure[rows].mean() - hits[rows].mean()) < 0.12


def test_confidence_of_vectors_and_by_a_metric(rng):
    X = rng.uniform(-1, 1, size=(400, 2))
    noise = np.where(X[:, :1] > 0, 1.0, 0.05)
    Y = np.sin(3 * X @ rng.normal(size=(2, 4))) + noise * rng.normal(size=(400, 4))
    model = KernelDependency(RBF(0.5), alpha=1.0).fit(X, Y)
    sure = model.confidence(X)
    assert sure[X[:, 0] < -0.2].mean() > sure[X[:, 0] > 0.2].mean() + 0.2
    ranks = np.argsort(np.argsort(Y))
    ranking = KernelDependency(RBF(0.5), Kendall(), alpha=1.0).fit(X, ranks)
    assert ranking.confidence(X[:5], metric=kendall_tau).shape == (5,)


def test_risk_coverage_by_hand():
    coverage, risk = risk_coverage(np.array([0.9, 0.1, 0.9]), np.array([1.0, 0.0, 0.5]))
    np.testing.assert_allclose(coverage, [2 / 3, 1.0])
    np.testing.assert_allclose(risk, [0.25, 0.5])


def test_groups_are_calibrated_apart():
    X, y = classes(1, 200)
    groups = np.arange(200) // 4
    model = KernelDependency(RBF(0.7), Delta(), alpha=3.0).fit(X, y, groups=groups)
    found = confidence_of(model).left_out()
    assert np.isfinite(found).all()


def test_the_picture():
    pytest.importorskip("matplotlib").use("Agg")
    X, y = classes(2, 200)
    ax = plots.risk_coverage(KernelDependency(RBF(0.7), Delta(), alpha=3.0).fit(X, y))
    kept, risk = ax.lines[0].get_data()
    assert kept[-1] == 1.0
    assert risk[0] <= risk[-1] + 0.05
    ax.figure.clear()


# -- nested -----------------------------------------------------------------------------------


def test_the_nested_score_of_noise_is_not_optimistic(rng):
    """Nothing can be learnt here: the chosen score looks good, the nested one does not."""
    X, y = rng.normal(size=(30, 5)), rng.integers(3, size=30)
    kernels = [RBF(s) for s in (0.3, 0.6, 1.0, 2.0, 4.0, 8.0)]
    model = KernelDependencyCV(
        kernels, Delta(), alphas=np.logspace(-3, 2, 6), scoring=make_scorer(accuracy), nested=5
    ).fit(X, y)
    assert model.loo_score_ > model.nested_score_
    assert model.nested_score_ < 0.5
    assert not hasattr(KernelDependencyCV(RBF(1.0)).fit(X, y), "nested_score_")


def test_the_nested_score_of_several_decoders_is_that_of_the_choice(rng):
    X = rng.normal(size=(30, 2))
    decoders = [Candidates(), FixedPoint()]
    model = KernelDependencyCV(RBF(1.0), RBF(1.0), decoder=decoders, nested=3).fit(X, np.sin(X))
    assert np.isfinite([model.loo_score_, model.nested_score_]).all()
    again = KernelDependencyCV(RBF(1.0), nested=np.int64(3)).fit(X, np.sin(X))
    assert np.isfinite(again.nested_risk_)


def test_nested_by_hand(rng):
    X, Y = rng.normal(size=(24, 2)), rng.normal(size=(24, 2))
    groups = np.arange(24) % 3
    weights = rng.uniform(0.5, 2.0, size=24)
    model = KernelDependencyCV(RBF(1.0), alphas=[0.1, 10.0], nested=3)
    model.fit(X, Y, groups=groups, sample_weight=weights)
    errors = np.empty(24)
    for g in range(3):
        rest, rows = groups != g, groups == g
        inner = KernelDependencyCV(RBF(1.0), alphas=[0.1, 10.0])
        inner.fit(X[rest], Y[rest], groups=groups[rest], sample_weight=weights[rest])
        errors[rows] = ((inner.predict(X[rows]) - Y[rows]) ** 2).sum(axis=1)
    assert model.nested_risk_ == pytest.approx(np.average(errors, weights=weights))
    assert np.isnan(model.nested_score_)


def test_nested_is_refused(rng):
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match="nested must be a number of folds from 2 to 20"):
        KernelDependencyCV(RBF(1.0), nested=1).fit(X, Y)
    with pytest.raises(ValueError, match="nested= is for pairs in memory"):
        KernelDependencyCV(RBF(1.0), nested=3, features=Nystroem(landmarks=X[:3])).fit([(X, Y)])
