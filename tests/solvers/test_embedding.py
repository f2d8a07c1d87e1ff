"""Predicted points: inner products, distances, weights, expectations; and the score."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import r2_score

import naive
from mercer import KernelDependency, KernelDependencyCV, embedding
from mercer.decoders import Candidates, Lexicon, PerPosition
from mercer.features import IncompleteCholesky, KernelPCA
from mercer.kernels import RBF, Kernel, Linear, Polynomial, Positions, Spectrum
from mercer.operators import ConditionalCovariance, Covariance, Identity
from tolerances import IDENTITY, ROOT

N, ALPHA = 12, 0.1
OPERATORS = [Identity(), Covariance(), ConditionalCovariance(0.1)]


@pytest.fixture
def data(rng):
    return rng.normal(size=(N, 2)), rng.normal(size=(N, 3)), rng.normal(size=(5, 2))


def dual_weights(K, k_x, intercept):
    """(K + αI)⁻¹ k_x; with an intercept, of centred kernels, around equal weights."""
    n = len(K)
    if not intercept:
        return np.linalg.solve(K + ALPHA * np.eye(n), k_x.T).T
    H = np.eye(n) - 1 / n
    centred = (k_x - K.mean(axis=0)) @ H
    return np.linalg.solve(H @ K @ H + ALPHA * np.eye(n), centred.T).T @ H + 1 / n


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
@pytest.mark.parametrize("l", [Linear(), RBF(2.0), Polynomial(2)], ids=str)
def test_weights_of_the_identity(intercept, solver, l, data):
    X, Y, X_new = data
    model = KernelDependency(RBF(1.0), l, alpha=ALPHA, fit_intercept=intercept, solver=solver)
    wanted = dual_weights(RBF(1.0)(X), RBF(1.0)(X_new, X), intercept)
    assert_allclose(model.fit(X, Y).embed(X_new).weights, wanted, rtol=0, atol=IDENTITY)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("operator", OPERATORS, ids=str)
@pytest.mark.parametrize("l", [Linear(), RBF(2.0)], ids=str)
def test_weights_give_the_point(intercept, operator, l, data):
    """g(x) = Σ_i c_i(x) Φ(y_i), so everything follows from weights and the output kernel."""
    X, Y, X_new = data
    model = KernelDependency(RBF(1.0) * operator, l, alpha=ALPHA, fit_intercept=intercept)
    points = model.fit(X, Y).embed(X_new)
    C, Y_new = points.weights, Y[:4] + 0.2
    L, L_new = l(Y), l(Y, Y_new)
    assert_allclose(points.inner(Y_new), C @ L_new, rtol=0, atol=ROOT)
    assert_allclose(points.sqnorm(), np.einsum("ti,ij,tj->t", C, L, C), rtol=0, atol=ROOT)
    squares = points.sqnorm()[:, None] - 2 * C @ L_new + l.diag(Y_new)
    assert_allclose(points.distances(Y_new) ** 2, squares, rtol=0, atol=ROOT)
    assert_allclose(points.scores(Y_new), 2 * C @ L_new - l.diag(Y_new), rtol=0, atol=ROOT)
    assert_allclose(points.sqdistances_to(Y[:5]), ((points.distances(Y[:5])) ** 2).diagonal(),
                    rtol=0, atol=ROOT)  # fmt: skip


def test_weights_of_the_covariance_are_the_papers(data):
    """c(x) = (1/n) T α k_x with (k ⊗ T/n + λI) vec α = vec I, where L has full rank."""
    X, Y, X_new = data
    k, L = RBF(1.0)(X), RBF(1.0)(Y)
    system = np.kron(k, L / N) + ALPHA * np.eye(N * N)
    alpha = np.linalg.solve(system, np.eye(N).reshape(-1, order="F")).reshape((N, N), order="F")
    wanted = (L @ alpha @ RBF(1.0)(X_new, X).T / N).T
    points = (
        KernelDependency(RBF(1.0) * Covariance(), RBF(1.0), alpha=ALPHA, fit_intercept=False)
        .fit(X, Y)
        .embed(X_new)
    )
    assert_allclose(points.weights, wanted, rtol=0, atol=ROOT)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("operator", OPERATORS, ids=str)
def test_expectations(intercept, operator, data, rng):
    X, Y, X_new = data
    model = KernelDependency(RBF(1.0) * operator, alpha=ALPHA, fit_intercept=intercept).fit(X, Y)
    points = model.embed(X_new)
    assert_allclose(points.expect(Y), model.predict(X_new), rtol=0, atol=ROOT)  # E[Y | x]
    values = rng.normal(size=N)
    assert_allclose(points.expect(values), points.weights @ values, rtol=0, atol=IDENTITY)
    assert_allclose(points.expect(list(values)), points.expect(values), rtol=0, atol=0)
    if intercept and isinstance(operator, Identity):
        assert_allclose(points.expect(np.ones(N)), 1, rtol=0, atol=IDENTITY)


def test_expectations_of_the_wrong_number(data):
    X, Y, X_new = data
    points = KernelDependency(RBF(1.0), fit_intercept=False).fit(X, Y).embed(X_new)
    with pytest.raises(ValueError, match="one value for each of the 12 training examples, got 3"):
        points.expect([1, 2, 3])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("groups", [False, True])
def test_left_out_points_have_the_weights_of_refits(data, intercept, groups):
    X, Y, _ = data
    labels = np.arange(len(X)) // 3 if groups else np.arange(len(X))
    model = KernelDependency(RBF(1.0), alpha=0.3, fit_intercept=intercept)
    C = model.fit(X, Y, groups=labels).loo_embed().weights
    seen = labels != labels[2]
    again = KernelDependency(RBF(1.0), alpha=0.3, fit_intercept=intercept).fit(X[seen], Y[seen])
    assert_allclose(C[2, seen], again.embed(X[[2]]).weights[0], rtol=0, atol=1e-9)
    assert_allclose(C[2, ~seen], 0.0, rtol=0, atol=1e-9)


def test_a_slice_of_points_has_no_weights(data):
    X, Y, _ = data
    points = KernelDependencyCV(RBF(1.0), fit_intercept=False).fit(X, Y).loo_embed()
    with pytest.raises(ValueError, match="lost the training data"):
        _ = points[:2].weights
    with pytest.raises(ValueError, match="lost the training data"):
        _ = points[np.array([0, 2])].weights


def test_points_are_sliced_and_counted(data):
    X, Y, X_new = data
    points = KernelDependency(RBF(1.0), RBF(1.0), fit_intercept=False).fit(X, Y).embed(X_new)
    assert len(points) == 5
    assert_allclose(points[1:3].inner(Y), points.inner(Y)[1:3], rtol=0, atol=0)
    assert_allclose(points[np.array([3, 1])].inner(Y), points.inner(Y)[[3, 1]], rtol=0, atol=0)


def test_norms_in_blocks_are_norms(data, monkeypatch):
    X, Y, X_new = data
    points = KernelDependency(RBF(1.0), RBF(1.0), fit_intercept=False).fit(X, Y).embed(X_new)
    whole = points.sqnorm()
    monkeypatch.setattr(embedding, "ROWS", 5)
    assert_allclose(points.sqnorm(), whole, rtol=0, atol=IDENTITY)
    assert embedding.feature_variance(RBF(1.0), Y, np.ones(len(Y))) == pytest.approx(
        N - RBF(1.0)(Y).sum() / N, abs=IDENTITY
    )


def test_a_point_at_an_output_has_distance_zero(data):
    X, Y, _ = data
    points = (
        KernelDependency(RBF(0.1), RBF(1.0), alpha=1e-10, fit_intercept=False).fit(X, Y).embed(X)
    )
    assert_allclose(points.distances(Y).diagonal(), 0, atol=1e-6)


# -- score ------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
@pytest.mark.parametrize("l", [Linear(), RBF(2.0), Polynomial(2)], ids=str)
def test_score_is_its_definition(operator, l, data, rng):
    X, Y, X_new = data
    Y_new = rng.normal(size=(5, 3))
    model = KernelDependency(RBF(1.0) * operator, l, alpha=ALPHA, fit_intercept=False).fit(X, Y)
    errors = (model.embed(X_new).distances(Y_new).diagonal() ** 2).sum()
    V = naive.coordinates(l(Y_new))
    wanted = 1 - errors / ((V - V.mean(axis=0)) ** 2).sum()
    assert model.score(X_new, Y_new) == pytest.approx(wanted, abs=ROOT)


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)], ids=str)
def test_score_of_linear_outputs_is_r2(shape, rng):
    X, Y, X_new = rng.normal(size=(N, 2)), rng.normal(size=(N, *shape)), rng.normal(size=(6, 2))
    Y_new = rng.normal(size=(6, *shape))
    model = KernelDependency(RBF(1.0), alpha=ALPHA, fit_intercept=False).fit(X, Y)
    wanted = r2_score(
        Y_new.reshape(6, -1), model.predict(X_new).reshape(6, -1), multioutput="variance_weighted"
    )
    assert model.score(X_new, Y_new) == pytest.approx(wanted, abs=IDENTITY)


def test_score_of_equal_outputs_is_not_defined(data):
    X, Y, X_new = data
    model = KernelDependency(RBF(1.0), fit_intercept=False).fit(X, Y)
    with pytest.warns(UserWarning, match="not defined for equal outputs"):
        assert model.score(X_new, np.ones((5, 3))) == 0


# -- low rank ---------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_features_of_full_rank_are_exact(operator, intercept, data):
    X, Y, X_new = data
    exact = KernelDependency(RBF(1.0) * operator, RBF(1.0), alpha=ALPHA, fit_intercept=intercept)
    wanted = exact.fit(X, Y).embed(X_new).inner(Y)
    for inputs, outputs in [
        (IncompleteCholesky(), None),
        (None, IncompleteCholesky()),
        (IncompleteCholesky(), IncompleteCholesky()),
        (KernelPCA(), KernelPCA()),
    ]:
        model = KernelDependency(
            RBF(1.0) * operator, RBF(1.0), alpha=ALPHA, fit_intercept=intercept,
            features=inputs, output_features=outputs,
        )  # fmt: skip
        assert_allclose(model.fit(X, Y).embed(X_new).inner(Y), wanted, rtol=0, atol=ROOT)


DIGITS = ["1", "22", "333", "4444", "12", "123"]


@pytest.mark.parametrize(
    "decoder",
    [
        Lexicon(restrict="length"),
        PerPosition(length="input"),
        Candidates(lambda x: ["b" + "a" * len(x), "ab" + "b" * len(x)]),
    ],
    ids=["lexicon", "positions", "candidates"],
)
@pytest.mark.parametrize("kept", [list, lambda X: np.array(X, dtype=object)])
def test_embedded_points_know_their_inputs(decoder, kept):
    """`decoder.decode(model.embed(X))` is `model.predict(X)`, also where the decoder asks x."""
    X, y = kept(DIGITS), ["a", "bb", "aab", "abba", "ab", "bab"]
    model = KernelDependency(Spectrum(1), Positions(), alpha=0.1, decoder=decoder).fit(X, y)
    points = model.embed(X)
    assert list(model.decoder_.decode(points)) == list(model.predict(X))
    assert list(model.decoder_.decode(points[2:4])) == list(model.predict(X[2:4]))


class SharedLetters(Kernel):
    """A custom kernel that returns NaN for one pair of words."""

    def _gram(self, A, B):
        values = np.array([[float(len(set(a) & set(b))) for b in B] for a in A])
        values[np.ix_([a == "xy" for a in A], [b == "yz" for b in B])] = np.nan
        return values


@pytest.mark.parametrize("early", [True, False])
def test_outputs_with_undefined_kernel_values_are_refused(early):
    """At the fit if the first outputs show it, and otherwise once predictions need the values."""
    words = ["ab", "bc", "ca"] * 20
    y = ["xy", "yz", *words] if early else [*words, "xy", "yz"]
    X = np.linspace(0, 1, len(y))[:, None]
    with pytest.raises(ValueError, match="gave NaN or infinite values"):
        KernelDependency(RBF(0.3), SharedLetters()).fit(X, y).predict(X)
