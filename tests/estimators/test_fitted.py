"""A fitted model keeps its factorisation where that is small, whatever the route."""

import numpy as np
import pytest

from mercer import KernelDependency
from mercer.estimators import fitted
from mercer.features import Nystroem
from mercer.fields import Shared
from mercer.kernels import RBF
from mercer.operators import Covariance, CurlFree, Local, ReducedRank

N, RANK = 40, 15
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
ROUTES = {
    "identity": KernelDependency(RBF(1.0)),
    "spectral": KernelDependency(RBF(1.0) * Covariance()),
    "infinite outputs": KernelDependency(RBF(1.0) * Covariance(), RBF(1.0)),
    "by direction": KernelDependency(Local(RBF(1.0), width=1.0)),
    "dense": KernelDependency(CurlFree(), solver="dense"),
    "low rank": KernelDependency(RBF(1.0), features=Nystroem(RANK, random_state=0)),
    "spanned": KernelDependency(RBF(1.0), RBF(1.0), features=Nystroem(RANK, random_state=0)),
    "by ridge": KernelDependency(RBF(1.0) * ReducedRank(2)),
    "windows": KernelDependency(Shared(RBF(1.0), RBF(1.0), 1.0, 0.1, rank=RANK)),
}


@pytest.mark.parametrize("name", ROUTES)
def test_a_large_factorisation_is_released(name, monkeypatch):
    model = ROUTES[name].fit(X, np.sin(X))
    expected = model.loo_predict()
    kept = model.fitted_.known["factorization"]
    low = model.features is not None or name in ("by direction", "windows")
    assert kept.nbytes > (8 * RANK if low else 8 * N * (N - 2))
    monkeypatch.setattr(fitted, "GRANTED_BYTES", 0)
    monkeypatch.setattr(fitted, "KEPT_FRACTION", 0)
    model.fit(X, np.sin(X))
    np.testing.assert_allclose(model.loo_predict(), expected)
    assert "factorization" not in model.fitted_.known


@pytest.mark.parametrize("y", [X[:, 0], X[:, :1]])
def test_the_shape_of_a_variance_does_not_depend_on_the_first_caller(y):
    model = KernelDependency(RBF(1.0)).fit(X, y)
    model.fitted_.posterior()
    assert model.embed(X).variance().shape == y.shape
    folds = model.fitted_.with_groups(np.arange(N) % 4)
    assert folds.posterior().at(X).variance().shape == y.shape
