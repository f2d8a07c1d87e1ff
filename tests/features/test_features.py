"""Finite coordinates give the kernel back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import KernelPCA as PeerPCA

from mercer import KernelDependency
from mercer.decoders import Candidates, FixedPoint
from mercer.features import Explicit, FeatureMap, IncompleteCholesky, KernelPCA
from mercer.features.triangular import Triangular
from mercer.kernels import RBF, Linear, Polynomial
from tolerances import IDENTITY, ROOT

N = 12


@pytest.fixture
def A(rng):
    return rng.normal(size=(N, 3))


@pytest.mark.parametrize("map", [Triangular(), KernelPCA(), IncompleteCholesky()], ids=str)
@pytest.mark.parametrize("kernel", [RBF(1.0), Linear(), Polynomial(2)], ids=str)
def test_full_rank_gives_the_kernel_back(map, kernel, A, rng):
    U = map.fit_transform(kernel, A)
    assert_allclose(U @ U.T, kernel(A), rtol=0, atol=ROOT)
    assert_allclose(map.transform(A), U, rtol=0, atol=ROOT)
    B = rng.normal(size=(4, 3))
    assert_allclose(map.transform(B) @ U.T, kernel(B, A), rtol=0, atol=ROOT)


@pytest.mark.parametrize(
    "map", [Triangular(), KernelPCA(), IncompleteCholesky(rank=5), Explicit()], ids=str
)
def test_points_can_be_written_over_items(map, A, rng):
    map.fit(Linear(), A)
    C = rng.normal(size=(4, map.transform(A).shape[1]))
    assert_allclose(map.compose(np.eye(C.shape[1])).transform(A), map.transform(A), atol=IDENTITY)
    F = map.kernel_features(C)
    assert_allclose(F @ A.T, C @ map.transform(A).T, rtol=0, atol=ROOT)
    if not isinstance(map, Explicit):
        weights, items = map.expansion(C)
        assert_allclose(weights @ Linear()(items, A), C @ map.transform(A).T, rtol=0, atol=ROOT)


def test_duplicates_do_not_add_coordinates(A):
    A[6:] = A[:6]
    assert Triangular().fit_transform(RBF(1.0), A).shape == (N, 6)
    assert IncompleteCholesky().fit_transform(RBF(1.0), A).shape == (N, 6)


# -- kernel PCA -------------------------------------------------------------------------------


def test_kernel_pca_equals_scikit_learns(A, rng):
    B = rng.normal(size=(4, 3))
    peer = PeerPCA(n_components=3, kernel="rbf", gamma=0.5).fit(A)
    got = KernelPCA(rank=3, center=True).fit(RBF(1.0), A).transform(B)
    wanted = peer.transform(B)
    for j in range(3):  # theirs descend, and signs are free
        column = got[:, 2 - j]
        assert_allclose(np.abs(column), np.abs(wanted[:, j]), rtol=0, atol=ROOT)


def test_kernel_pca_is_the_best_of_its_rank(A):
    U = KernelPCA(rank=2).fit_transform(RBF(1.0), A)
    values = np.linalg.eigvalsh(RBF(1.0)(A))
    assert ((RBF(1.0)(A) - U @ U.T) ** 2).sum() == pytest.approx((values[:-2] ** 2).sum())


def test_westons_distances_are_taken_in_the_components(A, rng):
    Y = rng.normal(size=(N, 2))
    map = KernelPCA(rank=2)
    model = KernelDependency(
        RBF(1.0),
        RBF(1.0),
        alpha=0.1,
        output_features=map,
        decoder=Candidates(),
        fit_intercept=False,
    )
    points = model.fit(A, Y).embed(A)
    V = map.fit_transform(RBF(1.0), Y)
    K = RBF(1.0)(A)
    G = K @ np.linalg.solve(K + 0.1 * np.eye(N), V)
    wanted = np.sqrt(((G[:, None, :] - V[None, :, :]) ** 2).sum(axis=2))
    assert_allclose(points.distances(Y), wanted, rtol=0, atol=ROOT)
    assert_allclose(model.predict(A), Y[wanted.argmin(axis=1)], rtol=0, atol=0)


def test_centred_components_are_written_over_outputs_with_the_mean(A, rng):
    """In the features of a finite kernel: mean + Σ_j C_j e_j, e_j from the covariance itself."""
    map = KernelPCA(2, center=True).fit(Linear(), A)
    C, mean = rng.normal(size=(4, 2)), A.mean(axis=0)
    axes = np.linalg.eigh(np.cov(A.T))[1][:, -2:].T
    axes *= np.sign(((A - mean) @ axes.T * map.transform(A)).sum(axis=0))[:, None]
    weights, items = map.expansion(C)
    assert_allclose(weights @ items, mean + C @ axes, rtol=0, atol=ROOT)
    assert_allclose(weights.sum(axis=1), 1.0, rtol=0, atol=ROOT)


def test_centred_components_have_a_fixed_point(A, rng):
    """With all components the space is that of the plain model with an intercept."""
    Y = rng.normal(size=(N, 2))
    plain, components = (
        KernelDependency(RBF(1.0), RBF(1.0), 0.1, FixedPoint(), None, map, fit_intercept=True)
        for map in (None, KernelPCA(center=True))
    )
    wanted = plain.fit(A, Y).predict(A)
    assert_allclose(components.fit(A, Y).predict(A), wanted, rtol=0, atol=ROOT)


# -- incomplete Cholesky ----------------------------------------------------------------------


def test_incomplete_cholesky_is_the_greedy_pivoted_one(A):
    """Against the Schur complement, recomputed from scratch at every step."""
    K = RBF(1.0)(A)
    map = IncompleteCholesky(rank=5)
    U = map.fit_transform(RBF(1.0), A)
    pivots: list[int] = []
    for _ in range(5):
        rest = (
            K - K[:, pivots] @ np.linalg.solve(K[np.ix_(pivots, pivots)], K[pivots])
            if pivots
            else K
        )
        pivots.append(int(np.argmax(np.diag(rest))))
    assert map.pivots_.tolist() == pivots
    nystrom = K[:, pivots] @ np.linalg.solve(K[np.ix_(pivots, pivots)], K[pivots])
    assert_allclose(U @ U.T, nystrom, rtol=0, atol=IDENTITY)
    error = np.trace(K - nystrom)
    assert map.trace_error_ == pytest.approx(error / np.trace(K))
    assert np.abs(K - nystrom).max() <= error + IDENTITY


def test_incomplete_cholesky_stops_at_its_tolerance(A):
    map = IncompleteCholesky(tolerance=0.3)
    map.fit(RBF(3.0), A)
    assert len(map.pivots_) < N
    assert map.trace_error_ <= 0.3


# -- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [0, -1, 2.5, "all"])
@pytest.mark.parametrize("kind", [KernelPCA, IncompleteCholesky])
def test_bad_rank(kind, rank, A):
    with pytest.raises(ValueError, match="rank must be a positive integer or None"):
        kind(rank=rank).fit(RBF(1.0), A)


def test_explicit_needs_finite_features(A):
    with pytest.raises(ValueError, match="has no finite features: leave its features at None"):
        Explicit().fit(RBF(1.0), A)


def test_a_kernel_that_is_zero_has_no_landmarks(A):
    with pytest.raises(ValueError, match="zero on all items"):
        IncompleteCholesky().fit(Linear(), 0 * A)


def test_what_a_map_of_ones_own_must_implement(A):
    with pytest.raises(NotImplementedError, match=r"must implement fit\(kernel, A\)"):
        FeatureMap().fit(RBF(1.0), A)


def test_rank_above_the_number_of_items(A):
    assert KernelPCA(rank=100).fit_transform(RBF(1.0), A).shape == (N, N)
    assert IncompleteCholesky(rank=100).fit_transform(RBF(1.0), A).shape == (N, N)
