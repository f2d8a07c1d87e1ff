"""Conjugate gradients give the dense solution to their tolerance, and say when they do not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelDependency
from mercer._base.linalg import factor_with_ridge
from mercer.kernels import RBF, Linear
from mercer.operators import (
    Blocks,
    ConditionalCovariance,
    Covariance,
    CurlFree,
    DenseGram,
    DivergenceFree,
    Identity,
    Matrix,
    Slots,
)
from mercer.operators.block_gram import KroneckerGram, SumGram
from mercer.solvers import BlockConjugateGradient
from mercer.solvers.preconditioners import (
    _nearest_weights,
    low_rank_preconditioner,
    separable_preconditioner,
)
from mercer.solvers.reduction import Reduction
from tolerances import IDENTITY

CHAIN = np.linalg.inv(2.5 * np.eye(4) - np.eye(4, k=1) - np.eye(4, k=-1))
SUMS = {
    "three operators": RBF(0.5) * Covariance()
    + RBF(1.0) * Matrix(CHAIN)
    + Linear() * ConditionalCovariance(),
    "fields": CurlFree(2.0) + DivergenceFree(3.0),
    "field and scalar": CurlFree(2.0) + RBF(3.0) * Identity(),
}


def problem(rng, n=120):
    X = rng.uniform(-1, 1, size=(n, 4))
    return X, np.sin(3 * X) + X[:, ::-1] + 0.1 * rng.normal(size=X.shape)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", SUMS)
def test_fits_are_those_of_the_dense_solution(name, intercept, rng):
    X, Y = problem(rng)
    parts = {"alpha": 1e-2, "fit_intercept": intercept}
    dense = KernelDependency(SUMS[name], solver="dense", **parts).fit(X, Y)
    for tolerance in (1e-4, 1e-8):
        solver = BlockConjugateGradient(tolerance)
        model = KernelDependency(SUMS[name], solver=solver, **parts).fit(X, Y)
        off = np.linalg.norm(model.predict(X) - dense.predict(X)) / np.linalg.norm(Y)
        assert off < 10 * tolerance
        assert model.residual_ <= tolerance
        assert 0 < model.n_iter_ < 100


@settings(max_examples=10)
@given(st.integers(0, 1000), st.floats(1e-3, 1.0), st.integers(1, 3))
def test_any_sum_of_products(seed, alpha, terms):
    rng = np.random.default_rng(seed)
    grams = []
    for _ in range(terms):
        A, B = rng.normal(size=(15, 4)), rng.normal(size=(3, 2))
        grams.append(KroneckerGram(A @ A.T, B @ B.T))
    gram = grams[0]
    for other in grams[1:]:
        gram = SumGram(gram, other)
    V = rng.normal(size=(15, 3))
    found = BlockConjugateGradient(1e-9).solve(gram, alpha, V)
    wanted = gram.rows.join(factor_with_ridge(gram.matrix() + 0.0, alpha).solve(gram.rows.split(V)))
    off = np.linalg.norm(gram @ (found.coef - wanted))
    assert off <= 1e-8 * np.linalg.norm(V)


def test_the_nearest_product_is_the_leading_singular_pair(rng):
    Ks = [A @ A.T for A in rng.normal(size=(3, 6, 6))]
    Bs = [A @ A.T for A in rng.normal(size=(3, 4, 4))]
    rearranged = sum(np.outer(K.ravel(), B.ravel()) for K, B in zip(Ks, Bs, strict=True))
    U, s, Vt = np.linalg.svd(rearranged)
    x, y = _nearest_weights(Ks, Bs)
    K = sum(w * K for w, K in zip(x, Ks, strict=True))
    B = sum(w * B for w, B in zip(y, Bs, strict=True))
    assert_allclose(np.outer(K.ravel(), B.ravel()), s[0] * np.outer(U[:, 0], Vt[0]), rtol=1e-8)


def test_a_single_product_needs_one_round(rng):
    A, B = rng.normal(size=(20, 20)), rng.normal(size=(3, 3))
    gram, V = KroneckerGram(A @ A.T, B @ B.T), rng.normal(size=(20, 3))
    assert BlockConjugateGradient(1e-8).solve(gram, 0.1, V).n_iter == 1
    nearly = separable_preconditioner(gram, 0.1)(V.reshape(-1, 1))
    exact = np.linalg.solve(gram.matrix() + 0.1 * np.eye(60), V.reshape(-1, 1))
    assert_allclose(nearly, exact, rtol=1e-6, atol=1e-8)


def test_a_full_rank_approximation_is_the_inverse(rng):
    A = rng.normal(size=(12, 12))
    gram = DenseGram(A @ A.T, Slots(6, 2), Slots(6, 2))
    D = rng.normal(size=(12, 2))
    exact = np.linalg.solve(A @ A.T + 0.5 * np.eye(12), D)
    assert_allclose(low_rank_preconditioner(gram, 0.5, rank=12)(D), exact, atol=1e-7)


@pytest.mark.parametrize("name", SUMS)
def test_preconditioners_save_rounds(name, rng):
    X, Y = problem(rng, 150)
    rounds = []
    for kind in ("none", "auto"):
        solver = BlockConjugateGradient(rounds=5000, preconditioner=kind)
        rounds.append(
            KernelDependency(SUMS[name], alpha=1e-3, solver=solver, fit_intercept=False)
            .fit(X, Y)
            .n_iter_
        )
    assert rounds[0] >= 3 * rounds[1]


def test_slots_that_are_missing_and_components_that_repeat(rng):
    live = np.array([0, 1, 2, 3, 5, 6, 8, 9, 10, 11])
    slots = Slots(4, 3, 2, live)
    A = rng.normal(size=(10, 10))
    gram, V = DenseGram(A @ A.T, slots, slots), slots.join(rng.normal(size=(10, 2)))
    for intercept in (False, True):
        found = BlockConjugateGradient(1e-10).solve(gram, 0.5, V, intercept).coef
        reduction = Reduction.of(None, intercept, A @ A.T, slots.positions)
        ridge = factor_with_ridge(reduction.reduce_gram(A @ A.T) + 0.0, 0.5)
        wanted = slots.join(
            reduction.expand_rows(ridge.solve(reduction.reduce_rows(slots.split(V))))
        )
        assert_allclose(found, wanted, atol=1e-8)
    D = slots.split(V)
    assert_allclose(slots.means(D - slots.means(D)[slots.positions]), 0.0, atol=IDENTITY)
    assert slots.of_items(np.array([1, 3])).tolist() == [3, 4, 7, 8, 9]


def test_sums_over_other_slots_are_over_components(rng):
    live = np.array([0, 1, 2, 4, 5])
    A, B = rng.normal(size=(5, 5)), rng.normal(size=(12, 12))
    left = DenseGram(A @ A.T, Slots(3, 2, 2, live), Slots(3, 2, 2, live))
    right = DenseGram(B @ B.T, Slots(3, 4), Slots(3, 4))
    both, C = SumGram(left, right), rng.normal(size=(3, 4))
    assert_allclose(both @ C, left @ C + right @ C, atol=IDENTITY)
    assert_allclose(both.matrix() @ C.reshape(-1), (both @ C).reshape(-1), atol=IDENTITY)


def test_too_few_rounds_are_told(rng):
    X, Y = problem(rng)
    solver = BlockConjugateGradient(rounds=2, preconditioner="none")
    with pytest.warns(ConvergenceWarning, match="stopped after 2 rounds at a residual of"):
        model = KernelDependency(
            SUMS["fields"], alpha=1e-4, solver=solver, fit_intercept=False
        ).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.residual_ > 1e-6


def test_a_kernel_that_is_not_positive_is_told(rng):
    X, Y = problem(rng, 12)
    turned = Blocks(lambda A, B: (A @ B.T)[:, :, None, None] * np.diag([1.0, 1.0, 1.0, -1.0]))
    for solver in ("dense", "cg", BlockConjugateGradient(preconditioner="none")):
        with pytest.raises(ValueError, match="not positive"):
            KernelDependency(turned, alpha=1e-3, solver=solver, fit_intercept=False).fit(X, Y)
    negative = RBF(1.0) * Matrix(-np.eye(4)) + RBF(2.0) * Identity()
    with pytest.raises(ValueError, match="operator matrix B is not positive semidefinite"):
        KernelDependency(negative, fit_intercept=False).fit(X, Y)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"tolerance": 0.0}, "tolerance must be between 0 and 1"),
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"preconditioner": "best"}, "preconditioner must be one of"),
    ],
)
def test_bad_parameters(parts, message):
    with pytest.raises(ValueError, match=message):
        BlockConjugateGradient(**parts)


def test_outputs_that_are_zero_take_no_round():
    gram = DenseGram(np.eye(4), Slots(2, 2), Slots(2, 2))
    solution = BlockConjugateGradient().solve(gram, 1.0, np.zeros((2, 2)))
    assert solution.n_iter == 0
    assert not solution.coef.any()
