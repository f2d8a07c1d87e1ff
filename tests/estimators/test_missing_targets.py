"""Outputs with missing values: a row counts for the targets that it has."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import mercer
from mercer import KernelDependency, KernelDependencyCV
from mercer.estimators import Blend, ForestDependency, MissingTargets
from mercer.features import IncompleteCholesky
from mercer.kernels import L2, RBF, Delta, Gaussian, Labels, Linear, On
from mercer.operators import Covariance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.column_stack([X @ RNG.normal(size=3), np.sin(X[:, 0]), X[:, 1] ** 2, X[:, 2]])
GAPS = Y.copy()
GAPS[::3, 0] = np.nan
GAPS[1::4, 2] = np.nan
GROUPS = np.repeat(np.arange(20), 2)


def known(j):
    return np.flatnonzero(~np.isnan(GAPS[:, j]))


def test_every_target_is_learnt_from_the_rows_that_have_it():
    model = MissingTargets(KernelDependency(RBF(2.0), alpha=0.1)).fit(X, GAPS)
    assert [own.tolist() for own in model.columns_] == [[0], [1, 3], [2]]
    predicted, left_out = model.predict(X), model.loo_predict()
    for j in range(4):
        rows = known(j)
        alone = KernelDependency(RBF(2.0), alpha=0.1).fit(X[rows], Y[rows, j])
        np.testing.assert_allclose(predicted[:, j], alone.predict(X))
        np.testing.assert_allclose(left_out[rows, j], alone.loo_predict())
        rest = np.setdiff1d(np.arange(40), rows)
        np.testing.assert_allclose(left_out[rest, j], predicted[rest, j])


@pytest.mark.parametrize("weights", [None, RNG.uniform(0.5, 2.0, size=40)])
def test_left_out_predictions_are_those_of_refits_without_the_group(weights):
    model = MissingTargets(KernelDependency(RBF(2.0), alpha=0.1))
    left_out = model.fit(X, GAPS, groups=GROUPS, sample_weight=weights).loo_predict()
    for i in (0, 3, 9):
        for j in (0, 2):
            rows = np.setdiff1d(known(j), np.flatnonzero(GROUPS[i] == GROUPS))
            some = None if weights is None else weights[rows]
            alone = KernelDependency(RBF(2.0), alpha=0.1)
            alone.fit(X[rows], Y[rows, j], sample_weight=some)
            np.testing.assert_allclose(left_out[i, j], alone.predict(X[i : i + 1])[0])


def test_rows_of_weight_zero_are_left_out():
    weights = (np.arange(40) % 7 > 0) + 0.0
    rows = np.flatnonzero(weights)
    estimator = MissingTargets(KernelDependency(RBF(2.0), alpha=0.1))
    some = estimator.fit(X, GAPS, sample_weight=weights).predict(X)
    np.testing.assert_allclose(some, estimator.fit(X[rows], GAPS[rows]).predict(X))


def test_without_gaps_it_is_the_estimator():
    model = MissingTargets(KernelDependencyCV([RBF(1.0), RBF(3.0)])).fit(X, Y)
    plain = KernelDependencyCV([RBF(1.0), RBF(3.0)]).fit(X, Y)
    assert len(model.models_) == 1
    np.testing.assert_allclose(model.predict(X), plain.predict(X))
    np.testing.assert_allclose(model.loo_predict(), plain.loo_predict())
    np.testing.assert_allclose(model.score(X, Y), plain.score(X, Y))


def test_one_target_and_plain_numbers():
    model = MissingTargets(KernelDependency(RBF(2.0), alpha=0.1)).fit(X, GAPS[:, 0])
    assert model.predict(X).shape == (40,)
    assert model.score(X, GAPS[:, 0]) > 0.8


def test_a_covariance_couples_the_targets_of_one_pattern():
    kernels = [RBF(2.0) * Covariance()]
    model = MissingTargets(KernelDependencyCV(kernels, alphas=[0.1])).fit(X, GAPS)
    rows = known(1)
    pair = KernelDependencyCV(kernels, alphas=[0.1]).fit(X[rows], Y[np.ix_(rows, [1, 3])])
    np.testing.assert_allclose(model.predict(X)[:, [1, 3]], pair.predict(X))


def records():
    frame = pd.DataFrame({"count": GAPS[:, 0], "side": np.where(X[:, 1] > 0, "left", "right")})
    frame["tags"] = [["a"] * int(a > 0) + ["b"] * int(b > 0) for a, b in X[:, :2]]
    frame.loc[2:9, "side"] = None
    frame.loc[5:15, "tags"] = None
    return frame


def test_fields_of_records_may_be_missing():
    kernel = On("count", Linear()) + On("side", Delta()) + On("tags", Labels())
    frame = records()
    model = MissingTargets(KernelDependency(RBF(2.0), kernel, alpha=0.1)).fit(X, frame)
    predicted = model.predict(X)
    assert list(predicted.columns) == ["count", "side", "tags"]
    rows = np.flatnonzero(frame["side"].notna())
    alone = KernelDependency(RBF(2.0), Delta(), alpha=0.1).fit(
        X[rows], frame["side"][rows].tolist()
    )
    assert predicted["side"].tolist() == alone.predict(X).tolist()
    rows = np.flatnonzero(frame["tags"].notna())
    alone = KernelDependency(RBF(2.0), Labels(), alpha=0.1).fit(
        X[rows], frame["tags"][rows].tolist()
    )
    assert predicted["tags"].tolist() == alone.predict(X).tolist()
    found = model.decoder_.decoders_["tags"].threshold_
    np.testing.assert_allclose(found, alone.decoder_.threshold_)
    assert 0.5 < model.score(X, frame) < 1.0


def test_forests_and_blends_of_missing_targets():
    forest = ForestDependency(n_trees=20, cv=2, random_state=0)
    models = [MissingTargets(KernelDependency(RBF(2.0), alpha=0.1)), MissingTargets(forest)]
    fitted = [model.fit(X, GAPS) for model in models]
    assert fitted[1].loo_predict().shape == (40, 4)
    blend = Blend(fitted, prefit=True).fit(X, GAPS)
    assert blend.predict(X).shape == (40, 4)


def test_the_weights_of_a_blend_are_those_of_the_known_values():
    good = MissingTargets(KernelDependency(RBF(2.0), alpha=0.01)).fit(X, GAPS)
    poor = MissingTargets(KernelDependency(RBF(0.01), alpha=10.0)).fit(X, GAPS)
    blend = Blend([good, poor], prefit=True).fit(X, GAPS)
    assert blend.weights_[0] > 0.8
    for model in (good, poor):  # what fills the gaps counts for nothing
        model.outputs_ = np.where(np.isnan(GAPS), 1e3, model.outputs_)
    other = Blend([good, poor], prefit=True).fit(X, GAPS)
    np.testing.assert_allclose(blend.weights_, other.weights_)


@pytest.mark.parametrize("features", [None, IncompleteCholesky(10)])
def test_saved_models_predict_the_same(features, tmp_path):
    estimator = KernelDependencyCV(RBF(2.0), features=features, alphas=[0.1])
    model = MissingTargets(estimator).fit(X, GAPS)
    again = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_curves_with_gaps_keep_their_unit():
    grid = np.linspace(0, 1, 4)
    model = MissingTargets(KernelDependency(RBF(2.0), L2(grid), alpha=0.1)).fit(X, GAPS)
    plain = MissingTargets(KernelDependency(RBF(2.0), alpha=0.1)).fit(X, GAPS)
    np.testing.assert_allclose(model.predict(X), plain.predict(X))


@pytest.mark.parametrize(
    ("estimator", "y", "message"),
    [
        (KernelDependency(), np.where(np.arange(40)[:, None] < 37, np.nan, Y), "at least 4 rows"),
        (KernelDependency(output_kernel=RBF()), GAPS, "no finite features"),
        (KernelDependency(output_kernel=Labels()), GAPS, "known or missing as a whole"),
        (KernelDependencyCV(scoring="r2"), GAPS, "scoring must be None"),
        (KernelDependencyCV(output_kernel=[Linear(), Linear()]), GAPS, "one output kernel"),
        (
            KernelDependency(output_kernel=On("count", Gaussian(Linear()))),
            records(),
            "no finite features",
        ),
    ],
)
def test_what_cannot_be_missing_is_refused_with_a_sentence(estimator, y, message):
    with pytest.raises(ValueError, match=message):
        MissingTargets(estimator).fit(X, y)


@pytest.mark.parametrize("estimator", [Ridge(), 3, Blend([KernelDependency()])])
def test_estimators_that_cannot_be_wrapped_are_named(estimator):
    name = re.escape(repr(estimator)[:10])
    with pytest.raises(TypeError, match=f"one estimator with an output kernel.*got {name}"):
        MissingTargets(estimator).fit(X, GAPS)


def gaps_as(kind):
    """The gaps in whole numbers, in a container of that kind."""
    whole = pd.DataFrame(np.round(10.0 * GAPS))
    if kind == "polars":
        return pytest.importorskip("polars").from_pandas(whole.rename(columns=str))
    missing = whole.astype("Int64") if kind == "nullable" else whole.astype(object)
    return missing.to_numpy().tolist() if kind == "list" else missing


@pytest.mark.parametrize("kind", ["nullable", "object", "list", "polars"])
def test_missing_values_of_any_container_are_known_as_such(kind):
    given = gaps_as(kind)
    model = MissingTargets(KernelDependency(RBF(2.0)))
    expected = model.fit(X, np.round(10.0 * GAPS)).predict(X)
    np.testing.assert_allclose(model.fit(X, given).predict(X), expected)
    with pytest.raises(ValueError, match="MissingTargets"):
        KernelDependency(RBF(2.0)).fit(X, given)


def test_estimators_that_need_whole_outputs_name_the_one_that_does_not():
    with pytest.raises(ValueError, match="MissingTargets"):
        KernelDependency(RBF(2.0)).fit(X, GAPS)
    kernel = On("count", Linear()) + On("side", Delta())
    with pytest.raises(ValueError, match="MissingTargets"):
        KernelDependency(RBF(2.0), kernel).fit(X, records())
    with pytest.raises(ValueError, match="common weights"):
        MissingTargets(KernelDependency(RBF(2.0))).fit(X, GAPS).explain(X)
