"""The set of the largest expected F1, against all sets."""

from itertools import product

import numpy as np
import pytest

from mercer import KernelDependency
from mercer.decoders import ExpectedF1
from mercer.decoders.expected_f1 import _best_sets
from mercer.kernels import RBF, Labels

RNG = np.random.default_rng(0)


def expected_f1(p, chosen):
    total = 0.0
    for truth in product([0, 1], repeat=len(p)):
        y = np.array(truth)
        size = y.sum() + chosen.sum()
        f1 = 1.0 if size == 0 else 2.0 * (y * chosen).sum() / size
        total += np.prod(np.where(y == 1, p, 1.0 - p)) * f1
    return total


@pytest.mark.parametrize("seed", range(20))
def test_no_other_set_is_better(seed):
    p = np.random.default_rng(seed).uniform(size=5) ** 2
    sets, values = (part[0] for part in _best_sets(p[None, :]))
    found = sets[values.argmax()]
    best = max(expected_f1(p, np.array(c)) for c in product([0, 1], repeat=5))
    assert expected_f1(p, found.astype(int)) == pytest.approx(best)


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


def test_ranked_lists_are_the_best_of_each_size():
    p = RNG.uniform(size=4)
    sets, values = (part[0] for part in _best_sets(p[None, :]))
    for size, (found, value) in enumerate(zip(sets, values, strict=True)):
        same = [np.array(c) for c in product([0, 1], repeat=4) if sum(c) == size]
        assert found.sum() == size
        assert value == pytest.approx(max(expected_f1(p, one) for one in same))
    X = RNG.normal(size=(40, 2))
    model = KernelDependency(RBF(1.0), Labels(), alpha=0.1, decoder=ExpectedF1()).fit(X, X > 0)
    top = model.predict_top(X[:3], 2)
    for (best, first), (_, second) in top:
        assert first >= second and len(best) == 2
    assert np.array_equal([row[0][0] for row in top], model.predict(X[:3]))
