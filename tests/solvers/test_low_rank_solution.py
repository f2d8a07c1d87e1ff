"""One solution from moments equals the one from the spectrum of all rows."""

import numpy as np
import pytest

from mercer import KernelDependency
from mercer.features import Nystroem
from mercer.kernels import RBF, Linear
from mercer.operators import ConditionalCovariance, Covariance, Matrix

OPERATORS = [Covariance(), ConditionalCovariance(0.1), Matrix(np.diag([1.0, 0.0, 2.0]))]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("operator", OPERATORS, ids=str)
def test_moments_give_the_solution_of_the_spectrum(operator, intercept, weighted):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 2)) + 3.0, rng.normal(size=(300, 3)) + 5.0
    model = KernelDependency(
        RBF(1.0) * operator, alpha=1e-3, features=Nystroem(20, random_state=0),
        fit_intercept=intercept,
    ).fit(X, Y, sample_weight=rng.uniform(0.1, 3.0, size=300) if weighted else None)  # fmt: skip
    assert model.fitted_.kept is None
    wanted = model.fitted_.factorization.solve(1e-3).points(X).coordinates
    assert np.abs(model.embed(X).coordinates - wanted).max() <= 1e-9


def test_a_ridge_that_rounding_hides_takes_the_spectrum():
    X = np.linspace(1, 2, 30)[:, None]
    model = KernelDependency(Linear() * Covariance(), alpha=1e-15, features=Nystroem(5))
    model.fit(X, np.hstack([X, X**2]))
    assert model.fitted_.kept is not None
