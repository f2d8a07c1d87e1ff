"""Operators against their definitions, and what the paper states of operator-valued kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import naive
from mercer import KernelDependency, KernelDependencyCV
from mercer.features import IncompleteCholesky, KernelPCA, Nystroem
from mercer.kernels import RBF, Linear
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix, Moments, Operator
from mercer.solvers import NotSupported
from tolerances import IDENTITY, ROOT

N = 9


@pytest.fixture
def UV(rng):
    return rng.normal(size=(N, 4)), rng.normal(size=(N, 3))


def test_covariance_is_its_definition(UV):
    U, V = UV
    wanted = sum(np.outer(v, v) for v in V) / N  # (1/n) Σ l(·, y_i) ⊗ l(·, y_i)
    assert_allclose(Covariance().matrix(Moments.of(U, V)), wanted, rtol=0, atol=IDENTITY)


def test_conditional_covariance_is_its_definition(UV):
    U, V = UV
    C_xx, C_yx, C_yy = U.T @ U / N, V.T @ U / N, V.T @ V / N
    wanted = C_yy - C_yx @ np.linalg.inv(C_xx + 0.2 * np.eye(4)) @ C_yx.T
    got = ConditionalCovariance(0.2).matrix(Moments.of(U, V))
    assert_allclose(got, wanted, rtol=0, atol=IDENTITY)


@pytest.mark.parametrize("power", [0.0, 0.25, 0.5, 2.0])
def test_powers_of_the_covariance(power, UV):
    U, V = UV
    values, vectors = np.linalg.eigh(V.T @ V / N)
    wanted = vectors @ np.diag(values**power) @ vectors.T
    assert_allclose(Covariance(power).matrix(Moments.of(U, V)), wanted, rtol=0, atol=IDENTITY)


def test_a_power_of_zero_is_the_projection_on_the_span(rng):
    V = rng.normal(size=(N, 1)) @ np.array([[3.0, 4.0]])
    got = Covariance(0.0).matrix(Moments.of(V, V))
    assert_allclose(got, np.outer([0.6, 0.8], [0.6, 0.8]), rtol=0, atol=ROOT)


def test_moments_known_to_be_diagonal_give_the_same(rng):
    """Principal components have a diagonal moment, which can be given alone."""
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    U, V = (KernelPCA().fit_transform(RBF(1.0), A) for A in (X, Y))
    short = Moments(N, (U * U).sum(axis=0), V.T @ U, (V * V).sum(axis=0))
    full = Moments.of(U, V)
    for operator in (Identity(), Covariance(), Covariance(0.5), ConditionalCovariance(0.1)):
        B, wanted = operator.matrix(short), operator.matrix(full)
        B, wanted = (np.diag(S) if S.ndim == 1 else S for S in (B, wanted))
        assert_allclose(B, wanted, rtol=0, atol=IDENTITY)


@pytest.mark.parametrize("l", [Linear(), RBF(2.0)], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_conditional_becomes_covariance_as_epsilon_grows(l, intercept, rng):
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    points = [
        KernelDependency(RBF(1.0) * op, l, alpha=0.1, fit_intercept=intercept).fit(X, Y).embed(X)
        for op in (ConditionalCovariance(1e13), Covariance())
    ]
    assert_allclose(points[0].inner(Y), points[1].inner(Y), rtol=0, atol=IDENTITY)


@pytest.mark.parametrize("l", [Linear(), RBF(2.0)], ids=str)
def test_a_power_of_zero_is_the_identity_where_outputs_span(l, rng):
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    points = [
        KernelDependency(RBF(1.0) * op, l, alpha=0.1, fit_intercept=False).fit(X, Y).embed(X)
        for op in (Covariance(0.0), Identity())
    ]
    assert_allclose(points[0].inner(Y), points[1].inner(Y), rtol=0, atol=IDENTITY)


def test_a_power_lies_between(rng):
    """On outputs with one strong and one weak direction, shrinkage of the weak one grows."""
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2)) * [3.0, 0.1]
    weak = [
        np.abs(
            KernelDependency(RBF(1.0) * Covariance(p), alpha=0.1, fit_intercept=False)
            .fit(X, Y)
            .predict(X)[:, 1]
        )
        for p in (0.0, 0.5, 1.0)
    ]
    assert weak[0].sum() > weak[1].sum() > weak[2].sum()


def test_matrix_equals_multitask_ridge(rng):
    """vec of the outputs under the Gram matrix k(X, X) ⊗ B."""
    X, Y, root = rng.normal(size=(N, 2)), rng.normal(size=(N, 3)), rng.normal(size=(3, 3))
    B, K = root @ root.T, RBF(1.0)(X)
    c = np.linalg.solve(np.kron(K, B) + 0.3 * np.eye(3 * N), Y.reshape(-1)).reshape(N, 3)
    got = (
        KernelDependency(RBF(1.0) * Matrix(B), alpha=0.3, fit_intercept=False).fit(X, Y).predict(X)
    )
    assert_allclose(got, K @ c @ B, rtol=0, atol=IDENTITY)


def test_matrix_identity_is_identity(rng):
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 3))
    one, other = (
        KernelDependency(RBF(1.0) * op, alpha=0.3, fit_intercept=False).fit(X, Y).predict(X)
        for op in (Identity(), Matrix(np.eye(3)))
    )
    assert_allclose(one, other, rtol=0, atol=IDENTITY)


def test_a_given_matrix_is_not_written_to(rng):
    B = np.array([[2.0, 1.0], [1.0, 2.0]])
    kept = B.copy()
    KernelDependency(RBF(1.0) * Matrix(B), fit_intercept=False).fit(
        rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    )
    assert_allclose(B, kept, rtol=0, atol=0)


def test_an_operator_of_ones_own(rng):
    class Trace(Operator):
        def matrix(self, moments):
            return np.eye(len(moments.vu)) * np.trace(moments.vv) / moments.n

    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 3))
    scale = (Y**2).sum() / N
    got = KernelDependency(RBF(1.0) * Trace(), alpha=0.3, fit_intercept=False).fit(X, Y).predict(X)
    wanted = KernelDependency(scale * RBF(1.0), alpha=0.3, fit_intercept=False).fit(X, Y).predict(X)
    assert_allclose(got, wanted, rtol=0, atol=IDENTITY)


# -- what the paper states --------------------------------------------------------------------

OPERATORS = [Identity(), Covariance(), ConditionalCovariance(0.1), 0.5 * Identity() + Covariance()]


def in_coordinates(operator, X, Y, k, l):
    U, V = naive.coordinates(k(X)), naive.coordinates(l(Y))
    B = operator.matrix(Moments.of(U, V))
    return U, V, np.diag(B) if B.ndim == 1 else B


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
def test_operator_valued_kernels_are_non_negative(operator, rng):
    """Definition 1: K is self-adjoint and Σ_ij ⟨K(x_i, x_j) φ_j, φ_i⟩ ≥ 0."""
    k, l = RBF(1.0), RBF(2.0)
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    _, V, B = in_coordinates(operator, X, Y, k, l)
    assert_allclose(B, B.T, rtol=0, atol=IDENTITY)
    block = np.kron(k(X), B)
    assert np.linalg.eigvalsh(block).min() > -IDENTITY
    for _ in range(20):
        phi = rng.normal(size=(N, V.shape[1]))
        total = sum(k(X)[i, j] * phi[i] @ B @ phi[j] for i in range(N) for j in range(N))
        assert total >= -IDENTITY


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
def test_reproducing_property(operator, rng):
    """Definition 2: ⟨g, K(x, ·)φ⟩ = ⟨g(x), φ⟩ for g = Σ_i K(x_i, ·) h_i, as a fit gives it.

    With φ = Φ(y) the right-hand side is what `Embedding.inner` returns; the left is the bilinear
    form ⟨K(x', ·)h', K(x, ·)h⟩ = ⟨K(x', x)h', h⟩ of the space.
    """
    k, l, alpha = RBF(1.0), RBF(2.0), 0.1
    X, Y, X_new = rng.normal(size=(N, 2)), rng.normal(size=(N, 2)), rng.normal(size=(4, 2))
    _, V, B = in_coordinates(operator, X, Y, k, l)
    q = V.shape[1]
    h = np.linalg.solve(np.kron(k(X), B) + alpha * np.eye(N * q), V.reshape(-1)).reshape(N, q)
    kx = k(X_new, X)
    left = np.array(
        [[sum(kx[t, i] * h[i] @ B @ v for i in range(N)) for v in V] for t in range(len(X_new))]
    )
    right = (
        KernelDependency(k * operator, l, alpha=alpha, fit_intercept=False)
        .fit(X, Y)
        .embed(X_new)
        .inner(Y)
    )
    assert_allclose(right, left, rtol=0, atol=IDENTITY)


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
def test_the_solution_minimises_the_objective(operator, rng):
    """Σ‖g(x_i) - Φ(y_i)‖² + α‖g‖² does not fall in any direction K(x_j, ·)φ around the fit."""
    k, l, alpha = RBF(1.0), RBF(2.0), 0.1
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    _, V, B = in_coordinates(operator, X, Y, k, l)
    K, q = k(X), V.shape[1]
    h = np.linalg.solve(np.kron(K, B) + alpha * np.eye(N * q), V.reshape(-1)).reshape(N, q)

    def objective(h):
        return ((K @ h @ B - V) ** 2).sum() + alpha * np.einsum("ij,iq,qr,jr->", K, h, B, h)

    assert_allclose(
        KernelDependency(k * operator, l, alpha, fit_intercept=False).fit(X, Y).embed(X).inner(Y),
        K @ h @ B @ V.T, rtol=0, atol=IDENTITY,
    )  # fmt: skip
    best = objective(h)
    for _ in range(50):
        assert objective(h + 1e-3 * rng.normal(size=h.shape)) >= best


def test_generalised_kernel_trick(rng):
    """⟨TΦ(y₁), Φ(y₂)⟩ = [T l(y₁, ·)](y₂), T the empirical covariance operator on functions."""
    l, Y = RBF(2.0), rng.normal(size=(N, 2))
    y = rng.normal(size=(5, 2))
    # As a function: [T l(y₁, ·)](y₂) = (1/n) Σ_i l(y_i, y₁) l(y_i, y₂).
    value = naive.rbf(2.0)
    function = naive.matrix_of(lambda a, b: sum(value(c, a) * value(c, b) for c in Y) / N, y, y)
    map = IncompleteCholesky().fit(l, Y)
    V, B = map.transform(y), Covariance().matrix(Moments.of(map.transform(Y), map.transform(Y)))
    assert_allclose(V @ B @ V.T, function, rtol=0, atol=IDENTITY)
    plain = IncompleteCholesky().fit_transform(l, y)  # with T the identity, the usual kernel trick
    assert_allclose(plain @ plain.T, l(y), rtol=0, atol=IDENTITY)


def test_covariance_identity_in_the_dual(rng):
    """⟨φ, C_YY φ'⟩ = E[φ(Y) φ'(Y)] for functions φ, φ' of the output space."""
    l, Y = RBF(2.0), rng.normal(size=(N, 2))
    V = IncompleteCholesky().fit_transform(l, Y)
    B = Covariance().matrix(Moments.of(V, V))
    a, b = rng.normal(size=(2, N))
    left = (a @ V) @ B @ (b @ V)
    right = np.mean((l(Y) @ a) * (l(Y) @ b))
    assert left == pytest.approx(right, abs=IDENTITY)


def test_conditional_covariance_has_the_spectrum_of_the_papers_T(rng):
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    k, L = RBF(1.0)(X), RBF(2.0)(Y)
    T = naive.operator_T(k, L, epsilon=0.1)
    U, V = naive.coordinates(k), naive.coordinates(L)
    B = ConditionalCovariance(0.1).matrix(Moments.of(U, V))
    wanted = np.sort(np.linalg.eigvals(T).real) / N
    assert_allclose(np.linalg.eigvalsh(B), wanted[-len(B) :], rtol=0, atol=IDENTITY)
    A = N * 0.1 * np.linalg.inv(k + N * 0.1 * np.eye(N))
    assert_allclose(T, A @ L, rtol=0, atol=IDENTITY)


def test_conditioning_takes_variance_away(rng):
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    moments = Moments.of(X, Y)
    last = Covariance().matrix(moments)
    for epsilon in (10.0, 1.0, 0.1):
        B = ConditionalCovariance(epsilon).matrix(moments)
        assert np.linalg.eigvalsh(last - B).min() > -IDENTITY  # in the order of operators
        assert np.linalg.eigvalsh(B).min() > -IDENTITY
        last = B


@pytest.mark.parametrize("epsilon", [1e-3, 1e-6, 1e-9, 1e-12])
def test_tiny_epsilon_is_no_indefinite_operator(epsilon, rng):
    X, Y = rng.normal(size=(60, 1)), rng.normal(size=(60, 2))
    for k in (RBF(0.05), RBF(2.0)):
        model = KernelDependency(
            k * ConditionalCovariance(epsilon), RBF(2.0), alpha=0.1, fit_intercept=False
        )
        assert np.isfinite(model.fit(X, Y).score(X, Y))


class Returned(Operator):
    """An operator of one's own that returns what it is given."""

    def __init__(self, B=None):
        self.B = B

    def matrix(self, moments):
        return self.B


MODELS = [
    KernelDependency(),
    KernelDependency(features=Nystroem(5, random_state=0)),
    KernelDependencyCV(),
]


@pytest.mark.parametrize("entry", [0.5, np.nan])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("wrap", [lambda B: B, lambda B: 2.0 * B, lambda B: B + Identity()])
def test_matrices_that_are_not_symmetric_or_finite_are_refused(entry, model, wrap, rng):
    X, Y, B = rng.normal(size=(20, 2)), rng.normal(size=(20, 3)), np.eye(3)
    B[0, 1] = entry
    with pytest.raises(ValueError, match=r"symmetric matrix of finite numbers.*check_operator"):
        clone(model).set_params(kernel=RBF(1.0) * wrap(Returned(B))).fit(X, Y)


def test_a_kernel_whose_operator_is_not_a_matrix_says_how_to_get_one(rng):
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    kernel = KernelDependency(RBF(1.0) * Covariance()).fit(X, Y).kernel_
    with pytest.raises(NotSupported, match="no matrix of its operator: fit the kernel"):
        kernel.gram(X)
    assert clone(kernel).fit(X, Y).gram(X).blocks().shape == (N, N, 2, 2)
