"""Prediction sets: the closed form is that of refits, and sets cover as often as they say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import ConformalSets, KernelDependency, KernelDependencyCV
from mercer.kernels import L2, RBF, Kendall, Linear
from mercer.operators import Covariance, CurlFree, Identity, Matrix
from mercer.sets import Ball, Band
from mercer.sets.row_weights import row_weights, weighted_quantile

pytestmark = pytest.mark.filterwarnings("ignore:jackknife. proves no coverage")

B = Matrix(np.array([[2.0, 0.5], [0.5, 1.0]]))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("labels", [np.arange(15), np.arange(15) // 3], ids=["rows", "groups"])
@pytest.mark.parametrize("operator", [Identity(), B], ids=["identity", "matrix"])
def test_moves_are_those_of_refits(intercept, labels, operator, rng):
    X, Y, X_new = rng.normal(size=(15, 2)), rng.normal(size=(15, 2)), rng.normal(size=(4, 2))
    model = KernelDependency(RBF(1.0) * operator, alpha=0.3, fit_intercept=intercept).fit(X, Y)
    ((rows, moves),) = model.fitted_.with_groups(labels, moves=True).moves(X_new)
    assert rows == slice(0, 4)
    whole = model.predict(X_new)
    for i in range(15):
        rest = labels != labels[i]
        refit = KernelDependency(RBF(1.0) * operator, alpha=0.3, fit_intercept=intercept)
        assert_allclose(whole - moves[:, i], refit.fit(X[rest], Y[rest]).predict(X_new), atol=1e-9)


def curves(rng, n, subjects=None):
    t = np.linspace(0, 1, 12)
    who = np.arange(n) if subjects is None else rng.integers(subjects, size=n)
    shift = rng.normal(scale=0.5, size=who.max() + 1)[who]
    X = rng.normal(size=(n, 2))
    Y = np.sin(3 * t + X[:, :1]) + shift[:, None] + rng.normal(scale=0.1, size=(n, 12))
    return X, Y, who


@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
@pytest.mark.parametrize("kind", ["ball", "band"])
@pytest.mark.parametrize("output_kernel", [Linear(), L2()], ids=str)
def test_coverage_of_balls_and_bands(calibration, kind, output_kernel):
    covered = []
    for seed in range(8):
        X, Y, _ = curves(np.random.default_rng(seed), 160)
        model = KernelDependency(RBF(2.0) * Covariance(), output_kernel, alpha=0.1)
        sets = ConformalSets(model, 0.9, calibration, kind).fit(X[:80], Y[:80])
        covered.append(sets.covers(X[80:], Y[80:]).mean())
        assert isinstance(sets.predict(X[80:81])[0], Ball if kind == "ball" else Band)
    assert 0.85 < np.mean(covered) < 0.97
    stated = 0.9 if calibration == "split" else np.nan  # the operator is made of the outputs
    assert sets.proven_coverage_ == pytest.approx(stated, nan_ok=True)
    assert (sets.sizes(X[80:]) > 0).all()


@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
def test_groups_count_as_one(calibration):
    by_group, by_row = [], []
    for seed in range(10):
        X, Y, who = curves(np.random.default_rng(seed), 240, subjects=40)
        train, test = who < 30, who >= 30
        model = KernelDependency(RBF(2.0), alpha=0.1, fit_intercept=True)
        for groups, covered in ((who[train], by_group), (None, by_row)):
            sets = ConformalSets(model, 0.8, calibration).fit(X[train], Y[train], groups)
            covered.append(sets.covers(X[test], Y[test]).mean())
    assert np.mean(by_group) > 0.77
    assert np.mean(by_group) > np.mean(by_row)


@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
def test_lists_of_rankings(calibration):
    covered, sizes = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 3))
        ranks = np.argsort(np.argsort(X @ rng.normal(size=(3, 4)) + rng.normal(size=(200, 4))))
        model = KernelDependencyCV(RBF(2.0), Kendall(), fit_intercept=True, alphas=[0.1, 1.0])
        sets = ConformalSets(model, 0.9, calibration).fit(X[:100], ranks[:100])
        covered.append(sets.covers(X[100:], ranks[100:]).mean())
        sizes.append(sets.sizes(X[100:]).mean())
        best = sets.predict(X[100:])
        assert min(map(len, best)) >= 1
    assert 0.84 < np.mean(covered) < 0.96
    assert np.mean(sizes) < 20  # of 24


def test_a_truth_that_is_no_candidate_is_not_covered(rng):
    X, Y = rng.normal(size=(40, 2)), rng.integers(0, 2, size=(40, 2)).astype(float)
    sets = ConformalSets(KernelDependency(), kind="candidates").fit(X, Y)
    assert not sets.covers(X[:1], [[5.0, 5.0]])[0]
    with pytest.warns(UserWarning, match="not in the pool"):
        given = ConformalSets(KernelDependency(), kind="candidates", candidates=Y[:1]).fit(X, Y)
    assert {len(s) for s in given.predict(X)} == {1}


def test_plain_numbers(rng):
    X = rng.normal(size=(60, 1))
    for calibration in ("split", "jackknife+"):
        sets = ConformalSets(KernelDependency(), calibration=calibration).fit(X, X[:, 0])
        assert sets.covers(X, X[:, 0]).mean() > 0.8


@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
def test_too_few_groups_are_told(calibration, rng):
    X = rng.normal(size=(40, 1))
    few = ConformalSets(KernelDependency(), 0.99, calibration)
    with pytest.warns(UserWarning, match="At least 99 are needed"):
        few.fit(X, X)
    assert np.isinf(few.sizes(X)).all()
    with pytest.warns(UserWarning, match="8 groups to calibrate on cannot tell 0.9 from 1"):
        ConformalSets(KernelDependency(), calibration="jackknife+").fit(X, X, np.arange(40) % 8)


def test_few_groups_are_shared_evenly():
    kept = ConformalSets(KernelDependency())._number_held_out
    assert [kept(n) for n in (40, 90, 200, 1000)] == [20, 45, 50, 250]
    assert ConformalSets(KernelDependency(), held_out=0.1)._number_held_out(90) == 9


def test_quantiles():
    scores = np.arange(1.0, 10.0)
    assert weighted_quantile(scores, row_weights(np.arange(9)), 0.9) == 9.0
    assert weighted_quantile(scores, row_weights(np.arange(9)), 0.91) == np.inf
    two = row_weights(np.array([0, 0, 0, 1]))
    assert_allclose(two, [1 / 9, 1 / 9, 1 / 9, 1 / 3])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"coverage": 1.0}, "coverage must be a number between 0 and 1"),
        ({"calibration": "magic"}, "calibration must be one of"),
        ({"kind": "cube"}, "kind must be one of"),
        ({"held_out": 0.0}, "held_out must be a number between 0 and 1"),
        ({"kind": "ball", "model": KernelDependency(output_kernel=RBF(1.0))}, 'kind="ball" is for'),
        ({"held_out": 0.99}, "too few to hold"),
        (
            {"model": KernelDependency(CurlFree(), solver="cg"), "calibration": "jackknife+"},
            "no left-out predictions",
        ),
    ],
)  # fmt: skip
def test_bad_parameters(parameters, message, rng):
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    sets = ConformalSets(**({"model": KernelDependency()} | parameters))
    with pytest.raises(ValueError, match=message):
        sets.fit(X, Y)


def test_a_failed_refit_leaves_the_sets_as_they_were(rng):
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    sets = ConformalSets(KernelDependency()).fit(X, Y)
    before = sets.sizes(X)
    with pytest.raises(ValueError, match="NaN"):
        sets.fit(X * np.nan, Y)
    assert_allclose(sets.sizes(X), before)
    with pytest.raises(TypeError, match="KernelDependency"):
        ConformalSets("model").fit(X, Y)
