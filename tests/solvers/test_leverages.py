"""Left-out predictions by interpolated leverages equal those by the spectrum."""

import numpy as np
import pytest

from mercer import KernelDependency
from mercer._base.memory import PLANNED_FRACTION
from mercer.kernels import RBF, Laplacian
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix
from mercer.solvers import iterative, leverages
from mercer.solvers.factorization import Iterative
from mercer.solvers.leverages import barycentric_weights

N, Q = 320, 12
OPERATORS = {
    "identity": Identity(),
    "covariance": Covariance(),
    "conditional covariance": ConditionalCovariance(0.1),
    "singular": Matrix(np.diag(np.r_[0.0, np.logspace(-2, 1, Q - 1)])),
    "few eigenvalues": Matrix(np.diag([1.0] * 6 + [4.0] * 6)),
}


@pytest.fixture
def large(monkeypatch):
    """Memory for a few Gram matrices, which do not suffice for a spectrum."""
    monkeypatch.setattr(iterative, "LEAST_EXAMPLES", 100)
    monkeypatch.setattr(iterative, "BUDGET", 10.0)
    room = 5 * 8 * N * N / PLANNED_FRACTION
    monkeypatch.setattr(leverages, "free_bytes", lambda where: room)


def pairs(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    return X, np.sin(X @ rng.normal(size=(3, Q))) + 0.1 * rng.normal(size=(N, Q)) + 2.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_single_examples(name, intercept, weighted, large, monkeypatch):
    X, Y = pairs()
    w = np.random.default_rng(1).uniform(0.2, 5.0, N) if weighted else None
    kernel = RBF(1.0) * OPERATORS[name]
    model = KernelDependency(kernel, alpha=0.3, fit_intercept=intercept, solver="cg")
    model.fit(X, Y, sample_weight=w)
    found = model.loo_embed()
    made = model.fitted_.factorization
    assert isinstance(made, Iterative)
    other = KernelDependency(kernel, alpha=0.3, fit_intercept=intercept, solver="spectral")
    wanted = other.fit(X, Y, sample_weight=w).loo_embed()
    assert np.abs(found.coordinates - wanted.coordinates).max() <= 1e-6 * np.abs(Y).max()
    variances = [one.embed(X[:3]).variance() for one in (model, other)]  # takes the spectrum
    assert np.allclose(*variances, rtol=1e-8)


def test_groups_take_the_spectrum(large):
    X, Y = pairs()
    model = KernelDependency(RBF(1.0) * Covariance(), alpha=0.3).fit(X, Y, groups=np.arange(N) // 2)
    model.loo_embed()
    assert model.fitted_.factorization.parts


def test_a_kernel_whose_leverages_are_not_smooth_takes_the_spectrum(large, monkeypatch):
    monkeypatch.setattr(leverages, "LARGEST_STEP", 0.0)
    X, Y = pairs()
    model = KernelDependency(Laplacian(1.0) * Covariance(), alpha=0.3).fit(X, Y)
    model.loo_embed()
    assert model.fitted_.factorization.parts


def test_interpolation():
    nodes = -np.cos(np.pi * np.arange(13) / 12)
    at = np.r_[np.linspace(-1, 1, 7), nodes[3]]
    assert np.allclose(barycentric_weights(nodes, at) @ np.exp(nodes), np.exp(at), atol=1e-12)
