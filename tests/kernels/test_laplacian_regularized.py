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
    Kernel,
    Labels,
    LaplacianRegularized,
    Linear,
    Precomputed,
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
    kernel = LaplacianRegularized(RBF(1.0), gamma, neighbors=3) * Matrix(B)
    got = (
        KernelDependency(kernel, alpha=0.1, fit_intercept=False)
        .fit(X, Y, unlabelled=more)
        .predict(X_new)
    )
    Z = np.vstack([X, more])
    wanted = manifold_regularized(X, Y, Z, X_new, B, 0.1, gamma, 3)
    assert_allclose(got, wanted, rtol=0, atol=1e-6)


def test_no_weight_on_the_graph_is_the_kernel_itself(data):
    X, Y, more = data
    bent = KernelDependency(LaplacianRegularized(RBF(1.0), gamma=0.0), fit_intercept=False).fit(
        X, Y, unlabelled=more
    )
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


@pytest.mark.parametrize("Model", [KernelDependency, KernelDependencyCV])
def test_rows_that_are_none_are_unlabelled(Model, data):
    X, Y, more = data
    order = np.random.default_rng(3).permutation(N + M)
    everything, outputs = np.vstack([X, more])[order], [*Y, *[None] * M]
    model = Model(LaplacianRegularized(RBF(1.0), neighbors=3))
    apart = model.fit(X, Y, unlabelled=more).predict(more)
    mixed = model.fit(everything, [outputs[i] for i in order]).predict(more)
    assert_allclose(mixed, apart, rtol=0, atol=1e-8)


def test_both_ways_at_once_and_groups(data):
    X, Y, more = data
    rows = [*Y[:6], None, None]
    model = KernelDependencyCV(LaplacianRegularized(RBF(1.0)), fit_intercept=False)
    model.fit(X.tolist(), rows, groups=[0, 0, 1, 1, 2, 2, 3, 3], unlabelled=more)
    assert len(model.loo_embed()) == 6
    assert len(set(model.loo_embed().left_out)) == 3
    assert len(model.input_kernel_.known_) == N + M


def test_tables_keep_their_names(data):
    pandas = pytest.importorskip("pandas")
    X, Y, more = data
    table = pandas.DataFrame(np.vstack([X, more]), columns=["a", "b"])
    model = KernelDependency(LaplacianRegularized(RBF(1.0), neighbors=3), fit_intercept=False)
    wanted = model.fit(X, Y, unlabelled=np.vstack([more, more[:2]])).predict(more)
    got = model.fit(table, [*Y, *[None] * M], unlabelled=table.iloc[N : N + 2])
    assert_allclose(got.predict(table.iloc[N:]), wanted, rtol=0, atol=1e-8)
    assert list(got.feature_names_in_) == ["a", "b"]


def test_other_things_than_vectors():
    words = ["cat", "cot", "dog", "fog", "hog", "bat", "rat"]
    letters = Function(lambda a, b: float(len(set(a) & set(b))), of_items=True)
    model = KernelDependency(
        LaplacianRegularized(letters, neighbors=2), alpha=0.1, fit_intercept=False
    )
    y = [[1.0], None, [-1.0], None, None, None, None]
    predicted = model.fit(words, y).predict(words)[:, 0]
    assert predicted[1] > 0 > predicted[3]


def test_label_sets_equal_their_indicators():
    sets = [["a"], ["a", "b"], ["c", "b", "a"], ["d"], []]
    rows = np.array([[label in some for label in "abcd"] for some in sets], dtype=float)
    by_label = LaplacianRegularized(Labels(), neighbors=2).fit(sets)
    by_column = LaplacianRegularized(Linear(), neighbors=2).fit(rows)
    assert_allclose(by_label(sets), by_column(rows), rtol=0, atol=IDENTITY)
    model = KernelDependency(LaplacianRegularized(Labels(), neighbors=2))
    assert np.isfinite(model.fit(sets, [1.0, None, 2.0, None, 3.0]).predict(sets)).all()


def test_a_precomputed_kernel_by_index(data):
    X, Y, more = data
    gram = RBF(1.0)(np.vstack([X, more]))
    by_index = KernelDependency(
        LaplacianRegularized(Precomputed(gram), neighbors=3), fit_intercept=False
    )
    by_index.fit(np.arange(N), Y, unlabelled=np.arange(N, N + M))
    direct = KernelDependency(LaplacianRegularized(RBF(1.0), neighbors=3), fit_intercept=False)
    direct.fit(X, Y, unlabelled=more)
    got = by_index.predict(np.arange(N + M))
    assert_allclose(got, direct.predict(np.vstack([X, more])), rtol=0, atol=1e-8)


