from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelDependency
from mercer.decoders import Assignment, Borda, Kemeny, natural
from mercer.decoders._kemeny import (
    best_order,
    best_orders_by_subsets,
    order_by_integer_programme,
    order_value,
)
from mercer.embedding import Embedding, OrthonormalFrame
from mercer.features import Explicit
from mercer.kernels import Hamming, Kendall, Linear, Spearman

SEEDS = st.integers(0, 10**6)
PAIRS = [
    (Kendall(), Kemeny()),
    (Hamming(), Assignment()),
    (Spearman(), Assignment()),
    (Spearman(), Borda()),
]


def rankings(m):
    return np.array(list(permutations(range(m))))


def random_points(kernel, m, seed, n=5):
    """Points anywhere in the feature space, some of them with many ties."""
    width = kernel.fit(rankings(m)[:1]).features(rankings(m)[:1]).shape[1]
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(n, width))
    G[: n // 2] = np.round(G[: n // 2])
    return G, Embedding(G, OrthonormalFrame(Explicit().fit(kernel, rankings(m)[:1])))


@pytest.mark.parametrize(("kernel", "decoder"), PAIRS, ids=str)
@settings(deadline=None, max_examples=25)
@given(m=st.integers(2, 6), seed=SEEDS)
def test_decoders_equal_brute_force(kernel, decoder, m, seed):
    G, points = random_points(kernel, m, seed)
    best = (G @ kernel.features(rankings(m)).T).max(axis=1)
    found = decoder.fit(kernel, rankings(m)).decode(points)
    np.testing.assert_allclose((G * kernel.features(found)).sum(axis=1), best, atol=1e-12)


@settings(deadline=None, max_examples=3)
@given(seed=SEEDS)
def test_kemeny_beyond_enumeration_equals_brute_force(seed):
    G, points = random_points(Kendall(), 8, seed)
    all_rankings = rankings(8)
    best = (G @ Kendall().features(all_rankings).T).max(axis=1)
    decoder = Kemeny().fit(Kendall(), all_rankings[:2])
    found = decoder.decode(points)
    np.testing.assert_allclose((G * Kendall().features(found)).sum(axis=1), best, atol=1e-12)
    assert decoder.proved_.all()


@settings(deadline=None, max_examples=25)
@given(m=st.integers(3, 6), seed=SEEDS, whole=st.booleans())
def test_every_route_to_an_order_is_exact(m, seed, whole):
    W = np.random.default_rng(seed).normal(size=(m, m))
    W = np.round(W) if whole else W
    W = W - W.T
    best = max(order_value(W, np.array(order)) for order in permutations(range(m)))
    for order, proved in (
        (best_orders_by_subsets(W[None])[0], True),
        best_order(W, None),
        order_by_integer_programme(W, None),
    ):
        assert sorted(order) == list(range(m))
        assert order_value(W, order) == pytest.approx(best)
        assert proved


def test_many_labels_by_integer_programme():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(17, 17))
    W = W - W.T
    order, proved = order_by_integer_programme(W, None)
    assert proved
    assert order_value(W, order) == pytest.approx(
        order_value(W, best_orders_by_subsets(W[None])[0])
    )


def noisy_order(m, noise, seed=0):
    rng = np.random.default_rng(seed)
    position = rng.permutation(m)
    W = np.sign(position[None, :] - position[:, None]) + noise * rng.normal(size=(m, m))
    return W - W.T


def test_a_hundred_labels_with_circles():
    W = noisy_order(100, 1.0)
    order, proved = order_by_integer_programme(W, None)
    assert proved
    before, after = order[:-1], order[1:]
    assert (W[before, after] >= 0).all()  # no two neighbours are better the other way round
    assert order_value(W, order) > order_value(W, np.argsort(W.sum(axis=0)))


def test_larger_circles_are_not_solved():
    W = noisy_order(301, 3.0)
    order, proved = order_by_integer_programme(W, None)
    assert not proved
    assert sorted(order) == list(range(301))


