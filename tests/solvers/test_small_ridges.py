"""Ridges as small as rounding errors: what the kernel does not span must not be magnified."""

import mpmath
import numpy as np
import pytest

from mercer import KernelDependency
from mercer.kernels import RBF, Linear, Precomputed
from mercer.operators import Covariance, Identity, Pointwise
from mercer.solvers import Part

INTERCEPT = pytest.mark.parametrize("intercept", [0, 1], ids=["", "intercept"])


def exact(kernel, X, Y, X_new, alpha, intercept):
    """Predictions with 60 digits."""
    n, ones = len(X), np.ones((len(X_new), 1)) * intercept
    with mpmath.workdps(60):
        A = mpmath.zeros(n + intercept, n + intercept)
        A[:n, :n] = mpmath.matrix(kernel(X, X).tolist()) + alpha * mpmath.eye(n)
        if intercept:
            A[n, :n], A[:n, n] = mpmath.ones(1, n), mpmath.ones(n, 1)
        right = mpmath.matrix(np.vstack([Y, np.zeros((intercept, Y.shape[1]))]).tolist())
        left = mpmath.matrix(np.hstack([kernel(X_new, X), ones[:, :intercept]]).tolist())
        found = left * mpmath.inverse(A) * right
        return np.array(found.tolist(), dtype=float)


def off(found, wanted):
    """The largest difference, relative to the largest entry."""
    return np.abs(found - wanted).max() / np.abs(wanted).max()


def twice(level=0.0):
    """Inputs of which each occurs twice, with different outputs."""
    rng = np.random.default_rng(0)
    X = np.tile(rng.uniform(-1, 1, size=(8, 2)), (2, 1))
    Y = np.sin(3 * X) + 0.1 * rng.normal(size=X.shape) + level
    return X, Y, rng.uniform(-1, 1, size=(4, 2))


@INTERCEPT
@pytest.mark.parametrize("level", [0.0, 1e4])
@pytest.mark.parametrize("alpha", [1e-6, 1e-14])
def test_every_input_twice(alpha, level, intercept):
    X, Y, X_new = twice(level)
    model = KernelDependency(RBF(0.7), alpha=alpha, fit_intercept=bool(intercept)).fit(X, Y)
    wanted = exact(RBF(0.7), X, Y, X_new, alpha, intercept)
    assert off(model.predict(X_new), wanted) <= 1e-9


@INTERCEPT
@pytest.mark.parametrize("operator", [Identity(), Covariance()], ids=str)
def test_values_of_few_features_whose_number_is_not_known(operator, intercept):
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 256, size=(46, 8)).astype(float), 100 * rng.normal(size=(40, 3))
    params = {"alpha": 1e-9, "fit_intercept": bool(intercept)}
    model = KernelDependency(Precomputed(X @ X.T) * operator, **params).fit(np.arange(40), Y)
    wanted = KernelDependency(Linear() * operator, **params).fit(X[:40], Y).predict(X[40:])
    assert off(model.predict(np.arange(40, 46)), wanted) <= 1e-12


@INTERCEPT
def test_pointwise_kernels_at_the_ridge_of_their_docstring(intercept):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(40, 5)).astype(float)
    Y = 2 * X + rng.normal(size=X.shape)
    model = KernelDependency(Pointwise(), alpha=1e-9, fit_intercept=bool(intercept)).fit(X, Y)
    A, B = (X - X.mean(0), Y - Y.mean(0)) if intercept else (X, Y)
    slope = (A * B).sum(0) / ((A * A).sum(0) + 1e-9)
    offset = Y.mean(0) - slope * X.mean(0) if intercept else 0.0
    assert off(model.predict(X[:7] + 0.5), slope * (X[:7] + 0.5) + offset) <= 1e-12


@INTERCEPT
def test_directions_of_a_smooth_kernel_count_at_a_nugget(intercept):
    """Operator learning uses smooth kernels at a nugget of 1e-8."""
    rng = np.random.default_rng(0)
    X, X_new = np.sort(rng.uniform(size=(30, 1)), axis=0), rng.uniform(size=(5, 1))
    Y = np.exp(np.sin(5 * X)) + X
    model = KernelDependency(RBF(0.5), alpha=1e-8, fit_intercept=bool(intercept), solver="spectral")
    wanted = exact(RBF(0.5), X, Y, X_new, 1e-8, intercept)
    assert off(model.fit(X, Y).predict(X_new), wanted) <= 1e-9


def test_a_step_of_refinement_is_taken_only_where_it_improves(monkeypatch):
    X, Y, X_new = twice(1e4)
    model = KernelDependency(RBF(0.7), alpha=1e-9, fit_intercept=False, solver="spectral")
    wanted = model.fit(X, Y).predict(X_new)
    improved = []

    def residual(self, C, alpha):
        """A residual that is larger after the step."""
        improved.append(C)
        return self.T * len(improved)

    monkeypatch.setattr(Part, "_residual", residual)
    assert off(model.fit(X, Y).predict(X_new), wanted) <= 1e-6
    assert len(improved) == 2


@INTERCEPT
def test_outputs_whose_squares_overflow_are_refused(intercept):
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match="the outputs in y are too large"):
        KernelDependency(RBF(1.0), fit_intercept=bool(intercept)).fit(X, 1e308 * np.cos(X))
