"""The training examples behind a prediction, of every model that predicts points."""

import numpy as np
import pytest

import mercer
from mercer import AutoDependency, Blend, ForestDependency, KernelDependency, KernelDependencyCV
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF, Labels
from mercer.operators import Covariance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1], X.sum(axis=1)])
SETS = [["a"] if x > 0 else ["a", "b"] for x in X[:, 0]]
MODELS = [
    KernelDependency(RBF(1.0), alpha=0.1),
    KernelDependency(RBF(1.0) * Covariance(), alpha=0.1),
    KernelDependency(RBF(1.0), alpha=0.1, features=IncompleteCholesky(20)),
    KernelDependencyCV([RBF(1.0), RBF(3.0)]),
    ForestDependency(n_trees=20, random_state=0),
    Blend([KernelDependencyCV(RBF(1.0)), ForestDependency(n_trees=20, random_state=0)]),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_weights_make_the_point_and_the_largest_come_first(model):
    model = model.fit(X, Y)
    few = X[:3] + 0.01
    whole = model.explain(few, k=40)
    for row, g in zip(whole, np.asarray(model.predict(few)), strict=True):
        sizes = [abs(weight) for _, weight, _ in row]
        assert sizes == sorted(sizes, reverse=True)
        np.testing.assert_allclose(sum(weight * output for _, weight, output in row), g, atol=1e-6)
        assert all(np.array_equal(output, Y[index]) for index, _, output in row)
    assert [[e[0] for e in row[:5]] for row in whole] == [
        [e[0] for e in r] for r in model.explain(few)
    ]


def test_label_sets_come_back_as_they_are():
    model = KernelDependency(RBF(0.2), Labels(), alpha=0.01).fit(X, SETS)
    for i, row in enumerate(model.explain(X, k=1)):
        assert (row[0][0], row[0][2]) == (i, SETS[i])


def test_a_table(tmp_path):
    frame = {"a": X[:, 0], "b": X[:, 1], "tags": SETS}
    model = AutoDependency(output="tags", random_state=0).fit(frame)
    ((index, _, tags), *_) = model.explain({"a": X[:1, 0], "b": X[:1, 1]}, k=3)[0]
    assert tags == SETS[index]
    loaded = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    with pytest.raises(AttributeError, match="does without the training outputs"):
        loaded.explain({"a": X[:1, 0], "b": X[:1, 1]})


def test_a_wrong_number_is_refused():
    with pytest.raises(ValueError, match="k must be a positive integer, got 0"):
        KernelDependency(RBF(1.0)).fit(X, Y).explain(X, k=0)
