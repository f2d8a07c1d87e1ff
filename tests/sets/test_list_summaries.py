"""Lists of label sets and rankings, label by label."""

import numpy as np
import pytest

import mercer
from mercer import ConformalSets, KernelDependency
from mercer.kernels import RBF, Kendall, Labels


def tagged(seed, n=400, m=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    W = np.random.default_rng(0).normal(size=(3, m))
    return X, (X @ W + rng.normal(size=(n, m)) > 0.3).astype(int)


@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
@pytest.mark.parametrize("named", [False, True])
def test_label_probabilities_are_calibrated(calibration, named, tmp_path):
    X, Y = tagged(1)
    y = [[f"tag {j}" for j in np.flatnonzero(row)] for row in Y] if named else Y
    labels = Labels(classes=[f"tag {j}" for j in range(5)] if named else None)
    model = KernelDependency(RBF(2.0), labels, alpha=1.0)
    sets = ConformalSets(model, 0.8, calibration, kind="candidates").fit(X[:200], y[:200])
    P = sets.label_probabilities(X[200:])
    assert P.shape == (200, 5)
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        some = (low <= P) & (high >= P)
        assert abs(P[some].mean() - Y[200:][some].mean()) < 0.12
    if calibration == "split":
        again = mercer.load(mercer.save(sets, tmp_path / "sets.mercer"))
        np.testing.assert_allclose(again.label_probabilities(X[200:]), P)


def test_positions_hold_the_truth_as_often_as_lists(rng):
    X = rng.normal(size=(300, 3))
    ranks = np.argsort(np.argsort(X @ rng.normal(size=(3, 4)) + 0.5 * rng.normal(size=(300, 4))))
    sets = ConformalSets(KernelDependency(RBF(2.0), Kendall()), 0.8).fit(X[:200], ranks[:200])
    where = sets.positions(X[200:])
    assert where.shape == (100, 4, 4)
    inside = np.take_along_axis(where, ranks[200:][:, :, None], axis=2).all(axis=(1, 2))
    assert (inside >= sets.covers(X[200:], ranks[200:])).all()
    lists = sets.predict(X[200:])
    for one, some in zip(where, lists, strict=True):
        assert one.sum() == sum(len(set(column)) for column in np.array(some).T)


def test_other_outputs_are_refused(rng):
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    sets = ConformalSets(KernelDependency(RBF(1.0)), 0.8).fit(X, Y)
    with pytest.raises(ValueError, match="lists of label sets"):
        sets.label_probabilities(X)
    with pytest.raises(ValueError, match="labels in rankings"):
        sets.positions(X)
