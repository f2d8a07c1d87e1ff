"""Derivatives of the evidence and of left-out errors, against central differences."""

import numpy as np
import pytest

from mercer._base.errors import NotSupported
from mercer.features import Explicit, IncompleteCholesky, Nystroem, RandomFourier
from mercer.kernels import L2, RBF, Linear, Matern, Polynomial, RationalQuadratic, Subsequences
from mercer.kernels.gradients import with_parameters
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    Identity,
    Matrix,
    Mixture,
    Separable,
)
from mercer.problem import Problem, Side, Want
from mercer.solvers import Cache
from mercer.solvers.exact import spectral
from mercer.solvers.inverse_slopes import slopes_by_inverse
from mercer.solvers.low_rank import low_rank
from mercer.solvers.parameter_slopes import parameter_slopes
from registry import WORDS

RNG = np.random.default_rng(3)
N = 24
X = RNG.normal(size=(N, 3)) * [1.0, 2.0, 0.5]
Y = np.stack([np.sin(X[:, 0]), X[:, 1], X[:, 0] * X[:, 2]], axis=1) + 0.2 * RNG.normal(size=(N, 3))
GROUPS = np.repeat(np.arange(9), [1, 2, 2, 3, 3, 3, 4, 4, 2])
WEIGHTS = RNG.uniform(0.3, 2.0, N)
OPERATORS = [
    Identity(),
    0.7 * Covariance(0.6),
    ConditionalCovariance(0.05),
    Identity() + 0.5 * ConditionalCovariance(0.2),
    Mixture([Identity(), Covariance(0.5), ConditionalCovariance(0.1)], [0.2, 0.5, 0.3]),
    Matrix(np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 1.0]])),
]
LANDMARKS = X[::3] + 0.1


def factored(kernel, operator, features, groups, weights, intercept, items=X, outputs=Y):
    kernel = kernel.fit(items)
    y = Linear().fit(outputs)
    problem = Problem(
        Side(kernel, kernel.check(items), features), Side(y, outputs), Separable(kernel, operator),
        intercept, groups, weights,
    )  # fmt: skip
    build = spectral if features is None else low_rank
    return build(problem, Want([1.0], left_out=True), Cache())


def value_of(parts, alpha, criterion):
    if criterion == "evidence":
        return -parts.evidence(alpha)
    return next(iter(parts.left_out([alpha]))).risk(parts.problem.weights)


def check(kernel, operator, criterion, features=None, groups=None, weights=None, intercept=True,
          items=X, outputs=Y):  # fmt: skip
    alpha = 0.3
    more = (groups, weights, intercept, items, outputs)
    parts = factored(with_parameters(kernel, {}), operator, features, *more)
    fitted = parts.problem.inputs.kernel
    found, slopes = parameter_slopes(parts, alpha, criterion)
    assert found == pytest.approx(value_of(parts, alpha, criterion), rel=1e-9)

    def at(values, ridge):
        moved = with_parameters(fitted, values)
        return value_of(factored(moved, operator, features, *more), ridge, criterion)

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
@pytest.mark.parametrize("features", [None, Nystroem(landmarks=LANDMARKS)], ids=["exact", "low"])
def test_every_operator(criterion, operator, features):
    check(RBF("ard"), operator, criterion, features, weights=WEIGHTS)


@pytest.mark.parametrize("features", [None, Nystroem(landmarks=LANDMARKS)], ids=["exact", "low"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("operator", [Identity(), ConditionalCovariance(0.05)], ids=str)
def test_groups(features, weights, intercept, operator):
    kernel = 2.0 * RBF("ard") + Matern([1.0, 2.0, 3.0])
    check(kernel, operator, "loo", features, GROUPS, weights, intercept)


@pytest.mark.parametrize("criterion", ["loo", "evidence"])
@pytest.mark.parametrize("intercept", [True, False])
def test_kernels(criterion, intercept):
    check(0.5 * RBF(1.5) * Polynomial(2, 0.3, 2.0), Covariance(0.5), criterion, intercept=intercept)
    check(L2(smoothing=0.01), Covariance(0.5), criterion, Explicit(), intercept=intercept)
    check(RationalQuadratic("ard", 0.7), Identity(), criterion, intercept=intercept)
    check(RBF("ard"), Identity(), criterion, Nystroem(landmarks=X[:4]), intercept=intercept)
    words, outputs = WORDS * 2, RNG.normal(size=(12, 2))
    check(
        Subsequences(2, 0.6), Identity(), criterion, intercept=intercept, items=words,
        outputs=outputs,
    )  # fmt: skip


@pytest.mark.parametrize("features", [None, Nystroem(landmarks=LANDMARKS)], ids=["exact", "low"])
@pytest.mark.parametrize("intercept", [True, False])
def test_constant_outputs(features, intercept):
    outputs = np.zeros_like(Y)
    check(RBF("ard"), OPERATORS[-1], "evidence", features, intercept=intercept, outputs=outputs)


def test_pivots_are_held():
    parts = factored(RBF(1.0), Identity(), IncompleteCholesky(6), None, None, True)
    landmarks = parts.parts[0].spectrum.input_rows.map.landmarks_
    other = factored(RBF(1.0), Identity(), Nystroem(landmarks=landmarks), None, None, True)
    found, again = (parameter_slopes(p, 0.3, "loo")[1] for p in (parts, other))
    assert found["length_scale"] == pytest.approx(again["length_scale"], rel=1e-8)


@pytest.mark.parametrize("criterion", ["loo", "evidence"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["alone", "groups"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_inverse_agrees_with_the_spectrum(criterion, weights, groups, intercept):
    kernel = 2.0 * RBF("ard")
    parts = factored(kernel, Identity(), None, groups, weights, intercept)
    wanted, slopes = parameter_slopes(parts, 0.3, criterion)
    found, others = slopes_by_inverse(parts.problem, parts.output_rows, 0.3, criterion)
    assert found == pytest.approx(wanted, rel=1e-10)
    assert others.pop("alpha") == pytest.approx(slopes.pop("alpha"), rel=1e-8)
    assert others.keys() == slopes.keys()
    for name, slope in slopes.items():
        np.testing.assert_allclose(others[name], slope, rtol=1e-8, atol=1e-10)


def test_frequencies_are_refused():
    parts = factored(RBF(1.0), Identity(), RandomFourier(8, random_state=0), None, None, True)
    with pytest.raises(NotSupported, match="use Nystroem"):
        parameter_slopes(parts, 0.3, "loo")
