import copy
import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from mercer import SequenceTransducer
from mercer.kernels import RBF, LocalWindow
from mercer.kernels._sequences import Codes
from mercer.operators import ConditionalCovariance, Covariance
from mercer.sequences.transduction import task
from mercer.testing import check_structured_estimator

RULES = {"a": "A", "b": "B", "c": "KS", "h": "", "n": "N"}


def spelt(x):
    """Sounds of made-up words: h is silent, c is K before a and KS elsewhere."""
    return "".join(
        "K" if s == "c" and x[i + 1 : i + 2] == "a" else RULES[s] for i, s in enumerate(x)
    )


@pytest.fixture(scope="module")
def words():
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(list("abchn"), rng.integers(1, 7))) for _ in range(120)]


@pytest.fixture(scope="module")
def model(words):
    return SequenceTransducer(LocalWindow(2), max_chunk=2, direction="forward").fit(
        words, list(map(spelt, words))
    )


def test_rules_are_learnt(model):
    rng = np.random.default_rng(1)
    new = ["".join(rng.choice(list("abchn"), rng.integers(1, 9))) for _ in range(60)]
    assert model.score(new, list(map(spelt, new))) > 0.9
    assert model.left_out_accuracy_ > 0.8


def log_softmax(z):
    z = z - z.max()
    return z - np.log(np.exp(z).sum())


def path_score(model, x, chunks_at):
    """The score of one sequence of chunk choices, without the automaton or the search."""
    m, E = model.model_, model.model_.emissions
    features = m.contexts.features(model.coder_.encode([x]))
    codes = model.sources_.encode([x])
    _, pair_weights = m.contexts.pairs
    total, output = 0.0, [m.ngram.end]
    for i, (s, choice) in enumerate(zip(codes.flat, chunks_at, strict=True)):
        so_far = Codes(np.array(output[1:], dtype=np.int64), np.array([0, len(output) - 1]))
        end = np.full(len(x), len(so_far.flat))
        paired = m.contexts.history_features(features, so_far, end, m.ngram.end)
        g, own = np.zeros(E.width[s]), m.contexts.templates.weights
        for keys, weights in ((features.keys[i], own), (paired[i], pair_weights)):
            for key, weight in zip(keys, weights, strict=True):
                row = np.flatnonzero(E.keys == key)
                if len(row):
                    g += weight * E.coef[E.offset[row[0]] :][: E.width[s]]
        prior = E.prior[E.first[s] : E.first[s] + E.width[s]]
        total += log_softmax(g / model.temperature_ + prior)[choice]
        number = E.chunk[E.first[s] + choice]
        output += list(E.chunks.symbols[number][: E.chunks.lengths[number]])
    state, gain = m.ngram.start, 0.0
    for v in output[1:]:
        gain += m.ngram.logp[state, v]
        state = m.ngram.next[state, v]
    gain += m.ngram.logp[state, m.ngram.end]
    text = "".join(model.targets_.symbols[v] for v in output[1:])
    return text, total + model.lm_weight_ * gain


@pytest.mark.parametrize("x", ["", "c", "ch", "hca", "cach"])
@pytest.mark.parametrize("k", [1, 4])
def test_search_without_beam_equals_enumeration(model, x, k):
    exact = copy.deepcopy(model).set_params(beam=None)
    exact.lm_weight_, exact.joint_weight_ = 0.3, 0.0
    E = exact.model_.emissions
    widths = [E.width[s] for s in exact.sources_.encode([x]).flat]
    best = {}
    for choices in product(*map(range, widths)):
        text, score = path_score(exact, x, choices)
        best[text] = max(score, best.get(text, -np.inf))
    expected = sorted(best.items(), key=lambda item: -item[1])[:k]
    found = exact.predict_top([x], k)[0]
    assert [text for text, _ in found] == [text for text, _ in expected]
    np.testing.assert_allclose([s for _, s in found], [s for _, s in expected], rtol=1e-9)


def test_local_map_solves_the_ridge_equation(words, monkeypatch):
    y = list(map(spelt, words))
    monkeypatch.setattr(task, "ENDS", 0)
    monkeypatch.setattr(task, "HISTORY", 0)
    model = SequenceTransducer(LocalWindow(1), 0.5, max_chunk=2, tiers=None, folds=None)
    model.fit(words, y)
    E = model.model_.emissions
    items, chunks = [], []
    for i, x in enumerate(words):
        for j, (symbol, chunk) in enumerate(model.aligned(i)):
            if symbol == "c":
                items.append((x, j))
                chunks.append(chunk)
    s = model.sources_.number["c"]
    names = [
        "".join(model.targets_.symbols[v] for v in E.chunks.symbols[c][: E.chunks.lengths[c]])
        for c in E.chunk[E.first[s] : E.first[s] + E.width[s]]
    ]
    V = np.array([[c == name for name in names] for c in chunks], dtype=float)
    K = LocalWindow(1)(items)
    fitted = K @ np.linalg.solve(K + 0.5 * np.eye(len(K)), V)
    places, local = model.model_.prepare(model.coder_.encode(words), 1.0)
    at = np.flatnonzero(places.symbols == s)
    scores = np.array([local.base[local.base_starts[n] : local.base_starts[n + 1]] for n in at])
    # Features of a single position are left out: they only lengthen that position's own vector.
    np.testing.assert_allclose(scores, fitted, atol=0.05)


