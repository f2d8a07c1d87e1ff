"""Models with kernels that do not separate survive being saved and loaded."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.features import RandomOperatorFourier
from mercer.kernels import RBF
from mercer.operators import Covariance, CurlFree, Transformed
from mercer.solvers import BlockConjugateGradient

MODELS = [
    mercer.KernelDependency(CurlFree(), solver=BlockConjugateGradient(1e-8), fit_intercept=False),
    mercer.KernelDependency(RBF(1.0) + RBF(2.0) * Covariance(), fit_intercept=True),
    mercer.KernelDependencyCV(
        [CurlFree(1.0), RBF(1.0) + RBF(2.0) * Covariance()], fit_intercept=False
    ),
    mercer.KernelDependency(
        CurlFree(), features=RandomOperatorFourier(6, random_state=0), fit_intercept=False
    ),
    mercer.KernelDependency(Transformed(RBF(1.0), [np.eye(2), -np.eye(2)]), fit_intercept=False),
    mercer.OnlineKernelDependency(CurlFree(), budget=5),
]


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_round_trip(model, rng, tmp_path):
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
    again = mercer.load(mercer.save(model.fit(X, Y), tmp_path / "model"))
    assert_allclose(again.predict(X), model.predict(X))


def test_a_loaded_online_model_goes_on(rng, tmp_path):
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
    model = mercer.OnlineKernelDependency(CurlFree(1.0), budget=5).fit(X, Y)
    again = mercer.load(mercer.save(model, tmp_path / "model"))
    assert_allclose(again.partial_fit(X, Y).coef_, model.partial_fit(X, Y).coef_)