def test_many_labels_in_circles_of_few():
    """Three blocks of nine: duels between blocks are clear, those within are not."""
    rng = np.random.default_rng(0)
    block = np.arange(27) // 9
    W = rng.normal(size=(27, 27)) + 9.0 * np.sign(block[None, :] - block[:, None])
    W = (W - W.T) / 2.0
    shuffle = rng.permutation(27)
    W = W[np.ix_(shuffle, shuffle)]
    i, j = np.triu_indices(27, 1)
    kernel = Kendall().fit([np.arange(27)])
    points = Embedding(W[i, j][None], OrthonormalFrame(Explicit().fit(kernel, [np.arange(27)])))
    decoder = Kemeny().fit(kernel, [np.arange(27)])
    ranks = decoder.decode(points)[0]
    assert decoder.proved_.all()
    assert (np.diff(block[shuffle][np.argsort(ranks)]) >= 0).all()
    parts = [np.flatnonzero(block[shuffle] == b) for b in range(3)]
    inside = sum(
        order_value(W[np.ix_(p, p)], best_orders_by_subsets(W[np.ix_(p, p)][None])[0])
        for p in parts
    )
    across = sum(W[np.ix_(parts[a], parts[b])].sum() for a in range(3) for b in range(a + 1, 3))
    assert order_value(W, np.argsort(ranks)) == pytest.approx(inside + across)


def test_a_programme_out_of_time_says_so():
    G = np.random.default_rng(0).normal(size=(1, 40 * 39 // 2))
    kernel = Kendall().fit([np.arange(40)])
    points = Embedding(G, OrthonormalFrame(Explicit().fit(kernel, [np.arange(40)])))
    decoder = Kemeny(time_limit=0.01).fit(kernel, [np.arange(40)])
    with pytest.warns(UserWarning, match="1 of 1 rankings are not proved optimal"):
        ranks = decoder.decode(points)
    assert not decoder.proved_.any()
    assert sorted(ranks[0]) == list(range(40))


@pytest.mark.parametrize(("kernel", "decoder"), [*PAIRS, (Kendall(), Borda())], ids=str)
@pytest.mark.parametrize("m", [2, 5, 9])
def test_rankings_are_found_again_from_their_features(kernel, decoder, m):
    Y = np.stack([np.random.default_rng(s).permutation(m) for s in range(6)]).astype(np.int8)
    kernel.fit(Y)
    points = Embedding(kernel.features(Y), OrthonormalFrame(Explicit().fit(kernel, Y)))
    found = decoder.fit(kernel, Y).decode(points)
    np.testing.assert_array_equal(found, Y)
    assert found.dtype == np.int8


def test_the_best_few_rankings():
    G, points = random_points(Kendall(), 4, 3)
    scores = 2.0 * G @ Kendall().features(rankings(4)).T - 1.0
    for row, top in zip(
        scores, Kemeny().fit(Kendall(), rankings(4)).decode_top(points, 4), strict=True
    ):
        np.testing.assert_allclose([s for _, s in top], np.sort(row)[::-1][:4])
    with pytest.raises(ValueError, match="at most 7 labels, not 9"):
        Kemeny().fit(Kendall(), [np.arange(9)]).decode_top(points, 2)


@pytest.mark.parametrize("kernel", [Kendall(), Spearman(), Hamming()], ids=str)
def test_learning_from_partial_rankings_predicts_full_ones(kernel):
    X = np.linspace(0, 1, 12)[:, None]
    full = np.where(X < 0.5, [[0, 1, 2, 3]], [[3, 2, 1, 0]])
    partial = full.astype(float)
    if not isinstance(kernel, Hamming):  # where a label is missing, others change position
        partial[::3, 1] = np.nan
    partial[1::3, 2] = partial[1::3, 3]
    model = KernelDependency("rbf", kernel, alpha=0.01).fit(X, partial)
    assert type(model.decoder_) is type(natural(kernel))
    np.testing.assert_array_equal(model.predict([[0.05], [0.95]]), [[0, 1, 2, 3], [3, 2, 1, 0]])


def test_other_kernels_are_refused():
    for decoder, kernel in ((Kemeny(), Spearman()), (Assignment(), Kendall()), (Borda(), Linear())):
        with pytest.raises(ValueError, match=f"{type(decoder).__name__} needs an output kernel"):
            decoder.fit(kernel, [[0, 1]])
