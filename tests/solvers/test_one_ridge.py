"""One ridge by tridiagonal form agrees with the ridge equation written out."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from laws.cases import PROBLEMS, TELLING, crossed, off, posed, size
from mercer import KernelDependency
from mercer._base.linalg import tridiagonalized
from mercer.decoders import Candidates
from mercer.kernels import RBF, VectorKernel
from mercer.operators import ConditionalCovariance, Covariance
from mercer.solvers.tridiagonal import reflect, shifted_solves

EXACT = [
    "covariance",
    "conditional",
    "matrix",
    "line, covariance",
    "rbf outputs, covariance",
    "rbf outputs, conditional",
]
CONDITIONAL = replace(PROBLEMS["conditional"], output=2.0)


@pytest.mark.parametrize("relative", [1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize(("name", "condition"), crossed(EXACT, TELLING))
def test_it_solves_the_equation(name, condition, relative, monkeypatch):
    monkeypatch.setitem(PROBLEMS, "rbf outputs, conditional", CONDITIONAL)
    for module in ("exact", "exact_inputs", "route"):
        monkeypatch.setattr(import_module(f"mercer.solvers.{module}"), "MANY", 0)
    problem = posed(name, condition)
    alpha = relative * size(problem)
    model = KernelDependency(alpha=alpha, **problem.params).fit(problem.X, problem.Y, **problem.fit)
    again = KernelDependency(alpha=alpha, solver="spectral", **problem.params)
    again.fit(problem.X, problem.Y, **problem.fit)
    found, same = (m.embed(problem.X_new).inner(problem.Y) for m in (model, again))
    assert off(found, same) <= 1e-9
    if relative > 1e-12:
        assert off(found, problem.ridge(alpha).predict() @ problem.outputs.T) <= 1e-9


@pytest.mark.parametrize("n", [1, 2, 3, 130, 300])
def test_reflections(n):
    rng = np.random.default_rng(n)
    K = rng.normal(size=(n, n))
    K = K @ K.T
    A, b = rng.normal(size=(n, 4)), np.array([0.0, 0.5, 1.0, 2.0])
    reflectors, tau, diagonal, off_diagonal = tridiagonalized(K.copy())
    X = A.copy()
    reflect(X, reflectors, tau)
    shifted_solves(diagonal, off_diagonal, b, 1.0, X)
    reflect(X, reflectors, tau, back=True)
    for j in range(4):
        np.testing.assert_allclose(b[j] * K @ X[:, j] + X[:, j], A[:, j], atol=1e-9)


def test_a_matrix_that_is_diagonal_already():
    reflectors, tau, diagonal, _ = tridiagonalized(np.diag([3.0, 2.0, 1.0]))
    np.testing.assert_array_equal(diagonal, [3.0, 2.0, 1.0])
    H = np.eye(3)
    reflect(H, reflectors, tau)
    np.testing.assert_array_equal(H, np.eye(3))


def test_left_out_predictions_follow_a_fit_at_one_ridge():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 3)), rng.normal(size=(300, 3))
    model = KernelDependency(RBF(1.0) * Covariance(), RBF(1.0), alpha=0.1).fit(X, Y)
    rest = KernelDependency(RBF(1.0) * Covariance(), RBF(1.0), alpha=0.1, solver="spectral")
    np.testing.assert_allclose(model.loo_predict(), rest.fit(X, Y).loo_predict(), atol=1e-10)


class Indefinite(VectorKernel):
    def _gram(self, A, B):
        return np.tanh(0.7 * A @ B.T - 1.0)


@pytest.mark.parametrize("n", [200, 300])
def test_what_is_no_kernel_is_refused_at_every_size(n):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        KernelDependency(Indefinite() * Covariance()).fit(rng.normal(size=(n, 3)), np.eye(n)[:, :2])


def test_the_plan_names_the_route_of_fit():
    X = np.random.default_rng(0).normal(size=(300, 3))
    assert KernelDependency(RBF(1.0) * Covariance()).plan(X=X, y=X).best.name == "one ridge"


class Kept(VectorKernel):
    """Returns one matrix that it keeps."""

    def _gram(self, A, B):
        rows, columns = (np.ravel(C).astype(int) for C in (A, B))
        whole = len(rows) == len(columns) == len(GRAM)
        return GRAM if whole else GRAM[np.ix_(rows, columns)]

    def _diag(self, A):
        return np.ones(len(A))


GRAM = RBF(1.0)(np.random.default_rng(0).normal(size=(300, 3)))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("operator", [Covariance(), ConditionalCovariance(0.1)])
def test_a_matrix_that_a_kernel_keeps_is_left_alone(operator, intercept):
    before, items = GRAM.copy(), np.arange(300.0)[:, None]
    for kernel, output in ((RBF(1.0), Kept()), (Kept(), RBF(1.0))):
        model = KernelDependency(kernel * operator, output, alpha=0.1, decoder=Candidates())
        model.set_params(fit_intercept=intercept).fit(items, items)
        assert np.array_equal(GRAM, before)


class Tilted(VectorKernel):
    """Indefinite, though hardly so without what is constant."""

    def _gram(self, A, B):
        return np.tanh(A @ B.T - 1.0)

    def _diag(self, A):
        return np.tanh((A * A).sum(axis=1) - 1.0)


def test_an_output_kernel_that_is_indefinite_by_a_constant_is_refused():
    rng = np.random.default_rng(0)
    X, some = rng.normal(size=(300, 3)), 0.3 * rng.normal(size=(6, 2))
    model = KernelDependency(RBF(1.0) * Covariance(), Tilted(), alpha=0.01, decoder=Candidates())
    with pytest.raises(ValueError, match="positive semidefinite"):
        model.fit(X, some[rng.integers(0, 6, 300)])
