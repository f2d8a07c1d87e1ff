"""Exact fits under an operator agree with the ridge equation written out."""

from dataclasses import replace

import numpy as np
import pytest

from laws.cases import PROBLEMS, TELLING, crossed, off, posed, size
from mercer import KernelDependency
from mercer.decoders import Candidates
from mercer.kernels import RBF, VectorKernel
from mercer.operators import ConditionalCovariance, Covariance

EXACT = [
    "covariance",
    "conditional",
    "matrix",
    "line, covariance",
    "rbf outputs, covariance",
    "rbf outputs, conditional",
]
CONDITIONAL = replace(PROBLEMS["conditional"], output=2.0)


@pytest.mark.parametrize("relative", [1e-2, 1e-6])
@pytest.mark.parametrize(("name", "condition"), crossed(EXACT, TELLING))
def test_it_solves_the_equation(name, condition, relative, monkeypatch):
    monkeypatch.setitem(PROBLEMS, "rbf outputs, conditional", CONDITIONAL)
    problem = posed(name, condition)
    alpha = relative * size(problem)
    model = KernelDependency(alpha=alpha, **problem.params).fit(problem.X, problem.Y, **problem.fit)
    found = model.embed(problem.X_new).inner(problem.Y)
    assert off(found, problem.ridge(alpha).predict() @ problem.outputs.T) <= 1e-9


class Indefinite(VectorKernel):
    def _gram(self, A, B):
        return np.tanh(0.7 * A @ B.T - 1.0)


@pytest.mark.parametrize("n", [200, 300])
def test_what_is_no_kernel_is_refused_at_every_size(n):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        KernelDependency(Indefinite() * Covariance()).fit(rng.normal(size=(n, 3)), np.eye(n)[:, :2])


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
