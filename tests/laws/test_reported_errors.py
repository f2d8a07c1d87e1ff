"""Wrong answers that were reported, each against a literal computation."""

import numpy as np
import pytest
from sklearn.base import clone

from laws import literal
from laws.cases import B, crossed, off, vectors
from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import L2, RBF, Linear
from mercer.operators import (
    Blocks,
    ConditionalCovariance,
    Covariance,
    Identity,
    Matrix,
    Patchwise,
)

# -- routes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operator",
    [1 * Identity(), 2.5 * Identity(), Identity() + Identity()],
    ids=str,
)
@pytest.mark.parametrize("make", [KernelDependency, KernelDependencyCV])
def test_a_number_times_the_identity_takes_the_route_of_the_identity(make, operator):
    for n in (500, 5000):
        plain, other = (make(RBF(1.0) * op).plan(n=n, q=3) for op in (Identity(), operator))
        assert other.best.name == plain.best.name
        assert [route.name for route in other] == [route.name for route in plain]


@pytest.mark.parametrize("scale", [1, 2.5])
@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
def test_a_scaled_identity_is_a_scaled_ridge(solver, scale):
    X, Y = vectors()
    scaled = KernelDependency(
        RBF(1.0) * (scale * Identity()), alpha=0.1 * scale, solver=solver, fit_intercept=True
    )
    plain = KernelDependency(RBF(1.0), alpha=0.1, fit_intercept=True)
    assert off(scaled.fit(X, Y).predict(X), plain.fit(X, Y).predict(X)) <= 1e-9


@pytest.mark.parametrize(
    "alpha",
    [1e-6, 1e-2],
)
def test_spectral_equals_cholesky_at_new_inputs(alpha):
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(1200, 3)), rng.normal(size=(50, 3))
    Y = np.sin(X @ rng.normal(size=(3, 2))) + 0.1 * rng.normal(size=(1200, 2))
    found = [
        KernelDependency(RBF(1.0), alpha=alpha, solver=solver, fit_intercept=False)
        .fit(X, Y)
        .predict(X_new)
        for solver in ("spectral", "cholesky")
    ]
    assert np.abs(found[0] - found[1]).max() <= 1e-6


