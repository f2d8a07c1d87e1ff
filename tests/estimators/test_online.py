"""Online learning: the recursion itself, its window, blocks, refusals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency
from mercer.estimators import OnlineKernelDependency
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF, Labels, Linear
from mercer.operators import Covariance, CurlFree, DivergenceFree, Identity
from mercer.testing import check_structured_estimator
from tolerances import IDENTITY


@pytest.fixture
def data(rng):
    X = rng.uniform(-1, 1, size=(30, 2))
    return X, np.sin(2 * X) + 0.1 * rng.normal(size=X.shape)


def recursion(G, Y, rate, power, decay, budget, drop):
    """The steps as they are written: one function after another, by coefficients on all."""
    n, q = Y.shape
    C, losses, alive = np.zeros((n, q)), [], []
    for t in range(n):
        miss = Y[t] - np.einsum("jpq,jq->p", G[t, :t], C[:t])
        eta = rate * (t + 1.0) ** -power
        C[:t] *= 1 - eta * decay
        C[t] = eta * miss
        losses.append(miss @ miss)
        alive.append(t)
        if len(alive) > budget:
            lengths = [np.linalg.norm(C[j]) for j in alive]
            gone = alive.pop(0 if drop == "oldest" else int(np.argmin(lengths)))
            C[gone] = 0.0
    return C, losses, alive


@pytest.mark.parametrize("kernel", [CurlFree(1.0), CurlFree(1.0) + DivergenceFree(2.0)], ids=str)
@pytest.mark.parametrize("power", [0.0, 0.5])
@pytest.mark.parametrize(("budget", "drop"), [(7, "oldest"), (7, "smallest"), (99, "smallest")])
def test_steps_are_the_recursion(kernel, power, budget, drop, data):
    X, Y = data
    parts = {"power": power, "budget": budget, "drop": drop}
    model = OnlineKernelDependency(kernel, decay=0.1, rate=0.6, **parts)
    losses = []
    for rows in (slice(0, 2), slice(2, 3), slice(3, 20), slice(20, 30)):
        losses += list(model.partial_fit(X[rows], Y[rows]).losses_)
    G = model.kernel_.gram(X).blocks()
    norm = np.linalg.norm(G[0, 0], 2)
    C, wanted, alive = recursion(G, Y, 0.6 / norm, power, 0.1, budget, drop)
    assert_allclose(losses, wanted, atol=IDENTITY)
    assert_allclose(model.coef_, C[alive], atol=IDENTITY)
    assert_allclose(model.predict(X), np.einsum("ijpq,jq->ip", G, C), atol=IDENTITY)
    assert model.n_seen_ == 30


def test_many_passes_come_near_the_ridge_solution(data):
    X, Y = data
    model = OnlineKernelDependency(RBF(0.5) * Identity(), decay=1e-2, rate=0.3, budget=10_000)
    for _ in range(60):
        model.partial_fit(X, Y)
    batch = KernelDependency(RBF(0.5), alpha=30 * 1e-2).fit(X, Y)
    assert np.abs(model.predict(X) - batch.predict(X)).max() < 0.15


@pytest.mark.parametrize(
    ("model", "outputs"),
    [
        (OnlineKernelDependency(), "rows"),
        (OnlineKernelDependency(CurlFree(), budget=3), "rows"),
        (OnlineKernelDependency(RBF() * Covariance()), "numbers"),
        (OnlineKernelDependency(RBF(), RBF(), output_features=IncompleteCholesky(4)), "rows"),
    ],
)
def test_contract(model, outputs, data):
    X, Y = data
    check_structured_estimator(model, X[:10], Y[:10] if outputs == "rows" else Y[:10, 0])


def test_label_sets(rng):
    X = rng.normal(size=(40, 2))
    sets = [{"left" if x[0] < 0 else "right", "low" if x[1] < 0 else "high"} for x in X]
    model = OnlineKernelDependency(RBF(1.0), Labels()).fit(X, sets)  # with a threshold to settle
    right = np.mean([set(a) == b for a, b in zip(model.predict(X), sets, strict=True)])
    assert right > 0.7


def test_a_block_that_is_refused_changes_nothing(data):
    X, Y = data
    model = OnlineKernelDependency(CurlFree(1.0)).fit(X[:20], Y[:20])
    before = model.predict(X)
    bad = [
        (X[:3], Y[:2], "same length"),
        (X[:, :1], Y, "features"),
        (X, np.full_like(Y, np.nan), "NaN"),
        (X, np.zeros((30, 3)), "features are expected"),
    ]
    for A, B, message in bad:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(A, B)
    assert_allclose(model.predict(X), before)
    assert model.n_seen_ == 20


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"drop": "best"}, "drop must be one of"),
        ({"budget": 0}, "budget must be a positive whole number"),
        ({"rate": -1.0}, "rate must be a number from 0.0"),
        ({"power": 2.0}, "power must be a number from 0 to 1"),
        ({"decay": 10.0}, "forgets everything at once"),
        ({"output_kernel": RBF()}, "give output_features="),
    ],
)
def test_refusals(parts, message, data):
    with pytest.raises(ValueError, match=message):
        OnlineKernelDependency(Linear() * Identity(), **parts).fit(*data)
