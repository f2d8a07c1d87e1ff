"""Frames and dictionaries of columns give the numbers of arrays, in every way of fitting."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import ConformalSets, ForestDependency, KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates
from mercer.estimators import MissingTargets
from mercer.kernels import RBF, Delta, Linear, On, Spectrum
from mercer.operators import Covariance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 2))
Y = np.stack([np.sin(X[:, 0]), X[:, 0] * X[:, 1]], axis=1)
WORDS = ["ab", "ba", "bba", "aaba", "abbb", "b"] * 4
WEIGHTS = np.r_[0.0, 0.0, RNG.random(22)]
GROUPS = np.repeat(np.arange(6), 4)
ORDER = RNG.permutation(24)
KINDS = ["pandas", "polars", "pyarrow", "columns"]
KERNEL = On("a", RBF(1.0)) + On("b", Spectrum(2))


def table(columns, kind):
    if kind == "columns":
        return columns
    library = pytest.importorskip(kind)
    return library.table(columns) if kind == "pyarrow" else library.DataFrame(columns)


def series(values, kind):
    if kind == "pandas":
        return pd.Series(values, index=ORDER)
    return pytest.importorskip("polars").Series(values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: KernelDependency(KERNEL).fit(X, y, sample_weight=WEIGHTS).predict(X),
        lambda X, y: KernelDependencyCV(KERNEL, nested=3).fit(X, y).nested_risk_,
        lambda X, y: KernelDependencyCV(KERNEL, nested=3).fit(X, y, groups=GROUPS).nested_risk_,
        lambda X, y: ConformalSets(KernelDependency(KERNEL), random_state=0).fit(X, y).radius_,
        lambda X, y: MissingTargets(KernelDependency(KERNEL)).fit(X, y).predict(X),
    ],
    ids=["zero weights", "nested", "nested groups", "split", "missing targets"],
)
def test_a_table_of_any_library_is_cut_by_rows(fit, kind):
    columns = {"a": list(X[:, 0]), "b": WORDS}
    expected = fit(pd.DataFrame(columns), Y)
    assert np.allclose(fit(table(columns, kind), Y), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_in_a_table_of_any_library_are_cut_by_rows(kind):
    columns = {"u": list(Y[:, 0]), "v": WORDS}
    model = KernelDependencyCV(RBF(1.0), On("u", Linear()) + On("v", Spectrum(2)), nested=3)
    expected = model.fit(X, pd.DataFrame(columns)).nested_risk_
    assert np.isclose(model.fit(X, table(columns, kind)).nested_risk_, expected)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_groups_and_outputs_in_series(kind):
    y = [WORDS[i] for i in range(24)]
    groups = RNG.integers(0, 5, 24)

    def left_out(y, groups):
        model = KernelDependency(RBF(1.0), Delta())
        return model.fit(X, y, groups=groups).loo_embed().coordinates

    expected = left_out(y, groups)
    assert np.allclose(left_out(y, series(groups, kind)), expected)
    assert np.allclose(left_out(series(y, kind), groups), expected)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_table_of_numbers_gives_the_predictions_of_an_array(kind):
    model = KernelDependency(RBF(1.0) * Covariance())
    expected = model.fit(X, Y).predict(X)
    given = table({"a": X[:, 0].copy(), "b": X[:, 1].copy()}, kind)
    outputs = table({"u": Y[:, 0].copy(), "v": Y[:, 1].copy()}, kind)
    assert np.allclose(model.fit(given, outputs).predict(given), expected)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_only_column_of_a_table_holds_the_items(kind):
    model = KernelDependency(Spectrum(2), Spectrum(2))
    expected = list(model.fit(WORDS, WORDS).predict(WORDS))
    column = table({"word": WORDS}, kind)
    assert list(model.fit(column, column).predict(column)) == expected


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_candidates_in_a_table_are_its_rows(kind):
    words = KernelDependency(RBF(1.0), Spectrum(2)).fit(X, WORDS)
    expected = list(words.predict(X, [WORDS[:6]] * 24))
    assert list(words.predict(X, [table({"word": WORDS[:6]}, kind)] * 24)) == expected
    numbers = KernelDependency(RBF(1.0)).fit(X, Y)
    frame = table({"u": Y[:, 0].copy(), "v": Y[:, 1].copy()}, kind)
    assert np.allclose(numbers.predict(X, [frame] * 24), numbers.predict(X, [Y] * 24))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    "model",
    [
        KernelDependency(RBF(1.0)),
        KernelDependency(RBF(1.0), RBF(1.0)),
        ForestDependency(n_trees=5, random_state=0),
    ],
    ids=["coordinates", "weights", "forest"],
)
def test_left_out_points_have_rows_that_decoders_can_read(model, kind):
    model = clone(model).set_params(decoder=Candidates(lambda x: [[x[0]], [-x[0]]]))
    expected = model.fit(X, Y[:, :1]).loo_predict()
    model.fit(table({"a": X[:, 0], "b": X[:, 1]}, kind), Y[:, :1])
    np.testing.assert_array_equal(model.loo_predict(), expected)
    assert len(model.loo_embed()[:5].inputs) == 5
