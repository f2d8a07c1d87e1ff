"""Landmarks drawn at random, and random frequencies: what they are drawn from, and how well."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.kernel_approximation import Nystroem as Peer

from mercer.features import (
    IncompleteCholesky,
    Nystroem,
    RandomFourier,
    RandomPivotedCholesky,
    _factor,
)
from mercer.kernels import (
    RBF,
    Function,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
)
from tolerances import IDENTITY, ROOT

LETTERS = Function(lambda a, b: float(len(set(a) & set(b))), of_items=True)
WORDS = ["abc", "bcd", "cde", "xyz", "abcde", "yza"]


def projected(K, pivots):
    """The Nyström approximation of K on some of its items."""
    return K[:, pivots] @ np.linalg.pinv(K[np.ix_(pivots, pivots)]) @ K[pivots]


# -- landmarks --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "map", [IncompleteCholesky(5), RandomPivotedCholesky(5, random_state=3)], ids=str
)
def test_a_factor_is_the_projection_on_its_pivots(map, rng):
    A = rng.normal(size=(30, 3))
    K, U = RBF(1.0)(A), map.fit_transform(RBF(1.0), A)
    assert len(set(map.pivots_.tolist())) == 5
    wanted = projected(K, map.pivots_)
    assert_allclose(U @ U.T, wanted, rtol=0, atol=IDENTITY)
    assert map.trace_error_ == pytest.approx(1 - np.trace(wanted) / np.trace(K), abs=IDENTITY)


@pytest.mark.parametrize("block", [1, 2, 7, 100])
def test_blocks_of_any_size_give_a_factor(block, rng, monkeypatch):
    monkeypatch.setattr(_factor, "FACTOR_ROWS", 7)
    A = rng.normal(size=(40, 2))
    map = RandomPivotedCholesky(12, block=block, random_state=0)
    U = map.fit_transform(RBF(0.5), A)
    assert_allclose(U @ U.T, projected(RBF(0.5)(A), map.pivots_), rtol=0, atol=ROOT)


@pytest.mark.parametrize("ahead", [1, 3, 100])
def test_greedy_pivots_do_not_depend_on_what_is_fetched(ahead, rng, monkeypatch):
    A = rng.normal(size=(50, 3))
    wanted = IncompleteCholesky(20).fit(RBF(1.0), A).pivots_.tolist()
    monkeypatch.setattr(_factor, "AHEAD", ahead)
    assert IncompleteCholesky(20).fit(RBF(1.0), A).pivots_.tolist() == wanted


def test_pivots_in_blocks_follow_the_law_of_pivots_one_by_one():
    """Both pivots of rank 2, by enumeration: the first ∝ K_ii, the second ∝ what is left of it."""
    K = np.array([[4.0, 1.9, 0.0], [1.9, 1.0, 0.1], [0.0, 0.1, 2.0]])
    kernel, items = Precomputed(K), np.arange(3)
    law = np.zeros((3, 3))
    for i in range(3):
        left = np.diag(K) - K[i] ** 2 / K[i, i]
        law[i] = K[i, i] / np.trace(K) * left / left.sum()
    for block in (1, 4):
        seen = np.zeros((3, 3))
        state = np.random.RandomState(0)
        for _ in range(800):
            map = RandomPivotedCholesky(2, block=block, random_state=state).fit(kernel, items)
            seen[tuple(map.pivots_)] += 1 / 800
        assert np.abs(seen - law).max() < 0.05  # three standard deviations


@given(seed=st.integers(0, 50), rank=st.integers(1, 8))
def test_random_pivots_never_miss_a_far_group_for_long(seed, rank):
    """Items that coincide are one: as many pivots as distinct items represent all of them."""
    groups = np.repeat(np.arange(rank) * 100.0, 5)[:, None]
    map = RandomPivotedCholesky(rank, random_state=seed)
    map.fit(RBF(1.0), groups)
    assert map.trace_error_ < 1e-10


def test_the_same_seed_draws_the_same(rng):
    A = rng.normal(size=(40, 2))
    for Map in (RandomPivotedCholesky, Nystroem, RandomFourier):
        once, twice, other = (
            Map(rank=6, random_state=seed).fit_transform(RBF(1.0), A) for seed in (1, 1, 2)
        )
        assert np.array_equal(once, twice)
        assert not np.array_equal(once, other)


def test_nystroem_equals_scikit_learns_on_the_same_landmarks(rng):
    A, B = rng.normal(size=(30, 3)), rng.normal(size=(6, 3))
    peer = Peer(kernel="rbf", gamma=0.5, n_components=8, random_state=0).fit(A)
    map = Nystroem(landmarks=peer.components_).fit(RBF(1.0), A)
    wanted = peer.transform(B) @ peer.transform(A).T
    assert_allclose(map.transform(B) @ map.transform(A).T, wanted, rtol=0, atol=ROOT)


def test_landmarks_that_repeat_each_other(rng):
    A = rng.normal(size=(10, 3))
    map = Nystroem(landmarks=np.concatenate([A[:3], A[:3]]))
    U = map.fit_transform(RBF(1.0), A)
    assert U.shape == (10, 3)
    assert_allclose(U @ U.T, projected(RBF(1.0)(A), [0, 1, 2]), rtol=0, atol=ROOT)


def test_landmarks_of_any_kind():
    map = Nystroem(landmarks=["abc", "xyz"]).fit(LETTERS, WORDS)
    assert_allclose(
        map.transform(WORDS) @ map.transform(WORDS).T, projected(LETTERS(WORDS), [0, 3]), atol=ROOT
    )
    map = RandomPivotedCholesky(random_state=0)
    U = map.fit_transform(LETTERS, WORDS)
    assert_allclose(U @ U.T, LETTERS(WORDS), rtol=0, atol=ROOT)


def test_sparse_items(rng):
    A = csr_array(np.where(rng.uniform(size=(20, 6)) < 0.4, rng.normal(size=(20, 6)), 0.0))
    maps = [Map(4) for Map in (IncompleteCholesky, RandomPivotedCholesky, Nystroem, RandomFourier)]
    for map in maps[1:]:
        map.set_params(random_state=0)
    for map in maps:
        assert_allclose(
            map.fit_transform(RBF(2.0), A), map.fit_transform(RBF(2.0), A.toarray()), atol=ROOT
        )


# -- frequencies ------------------------------------------------------------------------------


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [
        RBF(1.5), Matern(1.5, nu=0.5), Matern(1.5), Matern(1.5, nu=2.5), Matern(1.5, nu=np.inf),
        RationalQuadratic(1.5), RationalQuadratic(1.5, 0.4), Laplacian(3.0), 2.5 * RBF(1.5),
        RBF(1.5) * Laplacian(3.0), RBF(2.0) * Matern(2.0),
    ],
    ids=str,
)  # fmt: skip
def test_random_frequencies_are_those_of_the_kernel(kernel, orthogonal, rng):
    A = rng.normal(size=(8, 3))
    map = RandomFourier(40_000, orthogonal=orthogonal, random_state=0)
    U = map.fit_transform(kernel, A)
    scale = float(kernel.diag(A)[0])
    assert_allclose(U @ U.T, kernel(A), rtol=0, atol=0.035 * scale)  # five standard deviations
    assert_allclose((U * U).sum(axis=1), scale, rtol=0, atol=IDENTITY)


def test_orthogonal_frequencies_have_less_error(rng):
    A = rng.normal(size=(20, 10))
    kernel = RBF(3.0)
    errors = {
        orthogonal: np.mean(
            [
                ((U @ U.T - kernel(A)) ** 2).mean()
                for seed in range(20)
                for U in [RandomFourier(40, orthogonal, seed).fit_transform(kernel, A)]
            ]
        )
        for orthogonal in (False, True)
    }
    assert errors[True] < 0.8 * errors[False]


# -- bad input --------------------------------------------------------------------------------


def test_a_kernel_without_a_spectrum():
    for kernel in (Linear(), Polynomial(2), RBF(1.0) + Linear()):
        with pytest.raises(ValueError, match="has no spectrum to draw frequencies from"):
            RandomFourier(10).fit(kernel, [[1.0], [2.0]])


def test_nystroem_takes_a_rank_or_landmarks():
    for map in (Nystroem(), Nystroem(3, landmarks=[[1.0]])):
        with pytest.raises(ValueError, match="either rank=.* or landmarks="):
            map.fit(RBF(1.0), [[1.0], [2.0]])


@pytest.mark.parametrize("rank", [0, -1, 2.5])
@pytest.mark.parametrize("Map", [RandomPivotedCholesky, Nystroem, RandomFourier])
def test_bad_rank(Map, rank):
    with pytest.raises(ValueError, match="rank must be a positive integer"):
        Map(rank=rank).fit(RBF(1.0), [[1.0], [2.0]])


def test_other_bad_parameters():
    with pytest.raises(ValueError, match="RandomFourier needs a rank"):
        RandomFourier(None).fit(RBF(1.0), [[1.0]])
    with pytest.raises(ValueError, match="block must be a positive integer"):
        RandomPivotedCholesky(2, block=0).fit(RBF(1.0), [[1.0], [2.0]])
    with pytest.raises(ValueError, match="tolerance must be a number ≥ 0"):
        RandomPivotedCholesky(2, tolerance=-1.0).fit(RBF(1.0), [[1.0], [2.0]])
    with pytest.raises(ValueError, match="zero on all landmarks"):
        Nystroem(landmarks=[[0.0]]).fit(Linear(), [[1.0], [2.0]])
    with pytest.raises(ValueError, match="3 features are expected"):
        RandomFourier(4).fit(RBF(1.0), np.ones((2, 3))).transform(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"use Precomputed\(gram\)"):
        Nystroem(1).fit(Precomputed(), np.eye(2))
