"""Inputs that used to end in an error of numpy or Python, named by no argument."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from mercer import ConformalSets, KernelDependency, KernelDependencyCV
from mercer.features import Nystroem
from mercer.kernels import RBF, Labels
from mercer.metrics import sample_f1


@pytest.fixture
def pairs(rng):
    X = rng.normal(size=(40, 3))
    return X, X @ rng.normal(size=(3, 2))


def test_prediction_sets_take_lists_of_lists(pairs):
    X, y = pairs
    model = ConformalSets(KernelDependency(), coverage=0.8)
    expected = model.fit(X, y).radius_
    assert model.fit(X.tolist(), y.tolist()).radius_ == pytest.approx(expected)


def test_a_stream_takes_sparse_inputs(pairs):
    X, y = pairs
    model = KernelDependency(features=Nystroem(10, random_state=0))
    dense = clone(model).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    rows = sparse.csr_array(X)
    model.partial_fit(rows[:20], y[:20]).partial_fit(rows[20:], y[20:])
    np.testing.assert_allclose(model.predict(rows[:5]), dense.predict(X[:5]), atol=1e-12)


@pytest.mark.parametrize("group", [[0], {0}, {"a": 1}, (0, [1]), np.zeros(2)], ids=repr)
@pytest.mark.parametrize("make", [KernelDependencyCV, lambda: ConformalSets(KernelDependency())])
def test_groups_that_cannot_be_labels_are_named(pairs, make, group):
    with pytest.raises(ValueError, match="groups must be labels such as numbers or strings"):
        make().fit(*pairs, groups=[group] * 40)


@pytest.mark.parametrize("alpha", [10**400, -(10**400), 10**5000], ids=["400", "-400", "5000"])
def test_a_ridge_beyond_floating_point_is_refused(pairs, alpha):
    for model in (KernelDependency(alpha=alpha), KernelDependencyCV(alphas=[alpha])):
        with pytest.raises(ValueError, match="alpha must be positive and finite"):
            model.fit(*pairs)


def test_generators_are_no_label_sets(pairs):
    def sets():
        return [(label for label in "ab") for _ in range(40)]

    with pytest.raises(ValueError, match=r"y\[0\] is a generator.*write it as a list"):
        KernelDependency(RBF(), Labels()).fit(pairs[0], sets())
    with pytest.raises(ValueError, match=r"\[0\] is a generator"):
        sample_f1(sets(), sets())
