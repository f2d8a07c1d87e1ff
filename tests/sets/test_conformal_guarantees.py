"""What prediction sets state holds: pools that lack the truth, and models that have seen it."""

import numpy as np
import pytest

from mercer import ConformalSets, KernelDependency, KernelDependencyCV
from mercer.features import IncompleteCholesky, Nystroem, RandomFourier
from mercer.fields import Shared
from mercer.kernels import RBF, Kendall, Labels, Spectrum
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    Identity,
    Local,
    Matrix,
    Mixture,
    Patchwise,
)
from mercer.sets.certificate import reasons_for_dependence
from mercer.sets.row_weights import fraction_upper_bound

LETTERS = list("abcdefghij")


def words(rng, n, length=6):
    return ["".join(rng.choice(LETTERS, size=length)) for _ in range(n)]


@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
def test_words_outside_the_pool_are_misses(calibration, rng):
    """Hardly any of 200 random words is seen twice: sets of training words hold almost none."""
    X, y = rng.normal(size=(200, 3)), words(rng, 200)
    sets = ConformalSets(KernelDependency(RBF(1.0), Spectrum(2)), 0.9, calibration)
    with pytest.warns(UserWarning, match="pool of candidates|proves no coverage") as told:
        sets.fit(X[:150], y[:150])
    assert "are not in the pool of candidates" in str(told[0].message)
    assert [str(more.message)[:26] for more in told[1:]] == (
        [] if calibration == "split" else ["jackknife+ proves no cover"]
    )
    assert sets.outside_ > 0.95
    assert sets.empirical_coverage_ < 0.05
    assert np.isnan(sets.proven_coverage_) or sets.proven_coverage_ < 0.05
    assert sets.covers(X[150:], y[150:]).mean() < 0.05


def test_the_level_is_less_by_what_the_pool_may_lack(rng):
    X = rng.normal(size=(400, 2))
    y = [*"abcdefgh"[:8]] * 50
    model = KernelDependency(RBF(1.0), Spectrum(1))
    none = ConformalSets(model, 0.9).fit(X, y)
    assert none.outside_ == 0
    assert none.proven_coverage_ == pytest.approx(0.9 - (1 - 0.05 ** (1 / 100)))  # 0 of 100
    with pytest.warns(UserWarning, match=r"\(1\d%\) are not in the pool"):
        some = ConformalSets(model, 0.9, candidates=list("abcdefg")).fit(X, y)
    held = round(some.outside_ * 100)
    outside = np.arange(100) < held
    assert some.proven_coverage_ == pytest.approx(
        0.9 - fraction_upper_bound(outside, np.arange(100))
    )


def test_the_bound_on_a_share():
    labels = np.repeat(np.arange(20), 2)
    assert fraction_upper_bound(np.zeros(40, bool), labels) == pytest.approx(1 - 0.05 ** (1 / 20))
    assert fraction_upper_bound(labels < 20, labels) == 1.0
    one_group = labels == 3
    assert fraction_upper_bound(one_group, labels) == fraction_upper_bound(
        one_group & (np.arange(40) % 2 == 0), labels
    )


def rankings(rng, n, m=4):
    X = rng.normal(size=(n, 3))
    return X, np.argsort(np.argsort(X @ rng.normal(size=(3, m)) + rng.normal(size=(n, m))))


def test_the_pool_of_rankings_is_all_of_them(rng):
    X, ranks = rankings(rng, 80)
    sets = ConformalSets(KernelDependency(RBF(2.0), Kendall())).fit(X, ranks)
    assert len(sets.score_.number) == 24
    assert sets.proven_coverage_ == 0.9
    assert sets.outside_ == 0
    jackknife = ConformalSets(KernelDependency(RBF(2.0), Kendall()), 0.9, "jackknife+")
    assert jackknife.fit(X, ranks).proven_coverage_ == pytest.approx(0.8)


def test_the_pool_of_label_sets_is_all_of_them(rng):
    X, Y = rng.normal(size=(60, 2)), rng.integers(0, 2, size=(60, 5))
    lists = [[f"tag {j}" for j in np.flatnonzero(row)] for row in Y]
    for y in (Y, lists):
        sets = ConformalSets(KernelDependency(RBF(1.0), Labels()), kind="candidates").fit(X, y)
        assert len(sets.score_.number) == 32
        assert sets.proven_coverage_ == 0.9


def test_ties_and_many_labels_leave_the_training_outputs(rng):
    space = Kendall().space
    assert space.every(np.array([[0, 0, 1], [0, 1, 2]])) is None
    assert space.every(np.argsort(rng.normal(size=(4, 9)))) is None
    assert Labels().space.every(np.zeros((3, 11), dtype=int)) is None


