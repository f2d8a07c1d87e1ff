"""Candidates, lexicons, probabilities, more outputs, and memory."""

import itertools

import numpy as np
import pandas as pd
import pytest

from mercer import SequenceTransducer
from mercer.kernels import LocalWindow
from mercer.kernels._sequences import Alphabet
from mercer.sequences.transduction import alignment
from mercer.sequences.transduction.confidence import Confidence
from mercer.sequences.transduction.decoding import prefix_tree


def spelt(x):
    """c is K before a and KS elsewhere, h is silent."""
    sounds = {"a": "A", "b": "B", "c": "KS", "h": "", "n": "N"}
    return "".join(
        "K" if s == "c" and x[i + 1 : i + 2] == "a" else sounds[s] for i, s in enumerate(x)
    )


def made_up(n, seed):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abchn"), rng.integers(2, 7))) for _ in range(n)]


@pytest.fixture(scope="module")
def model():
    words = made_up(150, 0)
    return SequenceTransducer(LocalWindow(2), max_chunk=2, beam=None).fit(
        words, list(map(spelt, words))
    )


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_scores_of_candidates_are_those_of_the_search(direction):
    """Given all outputs that it can make, an exact search and the list agree to the last digit."""
    words = made_up(60, 2)
    model = SequenceTransducer(
        LocalWindow(1), max_chunk=2, beam=None, direction=direction, folds=None
    ).fit(words, list(map(spelt, words)))
    X = ["cab", "hc", ""]
    free = model.predict_top(X, k=6)
    lists = [[output for output, _ in row][::-1] for row in free]
    ranked = model.predict_top(X, k=6, candidates=lists)
    for one, other in zip(free, ranked, strict=True):
        assert [o for o, _ in one] == [o for o, _ in other]
        np.testing.assert_allclose([s for _, s in one], [s for _, s in other], rtol=1e-9)


def test_candidates_are_chosen_from(model):
    X = ["cab", "nah"]
    chosen = model.predict(X, candidates=[["KAN", "KAB", "BAB"], ["NNN", "NAN", "NA", "NA"]])
    assert list(chosen) == ["KAB", "NA"]
    rows = model.predict_top(X, 9, candidates=[["KAN", "KAB"], ["NA", "NA", "Q!"]])
    assert [len(row) for row in rows] == [2, 2]  # equal candidates count once
    assert model.predict(["a"], candidates=[["AAAAAAAAA"]])[0] == "AAAAAAAAA"


def test_a_lexicon_limits_the_outputs(model):
    X = made_up(40, 5)
    lexicon = sorted({spelt(x) for x in made_up(80, 6)})
    predicted = model.predict(X, lexicon=lexicon)
    assert set(predicted) <= set(lexicon)
    for x, found in zip(X, predicted, strict=True):
        by_list = model.predict_top([x], 1, candidates=[lexicon])[0][0]
        score = dict(model.predict_top([x], len(lexicon), candidates=[lexicon])[0])[found]
        assert score == pytest.approx(by_list[1], abs=1e-6)


def test_lists_are_checked(model):
    with pytest.raises(ValueError, match="a list for each of 2 inputs, got 1"):
        model.predict(["a", "b"], candidates=[["A"]])
    with pytest.raises(ValueError, match="not both"):
        model.predict(["a"], candidates=[["A"]], lexicon=["A"])
    with pytest.raises(ValueError, match="no output of the lexicon"):
        model.predict(["a"], lexicon=["!?"])
    with pytest.raises(ValueError, match="empty list of candidates|candidates"):
        model.predict(["a"], candidates=[[]])


def test_candidate_lists_may_come_one_by_one(model):
    lists = [["KSAN", "KAN"], ["B", "zzz"]]
    found = model.predict(["can", "b"], candidates=iter(lists))
    assert (found == model.predict(["can", "b"], candidates=lists)).all()


def test_impossible_candidates_are_equally_probable(model):
    """An empty input emits nothing."""
    ((one, p), (other, q)) = model.predict_proba([""], candidates=[["KAN", "BAN"]])[0]
    assert {one, other} == {"KAN", "BAN"} and p == q == 0.5


def test_prefixes_of_a_lexicon():
    words = ["ab", "abc", "b", ""]
    alphabet = Alphabet("abc")
    tree = prefix_tree(alphabet.encode(words), 3)
    for word in map("".join, itertools.product("abc", repeat=2)):
        node = 0
        for symbol in word:
            node = tree[node, alphabet.number[symbol]] if node >= 0 else -1
        assert (node >= 0 and tree[node, 3] == 0) == (word in words)
    assert len(tree) == 5  # "", a, ab, abc, b
    assert tree[0, 3] == 0


