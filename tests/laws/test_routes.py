"""Route equivalence: every solver that accepts a problem gives the same g."""

import warnings
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from laws.cases import TELLING, crossed, off, posed, size, under
from mercer import KernelDependency, KernelDependencyCV
from mercer.operators import as_operator_kernel
from mercer.solvers import BlockConjugateGradient

AGREE = 1e-9
"""Of the size of the outputs, for ridges of at least 1e-6 of the largest eigenvalue."""
RELATIVE = 1e-6
FLOOR = 1e-11
"""Closer than this to the reference is close enough whatever a Cholesky solve does."""


def solvers(problem):
    """Every solver that takes the problem, by the name that `solver=` has for it."""
    kernel = as_operator_kernel(problem.params["kernel"])
    if not kernel.separable:
        return ["auto", "dense", BlockConjugateGradient(1e-14)]
    plain = kernel.separated().operator.uniform is not None
    exact = problem.params.get("features") is None
    return ["auto", "spectral", *(["cg"] if exact else []), *(["cholesky"] if plain else [])]


def point_maps(problem, alpha):
    """Points at the new inputs by every route that takes the problem."""
    for solver in solvers(problem):
        model = KernelDependency(alpha=alpha, solver=solver, **problem.params)
        yield f"solver {solver}", points_of(model, problem)
    model = KernelDependencyCV(alphas=[alpha], **problem.params)
    yield "a choice of one", points_of(model, problem)


def points_of(model, problem):
    """The points of a fit as inner products with the training outputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # they cannot reach 1e-14
        model.fit(problem.X, problem.Y, **problem.fit)
    return model.embed(problem.X_new).inner(problem.Y)


ORDERS = 5
"""Orders of the pairs over which the worst Cholesky solve is taken: one may be lucky."""
EXACT = {
    "identity": 16, "linear kernel": 16, "rbf outputs": 16, "line": 30, "line, rbf outputs": 30,
    "covariance": 8, "conditional": 8, "matrix": 8, "line, covariance": 14,
}  # fmt: skip


@pytest.mark.parametrize(("name", "condition"), under())
def test_all_solvers_agree(name, condition):
    problem = posed(name, condition)
    alpha = RELATIVE * size(problem)
    wanted = problem.ridge(alpha).predict() @ problem.outputs.T
    errors = {route: off(found, wanted) for route, found in point_maps(problem, alpha)}
    assert max(errors.values()) <= AGREE, errors


@pytest.mark.parametrize(("name", "condition"), crossed(EXACT, TELLING))
def test_smaller_ridges_are_as_good_as_a_cholesky_solve(name, condition):
    problem = posed(name, condition, EXACT[name])
    alpha, V = 1e-10 * size(problem), problem.outputs
    with mpmath.workdps(50):
        wanted = problem.ridge(alpha, exactly=True).predict().astype(float) @ V.T
    plain = cholesky_error(problem.ridge(alpha), lambda g: off(g @ V.T, wanted))
    errors = {route: off(found, wanted) for route, found in point_maps(problem, alpha)}
    assert max(errors.values()) <= max(10 * plain, FLOOR), (errors, plain)


def cholesky_error(ridge, error):
    """The error of a Cholesky solve by its better way, in the worst of a few orders."""
    worst = []
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(len(ridge.V))
        again = replace(
            ridge,
            G=ridge.G[order][:, :, order],
            G_new=ridge.G_new[:, :, order],
            V=ridge.V[order],
            w=ridge.w[order],
        )
        try:
            worst.append([error(g) for g in again.predict_by_cholesky()])
        except np.linalg.LinAlgError:
            return np.inf
    return np.max(worst, axis=0).min()
