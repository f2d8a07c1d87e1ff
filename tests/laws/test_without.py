"""Models that leave examples out are the same for one fit and for a choice of one."""

import numpy as np
import pytest

from laws.cases import off, posed, size
from mercer import KernelDependency, KernelDependencyCV
from tolerances import LEFT_OUT

RELATIVE = 1e-3


def sets(n):
    """Nothing, one, some, the same again, and all but three."""
    return [np.arange(0), np.array([3]), np.array([1, 4, 5]), np.array([1, 4, 5]), np.arange(n - 3)]


@pytest.mark.parametrize("name", ["identity", "rbf outputs", "covariance", "low rank"])
def test_of_a_choice(name):
    problem = posed(name, "weights, intercept, groups")
    alpha = RELATIVE * size(problem)
    fit = (problem.X, problem.Y)
    one = KernelDependency(alpha=alpha, **problem.params).fit(*fit, **problem.fit)
    chosen = KernelDependencyCV(alphas=[alpha], **problem.params).fit(*fit, **problem.fit)
    out = sets(len(problem.Y))
    a, b = (
        m.fitted_.predictor_without()(problem.X_new, out).inner(problem.Y) for m in (one, chosen)
    )
    assert off(a, b) <= LEFT_OUT
