"""Derivatives of the evidence and of left-out errors, against central differences."""

import numpy as np
import pytest

from mercer.kernels import L2, RBF, Linear, Matern, Polynomial, RationalQuadratic, Subsequences
from mercer.kernels.gradients import with_parameters
from mercer.operators import Identity, Separable
from mercer.problem import Problem, Side, Want
from mercer.solvers import Cache
from mercer.solvers.exact import spectral
from mercer.solvers.parameter_slopes import parameter_slopes
from registry import WORDS

RNG = np.random.default_rng(3)
N = 24
X = RNG.normal(size=(N, 3)) * [1.0, 2.0, 0.5]
Y = np.stack([np.sin(X[:, 0]), X[:, 1], X[:, 0] * X[:, 2]], axis=1) + 0.2 * RNG.normal(size=(N, 3))
GROUPS = np.repeat(np.arange(9), [1, 2, 2, 3, 3, 3, 4, 4, 2])
WEIGHTS = RNG.uniform(0.3, 2.0, N)
OPERATORS = [Identity(), 0.7 * Identity()]


def factored(kernel, operator, groups, weights, intercept, items=X, outputs=Y):
    kernel = kernel.fit(items)
    y = Linear().fit(outputs)
    problem = Problem(
        Side(kernel, kernel.check(items)), Side(y, outputs), Separable(kernel, operator),
        intercept, groups, weights,
    )  # fmt: skip
    return spectral(problem, Want([1.0], left_out=True), Cache())


def value_of(parts, alpha, criterion):
    if criterion == "evidence":
        return -parts.evidence(alpha)
    return next(iter(parts.left_out([alpha]))).risk(parts.problem.weights)


def check(kernel, operator, criterion, groups=None, weights=None, intercept=True, items=X,
          outputs=Y):  # fmt: skip
    alpha = 0.3
    more = (groups, weights, intercept, items, outputs)
    parts = factored(with_parameters(kernel, {}), operator, *more)
    fitted = parts.problem.inputs.kernel
    found, slopes = parameter_slopes(parts.problem, parts.output_rows, alpha, criterion)
    assert found == pytest.approx(value_of(parts, alpha, criterion), rel=1e-9)

    def at(values, ridge):
        moved = with_parameters(fitted, values)
        return value_of(factored(moved, operator, *more), ridge, criterion)

    step = 1e-4

    def slope(function):
        up, down = function(step) - function(-step), function(2 * step) - function(-2 * step)
        return (8 * up - down) / (12 * step)

    pairs = [(slopes["alpha"] * alpha, slope(lambda h: at({}, alpha * np.exp(h))))]
    for name, value in fitted.parameter_gradient.values.items():
        for entry in np.ndindex(np.shape(value)):

            def moved(h, name=name, value=value, entry=entry):
                new = np.array(value, dtype=float)
                new[entry] *= np.exp(h)
                return at({name: new if new.ndim else float(new)}, alpha)

            got = np.asarray(slopes[name])[entry] * np.asarray(value)[entry]
            pairs.append((float(got), slope(moved)))
    got, wanted = np.array(pairs).T
    scale = max(np.abs(wanted).max(), 1e-3 * abs(found))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-7 * scale)


@pytest.mark.parametrize("criterion", ["loo", "evidence"])
@pytest.mark.parametrize("operator", OPERATORS, ids=str)
def test_multiples_of_the_identity(criterion, operator):
    check(RBF("ard"), operator, criterion, weights=WEIGHTS)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
def test_groups(weights, intercept):
    kernel = 2.0 * RBF("ard") + Matern([1.0, 2.0, 3.0])
    check(kernel, Identity(), "loo", GROUPS, weights, intercept)


@pytest.mark.parametrize("criterion", ["loo", "evidence"])
@pytest.mark.parametrize("intercept", [True, False])
def test_kernels(criterion, intercept):
    product = 0.5 * RBF(1.5) * Polynomial(2, 0.3, 2.0)
    check(product, Identity(), criterion, intercept=intercept)
    check(L2(smoothing=0.01), Identity(), criterion, intercept=intercept)
    check(RationalQuadratic("ard", 0.7), Identity(), criterion, intercept=intercept)
    words, outputs = WORDS * 2, RNG.normal(size=(12, 2))
    check(
        Subsequences(2, 0.6), Identity(), criterion, intercept=intercept, items=words,
        outputs=outputs,
    )  # fmt: skip


@pytest.mark.parametrize("intercept", [True, False])
def test_constant_outputs(intercept):
    check(RBF("ard"), Identity(), "evidence", intercept=intercept, outputs=np.zeros_like(Y))
