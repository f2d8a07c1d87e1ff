"""The fast routes against the paper's n² × n² system, its Appendix C, and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge

from mercer import KernelDependency
from mercer._base.linalg import factor_with_ridge
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF, Linear
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix, Moments
from mercer.solvers import ridge
from naive import appendix_c, operator_T, proposition_1
from tolerances import IDENTITY, ROOT, SINGLE

EPSILON = 0.05
OPERATORS = {
    "covariance": (Covariance(), None),
    "conditional": (ConditionalCovariance(EPSILON), EPSILON),
}
OUTPUT_KERNELS = [RBF(1.5), Linear()]


def data(kind, rng):
    """Inputs and outputs, as random, duplicated or of low rank."""
    X, Y = rng.normal(size=(10, 3)), rng.normal(size=(10, 4))
    if kind == "duplicated inputs":
        X[5:] = X[:5]
    if kind == "duplicated pairs":
        X[5:], Y[5:] = X[:5], Y[:5]
    if kind == "duplicated outputs":
        Y[3:] = Y[0]
    if kind == "low rank":
        X[:, 1:], Y[:, 1:] = X[:, :1], 2 * Y[:, :1]
    if kind == "far from the origin":
        X, Y = X + 1e3, Y + 10
    return X, Y, rng.normal(size=(4, 3)) + 1e3 * (kind == "far from the origin"), Y[:3] + 0.3


KINDS = [
    "random", "duplicated inputs", "duplicated pairs", "duplicated outputs", "low rank",
    "far from the origin",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l", OUTPUT_KERNELS, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("k", [RBF(2.0), Linear()], ids=str)
def test_equals_proposition_1(kind, l, name, k, rng):
    if kind == "far from the origin" and isinstance(k, Linear):
        pytest.skip("a Gram matrix of 1e7 beside a ridge of 0.1 leaves the reference no digits")
    X, Y, X_new, Y_new = data(kind, rng)
    operator, epsilon = OPERATORS[name]
    T = operator_T(k(X), l(Y), epsilon)
    wanted = proposition_1(k(X), T, k(X_new, X), l(Y_new, Y), alpha=0.1)
    got = (
        KernelDependency(k * operator, l, alpha=0.1, fit_intercept=False)
        .fit(X, Y)
        .embed(X_new)
        .inner(Y_new)
    )
    assert_allclose(got, wanted, rtol=0, atol=IDENTITY * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("l", OUTPUT_KERNELS, ids=str)
@pytest.mark.parametrize("alpha", [1e-5, 1e-2, 10.0])
def test_equals_proposition_1_for_every_alpha(l, alpha, rng):
    X, Y, X_new, Y_new = data("random", rng)
    k = RBF(1.0)
    wanted = proposition_1(k(X), l(Y), k(X_new, X), l(Y_new, Y), alpha)
    got = (
        KernelDependency(k * Covariance(), l, alpha=alpha, fit_intercept=False)
        .fit(X, Y)
        .embed(X_new)
        .inner(Y_new)
    )
    assert_allclose(got, wanted, rtol=0, atol=IDENTITY * np.abs(wanted).max())


def low_rank(k, l, X, Y, ranks):
    """Incomplete Cholesky on both sides: the two maps, fitted, and the factors."""
    maps = [IncompleteCholesky(rank=rank) for rank in ranks]
    return maps, [
        m.fit_transform(kernel, A) for m, kernel, A in zip(maps, (k, l), (X, Y), strict=True)
    ]


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("ranks", [(5, 4), (1, 3), (10, 2), (2, 10)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_appendix_c_at_low_rank(name, ranks, kind, rng):
    X, Y, X_new, Y_new = data(kind, rng)
    k, l = RBF(2.0), RBF(3.0)
    operator, epsilon = OPERATORS[name]
    maps, (U, V) = low_rank(k, l, X, Y, ranks)
    at = maps[0].transform(X_new), maps[1].transform(Y_new)
    wanted = appendix_c(U, V, *at, 0.1, epsilon)
    model = KernelDependency(
        k * operator, l, alpha=0.1, features=maps[0], output_features=maps[1], fit_intercept=False
    ).fit(X, Y)
    assert_allclose(model.embed(X_new).inner(Y_new), wanted, rtol=0, atol=IDENTITY)


@pytest.mark.parametrize("name", OPERATORS)
def test_appendix_c_is_proposition_1_of_the_factored_kernels(name, rng):
    """At any rank: the two literal formulas agree where both see UUᵀ and VVᵀ."""
    X, Y, X_new, Y_new = data("random", rng)
    epsilon = OPERATORS[name][1]
    maps, (U, V) = low_rank(RBF(1.0), RBF(1.5), X, Y, (4, 6))
    at = maps[0].transform(X_new), maps[1].transform(Y_new)
    T = operator_T(U @ U.T, V @ V.T, epsilon)
    wanted = proposition_1(U @ U.T, T, at[0] @ U.T, at[1] @ V.T, 0.1)
    assert_allclose(appendix_c(U, V, *at, 0.1, epsilon), wanted, rtol=0, atol=IDENTITY)


@pytest.mark.parametrize("name", OPERATORS)
def test_appendix_c_at_full_rank_is_proposition_1(name, rng):
    X, Y, X_new, Y_new = data("random", rng)
    k, l, epsilon = RBF(1.0), RBF(1.5), OPERATORS[name][1]
    maps, (U, V) = low_rank(k, l, X, Y, (None, None))
    low = appendix_c(U, V, maps[0].transform(X_new), maps[1].transform(Y_new), 0.1, epsilon)
    T = operator_T(k(X), l(Y), epsilon)
    full = proposition_1(k(X), T, k(X_new, X), l(Y_new, Y), alpha=0.1)
    assert_allclose(low, full, rtol=0, atol=ROOT)


def test_the_conditional_T_is_not_symmetric_but_what_is_solved_is(rng):
    """VᵀAV = nB, by m₁ × m₁ and m₂ × m₂ matrices alone."""
    U, V = rng.normal(size=(10, 3)), rng.normal(size=(10, 4))
    T = operator_T(U @ U.T, V @ V.T, EPSILON)
    assert np.abs(T - T.T).max() > 0.1
    small = V.T @ operator_T(U @ U.T, V, EPSILON)
    assert_allclose(small, small.T, rtol=0, atol=IDENTITY)
    B = ConditionalCovariance(EPSILON).matrix(Moments.of(U, V))
    assert_allclose(small, 10 * B, rtol=0, atol=IDENTITY)


# -- identity: kernel ridge regression --------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "cholesky", "spectral"])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4)], ids=str)
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_identity_equals_kernel_ridge(solver, shape, alpha, rng):
    X, X_new, y = rng.normal(size=(30, 3)), rng.normal(size=(7, 3)), rng.normal(size=(30, *shape))
    flat = y if y.ndim < 3 else y.reshape(30, -1)
    peer = KernelRidge(kernel="rbf", gamma=0.5 / 2.0**2, alpha=alpha).fit(X, flat)
    got = (
        KernelDependency(RBF(2.0), alpha=alpha, solver=solver, fit_intercept=False)
        .fit(X, y)
        .predict(X_new)
    )
    assert got.shape == (7, *shape)
    assert_allclose(got, peer.predict(X_new).reshape(got.shape), rtol=0, atol=IDENTITY)


@pytest.mark.parametrize("l", OUTPUT_KERNELS, ids=str)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_cholesky_equals_spectral(l, intercept, kind, rng):
    X, Y, X_new, Y_new = data(kind, rng)
    both = [
        KernelDependency(RBF(2.0), l, alpha=0.1, solver=solver, fit_intercept=intercept).fit(X, Y)
        for solver in ("cholesky", "spectral")
    ]
    short, general = (model.embed(X_new) for model in both)
    scale = max(1.0, np.abs(l.diag(Y)).max())
    assert_allclose(short.inner(Y_new), general.inner(Y_new), rtol=0, atol=IDENTITY * scale)
    assert_allclose(short.sqnorm(), general.sqnorm(), rtol=0, atol=IDENTITY * scale)


def test_alpha_below_rounding_falls_back_to_the_spectral_solver(rng):
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 3))
    X[10:], Y[10:] = X[:10], Y[:10]  # singular, but consistent: interpolation is the answer
    model = KernelDependency(RBF(0.3), alpha=1e-14, fit_intercept=False).fit(X, Y)
    assert_allclose(model.predict(X), Y, rtol=0, atol=1e-6)


def test_an_intercept_is_a_fit_of_centred_features(rng):
    X, Y, X_new = rng.normal(size=(20, 3)), rng.normal(size=(20, 2)) + 5, rng.normal(size=(4, 3))
    peer = KernelRidge(kernel="linear", alpha=0.7).fit(X - X.mean(0), Y - Y.mean(0))
    got = KernelDependency(Linear(), alpha=0.7, fit_intercept=True).fit(X, Y).predict(X_new)
    assert_allclose(got, peer.predict(X_new - X.mean(0)) + Y.mean(0), rtol=0, atol=IDENTITY)


def test_badly_scaled_data_give_finite_answers(rng):
    X, Y = rng.normal(size=(15, 2)), rng.normal(size=(15, 2))
    reference = (
        KernelDependency(RBF(1.0) * Covariance(), alpha=0.1, fit_intercept=False)
        .fit(X, Y)
        .predict(X)
    )
    for scale in (1e-8, 1e8):  # K scales with the square of Y under the covariance, and so does α
        model = KernelDependency(
            RBF(scale) * Covariance(), alpha=0.1 * scale**2, fit_intercept=False
        )
        got = model.fit(scale * X, scale * Y).predict(scale * X)
        assert_allclose(got / scale, reference, rtol=0, atol=1e-8)


# -- the solvers alone ------------------------------------------------------------------------


def test_spectral_solves_its_equation(rng):
    U, V = rng.normal(size=(12, 5)), rng.normal(size=(12, 3))
    root = rng.normal(size=(3, 2))  # B lacks full rank
    B = root @ root.T
    moments = Moments.of(U, V)
    coef = ridge(moments, B, alpha=0.3)
    # g(u) = B W u, so B W = coefᵀ, and the equation times B reads B (BW) S_uu + α BW = B S_vu.
    BW = coef.T
    assert_allclose(B @ BW @ moments.uu + 0.3 * BW, B @ moments.vu, rtol=0, atol=IDENTITY)


def test_cholesky_refuses_an_alpha_that_rounding_swallows():
    with pytest.raises(np.linalg.LinAlgError, match="lost in the rounding"):
        factor_with_ridge(np.ones((3, 3)), alpha=1e-17)


def test_moments_add_over_blocks_of_rows(rng):
    U, V = rng.normal(size=(12, 5)), rng.normal(size=(12, 3))
    whole, parts = Moments.of(U, V), Moments.of(U[:4], V[:4]) + Moments.of(U[4:], V[4:])
    assert parts.n == whole.n
    for name in ("uu", "vu", "vv"):
        assert_allclose(getattr(parts, name), getattr(whole, name), rtol=0, atol=IDENTITY)


def test_cholesky_is_for_the_identity_only(rng):
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    for operator in (Covariance(), Matrix(np.eye(2))):
        for features in (None, IncompleteCholesky(rank=3)):
            model = KernelDependency(
                RBF(1.0) * operator, features=features, solver="cholesky", fit_intercept=False
            )
            with pytest.raises(ValueError, match=r"cholesky.*for the identity operator"):
                model.fit(X, Y)


@pytest.mark.parametrize(
    "operator", [Identity(), Covariance(), ConditionalCovariance(0.1)], ids=str
)
def test_single_precision_is_factored_in_double(operator, rng):
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 3))
    model = KernelDependency(RBF(1.0) * operator, RBF(2.0), alpha=1e-2, fit_intercept=False)
    wanted = model.fit(X, Y).embed(X).inner(Y)
    single = [A.astype(np.float32) for A in (X, Y)]
    got = model.fit(*single).embed(single[0]).inner(single[1])
    assert_allclose(got, wanted, rtol=0, atol=SINGLE)