def test_left_out_outputs_leave_their_inputs_in_the_graph(data):
    X, Y, more = data
    kernel = LaplacianRegularized(RBF(1.0), neighbors=3)
    model = KernelDependencyCV([kernel * Identity()], alphas=[0.1], fit_intercept=False).fit(
        X, Y, unlabelled=more
    )
    for i in range(N):
        rest = np.arange(N) != i
        y = [Y[j] if rest[j] else None for j in range(N)]
        refit = (
            KernelDependency(kernel, alpha=0.1, fit_intercept=False)
            .fit(X, y, unlabelled=more)
            .predict(X[[i]])
        )
        assert_allclose(model.loo_predict()[i], refit[0], rtol=0, atol=10 * LEFT_OUT)


@pytest.mark.filterwarnings("ignore:the choice is at the edge")
def test_leave_one_out_chooses_the_weight_of_the_graph():
    """Two moons, four labels each: neighbours say more than distance."""
    t = np.linspace(0, 3, 40)
    moons = np.vstack([np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.4 - np.sin(t)]])
    truth = np.repeat([[1.0], [-1.0]], 40, axis=0)
    known = np.r_[np.arange(0, 40, 13), np.arange(40, 80, 13)]
    kernels = [LaplacianRegularized(RBF(0.7), g, neighbors=3) for g in (0.0, 1.0, 100.0)]
    model = KernelDependencyCV(kernels, alphas=np.logspace(-4, 0, 5), fit_intercept=False)
    y = [truth[i] if i in known else None for i in range(80)]
    assert model.fit(moons, y).kernel_.scalar.gamma > 0
    supervised = KernelDependencyCV(RBF(0.7), alphas=np.logspace(-4, 0, 5), fit_intercept=False)
    supervised.fit(moons[known], truth[known])
    errors = [((m.predict(moons) - truth) ** 2).mean() for m in (model, supervised)]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize(
    ("model", "y", "more", "message"),
    [
        (KernelDependency(fit_intercept=False), [[1.0], None, [2.0]], None, "cannot learn"),
        (KernelDependencyCV(fit_intercept=False), [[1.0], None, [2.0]], None, "cannot learn"),
        (KernelDependency(), [[1.0], [2.0], [3.0]], [[1.0, 2.0]], "cannot learn"),
        (KernelDependency(fit_intercept=False), [None, None, None], None, "None in every row"),
        (KernelDependency(fit_intercept=False), [[1.0], None], None, "same length"),
        (KernelDependency(LaplacianRegularized(RBF(), -1.0)), [1.0, 2.0, 3.0], None, "gamma must"),
        (
            KernelDependency(LaplacianRegularized(RBF(), neighbors=0), fit_intercept=False),
            [1.0, 2.0, 3.0], None, "neighbors must",
        ),
        (
            KernelDependency(LaplacianRegularized(RBF()), fit_intercept=False),
            [1.0, 2.0, 3.0], [[1.0]], "unlabelled inputs have 1 features",
        ),
        (
            KernelDependency(LaplacianRegularized(RBF()), fit_intercept=False),
            [1.0, 2.0, 3.0], [[1.0, np.nan]], "unlabelled contains NaN",
        ),
        (
            KernelDependency(LaplacianRegularized("precomputed"), fit_intercept=False),
            [1.0, 2.0, 3.0], None, "cannot see the inputs",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(model, y, more, message):
    X = np.eye(3) if "precomputed" in str(model) else [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, unlabelled=more)


def test_it_must_be_fitted():
    with pytest.raises(ValueError, match="fit it first"):
        LaplacianRegularized(RBF(1.0))([[1.0]])
    assert Kernel().with_unlabelled([1]).semi_supervised is False


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


def test_a_column_of_a_table_may_lack_outputs():
    pandas = pytest.importorskip("pandas")
    X = np.arange(9.0)[:, None]
    classes = ["a", None, "b"] * 3
    model = KernelDependency(LaplacianRegularized(RBF(1.0)), Delta())
    listed = model.fit(X, classes).predict(X)
    column = pandas.Series(classes, dtype=object)
    np.testing.assert_array_equal(model.fit(X, column).predict(X), listed)


@pytest.mark.parametrize("given", [{"sample_weight": np.ones(N)}, {"groups": np.arange(N)}])
def test_weights_and_groups_are_of_all_rows(data, given):
    X, Y, more = data
    model = KernelDependency(LaplacianRegularized(RBF(1.0)))
    with pytest.raises(ValueError, match=rf"{N + M} pairs|\({N + M},\)"):
        model.fit(np.vstack([X, more]), [*Y, *[None] * M], **given)
