"""Kernels known by their values: indices into a Gram matrix, and "precomputed" for X."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF, Linear, Normalized, Precomputed
from mercer.operators import Covariance, Identity
from tolerances import IDENTITY

N = 20
FOLDS = KFold(4)
ALPHAS = [1e-3, 1e-1, 10.0]


@pytest.fixture
def pairs(rng):
    return rng.normal(size=(N, 2)), rng.normal(size=(N, 3))


def test_indices_into_a_gram_matrix(rng):
    root = rng.normal(size=(5, 5))
    G = root @ root.T
    k = Precomputed(G)
    assert_allclose(k([3, 1], [0, 4, 3]), G[np.ix_([3, 1], [0, 4, 3])], rtol=0, atol=0)
    assert_allclose(k.diag([4, 0]), G[[4, 0], [4, 0]], rtol=0, atol=0)
    assert_allclose(k(np.array([[3], [1]])), G[np.ix_([3, 1], [3, 1])], rtol=0, atol=0)
    assert_allclose(k([2.0, 1.0]), G[np.ix_([2, 1], [2, 1])], rtol=0, atol=0)


def test_the_gram_matrix_is_neither_copied_nor_written_to(pairs):
    X, Y = pairs
    G = RBF(1.0)(X)
    kept = G.copy()
    model = KernelDependency(Precomputed(G) * Covariance()).fit(np.arange(N), Y)
    assert model.input_kernel_.gram is G
    KernelDependency("precomputed").fit(G, Y)
    assert_allclose(G, kept, rtol=0, atol=0)


@pytest.mark.parametrize("operator", [Identity(), Covariance()], ids=str)
def test_the_three_ways_agree(operator, pairs):
    X, Y = pairs
    G = RBF(1.0)(X)
    train, test = np.arange(15), np.arange(15, N)
    plain = KernelDependency(RBF(1.0) * operator).fit(X[train], Y[train]).predict(X[test])
    index = KernelDependency(Precomputed(G) * operator).fit(train, Y[train]).predict(test)
    string = KernelDependency(Precomputed() * operator).fit(G[np.ix_(train, train)], Y[train])
    assert_allclose(index, plain, rtol=0, atol=IDENTITY)
    assert_allclose(string.predict(G[np.ix_(test, train)]), plain, rtol=0, atol=IDENTITY)


def test_indices_as_outputs(pairs):
    X, Y = pairs
    L = RBF(2.0)(Y)
    model = KernelDependency(RBF(1.0) * Covariance(), Precomputed(L), alpha=0.1)
    model.fit(X[:15], np.arange(15))
    peer = KernelDependency(RBF(1.0) * Covariance(), RBF(2.0), alpha=0.1).fit(X[:15], Y[:15])
    assert_allclose(
        model.embed(X[15:]).inner(np.arange(N)), peer.embed(X[15:]).inner(Y), rtol=0, atol=IDENTITY
    )
    chosen = model.predict(X[15:])
    scores = peer.embed(X[15:]).scores(Y[:15])
    assert_array_equal(chosen, scores.argmax(axis=1))


@pytest.mark.parametrize(
    "kernel",
    ["precomputed", Precomputed(), 2 * Precomputed(), Precomputed() * Covariance(),
     Precomputed() + Precomputed(), Precomputed() ** 2],
    ids=str,
)  # fmt: skip
def test_the_pairwise_tag_shows_through(kernel):
    for model in (KernelDependency(kernel), KernelDependencyCV([kernel, kernel])):
        assert model.__sklearn_tags__().input_tags.pairwise


def test_no_pairwise_tag_otherwise():
    for kernel in (None, "rbf", Precomputed(np.eye(3)), RBF(1.0) * Covariance()):
        assert not KernelDependency(kernel).__sklearn_tags__().input_tags.pairwise


def test_grid_search_slices_pairs(pairs):
    X, Y = pairs
    grid = {"alpha": ALPHAS}
    plain = GridSearchCV(KernelDependency(RBF(1.0)), grid, cv=FOLDS).fit(X, Y)
    string = GridSearchCV(KernelDependency("precomputed"), grid, cv=FOLDS).fit(RBF(1.0)(X), Y)
    index = GridSearchCV(KernelDependency(Precomputed(RBF(1.0)(X))), grid, cv=FOLDS)
    index.fit(np.arange(N), Y)
    for search in (string, index):
        assert_allclose(
            search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"],
            rtol=0, atol=IDENTITY,
        )  # fmt: skip


@pytest.mark.parametrize("operator", [Identity(), Covariance()], ids=str)
def test_cross_val_predict_slices_pairs(operator, pairs):
    X, Y = pairs
    G = RBF(1.0)(X)
    plain = cross_val_predict(KernelDependency(RBF(1.0) * operator), X, Y, cv=FOLDS)
    string = cross_val_predict(KernelDependency(Precomputed() * operator), G, Y, cv=FOLDS)
    index = cross_val_predict(
        KernelDependency(Precomputed(G) * operator), np.arange(N), Y, cv=FOLDS
    )
    assert_allclose(string, plain, rtol=0, atol=IDENTITY)
    assert_allclose(index, plain, rtol=0, atol=IDENTITY)


def test_cross_val_predict_of_indices_as_outputs(pairs):
    X, Y = pairs
    model = KernelDependency(RBF(1.0), Precomputed(RBF(2.0)(Y)), alpha=0.1)
    chosen = cross_val_predict(model, X, np.arange(N), cv=FOLDS)
    for train, test in FOLDS.split(X):
        fold = KernelDependency(RBF(1.0), RBF(2.0), alpha=0.1).fit(X[train], Y[train])
        wanted = train[fold.embed(X[test]).scores(Y[train]).argmax(axis=1)]
        assert_array_equal(chosen[test].astype(int), wanted)


def test_leave_one_out_of_a_precomputed_gram(pairs):
    X, Y = pairs
    plain = KernelDependencyCV(RBF(1.0), alphas=ALPHAS).fit(X, Y)
    string = KernelDependencyCV("precomputed", alphas=ALPHAS).fit(RBF(1.0)(X), Y)
    assert string.alpha_ == plain.alpha_
    assert string.loo_risk_ == pytest.approx(plain.loo_risk_, rel=IDENTITY)


# -- refused ----------------------------------------------------------------------------------


def test_a_list_that_mixes(pairs):
    X, Y = pairs
    model = KernelDependencyCV(["precomputed", RBF(1.0)])
    with pytest.raises(ValueError, match='choose between "precomputed" and kernels that compute'):
        model.fit(RBF(1.0)(X), Y)


def test_a_sum_that_mixes(pairs):
    X, Y = pairs
    with pytest.raises(ValueError, match='mixes "precomputed" with a kernel that computes'):
        KernelDependency(Precomputed() + RBF(1.0)).fit(RBF(1.0)(X), Y)


def test_precomputed_outputs(pairs):
    X, Y = pairs
    for l in ("precomputed", Precomputed(), Normalized(Precomputed())):
        for model in (KernelDependency(output_kernel=l), KernelDependencyCV(output_kernel=l)):
            with pytest.raises(ValueError, match=r"Use output_kernel=Precomputed\(gram\)"):
                model.fit(X, RBF(1.0)(Y))


def test_rows_that_are_left_out_need_the_whole_gram_matrix(pairs):
    X, Y = pairs
    gram, weights = RBF(1.0)(X), np.arange(len(X)).astype(float)
    with pytest.raises(ValueError, match=r"use Precomputed\(gram\), with row numbers as X"):
        KernelDependency("precomputed").fit(gram, Y, sample_weight=weights)
    KernelDependency(Precomputed(gram)).fit(np.arange(len(X)), Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (np.ones((3, 2)), "one column for each of the 3"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "not symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "its eigenvalues go from -1 to 3"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
    ],
)  # fmt: skip
def test_no_gram_matrix(gram, message):
    with pytest.raises(ValueError, match=message):
        KernelDependency("precomputed").fit(gram, np.arange(len(gram)))
    if gram.shape[0] == gram.shape[1]:
        with pytest.raises(ValueError, match=message):
            KernelDependency(Precomputed(gram)).fit([0, 1], [0.0, 1.0])
        with pytest.raises(ValueError, match=message):
            KernelDependency(output_kernel=Precomputed(gram)).fit([[0.0], [1.0]], [0, 1])


def test_the_way_out_of_an_indefinite_gram_works():
    """Its message says how much to add to the diagonal."""
    gram = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"or add 1 to its diagonal"):
        KernelDependency("precomputed").fit(gram, [0.0, 1.0])
    KernelDependency("precomputed").fit(gram + np.eye(2), [0.0, 1.0])


def test_rounding_is_no_indefiniteness(rng):
    root = rng.normal(size=(30, 3))
    KernelDependency("precomputed").fit(root @ root.T, rng.normal(size=30))


def test_columns_at_predict(pairs):
    X, Y = pairs
    model = KernelDependency("precomputed").fit(RBF(1.0)(X), Y)
    with pytest.raises(ValueError, match="20|features"):
        model.predict(np.ones((2, 7)))


@pytest.mark.parametrize(
    ("index", "message"),
    [([0, 7], "points to row 7.*rows 0 to 4"), ([-1, 0], "points to row -1"),
     ([0.5], "integers"),
     (["a"], "integers"), ([], "empty"), ([np.nan, 1.0], "integers")],
)  # fmt: skip
def test_indices_that_are_none(index, message):
    with pytest.raises(ValueError, match=message):
        Precomputed(np.eye(5))(index)


def test_the_diagonal_is_not_known_without_a_gram():
    with pytest.raises(ValueError, match=r"use Precomputed\(gram\)"):
        Precomputed().diag(np.eye(3))


def test_linear_ids_are_not_mistaken_for_indices(pairs):
    X, Y = pairs
    assert_allclose(KernelDependency(Linear()).fit(X, Y).predict(X).shape, Y.shape)


def test_a_matrix_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match=r"gram must be a square matrix.*\(4, 3\)"):
        KernelDependency(Precomputed(np.ones((4, 3)))).fit(np.arange(4), np.arange(4.0))
