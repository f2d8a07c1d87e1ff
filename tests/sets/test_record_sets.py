"""Prediction sets of records: one for each field."""

import numpy as np
import pandas as pd
import pytest

from mercer import ConformalSets, KernelDependency
from mercer.estimators import Blend, MissingTargets
from mercer.kernels import RBF, Delta, Linear, On
from mercer.sets import LeftOutSets, RecordSets

KERNEL = On("count", Linear()) + On("side", Delta())


def draws(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    side = np.where(X[:, 1] + 0.3 * rng.normal(size=n) > 0, "left", "right")
    return X, pd.DataFrame({"count": 10.0 * X[:, 0] + rng.normal(size=n), "side": side})


@pytest.fixture(scope="module")
def model():
    return KernelDependency(RBF(1.0), KERNEL, alpha=0.1).fit(*draws(150, 0))


def held(sets, y):
    bands = sets["count"]
    inside = (bands.lower[:, 0] <= y["count"]) & (y["count"] <= bands.upper[:, 0])
    return inside, np.array(
        [truth in some for truth, some in zip(y["side"], sets["side"], strict=True)]
    )


@pytest.mark.parametrize("joint", [False, True])
def test_sets_hold_the_truth_as_often_as_requested(joint):
    found = []
    X, y = draws(400, 100)
    for seed in range(8):
        model = KernelDependency(RBF(1.0), KERNEL, alpha=0.1).fit(*draws(100, seed))
        count, side = held(RecordSets.of(model).predict(X, 0.9, joint), y)
        found.append([np.mean(count & side)] if joint else [count.mean(), side.mean()])
    assert np.mean(found, axis=0).min() > 0.87


def test_the_sets_of_a_field_are_those_of_a_model_of_its_own(model):
    X, y = draws(150, 0)
    alone = KernelDependency(RBF(1.0), alpha=0.1).fit(X, y["count"].to_numpy())
    expected = LeftOutSets.of(alone).predict(X[:5], 0.9)
    found = RecordSets.of(model).predict(X[:5], 0.9, joint=False)["count"]
    np.testing.assert_allclose(found.lower[:, 0], expected.lower)


def test_fields_are_calibrated_on_the_rows_that_have_them(model):
    known = {"count": np.arange(0, 150, 2), "side": np.arange(150)}
    some = RecordSets.of(model, known=known)
    assert len(some.sets["count"].scores) == 75 and len(some.sets["side"].scores) == 150


def test_the_model_names_the_rows_in_which_fields_are_known():
    X, y = draws(60, 0)
    y.loc[::2, "count"] = np.nan
    model = MissingTargets(KernelDependency(RBF(1.0), KERNEL, alpha=0.1)).fit(X, y)
    known = {"count": np.arange(1, 60, 2), "side": np.arange(60)}
    found, expected = (
        RecordSets.of(model, known=rows).predict(X[:5], 0.9) for rows in (None, known)
    )
    np.testing.assert_array_equal(found["count"].upper, expected["count"].upper)
    assert found["side"] == expected["side"]


def test_a_blend_leaves_out_folds_which_are_not_groups():
    X, y = draws(60, 0)
    blend = Blend([KernelDependency(RBF(s), KERNEL, alpha=0.1) for s in (0.5, 1.0)]).fit(X, y)
    assert len(RecordSets.of(blend).predict(X[:2], 0.9)["side"]) == 2


def test_lists_of_records_are_refused(model):
    with pytest.raises(ValueError, match="one set for each field"):
        LeftOutSets.of(model)
    with pytest.raises(ValueError, match="one set for each field"):
        ConformalSets(KernelDependency(RBF(1.0), KERNEL), 0.8).fit(*draws(60, 0))
    with pytest.raises(TypeError, match="not a sum of kernels on fields"):
        RecordSets.of(KernelDependency().fit(np.eye(6), np.eye(6)))
