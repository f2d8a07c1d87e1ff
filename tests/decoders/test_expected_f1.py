"""The set of the largest expected F1, against all sets."""

from itertools import product

import numpy as np
import pytest

from mercer import KernelDependency
from mercer.decoders import ExpectedF1
from mercer.decoders.expected_f1 import expected_f1
from mercer.kernels import RBF, Labels

RNG = np.random.default_rng(0)


def over_all_outcomes(p, chosen):
    total = 0.0
    for truth in product([0, 1], repeat=len(p)):
        y = np.array(truth)
        size = y.sum() + chosen.sum()
        f1 = 1.0 if size == 0 else 2.0 * (y * chosen).sum() / size
        total += np.prod(np.where(y == 1, p, 1.0 - p)) * f1
    return total


@pytest.mark.parametrize("seed", range(5))
def test_no_other_set_of_a_size_is_better(seed):
    p = np.sort(np.random.default_rng(seed).uniform(size=5) ** 2)[::-1]
    values = expected_f1(p[None, :])[0]
    for size, value in enumerate(values):
        same = [np.array(c) for c in product([0, 1], repeat=5) if sum(c) == size]
        best = max(over_all_outcomes(p, one) for one in same)
        assert value == pytest.approx(best, rel=1e-12)


def test_a_thousand_labels_against_draws():
    p = np.sort(RNG.beta(0.1, 2.0, size=1000))[::-1]
    chosen, other = (RNG.random((20_000, part.size)) < part for part in (p[:30], p[30:]))
    hits = chosen.sum(axis=1)
    f1 = 2.0 * hits / (30 + hits + other.sum(axis=1))
    assert expected_f1(p[None, :])[0, 30] == pytest.approx(f1.mean(), abs=4 * f1.std() / 141)


def test_outputs_keep_their_form():
    X = RNG.normal(size=(40, 2))
    sets = (X > 0).astype(int)
    model = KernelDependency(RBF(1.0), Labels(), alpha=0.1, decoder=ExpectedF1()).fit(X, sets)
    assert (model.predict(X) == sets).mean() > 0.9


def test_a_kernel_that_is_not_linear_is_refused():
    with pytest.raises(ValueError, match="linear in the labels"):
        KernelDependency(RBF(1.0), RBF(1.0), decoder=ExpectedF1()).fit(
            [[0.0], [1.0]], [[0.0], [1.0]]
        )


def test_ranked_lists_are_in_order():
    X = RNG.normal(size=(40, 2))
    model = KernelDependency(RBF(1.0), Labels(), alpha=0.1, decoder=ExpectedF1()).fit(X, X > 0)
    top = model.predict_top(X[:3], 2)
    for (best, first), (_, second) in top:
        assert first >= second and len(best) == 2
    assert np.array_equal([row[0][0] for row in top], model.predict(X[:3]))
