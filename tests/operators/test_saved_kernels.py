"""Models with kernels that do not separate survive being saved and loaded."""

import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.kernels import RBF
from mercer.operators import Covariance, CurlFree
from mercer.solvers import BlockConjugateGradient

MODELS = [
    mercer.KernelDependency(CurlFree(), solver=BlockConjugateGradient(1e-8), fit_intercept=False),
    mercer.KernelDependency(RBF(1.0) + RBF(2.0) * Covariance(), fit_intercept=True),
    mercer.KernelDependencyCV(
        [CurlFree(1.0), RBF(1.0) + RBF(2.0) * Covariance()], fit_intercept=False
    ),
]


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_round_trip(model, rng, tmp_path):
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
    again = mercer.load(mercer.save(model.fit(X, Y), tmp_path / "model"))
    assert_allclose(again.predict(X), model.predict(X))
