import numpy as np
import pytest
from rich.console import Console
from sklearn.model_selection import GroupKFold, KFold

from experiments import dti, functional, weather
from mercer import KernelDependency, KernelDependencyCV
from mercer.datasets import DataNotFound
from mercer.kernels import L2, Gaussian
from mercer.operators import Covariance, Identity, Matrix


def test_relative_error_of_the_mean_is_one():
    class Mean:
        def fit(self, X, y, groups=None):
            self.mean = y.mean(axis=0)
            return self

        def predict(self, X):
            return np.tile(self.mean, (len(X), 1))

    Y = np.random.default_rng(0).normal(size=(20, 3))
    error, predicted = functional.relative_error(Mean(), Y, Y, KFold(4).split(Y))
    assert error == pytest.approx(1.0)
    assert predicted.shape == Y.shape


@pytest.fixture
def scans():
    try:
        return dti.load_dti()
    except DataNotFound as absent:
        pytest.skip(str(absent))


def test_left_out_subjects_equal_refits(scans):
    """The closed form at the size of the study, with covariance and intercept, B held fixed."""
    X, Y, subject = scans
    kernel, output, alpha = Gaussian(L2(), 0.2).fit(X), L2().fit(Y), 1e-4
    model = KernelDependencyCV(kernel * Covariance(), output, [alpha], fit_intercept=True)
    points = model.fit(X, Y, groups=subject).loo_embed()
    V = output.features(Y)
    B = np.cov(V.T, bias=True)
    for one in np.unique(subject)[::12]:
        out = subject == one
        refit = KernelDependency(kernel * Matrix(B), output, alpha, fit_intercept=True)
        refitted = refit.fit(X[~out], Y[~out]).embed(X[out]).coordinates
        np.testing.assert_allclose(points.coordinates[out], refitted, atol=1e-10)


def test_dti_covariance_beats_identity_and_the_bound(scans):
    X, Y, subject = scans
    splits = list(GroupKFold(5, shuffle=True, random_state=0).split(X, Y, subject))
    errors = [
        functional.relative_error(functional.model(dti.SCALES, [operator]), X, Y, splits, subject)[
            0
        ]
        for operator in (Identity(), Covariance())
    ]
    assert errors[1] <= 0.855
    assert errors[1] <= errors[0]


def test_weather_quick(tmp_path):
    try:
        report = weather.run(tmp_path, Console(quiet=True), quick=True)
    except DataNotFound as absent:
        pytest.skip(str(absent))
    ours = [row for row in report.rows if not row.method.startswith("scikit-learn")]
    assert len(ours) == 4 and all(row.mean <= 0.6 for row in ours)
    assert len(report.rows) == 7
    assert (tmp_path / "weather.png").stat().st_size > 10_000