def test_minus_zero_is_zero(rng):
    X, Y = rng.normal(size=(60, 2)), np.round(rng.uniform(-1, 1, size=(60, 2)))
    nine = [[a, b] for a in (-1.0, 0.0, 1.0) for b in (-1.0, 0.0, 1.0)]
    model = KernelDependency(RBF(1.0))
    sets = ConformalSets(model, kind="candidates", candidates=nine).fit(X, Y)
    assert sets.outside_ == 0


# -- jackknife+ -------------------------------------------------------------------------------

GIVEN = [
    KernelDependency(RBF(1.0)),
    KernelDependency(RBF(1.0) * (2.0 * Identity())),
    KernelDependency(RBF(1.0) * Matrix(np.diag([1.0, 2.0]))),
    KernelDependency(RBF(1.0), features=Nystroem(landmarks=[[0.0, 0.0], [1.0, 1.0]])),
    KernelDependency(RBF(1.0), features=RandomFourier(6)),
    KernelDependencyCV(RBF(1.0), alphas=[0.1]),
    KernelDependency(Local(RBF(1.0), width=1.0)),
]
SEEN = [
    (KernelDependency(), "input kernel was fitted"),
    (KernelDependency(2.0 * RBF("median")), "input kernel was fitted"),
    (KernelDependency(RBF(1.0) * Covariance()), "operator is made of the outputs"),
    (KernelDependency(RBF(1.0) * ConditionalCovariance()), "operator is made of the outputs"),
    (
        KernelDependency(RBF(1.0) * Mixture([Identity(), Covariance()], [0.5, 0.5])),
        "operator is made of the outputs",
    ),
    (
        KernelDependency(RBF(1.0) * (Matrix(np.eye(2)) + Covariance())),
        "operator is made of the outputs",
    ),
    (KernelDependency(RBF(1.0), features=Nystroem(5)), "drawn from the data"),
    (KernelDependency(RBF(1.0), features=IncompleteCholesky(5)), "drawn from the data"),
    (KernelDependencyCV(RBF(1.0)), "was chosen among 21"),
    (KernelDependencyCV([RBF(1.0), RBF(2.0)], alphas=[1.0]), "was chosen among 2"),
    (KernelDependencyCV(alphas=[1.0]), "chosen among the defaults"),
    (KernelDependencyCV(RBF(1.0), alphas=[1.0], search="gradient"), "learnt by gradient"),
    (KernelDependency(Local(width=1.0)), "operator-valued kernel was fitted"),
    (KernelDependency(Patchwise(shape=(1, 2), size=1, overlap=0)), "kernel was fitted on the data"),
    (KernelDependency(Shared(RBF(1.0), None, 1.0, 0.1, rank=5)), "kernel was fitted on the data"),
]


@pytest.mark.parametrize("model", GIVEN, ids=str)
def test_jackknife_states_a_level_where_all_was_given(model, rng):
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    sets = ConformalSets(model, 0.9, "jackknife+").fit(X, Y)
    assert sets.proven_coverage_ == pytest.approx(0.8)


@pytest.mark.parametrize(("model", "reason"), SEEN, ids=lambda part: str(part)[:60])
def test_jackknife_states_no_level_where_something_was_seen(model, reason, rng):
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    with pytest.warns(UserWarning, match=reason):
        sets = ConformalSets(model, 0.9, "jackknife+").fit(X, Y)
    assert np.isnan(sets.proven_coverage_)
    assert ConformalSets(model, 0.9).fit(X, Y).proven_coverage_ == 0.9  # split needs none of it


def test_an_output_kernel_with_a_median_was_seen(rng):
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    model = KernelDependency(RBF(1.0), RBF("median")).fit(X, Y)
    assert reasons_for_dependence(model) == ["the output kernel was fitted on the data"]


def test_bands_of_left_out_residuals_prove_nothing(rng):
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    with pytest.warns(UserWarning, match="shape of the bands"):
        sets = ConformalSets(KernelDependency(RBF(1.0)), 0.9, "jackknife+", "band").fit(X, Y)
    assert np.isnan(sets.proven_coverage_)
    flat = ConformalSets(KernelDependency(RBF(1.0)), 0.9, "jackknife+", "band", scale="flat")
    assert flat.fit(X, Y).proven_coverage_ == pytest.approx(0.8)
    widths = flat.predict(X).upper - flat.predict(X).lower
    np.testing.assert_allclose(widths[:, 0], widths[:, 1])
