import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from mercer import KernelDependency
from mercer.kernels import Gaussian, Hamming, Kendall, Spearman

CORRELATIONS = [
    (Kendall(), lambda a, b: kendalltau(a, b).statistic),
    (Spearman(), lambda a, b: spearmanr(a, b).statistic),
    (Hamming(), lambda a, b: np.mean(a == b)),
]


@pytest.mark.parametrize(("kernel", "correlation"), CORRELATIONS, ids=lambda v: str(v)[:9])
@settings(deadline=None, max_examples=25)
@given(m=st.integers(2, 7), seed=st.integers(0, 10**6))
def test_kernels_are_the_rank_correlations(kernel, correlation, m, seed):
    rng = np.random.default_rng(seed)
    A, B = (np.stack([rng.permutation(m) for _ in range(4)]) for _ in range(2))
    wanted = [[correlation(a, b) for b in B] for a in A]
    np.testing.assert_allclose(kernel(A, B), wanted, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(A), 1.0)
    np.testing.assert_allclose(kernel.features(A) @ kernel.features(B).T, wanted, atol=1e-12)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.lists(st.integers(-1, 3), min_size=4, max_size=4), min_size=1, max_size=6))
def test_partial_rankings_stay_within_the_unit_ball(rows):
    rows = [[0, *row[1:]] for row in rows]  # something is ranked
    for kernel in (Kendall(), Spearman(), Hamming()):
        assert kernel.diag(rows).max() <= 1 + 1e-12
        shifted = np.where(np.array(rows) < 0, np.nan, np.array(rows, dtype=float))
        np.testing.assert_allclose(kernel(rows), kernel(shifted))


def test_ties_and_missing_labels():
    tied, missing = [[0, 0, 2]], [[0, -1, 1]]
    np.testing.assert_allclose(Kendall().features(tied), [np.array([0, 1, 1]) / np.sqrt(3)])
    np.testing.assert_allclose(Kendall().features(missing), [np.array([0, 1, 0]) / np.sqrt(3)])
    np.testing.assert_allclose(Spearman().features(tied), [np.array([-0.5, -0.5, 1]) / 2**0.5])
    np.testing.assert_allclose(Spearman().features(missing), [np.array([-0.5, 0, 0.5]) / 2**0.5])
    table = np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
    np.testing.assert_allclose(Hamming().features(tied)[0] * 3**0.5, table.ravel())
    table = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 0]])
    np.testing.assert_allclose(Hamming().features(missing)[0] * 3**0.5, table.ravel())


def test_ties_mean_the_same_in_every_numbering():
    for kernel in (Kendall(), Spearman(), Hamming()):
        np.testing.assert_allclose(
            kernel.features([[0, 0, 2]]), kernel.features([[0, 0, 1]]), atol=1e-15
        )
        np.testing.assert_allclose(kernel.features([[0.5, 0.5, 2]]), kernel.features([[0, 0, 2]]))


def test_the_gaussian_of_kendall_is_the_mallows_kernel():
    A = [[0, 1, 2, 3], [1, 0, 3, 2]]  # two of the six pairs differ: d² = 2 - 2 (4 - 2) / 6
    assert Gaussian(Kendall(), 1.0)(A)[0, 1] == pytest.approx(np.exp(-2 * 2 / 6))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([[0, 1, 2], [1, 2, 3]], r"A\[1\] has the rank 3 among 3 labels: ranks go from 0"),
        ([[0, 1, 2], [0, 1]], r"A\[1\] ranks 2 labels, A\[0\] ranks 3: mark"),
        ([[0, 1], [-1, np.nan]], r"A\[1\] ranks no label at all"),
        ([[0, 1], 3], r"A\[1\] must be a row of ranks, got 3"),
        ([[0], [0]], "at least 2"),
        (np.zeros((2, 2, 2)), "a row of ranks for each item"),
        (np.array([["a", "b"]]), "must hold ranks, which are numbers"),
        ([], "A is empty"),
        (np.empty((0, 3)), "A is empty"),
    ],
)
def test_what_is_no_ranking_is_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        Kendall()(bad)


def test_another_number_of_labels_is_refused_after_fit():
    kernel = Kendall().fit([[0, 1, 2]])
    with pytest.raises(ValueError, match="ranks 2 labels, where 3 are known"):
        kernel([[0, 1]])


def test_rankings_as_inputs():
    A = [[0, 1, 2], [2, 1, 0], [0, 2, 1], [1, -1, 0]]
    model = KernelDependency(Gaussian(Kendall()), alpha=1e-9).fit(A, [0.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(model.predict(A), [0, 1, 2, 3], atol=1e-6)


@pytest.mark.parametrize("kernel", [Kendall(), Spearman()], ids=str)
def test_scores_are_no_ranks(kernel):
    """Half ranks are those of ties, scores are refused."""
    kernel.fit([[0.0, 1.5, 1.5]])
    with pytest.raises(ValueError, match="scores into ranks"):
        kernel.fit([[0.1, 0.7, 0.4]])
