import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import accuracy_score, f1_score, hamming_loss

from mercer.metrics import (
    hamming_accuracy,
    kendall_tau,
    position_accuracy,
    sample_f1,
    spearman_rho,
    subset_accuracy,
)


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return (rng.random((30, 5)) < 0.3).astype(int), (rng.random((30, 5)) < 0.3).astype(int)


def test_label_metrics_are_those_of_scikit_learn(pair):
    A, B = pair
    lists = [[[f"l{j}" for j in np.flatnonzero(row)] for row in M] for M in pair]
    for true, predicted in ((A, B), (csr_array(A), csr_array(B)), lists):
        assert sample_f1(true, predicted) == pytest.approx(
            f1_score(A, B, average="samples", zero_division=1.0)
        )
        assert hamming_accuracy(true, predicted) == pytest.approx(1 - hamming_loss(A, B))
        assert subset_accuracy(true, predicted) == pytest.approx(accuracy_score(A, B))
        assert sample_f1(true, predicted, average=False).shape == (30,)


def test_label_metrics_refuse_what_cannot_be_compared(pair):
    A, _ = pair
    with pytest.raises(ValueError, match="one length"):
        sample_f1(A, A[:3])
    with pytest.raises(ValueError, match="both hold lists of labels"):
        sample_f1(A[:1], [["a"]])
    assert sample_f1([[], []], [[], []]) == 1.0


def test_ranking_metrics_are_those_of_scipy():
    rng = np.random.default_rng(0)
    A, B = (np.stack([rng.permutation(6) for _ in range(9)]) for _ in range(2))
    taus = [kendalltau(a, b).statistic for a, b in zip(A, B, strict=True)]
    np.testing.assert_allclose(kendall_tau(A, B, average=False), taus)
    rhos = [spearmanr(a, b).statistic for a, b in zip(A, B, strict=True)]
    np.testing.assert_allclose(spearman_rho(A, B, average=False), rhos)
    np.testing.assert_allclose(position_accuracy(A, B), (A == B).mean())


def test_partial_truths_count_the_pairs_that_they_order():
    assert kendall_tau([[0, 0, 1]], [[0, 1, 2]]) == pytest.approx(1.0)
    assert kendall_tau([[0, -1, 1]], [[2, 1, 0]]) == pytest.approx(-1.0)
    assert kendall_tau([[0, -1, -1]], [[2, 1, 0]]) == 0.0
    with pytest.raises(ValueError, match="one shape"):
        kendall_tau([[0, 1]], [[0, 1, 2]])
