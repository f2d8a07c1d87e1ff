"""Kernels bent by unlabelled inputs, against the problem that they stand for; and links."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from sklearn.metrics import roc_auc_score

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import (
    RBF,
    Delta,
    Function,
    Labels,
    LaplacianRegularized,
    Linear,
    Precomputed,
    Spectrum,
)
from mercer.kernels.laplacian_regularized import laplacian
from mercer.operators import Covariance, Identity, Matrix
from tolerances import IDENTITY, LEFT_OUT

N, M, Q = 8, 12, 3


@pytest.fixture
def data(rng):
    return rng.normal(size=(N, 2)), rng.normal(size=(N, Q)), rng.normal(size=(M, 2))


def manifold_regularized(X, Y, Z, X_new, B, alpha, gamma, neighbors):
    """min Σ‖g(x) - y‖² + α(‖g‖² + γ Σ L_ij ⟨g(z_i), B⁻¹ g(z_j)⟩) over sums on all inputs.

    g = Σ_j k(·, z_j) B c_j, so that ‖g‖² = Σ k(z_i, z_j) ⟨c_i, B c_j⟩: a quadratic in c.
    """
    k = RBF(1.0)
    K, L = k(Z), laplacian(k(Z), neighbors)
    J = np.kron(np.eye(len(Z))[: len(X)] @ K, B)
    penalty = np.kron(K + gamma * K @ L @ K, B)
    c = np.linalg.lstsq(J.T @ J + alpha * penalty, J.T @ Y.reshape(-1), rcond=1e-13)[0]
    return (np.kron(k(X_new, Z), B) @ c).reshape(-1, Y.shape[1])


@pytest.mark.parametrize("B", [np.eye(Q), np.eye(Q) + 0.5], ids=["identity", "matrix"])
@pytest.mark.parametrize("gamma", [0.3, 30.0])
def test_it_solves_manifold_regularisation(gamma, B, data, rng):
    X, Y, more = data
    X_new = rng.normal(size=(5, 2))
    kernel = LaplacianRegularized(RBF(1.0), gamma, neighbors=3, unlabelled=more) * Matrix(B)
    got = KernelDependency(kernel, alpha=0.1, fit_intercept=False).fit(X, Y).predict(X_new)
    Z = np.vstack([X, more])
    wanted = manifold_regularized(X, Y, Z, X_new, B, 0.1, gamma, 3)
    assert_allclose(got, wanted, rtol=0, atol=1e-6)


def test_no_weight_on_the_graph_is_the_kernel_itself(data):
    X, Y, more = data
    kernel = LaplacianRegularized(RBF(1.0), gamma=0.0, unlabelled=more)
    bent = KernelDependency(kernel, fit_intercept=False).fit(X, Y)
    plain = KernelDependency(RBF(1.0), fit_intercept=False).fit(X, Y)
    assert_allclose(bent.predict(more), plain.predict(more), rtol=0, atol=IDENTITY)


def test_the_laplacian_is_that_of_the_nearest_neighbours():
    A = np.array([[0.0], [1.0], [2.1], [10.0]])
    L = laplacian(Linear()(A), neighbors=1)
    degrees, edges = [1, 2, 2, 1], {(0, 1), (1, 2), (2, 3)}
    for i in range(4):
        for j in range(i + 1, 4):
            wanted = -1 / np.sqrt(degrees[i] * degrees[j]) if (i, j) in edges else 0.0
            assert L[i, j] == L[j, i] == pytest.approx(wanted)
    assert_allclose(L.diagonal(), 1.0)


def test_groups_and_all_inputs_are_known(data):
    X, Y, more = data
    kernel = LaplacianRegularized(RBF(1.0), unlabelled=more.tolist())
    model = KernelDependencyCV(kernel, fit_intercept=False)
    model.fit(X.tolist(), Y, groups=[0, 0, 1, 1, 2, 2, 3, 3])
    assert len(set(model.loo_embed().left_out)) == 4
    assert len(model.input_kernel_.known_) == N + M


@pytest.mark.parametrize("Model", [KernelDependency, KernelDependencyCV])
@pytest.mark.parametrize("y", [[[1.0], None, [2.0]], ["a", None, "b"], [1.0, None, 2.0]], ids=str)
def test_outputs_that_are_none_are_refused(Model, y):
    model = Model(LaplacianRegularized(RBF()), Spectrum(1) if "a" in y else None)
    with pytest.raises(ValueError, match=r"y\[1\] is None: .* unlabelled=inputs"):
        model.fit([[0.0], [1.0], [2.0]], y)


def test_tables_keep_their_names(data):
    pandas = pytest.importorskip("pandas")
    X, Y, more = data
    table = pandas.DataFrame(np.vstack([X, more]), columns=["a", "b"])

    def model(unlabelled):
        kernel = LaplacianRegularized(RBF(1.0), neighbors=3, unlabelled=unlabelled)
        return KernelDependency(kernel, fit_intercept=False)

    wanted = model(more).fit(X, Y).predict(more)
    got = model(table.iloc[N:]).fit(table.iloc[:N], Y)
    assert_allclose(got.predict(table.iloc[N:]), wanted, rtol=0, atol=1e-8)
    assert list(got.feature_names_in_) == ["a", "b"]


def test_other_things_than_vectors():
    letters = Function(lambda a, b: float(len(set(a) & set(b))), of_items=True)
    kernel = LaplacianRegularized(letters, neighbors=2, unlabelled=["cot", "fog", "hog", "bat"])
    model = KernelDependency(kernel, alpha=0.1, fit_intercept=False)
    predicted = model.fit(["cat", "dog"], [[1.0], [-1.0]]).predict(["cot", "fog"])[:, 0]
    assert predicted[0] > 0 > predicted[1]


def test_label_sets_equal_their_indicators():
    sets = [["a"], ["a", "b"], ["c", "b", "a"], ["d"], []]
    rows = np.array([[label in some for label in "abcd"] for some in sets], dtype=float)
    by_label = LaplacianRegularized(Labels(), neighbors=2).fit(sets)
    by_column = LaplacianRegularized(Linear(), neighbors=2).fit(rows)
    assert_allclose(by_label(sets), by_column(rows), rtol=0, atol=IDENTITY)
    model = KernelDependency(LaplacianRegularized(Labels(), neighbors=2, unlabelled=sets[3:]))
    assert np.isfinite(model.fit(sets[:3], [1.0, 2.0, 3.0]).predict(sets)).all()


def test_a_precomputed_kernel_by_index(data):
    X, Y, more = data
    gram = RBF(1.0)(np.vstack([X, more]))
    indices = LaplacianRegularized(Precomputed(gram), neighbors=3, unlabelled=np.arange(N, N + M))
    by_index = KernelDependency(indices, fit_intercept=False).fit(np.arange(N), Y)
    kernel = LaplacianRegularized(RBF(1.0), neighbors=3, unlabelled=more)
    direct = KernelDependency(kernel, fit_intercept=False).fit(X, Y)
    got = by_index.predict(np.arange(N + M))
    assert_allclose(got, direct.predict(np.vstack([X, more])), rtol=0, atol=1e-8)


def test_left_out_outputs_leave_their_inputs_in_the_graph(data):
    X, Y, more = data
    kernel = LaplacianRegularized(RBF(1.0), neighbors=3, unlabelled=more)
    model = KernelDependencyCV([kernel * Identity()], alphas=[0.1], fit_intercept=False).fit(X, Y)
    for i in range(N):
        rest = np.arange(N) != i
        kernel.set_params(unlabelled=np.vstack([X[[i]], more]))
        refit = KernelDependency(kernel, alpha=0.1, fit_intercept=False)
        refit = refit.fit(X[rest], Y[rest]).predict(X[[i]])
        assert_allclose(model.loo_predict()[i], refit[0], rtol=0, atol=10 * LEFT_OUT)


@pytest.mark.filterwarnings("ignore:the choice is at the edge")
def test_leave_one_out_chooses_the_weight_of_the_graph():
    """Two moons, four labels each: neighbours say more than distance."""
    t = np.linspace(0, 3, 40)
    moons = np.vstack([np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.4 - np.sin(t)]])
    truth = np.repeat([[1.0], [-1.0]], 40, axis=0)
    known = np.r_[np.arange(0, 40, 13), np.arange(40, 80, 13)]
    rest = np.setdiff1d(np.arange(80), known)
    kernels = [
        LaplacianRegularized(RBF(0.7), g, neighbors=3, unlabelled=moons[rest])
        for g in (0.0, 1.0, 100.0)
    ]
    model = KernelDependencyCV(kernels, alphas=np.logspace(-4, 0, 5), fit_intercept=False)
    assert model.fit(moons[known], truth[known]).kernel_.scalar.gamma > 0
    supervised = KernelDependencyCV(RBF(0.7), alphas=np.logspace(-4, 0, 5), fit_intercept=False)
    supervised.fit(moons[known], truth[known])
    errors = [((m.predict(moons) - truth) ** 2).mean() for m in (model, supervised)]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (LaplacianRegularized(RBF(), -1.0), "gamma must"),
        (LaplacianRegularized(RBF(), neighbors=0), "neighbors must"),
        (LaplacianRegularized(RBF(), unlabelled=[[1.0]]), "unlabelled inputs have 1 features"),
        (LaplacianRegularized(RBF(), unlabelled=[[1.0, np.nan]]), "unlabelled contains NaN"),
        (LaplacianRegularized("precomputed"), "cannot see the inputs"),
    ],
)
def test_what_cannot_be_meant_is_refused(kernel, message):
    X = np.eye(3) if "precomputed" in str(kernel) else [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match=message):
        KernelDependency(kernel, fit_intercept=False).fit(X, [1.0, 2.0, 3.0])


def test_it_must_be_fitted():
    with pytest.raises(ValueError, match="fit it first"):
        LaplacianRegularized(RBF(1.0))([[1.0]])


# -- links ------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", [Identity(), Covariance()], ids=str)
@pytest.mark.parametrize("l", [Linear(), RBF(1.0)], ids=str)
def test_link_scores_are_inner_products_of_points(l, operator, data):
    X, Y, more = data
    model = KernelDependency(RBF(1.0) * operator, l, alpha=0.1, fit_intercept=False).fit(X, Y)
    weights = [model.embed(A).weights for A in (X, more)]
    wanted = weights[0] @ l(Y) @ weights[1].T
    assert_allclose(model.link_scores(X, more), wanted, rtol=0, atol=1e-7)
    own = model.link_scores(X)
    assert_allclose(own.diagonal(), model.embed(X).sqnorm(), rtol=0, atol=IDENTITY)


def test_points_of_two_models_share_no_space(data):
    X, Y, _ = data
    one, other = (
        KernelDependency(RBF(1.0), fit_intercept=False).fit(X, Y).embed(X) for _ in range(2)
    )
    with pytest.raises(ValueError, match="two different models"):
        one.inner_points(other)


def test_links_of_a_graph_are_predicted(rng):
    """Nodes are linked where two of their eight features, which no one names, are near."""
    n, train = 120, np.arange(80)
    X = rng.normal(size=(n, 8))
    hidden = X[:, :2]
    D2 = ((hidden[:, None] - hidden[None]) ** 2).sum(axis=2)
    links = (D2 < 0.5) & ~np.eye(n, dtype=bool)
    known = links[np.ix_(train, train)]
    diffusion = expm(-0.5 * (np.diag(known.sum(axis=1)) - known))
    model = KernelDependencyCV(
        RBF(4.0), Precomputed(diffusion), alphas=np.logspace(-3, 1, 5), fit_intercept=False
    )
    model.fit(X[train], train)
    pairs = np.triu_indices(n - 80, 1)
    truth = links[80:, 80:][pairs]
    learnt = roc_auc_score(truth, model.link_scores(X[80:])[pairs])
    by_input = roc_auc_score(truth, RBF(4.0)(X[80:])[pairs])
    assert learnt > 0.8 > 0.5
    assert learnt > by_input + 0.05


@pytest.mark.parametrize("dtype", [object, "string"])
def test_missing_outputs_in_a_column_are_refused(dtype):
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(["a", None, "b"] * 3, dtype=dtype)
    with pytest.raises(ValueError, match=r"y\[1\] is None"):
        KernelDependency(LaplacianRegularized(RBF(1.0)), Delta()).fit(np.ones((9, 1)), column)
