"""Models that leave examples out, each new input its own, equal literal refits."""

from dataclasses import replace

import numpy as np
import pytest

from laws.cases import PROBLEMS, TELLING, crossed, off, posed, size
from mercer import KernelDependency, KernelDependencyCV
from tolerances import LEFT_OUT

RELATIVE = 1e-3
COUPLED = ("sum apart", "fields")
"""Kernels that couple output directions: they have no closed form for left-out models."""
CLOSED = [name for name in PROBLEMS if name not in COUPLED]


def sets(n):
    """Nothing, one, some, the same again, and all but three."""
    return [np.arange(0), np.array([3]), np.array([1, 4, 5]), np.array([1, 4, 5]), np.arange(n - 3)]


def refitted(ridge, out, t):
    """What the literal ridge without some examples predicts at one new input."""
    kept = np.setdiff1d(np.arange(len(ridge.V)), out)
    G, G_new = ridge.G[kept][:, :, kept], ridge.G_new[t : t + 1][:, :, kept]
    return replace(ridge, G=G, G_new=G_new, V=ridge.V[kept], w=ridge.w[kept]).predict()[0]


@pytest.mark.parametrize(("name", "condition"), crossed(CLOSED, TELLING))
def test_equal_refits(name, condition):
    problem = posed(name, condition)
    alpha = RELATIVE * size(problem)
    model = KernelDependency(alpha=alpha, **problem.params)
    model.fit(problem.X, problem.Y, **problem.fit)
    ridge, out = problem.ridge(alpha), sets(len(problem.Y))
    wanted = np.stack([refitted(ridge, own, t) for t, own in enumerate(out)])
    found = model.fitted_.without()(problem.X_new, out).inner(problem.Y)
    assert off(found, wanted @ problem.outputs.T) <= LEFT_OUT


@pytest.mark.parametrize("name", ["identity", "rbf outputs", "covariance", "low rank"])
def test_of_a_choice(name):
    problem = posed(name, "weights, intercept, groups")
    alpha = RELATIVE * size(problem)
    fit = (problem.X, problem.Y)
    one = KernelDependency(alpha=alpha, **problem.params).fit(*fit, **problem.fit)
    chosen = KernelDependencyCV(alphas=[alpha], **problem.params).fit(*fit, **problem.fit)
    out = sets(len(problem.Y))
    a, b = (m.fitted_.without()(problem.X_new, out).inner(problem.Y) for m in (one, chosen))
    assert off(a, b) <= LEFT_OUT


@pytest.mark.parametrize("name", COUPLED)
def test_coupled_kernels_refuse(name):
    problem = posed(name, "plain")
    model = KernelDependency(alpha=1.0, **problem.params).fit(problem.X, problem.Y)
    with pytest.raises(ValueError, match="no closed form for left-out models"):
        model.fitted_.without()(problem.X_new, sets(len(problem.Y)))