def test_probabilities_sum_to_one_at_most(model):
    rows = model.predict_proba(made_up(30, 3), k=4)
    totals = [sum(p for _, p in row) for row in rows]
    assert max(totals) <= 1 + 1e-12
    assert min(totals) > 0.2
    closed = model.predict_proba(["cab"], candidates=[["KAB", "KAN", "B"]])
    assert sum(p for _, p in closed[0]) == pytest.approx(1.0)
    for given in ({}, {"candidates": [["KAB", "KAN", "B"]]}, {"lexicon": ["KAB", "KAN", "B"]}):
        many, one = (model.predict_proba(["cab"], k, **given)[0] for k in (3, 1))
        assert many[:1] == one  # however many are asked for


def test_probabilities_are_calibrated():
    """Outputs that are one of two at random have probabilities near one half."""
    rng = np.random.default_rng(0)
    words = made_up(600, 0)
    y = [spelt(x) + rng.choice(["?", "!"]) for x in words]
    X = [x + "." for x in words]
    model = SequenceTransducer(LocalWindow(2), max_chunk=2).fit(X[:400], y[:400])
    best = np.array([row[0][1] for row in model.predict_proba(X[400:], 3)])
    right = np.mean([a == b for a, b in zip(model.predict(X[400:]), y[400:], strict=True)])
    assert best.mean() == pytest.approx(right, abs=0.12)


def test_confidence_is_fitted_by_likelihood():
    rng = np.random.default_rng(0)
    true = Confidence(0.5, -1.0, 0.0, 0.0, -0.6)
    scores = -np.sort(rng.exponential(2.0, (3000, 4)), axis=1)
    lengths = np.full(3000, 5)
    p = np.exp(true.log_probabilities(scores, lengths))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    right = np.array([rng.choice(5, p=row) for row in p])
    found = Confidence.fitted(scores, lengths, right)
    assert found.sharpness == pytest.approx(0.5, abs=0.1)
    assert found.margin == pytest.approx(-0.6, abs=0.2)
    least, other = (
        c.log_probabilities(scores, lengths)[np.arange(3000), right].sum() for c in (found, true)
    )
    assert least > other


def test_more_outputs_teach_the_language_model():
    """Which of two spellings an ambiguous letter has is known from outputs alone."""
    X, y = ["xa", "xb", "ax", "bx"] * 4, ["PA", "QB", "AP", "BQ"] * 4
    more = ["QA", "AQ", "QAQA"] * 50
    plain = SequenceTransducer(folds=None, direction="forward")
    taught = plain.fit(X, y).predict_top(["xa"])[0]
    known = plain.fit(X, y, outputs=[*more, "unknown symbols"]).predict_top(["xa"])[0]
    assert dict(known)["QA"] - dict(known)["PA"] > dict(taught)["QA"] - dict(taught)["PA"]


def test_no_inputs_have_no_outputs(model):
    empty = model.predict([])
    assert empty.shape == (0,)
    assert empty.dtype == object
    assert model.predict_top([]) == model.predict_proba([]) == []


def test_pairs_too_long_for_memory_are_refused(monkeypatch):
    monkeypatch.setattr(alignment, "available", lambda: 1e6)
    with pytest.raises(MemoryError, match=r"the largest pair has 600 and 600 symbols.*max_chunk"):
        SequenceTransducer().fit(["ab" * 300] * 2, ["AB" * 300] * 2)


def test_given_classes_reach_the_output():
    words = made_up(60, 4)
    model = SequenceTransducer(tiers=[{"a"}, {"A"}], max_chunk=2).fit(
        words, list(map(spelt, words))
    )
    tiers = model.model_.contexts.tiers
    assert [s for s, m in zip(model.targets_.symbols, tiers.target, strict=True) if m] == ["A"]
    assert tiers.source.shape[1] == 2


def test_few_lists_that_are_all_right_do_not_promise_one_error_in_many_thousands(rng):
    top, lead = -rng.uniform(0.3, 1.5, size=(30, 1)), rng.uniform(10.0, 40.0, size=(30, 1))
    scores, lengths = np.hstack([top, top - lead]), np.full(30, 5)
    fitted = Confidence.fitted(scores, lengths, np.zeros(30, dtype=int))
    none = np.exp(fitted.log_probabilities(scores, lengths)[:, -1]).mean()
    assert 1e-3 < none < 1 / 30


@pytest.mark.parametrize("method", ["predict", "predict_top", "predict_proba"])
def test_candidates_in_other_containers_are_rows_or_refused(model, method):
    predict = getattr(model, method)
    lists = [["KSAN", "KAN"], ["B", "zzz"]]
    wanted = list(predict(["can", "b"], candidates=lists))
    series = pd.Series(lists, index=["p", "q"])
    for same in (series, [iter(row) for row in lists], map(iter, lists)):
        assert list(predict(["can", "b"], candidates=same)) == wanted
    for table in (pd.DataFrame(lists), dict(enumerate(lists)), "KB", 5):  # names, not rows
        with pytest.raises(TypeError, match="list of outputs for each input, got"):
            predict(["can", "b"], candidates=table)
    with pytest.raises(TypeError, match=r"candidates\[1\] must be a list of outputs, got None"):
        predict(["can", "b"], candidates=[["KAN"], None])
