"""Variances, draws and evidence are those of a dense multi-output Gaussian process written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as GPRBF

import mercer
from mercer import KernelDependency, KernelDependencyCV
from mercer.features import KernelPCA, Nystroem
from mercer.kernels import L2, RBF, Linear
from mercer.operators import Covariance, Identity, Matrix

B = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.4]])
ALPHA = 0.3


def data(n=14, q=3):
    rng = np.random.default_rng(3)
    X, X_new = rng.normal(size=(n, 2)), rng.normal(size=(5, 2))
    return X, np.sin(X @ rng.normal(size=(2, q))) + 0.1 * rng.normal(size=(n, q)), X_new


class Dense:
    """Outputs one below the other, (K ⊗ B) / α + (W⁻¹ ⊗ I) in units of the noise, written out."""

    def __init__(self, K, cross, own, B, Y, weights, intercept):
        n, q = Y.shape
        self.n, self.q, self.B = n, q, B
        w = np.ones(n) if weights is None else weights
        self.C = np.kron(K, B) / ALPHA + np.kron(np.diag(1 / w), np.eye(q))
        self.H = np.kron(np.ones((n, 1)), np.eye(q)) if intercept else np.zeros((n * q, 0))
        self.y, self.cross, self.own, self.w = Y.reshape(-1), cross, own, w
        self.inverse = np.linalg.inv(self.C)
        self.G = self.H.T @ self.inverse @ self.H
        beta = np.linalg.solve(self.G, self.H.T @ self.inverse @ self.y)
        self.rest = self.y - self.H @ beta
        self.number = n * q - self.H.shape[1]
        self.noise = self.rest @ self.inverse @ self.rest / self.number

    def covariance(self):
        """(m q, m q) over all new inputs."""
        k = np.kron(self.cross, self.B) / ALPHA
        prior = np.kron(self.own, self.B) / ALPHA
        left = prior - k @ self.inverse @ k.T
        if self.H.shape[1]:
            r = np.kron(np.ones((len(self.own), 1)), np.eye(self.q)) - k @ self.inverse @ self.H
            left = left + r @ np.linalg.solve(self.G, r.T)
        return self.noise * left

    def variance(self):
        return np.diag(self.covariance()).reshape(len(self.own), self.q)

    def evidence(self, K):
        """The profiled density of the outputs without constants, up to a number."""
        roots = np.sqrt(self.w)
        M = np.kron(roots[:, None] * K * roots, self.B) + ALPHA * np.eye(self.n * self.q)
        y = (roots[:, None] * self.y.reshape(self.n, self.q)).reshape(-1)
        if self.H.shape[1]:
            A = null_space(np.kron(roots[None, :], np.eye(self.q)))
            M, y = A.T @ M @ A, A.T @ y
        misfit, N = y @ np.linalg.solve(M, y), len(y)
        half = N * np.log(misfit / N) + np.linalg.slogdet(M)[1]
        return -0.5 * half + 0.5 * self.q * np.log(self.w).sum()


OPERATORS = [(Identity(), np.eye(3)), (2.0 * Identity(), 2 * np.eye(3)), (Matrix(B), B)]
WEIGHTS = np.linspace(0.5, 2.0, 14)


@pytest.mark.parametrize(("operator", "matrix"), OPERATORS, ids=["identity", "scaled", "matrix"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("low_rank", [False, True])
def test_a_dense_gaussian_process(operator, matrix, intercept, weights, low_rank):
    X, Y, X_new = data()
    kernel, Z = RBF(1.2), data()[0][::3]
    model = KernelDependency(kernel * operator, alpha=ALPHA, fit_intercept=intercept)
    model.set_params(features=Nystroem(landmarks=Z) if low_rank else None)
    model.fit(X, Y, sample_weight=weights)
    K, cross, own = kernel(X), kernel(X_new, X), kernel(X_new)
    if low_rank:
        solve = np.linalg.inv(kernel(Z))
        K, cross = kernel(X, Z) @ solve @ kernel(Z, X), kernel(X_new, Z) @ solve @ kernel(Z, X)
    dense = Dense(K, cross, own, matrix, Y, weights, intercept)
    points = model.embed(X_new)
    assert_allclose(points.posterior.noise, dense.noise, rtol=1e-10)
    variance = points.variance()
    assert variance.shape == (5, 3)
    assert_allclose(variance, dense.variance(), rtol=1e-10, atol=1e-12)
    assert_allclose(points.variance("total"), dense.variance().sum(axis=1), rtol=1e-10)
    assert_allclose(points.variance("directions").sum(axis=1), points.variance("total"))
    assert_allclose(points.variance(observed=True), dense.variance() + dense.noise, rtol=1e-10)
    evidence = points.posterior.factorization.evidence(ALPHA)
    assert_allclose(evidence, dense.evidence(K), rtol=1e-10)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("low_rank", [False, True])
def test_draws_have_the_dense_covariance(intercept, low_rank):
    X, Y, X_new = data()
    model = KernelDependency(RBF(1.2) * Matrix(B), alpha=ALPHA, fit_intercept=intercept)
    model.set_params(features=Nystroem(landmarks=X[::3]) if low_rank else None).fit(X, Y)
    K, cross, own, Z = RBF(1.2)(X), RBF(1.2)(X_new, X), RBF(1.2)(X_new), X[::3]
    if low_rank:
        solve = np.linalg.inv(RBF(1.2)(Z))
        K = RBF(1.2)(X, Z) @ solve @ RBF(1.2)(Z, X)
        cross = RBF(1.2)(X_new, Z) @ solve @ RBF(1.2)(Z, X)
    dense = Dense(K, cross, own, B, Y, None, intercept)
    points = model.embed(X_new)
    draws = points.sample(20000, random_state=0)
    assert draws.shape == (20000, 5, 3)
    assert_allclose(draws.mean(axis=0), model.predict(X_new), atol=0.02)
    flat = (draws - model.predict(X_new)).reshape(20000, -1)
    assert_allclose(flat.T @ flat / 20000, dense.covariance(), atol=0.05 * dense.variance().max())
    assert_allclose(points.sample(2, random_state=0), points.sample(2, random_state=0))


def test_scikit_learns_gaussian_process():
    X, Y, X_new = data(40)
    model = KernelDependency(RBF(0.8), alpha=ALPHA, fit_intercept=False).fit(X, Y[:, 0])
    process = GaussianProcessRegressor(GPRBF(0.8), alpha=ALPHA, optimizer=None).fit(X, Y[:, 0])
    mean, deviation = process.predict(X_new, return_std=True)
    points = model.embed(X_new)
    assert_allclose(model.predict(X_new), mean, rtol=1e-10)
    scale = points.posterior.noise / ALPHA
    assert points.variance().shape == (5,)
    assert_allclose(points.variance() / scale, deviation**2, rtol=1e-10)
    # Their likelihood at the profiled scale is ours, up to a constant.
    n = len(X)
    best = -0.5 * n * (np.log(scale) + 1 + np.log(2 * np.pi))
    K = GPRBF(0.8)(X) + ALPHA * np.eye(n)
    best -= 0.5 * np.linalg.slogdet(K)[1]
    ours = points.posterior.factorization.evidence(ALPHA)
    assert_allclose(ours - 0.5 * n * (1 + np.log(2 * np.pi)), best, rtol=1e-10)


def test_curves_and_images_keep_their_shape(rng):
    X, images = rng.normal(size=(30, 2)), rng.normal(size=(30, 4, 5))
    points = KernelDependency(RBF(1.0) * Covariance(), alpha=0.1).fit(X, images).embed(X[:3])
    assert points.variance().shape == (3, 4, 5)
    assert points.sample(2, 0).shape == (2, 3, 4, 5)
    curves = rng.normal(size=(10, 50))  # longer than there are examples
    linear = KernelDependency(RBF(1.0), Linear(), alpha=0.1).fit(X[:10], curves).embed(X[:3])
    quadrature = KernelDependency(RBF(1.0), L2(), alpha=0.1).fit(X[:10], curves).embed(X[:3])
    assert linear.variance().shape == quadrature.variance().shape == (3, 50)
    assert_allclose(linear.variance("total"), linear.variance().sum(axis=1))


def test_what_is_refused(rng):
    X, Y, X_new = data()
    infinite = KernelDependency(RBF(1.0), RBF(1.0)).fit(X, Y).embed(X_new)
    with pytest.raises(ValueError, match="not linear"):
        infinite.variance()
    with pytest.raises(ValueError, match="infinite"):
        infinite.variance("total")
    assert infinite.variance("directions").shape == (5, 14)
    assert len(infinite.sample(3, 0)) == 3
    finite = KernelDependency(RBF(1.0) * Covariance(), RBF(1.0), fit_intercept=False).fit(X, Y)
    assert (finite.embed(X_new).variance("total") > 0).all()
    pca = KernelDependency(RBF(1.0), RBF(1.0), output_features=KernelPCA(3)).fit(X, Y)
    assert (pca.embed(X_new).variance("total") > 0).all()
    with pytest.raises(ValueError, match="kind must be one of"):
        infinite.variance("all")
    with pytest.raises(ValueError, match="no posterior"):
        infinite[:2].variance()


def test_streams_have_the_variance_of_pairs_held_whole():
    X, Y, X_new = data(40)
    features = Nystroem(landmarks=X[::5])
    model = KernelDependency(RBF(1.0) * Matrix(B), alpha=ALPHA, features=features)
    whole = model.fit(X, Y).embed(X_new)
    expected, noise = whole.variance(), whole.posterior.noise
    stream = model.fit([(X[:15], Y[:15]), (X[15:], Y[15:])]).embed(X_new)
    assert_allclose(stream.posterior.noise, noise, rtol=1e-9)
    assert_allclose(stream.variance(), expected, rtol=1e-8)


# -- evidence ---------------------------------------------------------------------------------


def test_the_choice_by_evidence_is_the_largest():
    X, Y, _ = data(30)
    kernels = [RBF(s) * op for s in (0.5, 1.0, 2.0) for op in (Identity(), Matrix(B))]
    model = KernelDependencyCV(kernels, alphas=[0.01, 0.1, 1.0], criterion="evidence").fit(X, Y)
    found = model.cv_results_["evidence"]
    best = np.argmax(found)
    assert model.alpha_ == model.cv_results_["alpha"][best]
    assert str(model.kernel_) == model.cv_results_["kernel"][best]
    alone = KernelDependency(kernels[1], alpha=0.1).fit(X, Y).embed(X[:1]).posterior
    assert_allclose(found[4], alone.factorization.evidence(0.1), rtol=1e-10)


def test_evidence_is_refused_where_it_means_nothing(rng):
    X, Y, _ = data(20)
    with pytest.raises(ValueError, match="infinitely many directions"):
        KernelDependencyCV(RBF(1.0), RBF(1.0), criterion="evidence").fit(X, Y)
    with pytest.raises(ValueError, match="neither groups nor scoring"):
        KernelDependencyCV(RBF(1.0), criterion="evidence").fit(X, Y, groups=np.arange(20) // 2)
    with pytest.raises(ValueError, match="on a stream"):
        KernelDependencyCV(RBF(1.0), criterion="density", features=Nystroem(landmarks=X[:4])).fit(
            [(X, Y)]
        )


@pytest.mark.parametrize("intercept", [False, True])
def test_streams_have_the_evidence_of_pairs_held_whole(intercept):
    X, Y, _ = data(40)
    kernels = [RBF(s) * op for s in (0.5, 1.0) for op in (Identity(), Matrix(B))]
    model = KernelDependencyCV(
        kernels, alphas=[0.1, 1.0], criterion="evidence", fit_intercept=intercept,
        features=Nystroem(landmarks=X[::5]),
    )  # fmt: skip
    whole = model.fit(X, Y).cv_results_["evidence"]
    stream = model.fit([(X[:15], Y[:15]), (X[15:], Y[15:])]).cv_results_["evidence"]
    assert_allclose(stream, whole, rtol=1e-9)


# -- densities of left-out outputs ------------------------------------------------------------


@pytest.mark.parametrize(("operator", "matrix"), OPERATORS, ids=["identity", "scaled", "matrix"])
@pytest.mark.parametrize("intercept", [False, True])
def test_densities_are_those_of_refits(operator, matrix, intercept):
    """Along the directions of the operator, each with the noise that left-out outputs show."""
    X, Y, X_new = data()
    model = KernelDependency(RBF(1.2) * operator, alpha=ALPHA, fit_intercept=intercept)
    Q = np.linalg.eigh(matrix)[1] if isinstance(operator, Matrix) else np.eye(3)
    errors, variances = [], []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        points = model.fit(X[rest], Y[rest]).embed(X[[i]])
        errors.append((Y[i] - model.predict(X[[i]])[0]) @ Q)
        V = points.variance("directions", observed=True)[0] / points.posterior.noise
        variances.append(V)
    errors, variances = np.array(errors), np.array(variances)
    noise = (errors**2 / variances).mean(axis=0)
    expected = -0.5 * (np.log(2 * np.pi * noise * variances) + errors**2 / (noise * variances))
    chosen = KernelDependencyCV(
        RBF(1.2) * operator, alphas=[ALPHA], criterion="density", fit_intercept=intercept
    ).fit(X, Y)
    assert_allclose(chosen.cv_results_["evidence"], expected.sum(), rtol=1e-9)
    points = chosen.embed(X_new)
    V = points.variance("directions", noise="left out")
    unit = points.variance("directions") / points.posterior.noise
    assert_allclose(V, unit * noise, rtol=1e-9)
    assert_allclose(points.variance(noise="left out"), V @ (Q**2).T, rtol=1e-9)
    with pytest.raises(ValueError, match="noise must be one of"):
        points.variance(noise="none")


# -- saved models -----------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "features", [None, Nystroem(landmarks=data()[0][::3])], ids=["exact", "low"]
)
@pytest.mark.parametrize("output_kernel", [Linear(), L2(), RBF(1.0)], ids=["linear", "L2", "RBF"])
def test_a_saved_model_keeps_its_variance(features, intercept, output_kernel, tmp_path):
    X, Y, X_new = data()
    model = KernelDependency(
        RBF(1.2) * Covariance(), output_kernel, ALPHA, features=features, fit_intercept=intercept
    ).fit(X, Y)
    again = mercer.load(mercer.save(model, tmp_path / "model.mercer", variance=True))
    was, points = model.embed(X_new), again.embed(X_new)
    assert_allclose(points.coordinates, was.coordinates)
    kinds = ["directions"] if isinstance(output_kernel, RBF) else ["outputs", "directions", "total"]
    for kind in kinds:
        for noise in ("evidence", "left out"):
            expected = was.variance(kind, observed=True, noise=noise)
            assert_allclose(points.variance(kind, observed=True, noise=noise), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="draw before"):
        points.sample(2)
    with pytest.raises(ValueError, match="kind must be one of"):
        points.variance("all")
    if isinstance(output_kernel, RBF):
        with pytest.raises(ValueError, match="not linear"):
            points.variance()


def test_saving_without_variance_says_how(tmp_path):
    X, Y, X_new = data()
    model = KernelDependency(RBF(1.2)).fit(X, Y)
    again = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    with pytest.raises(ValueError, match="variance=True"):
        again.embed(X_new).variance()
    with pytest.raises(TypeError, match="save it without"):
        mercer.save(RBF(1.0), tmp_path / "kernel.mercer", variance=True)


def test_a_stream_is_saved_with_its_variance(tmp_path):
    X, Y, X_new = data(40)
    model = KernelDependency(RBF(1.0), alpha=ALPHA, features=Nystroem(landmarks=X[::5]))
    model.fit([(X[:15], Y[:15]), (X[15:], Y[15:])])
    again = mercer.load(mercer.save(model, tmp_path / "model.mercer", variance=True))
    assert_allclose(again.embed(X_new).variance(), model.embed(X_new).variance(), rtol=1e-9)
    for points in (model.embed(X_new), again.embed(X_new)):
        with pytest.raises(ValueError, match="keeps a sample"):
            points.variance(noise="left out")
