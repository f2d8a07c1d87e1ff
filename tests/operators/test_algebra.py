"""kernel * operator as the paper writes it, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer import KernelDependency, KernelDependencyCV
from mercer._base.symmetric import full
from mercer.kernels import RBF, Function, Kernel, Linear
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    Identity,
    Matrix,
    Moments,
    Operator,
    OperatorSum,
    Separable,
    as_operator_kernel,
)
from tolerances import IDENTITY, LEFT_OUT


def predictions(kernel, rng):
    X, Y = rng.normal(size=(8, 2)), rng.normal(size=(8, 3))
    return KernelDependency(kernel, alpha=0.1, fit_intercept=False).fit(X, Y).predict(X)


def seeded():
    return np.random.default_rng(1)


def test_a_kernel_times_an_operator():
    K = RBF(2.0) * Covariance()
    assert isinstance(K, Separable)
    assert isinstance(K.scalar, RBF) and isinstance(K.operator, Covariance)
    assert str(K) == "RBF(length_scale=2.0) * Covariance()"


def test_nested_parameters():
    K = RBF(2.0) * ConditionalCovariance(0.1)
    K.set_params(scalar__length_scale=3.0, operator__epsilon=0.5)
    assert (K.scalar.length_scale, K.operator.epsilon) == (3.0, 0.5)
    model = KernelDependency(K, fit_intercept=False).set_params(kernel__scalar__length_scale=4.0)
    assert model.kernel.scalar.length_scale == 4.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: RBF(1.0) * Identity() * Covariance(),
        lambda: RBF(1.0) * Identity() * (RBF(1.0) * Covariance()),
    ],
)
def test_two_operators_are_refused(make):
    with pytest.raises(TypeError, match="has its operator already"):
        make()


def test_an_operator_times_a_kernel_is_refused():
    with pytest.raises(TypeError, match=r"kernel from the left \(kernel \* operator\)"):
        Covariance() * RBF(1.0)
    with pytest.raises(TypeError, match="is an operator: multiply it by a scalar kernel"):
        as_operator_kernel(Covariance())


@pytest.mark.parametrize("thing", [RBF(1.0), Covariance(), RBF(1.0) * Covariance()], ids=str)
def test_arrays_are_refused_on_both_sides(thing):
    for make in (
        lambda: np.array([1, 2]) * thing,
        lambda: thing * np.array([1, 2]),
        lambda: np.array([1, 2]) + thing,
        lambda: thing + np.array([1, 2]),
    ):
        with pytest.raises(TypeError):
            make()


@pytest.mark.parametrize("two", [2, 2.0, np.float64(2), np.float32(2), np.int64(2)], ids=repr)
def test_scaling_an_operator(two, rng):
    moments = Moments.of(rng.normal(size=(5, 2)), rng.normal(size=(5, 3)))
    once = Covariance().matrix(moments)
    for scaled in (two * Covariance(), Covariance() * two):
        assert isinstance(scaled, Operator)
        assert_allclose(scaled.matrix(moments), 2 * once, rtol=0, atol=IDENTITY)


def test_an_operator_is_not_scaled_below_zero(rng):
    with pytest.raises(ValueError, match="scaled by a number ≥ 0, got -1.0"):
        predictions(RBF(1.0) * (-1.0 * Identity()), rng)


def test_sums_of_operators(rng):
    moments = Moments.of(rng.normal(size=(5, 2)), rng.normal(size=(5, 3)))
    total = sum([Identity(), Covariance(), 0.5 * Identity()])
    wanted = 1.5 * np.eye(3) + Covariance().matrix(moments)
    assert_allclose(total.matrix(moments), wanted, rtol=0, atol=IDENTITY)


def test_scalings_may_stand_anywhere():
    wanted = predictions(Separable(2.0 * RBF(1.0), Covariance()), seeded())
    for kernel in (
        2.0 * RBF(1.0) * Covariance(),
        2.0 * (RBF(1.0) * Covariance()),
        RBF(1.0) * Covariance() * 2.0,
        RBF(1.0) * (2.0 * Covariance()),
        RBF(1.0) * Covariance() + RBF(1.0) * Covariance(),
        sum([RBF(1.0) * Covariance(), RBF(1.0) * Covariance()]),
    ):
        assert_allclose(predictions(kernel, seeded()), wanted, rtol=0, atol=IDENTITY)


def test_kernels_multiply_into_the_scalar_part():
    wanted = predictions((RBF(1.0) * Linear()) * Covariance(), seeded())
    for kernel in (RBF(1.0) * (Linear() * Covariance()), Linear() * Covariance() * RBF(1.0)):
        assert_allclose(predictions(kernel, seeded()), wanted, rtol=0, atol=IDENTITY)


def test_a_scalar_kernel_in_a_sum_means_the_identity():
    wanted = predictions(RBF(1.0) * (Identity() + Covariance()), seeded())
    for kernel in (RBF(1.0) + RBF(1.0) * Covariance(), RBF(1.0) * Covariance() + RBF(1.0)):
        assert isinstance(kernel, OperatorSum)
        assert_allclose(predictions(kernel, seeded()), wanted, rtol=0, atol=IDENTITY)


def test_sums_under_a_common_operator():
    wanted = predictions((RBF(1.0) + Linear()) * Covariance(), seeded())
    got = predictions(RBF(1.0) * Covariance() + Linear() * Covariance(), seeded())
    assert_allclose(got, wanted, rtol=0, atol=IDENTITY)


def test_sums_that_share_nothing_solve_the_whole_equation(rng):
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 3))
    kernel = RBF(1.0) * Covariance() + RBF(2.0) * Identity()
    model = KernelDependency(kernel, alpha=0.1, fit_intercept=False).fit(X, Y)
    blocks = model.kernel_.gram(X).blocks()
    whole = blocks.transpose(0, 2, 1, 3).reshape(36, 36) + 0.1 * np.eye(36)
    assert_allclose(model.coef_.ravel(), np.linalg.solve(whole, Y.ravel()), atol=IDENTITY)
    covariance = Y.T @ Y / 12
    assert_allclose(blocks[0, 1], RBF(1.0)(X)[0, 1] * covariance + RBF(2.0)(X)[0, 1] * np.eye(3))


@pytest.mark.parametrize("weights", [None, np.array([0.5, 1, 2, 1, 3, 1, 1, 2])])
def test_an_operator_is_the_same_alone_and_in_a_sum(weights, rng):
    """With an intercept, the inputs are centred in both: a shift of them changes nothing."""
    X, Y = rng.normal(size=(8, 2)), rng.normal(size=(8, 3))
    alone = Linear() * ConditionalCovariance()
    both = alone + 1e-13 * RBF(1.0) * Identity()
    wanted = KernelDependency(alone, alpha=0.1).fit(X, Y, sample_weight=weights).predict(X)
    for shift in (0.0, 10.0):
        model = KernelDependency(both, alpha=0.1).fit(X + shift, Y, sample_weight=weights)
        assert_allclose(model.predict(X + shift), wanted, atol=LEFT_OUT)


def test_hashable_and_not_equal_by_value():
    for thing in (RBF(1.0), Covariance(), RBF(1.0) * Covariance()):
        assert len({thing, thing}) == 1
    assert RBF(1.0) != RBF(1.0)


def test_clones_keep_parameters():
    K = clone(0.5 * RBF(2.0) * Matrix(np.eye(2)) + RBF(1.0))
    assert K.left.scalar.scale == 0.5
    assert_allclose(K.left.operator.B, np.eye(2))
    assert isinstance(K.right.scalar, Kernel)


def test_functions_that_cannot_be_pickled_are_equal_to_themselves():
    def k(A, B):
        return A @ B.T

    function = Function(k)
    kernel = function * Identity() + function * Covariance()
    wanted = predictions(Linear() * (Identity() + Covariance()), seeded())
    assert_allclose(predictions(kernel, seeded()), wanted, rtol=0, atol=IDENTITY)
    with pytest.raises(ValueError, match="share neither"):
        (function * Identity() + Function(lambda A, B: k(A, B)) * Covariance()).separated()


def test_lambdas_can_be_chosen_from(rng):
    X, Y = rng.normal(size=(8, 2)), rng.normal(size=(8, 3))
    model = KernelDependencyCV(
        [lambda A, B: A @ B.T, RBF(1.0)], alphas=[0.1], fit_intercept=False
    ).fit(X, Y)
    wanted = KernelDependencyCV([Linear(), RBF(1.0)], alphas=[0.1], fit_intercept=False).fit(X, Y)
    assert_allclose(model.cv_results_["risk"], wanted.cv_results_["risk"], rtol=IDENTITY)


@pytest.mark.parametrize(
    "operator", [Identity(), Covariance(), Covariance(0.5), ConditionalCovariance(0.1)], ids=str
)
def test_eigenvalues_and_eigenvectors_are_those_of_the_matrix(operator, rng):
    moments = Moments.of(rng.normal(size=(9, 2)), rng.normal(size=(9, 3)))
    for one in (operator, 2.0 * operator, operator + Identity()):
        b, Q = one.eigh(moments)
        Q = np.eye(3) if Q is None else Q
        assert_allclose((Q * b) @ Q.T, full(one.matrix(moments)), rtol=0, atol=IDENTITY)


def test_what_inputs_explain_up_to_rounding_is_zero(rng):
    U = rng.normal(size=(50, 4))
    b, _ = ConditionalCovariance(1e-15).eigh(Moments.of(U, 1e3 * U))
    assert b.min() >= 0 and b.max() < 1e-6