# -- left out ---------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-4, 1e-2])
def test_patches_with_an_intercept(alpha):
    """Component by component: K is diagonal in the pixels."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20, 8, 8))
    Y = np.roll(X, 1, axis=2) + 0.1 * rng.normal(size=X.shape)
    kernel = Patchwise(RBF(10.0), size=4, overlap=2)
    flat, V = X.reshape(20, 64), Y.reshape(20, 64)
    K = clone(kernel).fit(flat, V).gram(flat).blocks()
    errors = 0.0
    for pixel in range(64):
        G = K[:, :, pixel, pixel][:, None, :, None]
        ridge = literal.Ridge(G, G, V[:, [pixel]], np.ones(20), alpha, True)
        errors = errors + (ridge.left_out(np.arange(20)) - V[:, [pixel]])[:, 0] ** 2
    model = KernelDependencyCV(kernel, alphas=[alpha], fit_intercept=True).fit(X, Y)
    assert model.loo_risk_ == pytest.approx(errors.mean(), rel=1e-6)


def by_least_squares(U, V, alpha):
    """Left-out points in finite coordinates with an intercept, each by least squares."""
    n, p = U.shape
    penalty = np.hstack([np.sqrt(alpha) * np.eye(p), np.zeros((p, 1))])
    points = np.empty_like(V)
    for i in range(n):
        rest = np.arange(n) != i
        mean = U[rest].mean(axis=0)
        A = np.vstack([np.hstack([U[rest] - mean, np.ones((n - 1, 1))]), penalty])
        target = np.vstack([V[rest], np.zeros((p, V.shape[1]))])
        points[i] = np.append(U[i] - mean, 1.0) @ np.linalg.lstsq(A, target, rcond=None)[0]
    return points


@pytest.mark.parametrize("young", [6, 12])
def test_growth_curves(young, data_home):
    """Heights of children from those when they were younger, alpha far below rounding of K."""
    height = np.load(data_home / "functional" / "growth.npz")["height"]
    X, Y = height[:, :young], height[:, young:]
    U, V = L2().fit(X).features(X), L2().fit(Y).features(Y)
    wanted = by_least_squares(U, V, 1e-10)
    model = KernelDependencyCV(L2(), L2(), [1e-10], fit_intercept=True).fit(X, Y)
    risk = ((wanted - V) ** 2).sum(axis=1).mean()
    assert model.loo_risk_ == pytest.approx(risk, rel=1e-6)


@pytest.mark.parametrize("relative", [1e-4, 1e-10])
@pytest.mark.parametrize("operator", [Identity(), Matrix(B)], ids=["identity", "matrix"])
def test_linear_kernels_far_from_the_origin(operator, relative):
    rng = np.random.default_rng(0)
    X = 150.0 + rng.normal(size=(60, 5)) @ np.diag([10.0, 3.0, 1.0, 0.3, 0.1])
    Y = X @ rng.normal(size=(5, 3)) + rng.normal(size=(60, 3))
    alpha = relative * float(np.linalg.eigvalsh(np.cov(X.T))[-1])
    values, Q = np.linalg.eigh(B if isinstance(operator, Matrix) else np.eye(3))
    points = np.hstack([by_least_squares(X, Y @ Q[:, [j]], alpha / values[j]) for j in range(3)])
    model = KernelDependencyCV(Linear() * operator, alphas=[alpha], fit_intercept=True).fit(X, Y)
    assert off(model.loo_predict(), points @ Q.T) <= 1e-6
    assert model.loo_risk_ == pytest.approx(((points @ Q.T - Y) ** 2).sum(axis=1).mean(), rel=1e-6)


# -- choices ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([np.nan, 0.9, 0.5], 1),
        ([0.9, np.nan, 0.5], 0),
        ([0.5, 0.9, np.nan], 1),
        ([0.9, 0.5, np.nan], 0),
    ],
)
def test_one_trial_without_a_score_leaves_the_best(scores, best):
    X, Y = vectors()
    told = iter(scores)
    model = KernelDependencyCV(
        RBF(1.0), alphas=[0.01, 0.1, 1.0], scoring=lambda *given: next(told), fit_intercept=False
    )
    assert model.fit(X, Y).alpha_ == [0.01, 0.1, 1.0][best]


def test_no_trial_with_a_score_is_told():
    X, Y = vectors()
    model = KernelDependencyCV(
        RBF(1.0), alphas=[0.1, 1.0], scoring=lambda *given: np.nan, fit_intercept=False
    )
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, Y)


def scalar_blocks(kernel):
    """A kernel over components as a function of two batches, which is always written out."""

    def blocks(A, C):
        return kernel.gram(np.asarray(A), np.asarray(C)).blocks()

    return Blocks(blocks)


GCV = {
    "patchwise": (Patchwise(RBF(1.0), (2, 3), size=2, overlap=1), 6),
    "commuting sum": (RBF(1.0) * Matrix(np.ones((3, 3))) + RBF(2.0) * Identity(), 3),
    "separable": (RBF(1.0) * Matrix(B), 3),
    "identity": (RBF(1.0) * Identity(), 3),
}


@pytest.mark.parametrize(("name", "intercept"), crossed(GCV, [False, True]))
def test_generalised_cross_validation_is_one_number(name, intercept):
    kernel, q = GCV[name]
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(14, q)), rng.normal(size=(14, q)) @ rng.normal(size=(q, q)) + 2.0
    fitted = clone(kernel).fit(X, Y)
    risks = [
        KernelDependencyCV(one, alphas=[0.1, 1.0], criterion="gcv", fit_intercept=intercept)
        .fit(X, Y)
        .cv_results_["risk"]
        for one in (kernel, scalar_blocks(fitted))
    ]
    np.testing.assert_allclose(risks[0], risks[1], rtol=1e-8)


# -- operators --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scale",
    [1e-6, 1.0, 1e6],
)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("make", [KernelDependency, KernelDependencyCV])
def test_outputs_that_inputs_explain_exactly(make, intercept, scale):
    rng = np.random.default_rng(0)
    X = scale * rng.normal(size=(40, 6))
    Y = X @ rng.normal(size=(6, 4))
    kernel = Linear() * ConditionalCovariance(1e-12)
    alpha = 1e-6 * scale**2
    ridge = {"alpha": alpha} if make is KernelDependency else {"alphas": [alpha]}
    model = make(kernel, fit_intercept=intercept, **ridge).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()


def test_covariance_of_the_same_data():
    """Beside it: the covariance takes exact data of any size."""
    rng = np.random.default_rng(0)
    X = 1e6 * rng.normal(size=(40, 6))
    Y = X @ rng.normal(size=(6, 4))
    model = KernelDependency(Linear() * Covariance(), alpha=1e-3, fit_intercept=True).fit(X, Y)
    assert off(model.predict(X), Y) <= 1e-9