def test_a_small_ridge_does_not_warn(words):
    """Rounds of the solver are no parameter of a transducer: where they end early, it is silent."""
    SequenceTransducer(alpha=1e-6, folds=None).fit(words, list(map(spelt, words)))


def test_top_outputs_are_ranked_and_distinct(model):
    for row, size in zip(model.predict_top(["cacha", "b"], k=3), (3, 1), strict=True):
        outputs, scores = zip(*row, strict=True)
        assert len(set(outputs)) == len(outputs) == size
        assert list(scores) == sorted(scores, reverse=True)


def test_predict_is_the_top(model, words):
    top = model.predict_top(words[:30], k=2)
    assert list(model.predict(words[:30])) == [row[0][0] for row in top]


def test_unknown_symbols_and_empty_inputs(model):
    first, second, empty = model.predict(["aébn", "éé", ""])
    assert first.startswith("A") and first.endswith("N")
    assert isinstance(second, str)
    assert empty == ""


def test_empty_pairs_are_learnt_from(words):
    X = ["", *words[:40]]
    model = SequenceTransducer().fit(X, ["", *map(spelt, words[:40])])
    assert model.predict([""])[0] == ""
    assert model.aligned(0) == []


def test_tokens_come_back_as_they_were_given(words):
    X = [list(x) for x in words[:60]]
    y = [tuple(f"<{s}>" for s in spelt(x)) for x in words[:60]]
    model = SequenceTransducer(LocalWindow(2)).fit(X, y)
    predicted = model.predict([["a", "b", "n"]])
    assert predicted.shape == (1,)
    assert predicted[0] == ("<A>", "<B>", "<N>")


def test_a_pair_that_cannot_be_aligned_is_named():
    X, y = ["ab", "a", "b"], ["AB", "AAAA", "B"]
    with pytest.raises(ValueError, match=r"y\[1\] has 4 symbols, more than max_chunk = 3.*skip"):
        SequenceTransducer().fit(X, y)
    model = SequenceTransducer(unalignable="skip").fit(X, y)
    assert list(model.skipped_) == [1]
    assert model.aligned(2) == [("b", "B")]
    with pytest.raises(ValueError, match="pair 1 was skipped"):
        model.aligned(1)


def test_nothing_to_learn_from_is_said():
    with pytest.raises(ValueError, match="no pair to learn from"):
        SequenceTransducer(unalignable="skip").fit(["", ""], ["", "A"])


def test_equal_inputs_leave_nothing_out():
    model = SequenceTransducer().fit(["ab", "ab"], ["AB", "AB"])
    assert model.left_out_accuracy_ is None
    assert model.predict(["ab"])[0] == "AB"


def test_nothing_is_left_out_without_folds(words):
    model = SequenceTransducer(folds=None).fit(words, list(map(spelt, words)))
    assert model.left_out_accuracy_ is None
    assert model.score(words, list(map(spelt, words))) > 0.9


def test_operator_on_chunks(words):
    kernel = LocalWindow(2) * Covariance(0.3)
    model = SequenceTransducer(kernel, max_chunk=2).fit(words, list(map(spelt, words)))
    assert model.score(words, list(map(spelt, words))) > 0.9


def test_groups_are_left_out_together(words):
    y = list(map(spelt, words))
    model = SequenceTransducer(max_chunk=2).fit(words, y, groups=[x[0] for x in words])
    assert 0 <= model.left_out_accuracy_ <= 1
    with pytest.raises(ValueError, match="one label for each"):
        SequenceTransducer().fit(words, y, groups=[1, 2])


def test_contract_holds(words):
    X = ["", *words[:20]]
    check_structured_estimator(SequenceTransducer(max_chunk=2), X, list(map(spelt, X)))


def test_copies_refits_and_cross_validation(model, words):
    y = list(map(spelt, words))
    predicted = model.predict(words)
    for same in (pickle.loads(pickle.dumps(model)), clone(model).fit(words, y)):
        assert list(same.predict(words)) == list(predicted)
    with pytest.raises(ValueError, match="same length"):
        model.fit(words, y[:-1])
    assert list(model.predict(words)) == list(predicted)
    X = np.array(words, dtype=object)
    crossed = cross_val_predict(clone(model).set_params(folds=None), X, y, cv=2)
    assert np.mean([a == b for a, b in zip(crossed, y, strict=True)]) > 0.8


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"max_chunk": 0}, ValueError, "max_chunk"),
        ({"folds": 1}, ValueError, "folds"),
        ({"beam": 0}, ValueError, "beam"),
        ({"alpha": 0.0}, ValueError, "alpha"),
        ({"unalignable": "drop"}, ValueError, "unalignable"),
        ({"kernel": RBF(1.0)}, TypeError, "LocalWindow"),
        ({"kernel": LocalWindow() * ConditionalCovariance()}, ValueError, "not diagonal"),
    ],
)
def test_bad_parameters_are_named(params, error, message):
    with pytest.raises(error, match=message):
        SequenceTransducer(**params).fit(["a", "b"], ["A", "B"])


def test_bad_input_is_named(model):
    with pytest.raises(ValueError, match=r"X\[1\] must be a sequence"):
        model.predict(["a", 3])
    with pytest.raises(ValueError, match="k must be"):
        model.predict_top(["a"], k=0)
    with pytest.raises(ValueError, match="y to be passed"):
        model.fit(["a"], None)
