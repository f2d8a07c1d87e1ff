"""The input of a list that has such an output, ranked by models that have not seen the list."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer import KernelDependency, load, save
from mercer.kernels import RBF, Linear, On, Spectrum
from mercer.operators import Matrix

RNG = np.random.default_rng(0)
X, Y = np.round(RNG.normal(size=(20, 3)), 1), RNG.normal(size=(20, 2))
X[7] = X[3]  # one input of two examples
NEW, Y_NEW = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2))
LISTS = [np.vstack([NEW[t], X[t : t + 4], NEW[:2]]) for t in range(6)]
B = Matrix(np.array([[2.0, 0.5], [0.5, 1.0]]))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("kernel", "outputs"), [(RBF(1.0), RBF(1.0)), (RBF(1.0), Linear()), (RBF(1.0) * B, Linear())]
)
def test_scores_are_those_of_refits(kernel, outputs, intercept):
    model = KernelDependency(kernel, outputs, alpha=0.3, fit_intercept=intercept)
    found = model.fit(X, Y).rank_inputs(Y_NEW, LISTS, 7, leave_out_candidates=True)
    for t, row in enumerate(found):
        rest = np.array([not (LISTS[t] == x).all(axis=1).any() for x in X])
        points = model.fit(X[rest], Y[rest]).embed(LISTS[t])
        D2 = points.distances(Y_NEW[[t]])[:, 0] ** 2
        assert [score for _, score in row] == pytest.approx(np.sort(-D2)[::-1])
        assert (row[0][0] == LISTS[t][np.argmin(D2)]).all()


def test_the_default_leaves_out_and_says_so_and_lists_may_come_one_by_one():
    model = KernelDependency(RBF(1.0), RBF(1.0), alpha=0.3).fit(X, Y)
    asked = model.rank_inputs(Y_NEW, iter(LISTS), 2, leave_out_candidates=True)
    with pytest.warns(UserWarning, match="6 of 6 candidate lists mix training inputs"):
        found = model.rank_inputs(Y_NEW, LISTS, 2)
    assert str(found) == str(asked) and [len(row) for row in found] == [2] * 6
    whole = model.rank_inputs(Y_NEW, LISTS, 2, leave_out_candidates=False)
    assert str(whole) != str(asked)
    with pytest.raises(ValueError, match="one list for each of the 6 outputs, got 5"):
        model.rank_inputs(Y_NEW, LISTS[:5])


def test_inputs_of_any_kind_and_saved_models(tmp_path):
    words, y = ["aab", "abb", "bbb", "baa"], [2.0, 1.0, 0.0, 2.0]
    model = KernelDependency(Spectrum(1), alpha=1e-3).fit(words, y)
    assert model.rank_inputs([3.0, 0.0], [["aaa", "abab"], ["bb", "aa"]], 1)[0][0][0] == "aaa"
    save(model, tmp_path / "model.mercer")
    loaded = load(tmp_path / "model.mercer")
    best = [row[0][0] for row in loaded.rank_inputs([3.0, 0.0], [["aaa", "bab"], ["bbb", "aaa"]])]
    assert best == ["aaa", "bbb"]


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_the_number_of_inputs_is_positive(k):
    with pytest.raises(ValueError, match="k must be a positive integer"):
        KernelDependency(RBF(1.0)).fit(X, Y).rank_inputs(Y_NEW, LISTS, k)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_lists_may_be_tables(frame):
    names = ["a", "b", "c"]
    model = KernelDependency(RBF(1.0)).fit(frame(dict(zip(names, X.T, strict=True))), Y)
    lists = [frame(dict(zip(names, row.T, strict=True))) for row in LISTS]
    found = model.rank_inputs(Y_NEW, lists, 2, leave_out_candidates=True)  # without a warning
    plain = KernelDependency(RBF(1.0)).fit(X, Y)
    assert str(found) == str(plain.rank_inputs(Y_NEW, LISTS, 2, leave_out_candidates=True))
    with pytest.raises(ValueError, match="feature names should match"):
        model.rank_inputs(Y_NEW, [row[["b", "a", "c"]] for row in lists])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_lists_of_rows_may_be_tables(frame):
    rows = [{"size": x, "word": word} for x, word in zip(X[:, 0], ["ab", "bb"] * 10, strict=True)]
    kernel = On("size", RBF(1.0)) + On("word", Spectrum(1))
    model = KernelDependency(kernel, alpha=0.1).fit(rows, Y)
    assert model.rank_inputs(Y_NEW, [frame(rows)] * 6) == model.rank_inputs(Y_NEW, [rows] * 6)
    model = KernelDependency(RBF(1.0), kernel, alpha=0.1).fit(X, rows)
    assert model.predict_top(NEW, 2, [frame(rows)] * 6) == model.predict_top(NEW, 2, [rows] * 6)


def test_candidates_that_are_not_lists_are_refused():
    model = KernelDependency(RBF(1.0)).fit(X, Y)
    for use in (lambda: model.predict(NEW, 3), lambda: model.rank_inputs(Y_NEW, 3)):
        with pytest.raises(TypeError, match="one list for each of the 6 .*, got 3"):
            use()
