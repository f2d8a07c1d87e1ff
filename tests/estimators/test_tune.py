"""Parameters learnt by gradient: what is found, and what is held."""

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import KernelDependency, KernelDependencyCV, tune
from mercer.estimators.learned_parameters import ParameterSearch
from mercer.features import RandomFourier
from mercer.kernels import RBF, Kendall, Linear, Spectrum, Subsequences
from mercer.operators import Boxes, Covariance, CurlFree, Identity, Local
from mercer.persistence import load, save
from registry import RANKS, WORDS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0]
F = np.sin(X[:, :1]) + 5.0 * X[:, 2:3]
Y = np.hstack([F, -100.0 * F]) + 0.1 * RNG.normal(size=(60, 2))


def search(kernel, criterion="auto", **options):
    groups, weights = options.pop("groups", None), options.pop("weights", None)
    model = KernelDependency(kernel, **options)
    problem, _ = model._first_problem(X, Y, groups, weights)
    return ParameterSearch(problem, criterion)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"criterion": "loo"}, {"groups": np.arange(60) // 3},
        {"weights": RNG.uniform(0.5, 2, 60)}, {"output_kernel": RBF()},
        {"fit_intercept": False, "criterion": "loo"},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("operator", [None, 0.5 * Identity()])
def test_gradient_of_the_penalised_objective(options, operator):
    kernel = RBF("ard") + 0.1 * Linear()
    options = dict(options)
    found = search(kernel if operator is None else kernel * operator, **options)
    rng = np.random.default_rng(1)  # of this test alone: the order of tests must not matter
    at = found.start + 0.1 * rng.normal(size=found.start.shape)
    value, gradient = found(at)
    direction = rng.normal(size=at.shape)
    h = 1e-3  # of smaller steps, rounding dominates the quotient
    near, far = (found(at + s * direction)[0] - found(at - s * direction)[0] for s in (h, 2 * h))
    slope = (8 * near - far) / (12 * h)
    assert gradient @ direction == pytest.approx(slope, rel=1e-5, abs=1e-7 * abs(value))


def test_relevant_features_are_found_whatever_the_units():
    model = tune(KernelDependency(RBF("ard")), X, Y)
    spread = model.kernel_.scalar.length_scale / X.std(axis=0)
    assert set(np.argsort(spread)[:2]) == {0, 2}
    objective = model.learnt_.objective
    assert objective[-1] < objective[0]
    scaled = tune(KernelDependency(RBF("ard")), X * 1000.0, Y * [1.0, 1e-4])
    np.testing.assert_allclose(scaled.learnt_.values["scalar__length_scale"] / 1000.0,
                               model.learnt_.values["scalar__length_scale"], rtol=1e-3)  # fmt: skip


def test_the_model_is_left_alone_and_the_result_is_fitted(tmp_path):
    model = KernelDependency(RBF(1.0) * Identity())
    found = tune(model, X, Y, restarts=1, max_iter=3)
    assert model.kernel.scalar.length_scale == 1.0 and not hasattr(model, "points_")
    assert found.kernel.scalar.length_scale != 1.0
    save(found, tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").predict(X), found.predict(X))
    assert clone(found).fit(X, Y).predict(X) == pytest.approx(found.predict(X))


def test_strings_and_rankings():
    words = [a + b for a in WORDS for b in WORDS[:3]]
    ranks = np.tile(RANKS, (3, 1))
    found = tune(
        KernelDependency(Subsequences(2, 0.5) + 0.5 * Spectrum(2), Kendall()), words, ranks
    )
    assert set(found.learnt_.values) == {"scalar__left__decay", "scalar__right__scale"}
    assert found.learnt_.values["scalar__left__decay"] <= 1.0


def test_choice_between_learnt_kernels():
    kernels = [RBF("ard"), RBF(), RBF() * Covariance(0.5)]
    best = KernelDependencyCV(kernels, search="gradient").fit(X, Y)
    learnt = list(dict.fromkeys(best.cv_results_["kernel"]))
    assert len(learnt) == 3 and learnt[2].endswith("Covariance(power=0.5)")
    scalars = [name.split(" * ")[0] for name in learnt]
    assert scalars[1] == scalars[2]  # one search for equal scalar kernels
    grid = KernelDependencyCV([RBF(), RBF(2.0)]).fit(X, Y)
    assert best.loo_risk_ < grid.loo_risk_
    by_default = KernelDependencyCV(search="gradient").fit(X, Y)
    assert by_default.kernel_.scalar.length_scale.shape == (5,)
    with pytest.raises(ValueError, match="search must be"):
        KernelDependencyCV(search="random").fit(X, Y)


def test_what_has_no_gradient_is_refused():
    with pytest.raises(TypeError, match="starts from a KernelDependency"):
        tune(KernelDependencyCV(), X, Y)
    with pytest.raises(ValueError, match="with the identity, then choose the operator"):
        tune(KernelDependency(RBF(1.0) * Covariance()), X, Y)
    with pytest.raises(ValueError, match="features=None, then set features"):
        tune(KernelDependency(RBF(1.0), features=RandomFourier(8)), X, Y)
    with pytest.raises(ValueError, match="such as Local"):
        tune(KernelDependency(CurlFree(1.0)), X[:, :2], Y)
    with pytest.raises(ValueError, match="criterion must be"):
        tune(KernelDependency(RBF(1.0)), X, Y, criterion="gcv")
    with pytest.raises(ValueError, match="infinitely many"):
        tune(KernelDependency(RBF(1.0), RBF(1.0)), X, Y, criterion="evidence")
    assert mercer.tune is tune


@pytest.mark.parametrize("criterion", ["loo", "evidence"])
@pytest.mark.parametrize(
    "kernel",
    [
        Local(RBF(3.0), width=1.0), Local(RBF("ard"), width=1.5, floor=0.1),
        Local(width=2.0), Local(2.0 * RBF(2.0), windows=Boxes(size=2, overlap=1)),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("more", [{}, {"weights": True, "groups": True}, {"intercept": False}],
                         ids=["plain", "weighted", "no intercept"])  # fmt: skip
def test_local_widths(criterion, kernel, more):
    A = RNG.normal(size=(25, 5))
    B = A**2 + 0.1 * RNG.normal(size=A.shape)
    groups = np.arange(25) // 2 if more.get("groups") and criterion == "loo" else None
    weights = RNG.uniform(0.5, 2, 25) if more.get("weights") else None
    model = KernelDependency(kernel, fit_intercept=more.get("intercept", True))
    found = ParameterSearch(model._first_problem(A, B, groups, weights)[0], criterion)
    at = found.start + 0.05
    _, gradient = found(at)
    direction, h = RNG.normal(size=at.shape), 1e-4
    near, far = (found(at + s * direction)[0] - found(at - s * direction)[0] for s in (h, 2 * h))
    assert gradient @ direction == pytest.approx((8 * near - far) / (12 * h), rel=1e-5)


def test_local_kernels_are_learnt():
    A = RNG.normal(size=(60, 12))
    B = A**2 + 0.1 * RNG.normal(size=A.shape)
    wide = Local(RBF(3.0), width=8.0)
    found = tune(KernelDependency(wide), A[:40], B[:40], max_iter=15)
    assert found.learnt_.values["width"] < 2.0
    before = KernelDependency(wide, alpha=0.1).fit(A[:40], B[:40]).score(A[40:], B[40:])
    assert found.score(A[40:], B[40:]) > before
