"""Random operator features converge to their kernel, and fits with them to exact ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency, KernelDependencyCV
from mercer.features import RandomFourier, RandomOperatorFourier
from mercer.kernels import RBF, Linear, Matern
from mercer.operators import Covariance, CurlFree, DivergenceFree, Identity, Matrix, Moments
from tolerances import IDENTITY, LEFT_OUT

B = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]])
KERNELS = {
    "curl-free": CurlFree(1.0),
    "divergence-free": DivergenceFree(1.3),
    "matern": CurlFree(kernel=Matern(1.5, nu=2.5)),
    "product": (2.0 * RBF(1.0)) * Matrix(B),
    "sum": CurlFree(1.0) + DivergenceFree(1.0) + RBF(1.0) * Identity(),
}


def approximation(map, A):
    """Ψ(a)ᵀΨ(b) for all pairs, (n, n, q, q)."""
    features = map.transform(A)[:, map.source_, None] * map.along_
    return np.einsum("isp,jsq->ijpq", features, features)


@pytest.mark.parametrize("name", KERNELS)
def test_they_converge_to_the_kernel(name, rng):
    X = rng.uniform(-1, 1, size=(6, 3))
    kernel = KERNELS[name].fit(X, X)
    exact = kernel.gram(X).blocks()
    errors = [
        np.mean(
            [
                np.abs(
                    approximation(RandomOperatorFourier(rank, s).fit(kernel, X), X) - exact
                ).max()
                for s in range(3)
            ]
        )
        for rank in (64, 6400)
    ]
    assert errors[1] < 0.25 * errors[0]
    assert errors[1] < 0.2


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_fits_are_those_of_the_normal_equations(name, intercept, rng):
    X, Y = rng.uniform(-1, 1, size=(20, 3)), rng.normal(size=(20, 3)) + 3.0
    map = RandomOperatorFourier(rank=10, random_state=0)
    model = KernelDependency(KERNELS[name], alpha=0.1, features=map, fit_intercept=intercept)
    model.fit(X, Y)
    used = model.points_.map.map
    features = (used.transform(X)[:, used.source_, None] * used.along_).transpose(0, 2, 1)
    P = features.reshape(60, -1)
    mean = np.tile(np.eye(3), (20, 1)) if intercept else np.zeros((60, 3))
    whole = np.hstack([P, mean])
    penalty = np.diag(np.append(np.full(P.shape[1], 0.1), np.full(3, 0.0 if intercept else 1.0)))
    theta = np.linalg.solve(whole.T @ whole + penalty, whole.T @ Y.ravel())
    assert_allclose(model.predict(X).ravel(), whole @ theta, atol=1e-8)


def test_many_waves_fit_as_the_kernel_does():
    rng = np.random.default_rng(1)
    X, T = rng.uniform(-1, 1, size=(150, 2)), rng.uniform(-1, 1, size=(100, 2))

    def field(X):
        return np.stack([2 * X[:, 0] * X[:, 1], X[:, 0] ** 2], axis=1)

    Y = field(X) + 0.1 * rng.normal(size=X.shape)
    exact = KernelDependency(CurlFree(1.0), alpha=0.01, fit_intercept=False).fit(X, Y)
    map = RandomOperatorFourier(rank=600, random_state=0)
    waves = KernelDependency(CurlFree(1.0), alpha=0.01, features=map, fit_intercept=False).fit(X, Y)
    errors = [((model.predict(T) - field(T)) ** 2).mean() for model in (exact, waves)]
    assert errors[1] < 1.25 * errors[0]


def test_moments_of_blocks_add_up(rng):
    X, Y = rng.uniform(-1, 1, size=(40, 2)), rng.normal(size=(40, 2))
    map = RandomOperatorFourier(rank=20, random_state=0).fit(CurlFree(1.0).fit(X, Y), X)
    parts = [Moments.of(map.transform(X[rows]), Y[rows]) for rows in (slice(25), slice(25, 40))]
    total = parts[0] + parts[1]
    model = KernelDependency(
        CurlFree(1.0), alpha=0.1, features=RandomOperatorFourier(20, 0), fit_intercept=False
    )
    assert_allclose(map.solve(total.uu, total.vu, 0.1), model.fit(X, Y).coef_, atol=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["curl-free", "sum"])
def test_left_out_predictions_are_refits(name, intercept, grouped, rng):
    X, Y = rng.uniform(-1, 1, size=(24, 3)), rng.normal(size=(24, 3)) + 3.0
    groups = np.arange(24) // 3 if grouped else np.arange(24)
    parts = {"features": RandomOperatorFourier(10, 0), "fit_intercept": intercept}
    model = KernelDependencyCV(KERNELS[name], alphas=[0.1, 1.0], **parts)
    model.fit(X, Y, groups=groups if grouped else None)
    for group in (0, 5):
        rest = groups != group
        again = KernelDependency(KERNELS[name], alpha=model.alpha_, **parts)
        wanted = again.fit(X[rest], Y[rest]).predict(X[~rest])
        assert_allclose(model.loo_predict()[~rest], wanted, atol=LEFT_OUT)
    whole = KernelDependency(KERNELS[name], alpha=model.alpha_, **parts).fit(X, Y)
    assert_allclose(model.predict(X), whole.predict(X), atol=LEFT_OUT)


def test_generalised_cross_validation(rng):
    X, Y = rng.uniform(-1, 1, size=(24, 2)), rng.normal(size=(24, 2))
    parts = {"features": RandomOperatorFourier(8, 0), "criterion": "gcv"}
    assert KernelDependencyCV(CurlFree(1.0), alphas=[0.1], **parts).fit(X, Y).loo_risk_ > 0


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["curl-free", "product", "sum"])
def test_streams_give_the_fit_of_all(name, intercept, rng):
    X, Y = rng.uniform(-1, 1, size=(40, 3)), rng.normal(size=(40, 3)) + 3.0
    parts = {"features": RandomOperatorFourier(10, 0), "fit_intercept": intercept, "alpha": 0.1}
    whole = KernelDependency(KERNELS[name], **parts).fit(X, Y)
    blocks = [(X[rows], Y[rows]) for rows in (slice(15), slice(15, 40))]
    streamed = KernelDependency(KERNELS[name], **parts).fit(blocks)
    assert_allclose(streamed.predict(X), whole.predict(X), atol=1e-8)
    added = KernelDependency(KERNELS[name], **parts)
    for block in blocks:
        added.partial_fit(*block)
    assert_allclose(added.predict(X), whole.predict(X), atol=1e-8)


def test_streams_of_kernels_that_do_not_separate(rng):
    X = rng.uniform(-1, 1, size=(8, 2))
    for Model in (KernelDependency, KernelDependencyCV):
        with pytest.raises(ValueError, match="does not separate: learn it from a stream with"):
            Model(CurlFree(1.0), features=RandomFourier(8)).fit([(X, X)])
    with pytest.raises(ValueError, match="can only be chosen for pairs in memory"):
        KernelDependencyCV(
            CurlFree(1.0), features=RandomOperatorFourier(8), fit_intercept=False
        ).fit([(X, X)])


def test_a_kernel_that_separates(rng):
    X, Y = rng.uniform(-1, 1, size=(50, 2)), rng.normal(size=(50, 2))
    parts = {"alpha": 0.5, "features": RandomOperatorFourier(600, 0)}
    waves = KernelDependency(RBF(1.0) * Covariance(), **parts).fit(X, Y)
    exact = KernelDependency(RBF(1.0) * Covariance(), alpha=0.5, fit_intercept=False).fit(X, Y)
    assert_allclose(waves.predict(X), exact.predict(X), atol=0.2)


def test_refusals(rng):
    X = rng.normal(size=(8, 2))
    map = RandomOperatorFourier(10)
    with pytest.raises(ValueError, match="not a function of x - x'"):
        KernelDependency(CurlFree() + Linear() * Identity(), features=map, fit_intercept=False).fit(
            X, X
        )
    for Model in (KernelDependency, KernelDependencyCV):
        with pytest.raises(ValueError, match=r"use features=RandomOperatorFourier\(rank\)"):
            Model(CurlFree(), features=RandomFourier(10)).fit(X, X)
    with pytest.raises(ValueError, match="rank must be a positive integer"):
        KernelDependency(CurlFree(), features=RandomOperatorFourier(0), fit_intercept=False).fit(
            X, X
        )


def test_the_seed_settles_the_waves(rng):
    X = rng.normal(size=(8, 2))
    kernel = CurlFree(1.0).fit(X, X)
    maps = [RandomOperatorFourier(6, random_state=3).fit(kernel, X) for _ in range(2)]
    assert_allclose(maps[0].frequencies_, maps[1].frequencies_, atol=IDENTITY)
    assert maps[0].transform(X).shape == (8, 6)
