"""Variances and evidence through public names; tests/laws compares them with dense formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
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


@pytest.mark.parametrize("weights", [None, np.arange(40) % 4])
def test_streams_have_the_variance_of_pairs_held_whole(weights):
    X, Y, X_new = data(40)
    features = Nystroem(landmarks=X[::5])
    model = KernelDependency(RBF(1.0) * Matrix(B), alpha=ALPHA, features=features)
    whole = model.fit(X, Y, sample_weight=weights).embed(X_new)
    expected, noise = whole.variance(), whole.posterior.noise
    given = (X, Y) if weights is None else (X, Y, weights)
    blocks = [tuple(A[rows] for A in given) for rows in (slice(15), slice(15, 40))]
    stream = model.fit(blocks).embed(X_new)
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


def test_predict_returns_deviations_in_the_units_of_each_output(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 1))
    noise = rng.normal(size=(400, 2)) * [0.1, 300.0]
    Y = np.hstack([np.sin(6 * X), 1e3 * np.cos(6 * X)]) + noise
    model = KernelDependency(RBF(0.3), alpha=0.1).fit(X[:200], Y[:200])
    mean, deviation = model.predict(X[200:], return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X[200:]))
    assert (np.abs(((Y[200:] - mean) / deviation).std(axis=0) - 1.0) < 0.15).all()
    units = KernelDependency(RBF(0.3), alpha=0.1).fit(X[:200], Y[:200] * [1.0, 1e-3])
    scaled = units.predict(X[200:], return_std=True)[1]
    np.testing.assert_allclose(scaled, deviation * [1.0, 1e-3])
    again = mercer.load(mercer.save(model, tmp_path / "model.mercer", variance=True))
    np.testing.assert_allclose(again.predict(X[200:], return_std=True)[1], deviation)
    one = KernelDependency(RBF(0.3)).fit(X, Y[:, 0]).predict(X, return_std=True)
    assert one[0].shape == one[1].shape == (400,)
    with pytest.raises(ValueError, match="return_std=True is for vectors and curves"):
        KernelDependency(output_kernel=RBF(1.0)).fit(X, Y).predict(X, return_std=True)
