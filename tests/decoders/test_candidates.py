"""The best of a set: blocks, ties, ranked lists, and candidates that an input names."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates, _scan
from mercer.kernels import RBF, Function, Linear
from mercer.operators import Covariance
from tolerances import IDENTITY


@pytest.fixture
def fitted(rng):
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 3))
    return lambda decoder, l=None: KernelDependency(
        RBF(1.0) * Covariance(), l or RBF(2.0), alpha=0.1, decoder=decoder
    ).fit(X, Y)


@pytest.mark.parametrize("l", [RBF(2.0), Linear()], ids=str)
def test_decodes_the_nearest_training_output(l, fitted, rng):
    """Nearest in feature space: the term l(y, y) matters where norms differ."""
    model, X_new = fitted(Candidates(), l), rng.normal(size=(9, 2))
    Y = model.outputs_
    nearest = model.embed(X_new).distances(Y).argmin(axis=1)
    assert_allclose(model.predict(X_new), Y[nearest], rtol=0, atol=0)


def test_given_candidates_are_scored_and_returned(fitted, rng):
    others, X_new = rng.normal(size=(11, 3)), rng.normal(size=(9, 2))
    model = fitted(Candidates(others))
    nearest = model.embed(X_new).distances(others).argmin(axis=1)
    assert_allclose(model.predict(X_new), others[nearest], rtol=0, atol=0)


@pytest.mark.parametrize("k", [1, 4, 30, 100])
def test_blocks_give_what_one_matrix_gives(k, fitted, rng, monkeypatch):
    model, X_new = fitted(Candidates()), rng.normal(size=(13, 2))
    whole, predicted = model.predict_top(X_new, k=k), model.predict(X_new)
    monkeypatch.setattr(_scan, "SCORE_ROWS", 4)
    monkeypatch.setattr(_scan, "SCORE_COLUMNS", 7)
    assert_allclose(model.predict(X_new), predicted, rtol=0, atol=0)
    for some, other in zip(model.predict_top(X_new, k=k), whole, strict=True):
        assert len(some) == len(other) == min(k, 30)
        assert_allclose([y for y, _ in some], [y for y, _ in other], rtol=0, atol=0)
        assert_allclose([s for _, s in some], [s for _, s in other], rtol=0, atol=IDENTITY)


def test_top_is_sorted_and_begins_with_the_prediction(fitted, rng):
    model, X_new = fitted(Candidates()), rng.normal(size=(13, 2))
    scores = model.embed(X_new).scores(model.outputs_)
    for t, row in enumerate(model.predict_top(X_new, k=5)):
        order = np.argsort(-scores[t])[:5]
        assert_allclose([y for y, _ in row], model.outputs_[order], rtol=0, atol=0)
        assert_allclose([s for _, s in row], scores[t, order], rtol=0, atol=IDENTITY)
    first = np.array([row[0][0] for row in model.predict_top(X_new, k=5)])
    assert_allclose(first, model.predict(X_new), rtol=0, atol=0)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_of_equal_scores_the_first_candidate_wins(size, monkeypatch):
    """±1 is as far from a prediction of 0 on either side."""
    monkeypatch.setattr(_scan, "SCORE_COLUMNS", size)
    X, y = [[0.0], [0.0]], [1.0, -1.0]
    for pool in ([1.0, -1.0, 3.0], [-1.0, 3.0, 1.0]):
        model = KernelDependency(Linear(), Linear(), decoder=Candidates(pool)).fit(X, y)
        assert model.predict([[1.0]])[0] == pool[0]
        assert [v for v, _ in model.predict_top([[1.0]], k=2)[0]] == sorted(
            [1.0, -1.0], key=pool.index
        )


def test_duplicates_are_one_candidate(fitted):
    pool = np.array([[1.0, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert len(fitted(Candidates(pool)).predict_top([[0.0, 0.0]], k=3)[0]) == 2


def test_items_of_any_kind():
    shared = Function(lambda a, b: len(set(a) & set(b)), of_items=True)
    words = ["abc", "bcd", "xyz"]
    model = KernelDependency(RBF(1.0), shared, alpha=1e-3).fit([[0.0], [1.0], [5.0]], words)
    assert isinstance(model.decoder_, Candidates)
    assert_array_equal(model.predict([[5.0], [0.0]]), np.array(["xyz", "abc"], dtype=object))
    assert model.predict_top([[5.0]], k=3)[0][0][0] == "xyz"


def test_plain_numbers_stay_plain(rng):
    X, y = rng.normal(size=(10, 1)), rng.normal(size=10)
    model = KernelDependency(RBF(1.0), RBF(1.0), decoder=Candidates()).fit(X, y)
    assert model.predict(X[:2]).shape == (2,)
    value, score = model.predict_top(X[:1], k=1)[0][0]
    assert np.ndim(value) == 0 and isinstance(score, float)


# -- an input's own candidates ----------------------------------------------------------------


def test_each_input_has_its_own(fitted, rng):
    model, X_new = fitted(None), rng.normal(size=(3, 2))
    lists = [rng.normal(size=(m, 3)) for m in (1, 4, 2)]
    scores = [model.embed(X_new[t : t + 1]).scores(lists[t])[0] for t in range(3)]
    wanted = [lists[t][scores[t].argmax()] for t in range(3)]
    assert_allclose(model.predict(X_new, candidates=lists), wanted, rtol=0, atol=0)
    for t, row in enumerate(model.predict_top(X_new, k=3, candidates=lists)):
        order = np.argsort(-scores[t])[:3]
        assert_allclose([y for y, _ in row], lists[t][order], rtol=0, atol=0)
        assert_allclose([s for _, s in row], scores[t][order], rtol=0, atol=IDENTITY)


def test_a_function_names_them(fitted, rng):
    X_new = rng.normal(size=(3, 2))

    def own(x):
        return [np.array([x[0], 0.0, 0.0]), np.array([0.0, x[1], 0.0])]

    model = fitted(Candidates(own))
    wanted = fitted(None).predict(X_new, candidates=[own(x) for x in X_new])
    assert_allclose(model.predict(X_new), wanted, rtol=0, atol=0)


def test_a_function_sees_inputs_as_they_were_given():
    shared = Function(lambda a, b: float(a == b), of_items=True)
    seen = []

    def own(x):
        seen.append(x)
        return [x.upper()]

    model = KernelDependency(shared, shared, decoder=Candidates(own)).fit(["a", "b"], ["A", "B"])
    assert_array_equal(model.predict(["b", "a"]), np.array(["B", "A"], dtype=object))
    assert seen == ["b", "a"]


def test_left_out_predictions_ask_the_function(rng):
    X, y = rng.normal(size=(12, 1)), rng.normal(size=12)
    own = Candidates(lambda x: [x[0], 10.0])
    model = KernelDependencyCV(RBF(1.0), RBF(1.0), alphas=[0.1], decoder=own).fit(X, y)
    assert set(model.loo_predict()) <= {*X[:, 0], 10.0}


def test_as_many_lists_as_inputs(fitted):
    with pytest.raises(ValueError, match="one list for each of the 2 inputs, got 1"):
        fitted(None).predict(np.zeros((2, 2)), candidates=[[np.ones(3)]])


def test_an_empty_list_is_named(fitted):
    with pytest.raises(ValueError, match="candidate list of input 1 is empty"):
        fitted(None).predict(np.zeros((2, 2)), candidates=[[np.ones(3)], []])


@pytest.mark.parametrize("convert", [np.asarray, list, tuple])
def test_training_outputs_in_some_lists_only(convert, fitted):
    model = fitted(None)
    seen, unseen = convert(model.outputs_[0]), convert(np.ones(3))
    with pytest.warns(UserWarning, match="1 of 2 candidate lists mix training outputs"):
        model.predict(np.zeros((2, 2)), candidates=[[seen, unseen], [unseen]])
    model.predict(np.zeros((2, 2)), candidates=[[seen], [unseen]])  # nothing to compare: fair


@pytest.mark.parametrize("k", [0, -1, 2.5])
def test_bad_k(k, fitted):
    with pytest.raises(ValueError, match="k must be a positive integer"):
        fitted(Candidates()).predict_top(np.zeros((1, 2)), k=k)


def test_empty_candidates(fitted):
    with pytest.raises(ValueError, match="0 sample|empty"):
        fitted(Candidates([]))


def test_candidates_of_the_wrong_length(fitted):
    with pytest.raises(ValueError, match="features"):
        fitted(Candidates(np.ones((4, 2)))).predict(np.zeros((1, 2)))
