"""Decoders of strings find what going through all strings finds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Lexicon, NGramPath, PerPosition, Viterbi
from mercer.embedding import Embedding, OrthonormalFrame, SpanFrame
from mercer.features import Explicit
from mercer.kernels import RBF, Linear, Normalized, Positions, Spectrum
from mercer.metrics import symbol_accuracy
from mercer.operators import Positionwise
from mercer.testing import check_decoder, check_structured_estimator

words = st.lists(st.text("abc", min_size=1, max_size=4), min_size=2, max_size=5)
seeds = st.integers(0, 10_000)
few = settings(deadline=None, max_examples=25)


def some_points(kernel, y, seed, t=3, inputs=None):
    """Random points in the span of the outputs."""
    y = kernel.as_outputs(y)
    C = np.random.default_rng(seed).normal(size=(t, len(y)))
    return Embedding(C, SpanFrame(kernel, y), inputs=inputs)


def all_strings(symbols, longest, shortest=0):
    return [
        "".join(s)
        for length in range(shortest, longest + 1)
        for s in product(symbols, repeat=length)
    ]


def best_values(points, strings, extra=lambda s: 0.0):
    """The greatest 2⟨g, Φ(s)⟩ - ‖Φ(s)‖² + extra(s) of each point."""
    values = points.scores(strings) + np.array([extra(s) for s in strings])
    return values.max(axis=1)


def value_of(points, outputs, extra=lambda s: 0.0):
    values = points.scores(list(outputs))
    return np.diag(values) + np.array([extra(s) for s in outputs])


@few
@given(words, seeds, st.floats(-0.5, 0.5))
def test_per_position_is_the_best_of_all_strings(y, seed, bonus):
    kernel = Positions(letters="abc").fit(y)
    points = some_points(kernel, y, seed)
    found = PerPosition(bonus=bonus).fit(kernel, y).decode(points)
    strings = all_strings("abc", max(map(len, y)))
    extra = lambda s: bonus * len(s)  # noqa: E731
    np.testing.assert_allclose(
        value_of(points, found, extra), best_values(points, strings, extra), atol=1e-9
    )


@few
@given(words, seeds, st.integers(0, 2), st.booleans())
def test_viterbi_is_the_best_of_all_strings(y, seed, order, fixed):
    kernel = Positions(letters="abc").fit(y)
    longest = max(map(len, y))
    points = some_points(kernel, y, seed, inputs=np.array([1, longest, longest]))
    decoder = Viterbi(order, weight=0.3, bonus=0.1, length=int if fixed else None).fit(kernel, y)
    found = decoder.decode(points)

    def extra(s):
        codes, total, state = ["abc".index(c) for c in s], 0.0, 4**order - 1
        for c in [*codes, 3]:
            total += decoder.transitions_[state, c]
            state = (state * 4 + c) % 4**order
        return 0.3 * total + 0.1 * len(s)

    for t, length in enumerate(points.inputs):
        strings = all_strings("abc", length, length) if fixed else all_strings("abc", longest)
        best = best_values(points[t : t + 1], strings, extra)
        value = value_of(points[t : t + 1], found[t : t + 1], extra)
        np.testing.assert_allclose(value, best, atol=1e-9)


kernels = st.builds(
    Spectrum,
    n=st.integers(1, 3),
    blended=st.booleans(),
    width=st.sampled_from([None, 1, 2, 3]),
)


@few
@given(words, seeds, kernels, st.floats(-0.2, 0.8), st.integers(0, 2))
def test_ngram_path_is_the_best_of_all_strings(y, seed, kernel, bonus, shortest):
    kernel = kernel.fit(y)
    points = some_points(kernel, y, seed)
    longest = max(map(len, y))
    shortest = min(shortest, longest)
    decoder = NGramPath("all", bonus=bonus, min_length=shortest, max_nodes=10**6).fit(kernel, y)
    found = decoder.certify(points)
    assert found.proved.all()
    strings = all_strings(sorted(set("".join(y))), longest, shortest)
    unit = bonus * sum(kernel.weights_by_length().values())
    extra = lambda s: unit * len(s)  # noqa: E731
    best = best_values(points, strings, extra)
    np.testing.assert_allclose(found.scores, best, atol=1e-9)
    np.testing.assert_allclose(value_of(points, found.outputs, extra), best, atol=1e-9)


@few
@given(words, seeds, kernels)
def test_ngram_path_over_seen_ngrams_is_the_best_of_such_strings(y, seed, kernel):
    kernel = kernel.fit(y)
    points = some_points(kernel, y, seed)
    n, longest = kernel.n, max(map(len, y))
    seen = {s[i : i + m] for s in y for m in range(1, n + 1) for i in range(len(s) - m + 1)}
    strings = [
        s
        for s in all_strings("abc", longest, 1)
        if all(s[max(0, i + 1 - n) : i + 1] in seen for i in range(len(s)))
    ]
    found = NGramPath(bonus=0.0, max_nodes=10**6).fit(kernel, y).certify(points)
    assert found.proved.all()
    np.testing.assert_allclose(found.scores, best_values(points, strings), atol=1e-9)
    assert set(found.outputs) <= set(strings)


def test_ngram_path_reads_explicit_coordinates_alike():
    y = ["abra", "cadabra", "bar"]
    kernel = Spectrum(2, blended=True, width=2).fit(y)
    spanned = some_points(kernel, y, 0)
    explicit = Embedding(
        spanned.coordinates @ kernel.features(y), OrthonormalFrame(Explicit().fit(kernel, y))
    )
    decoder = NGramPath(bonus=0.3).fit(kernel, y)
    assert decoder.decode(spanned).tolist() == decoder.decode(explicit).tolist()


def test_a_search_cut_short_says_so():
    y = ["aaaaaaaa", "abababab", "bbbbaaaa"]
    kernel = Spectrum(2).fit(y)
    points = some_points(kernel, y, 1, t=8)
    decoder = NGramPath("all", bonus=1.0, max_nodes=2).fit(kernel, y)
    found = decoder.certify(points)
    assert not found.proved.all()
    with pytest.warns(UserWarning, match="not proved"):
        decoder.decode(points)


@pytest.mark.parametrize(
    ("decoder", "kernel"),
    [
        (PerPosition(), Positions()),
        (PerPosition(bonus="auto"), Positions()),
        (Viterbi(weight=0.0), Positions()),
        (Viterbi(2), Positions()),
        (Lexicon(), Positions()),
        (Lexicon(), Spectrum(2, blended=True)),
        (NGramPath(), Spectrum(2, blended=True, width=2)),
        (NGramPath("all", min_length=0), Spectrum(3, blended=True, width=1)),
    ],
)
def test_contract(decoder, kernel):
    check_decoder(decoder, kernel, ["gatto", "gatta", "otto", "tag", "a"])
    check_decoder(decoder, kernel, [("ga", "t"), ("t",), ("o", "ga", "t")])


def test_lists_tuples_and_arrays_come_back_as_they_were():
    for kind in (list, tuple, np.array):
        y = [kind([1, 2, 3]), kind([2, 1]), kind([3])]
        kernel = Positions().fit(y)
        points = Embedding(np.eye(3), SpanFrame(kernel, kernel.as_outputs(y)))
        found = PerPosition().fit(kernel, kernel.as_outputs(y)).decode(points)
        assert all(
            type(a) is type(b) and np.array_equal(a, b) for a, b in zip(found, y, strict=True)
        )


# -- lexicon ----------------------------------------------------------------------------------


@few
@given(words, seeds)
def test_lexicon_restricted_by_length_is_the_best_such_word(y, seed):
    kernel = Positions().fit(y)
    inputs = np.array(["." * len(w) for w in y], dtype=object)
    points = some_points(kernel, y, seed, t=len(y), inputs=inputs)
    found = Lexicon(restrict="length").fit(kernel, kernel.as_outputs(y)).decode(points)
    rule = Lexicon(restrict=lambda x, w: len(w) == len(x)).fit(kernel, kernel.as_outputs(y))
    assert found.tolist() == rule.decode(points).tolist()
    scores = points.scores(y)
    for t, word in enumerate(found):
        suitable = [j for j, w in enumerate(y) if len(w) == len(y[t])]
        assert len(word) == len(y[t])
        assert scores[t, y.index(word)] == pytest.approx(scores[t, suitable].max(), abs=1e-9)
    top = rule.decode_top(points, 2)
    assert [row[0][0] for row in top] == found.tolist()


def test_the_background_is_the_mean_of_the_outputs_that_suit():
    y = ["ab", "ab", "bb", "a", "ab"]
    kernel = Positions().fit(y)
    inputs = np.array(["..", "."], dtype=object)
    points = some_points(kernel, y, 0, t=2, inputs=inputs)
    for restrict in ("length", None):
        decoder = Lexicon(restrict=restrict, background=0.4).fit(kernel, kernel.as_outputs(y))
        for t, row in enumerate(decoder.decode_top(points, 3)):
            suitable = [w for w in y if restrict is None or len(w) == len(inputs[t])]
            mean = kernel.features(suitable).mean(axis=0)
            g = points.coordinates[t] @ kernel.features(y)
            for word, score in row:
                expected = 2 * (g - 0.4 * mean) @ kernel.features([word])[0] - len(word)
                assert score == pytest.approx(expected, abs=1e-9)
            assert decoder.decode(points)[t] == row[0][0]


def test_a_background_helps_rare_words():
    rng = np.random.default_rng(0)
    y = ["ab"] * 40 + ["ba"] * 6
    X = [rng.normal([[w == "ab"], [w == "ba"]], 0.4) for w in y]
    kernel = Positions(RBF(2.0))
    free, fair = (
        KernelDependency(kernel, Positions(), alpha=5.0, decoder=Lexicon(background=b)).fit(X, y)
        for b in (0.0, "auto")
    )
    assert fair.decoder_.background_ > 0
    assert (free.predict(X[-6:]) == "ba").sum() < (fair.predict(X[-6:]) == "ba").sum()


def test_a_word_gains_by_its_rare_symbols():
    y = ["ab", "aa", "ba", "cb"]
    kernel = Positions(letters="abcd").fit(y)
    points = some_points(kernel, y, 0, t=3, inputs=["..", "..", ".."])
    words = ["ab", "cc", "bd"]
    decoder = Lexicon(words, "length", rarity=0.3).fit(kernel, kernel.as_outputs(y))
    plain = Lexicon(words, "length").fit(kernel, kernel.as_outputs(y)).decode_top(points, 3)
    share = {"a": 4 / 8, "b": 3 / 8, "c": 1 / 8, "d": 1 / 8}  # a new symbol counts as met once
    mean = sum(share[c] * np.log(share[c]) for c in "abc")
    for row, before in zip(decoder.decode_top(points, 3), plain, strict=True):
        for word, score in row:
            gain = 0.3 * sum(mean - np.log(share[c]) for c in word)
            assert score == pytest.approx(dict(before)[word] + gain, abs=1e-9)
    assert decoder.decode(points).tolist() == [row[0][0] for row in decoder.decode_top(points, 1)]


def test_rarity_helps_new_words_of_rare_symbols():
    rng = np.random.default_rng(0)
    y = ["aab", "aac", "aba", "aca", "baa", "caa"] * 10
    words = ["".join(letters) for letters in product("abc", repeat=3)]
    y_new = ["bbc", "bcb", "cbc", "ccb"] * 20
    X, X_new = (
        [rng.normal([[c == "a", c == "b", c == "c"] for c in w], 0.5) for w in texts]
        for texts in (y, y_new)
    )
    kernel = Positionwise(RBF(2.0), None, mu=1.0, eta=10.0)
    free, fair = (
        KernelDependency(kernel, Positions(), 5.0, Lexicon(words, rarity=r), fit_intercept=False)
        for r in (0.0, "auto")
    )
    found = [model.fit(X, y, groups=y).predict(X_new) for model in (free, fair)]
    right = [symbol_accuracy(y_new, read) for read in found]
    assert fair.decoder_.rarity_ > 0 > fair.decoder_.likelihood_
    assert right[1] > right[0] + 0.05


def test_an_input_that_no_word_suits_gets_the_best_of_all_with_a_warning():
    kernel = Positions().fit(["ab", "b"])
    points = some_points(kernel, ["ab", "b"], 0, t=1, inputs=["....."])
    free = Lexicon().fit(kernel, kernel.as_outputs(["ab", "b"])).decode(points)
    decoder = Lexicon(restrict="length").fit(kernel, kernel.as_outputs(["ab", "b"]))
    with pytest.warns(UserWarning, match="first of them input 0"):
        assert decoder.decode(points).tolist() == free.tolist()


def test_lexicon_passes_over_words_that_were_left_out():
    X, y = ["001", "10", "110", "001"], ["aab", "ba", "bba", "aab"]
    model = KernelDependencyCV(
        Positions(), Positions(), alphas=[0.1], decoder=Lexicon(restrict="length")
    )
    model.fit(X, y, groups=[0, 1, 2, 0])
    with pytest.warns(UserWarning, match="no word"):
        left_out = model.loo_predict()
    assert left_out[2] == "aab"  # the only other word of three letters


# -- in a model -------------------------------------------------------------------------------


def binary(seed, n, longest=6):
    rng = np.random.default_rng(seed)
    X = ["".join(rng.choice(list("01"), rng.integers(1, longest + 1))) for _ in range(n)]
    return X, [x.replace("0", "a").replace("1", "b") for x in X]


def test_strings_are_learnt_through_paths_with_a_calibrated_bonus():
    X, y = binary(0, 60)
    kernel = Spectrum(2, blended=True, width=2)
    model = KernelDependency(kernel, kernel, alpha=1e-3, decoder=NGramPath()).fit(X, y)
    X_new, y_new = binary(1, 40)
    assert np.mean(model.predict(X_new) == np.array(y_new, dtype=object)) > 0.9
    assert clone(model).decoder.bonus == "auto"


@pytest.mark.parametrize("decoder", [PerPosition("input"), PerPosition(bonus="auto"), Viterbi()])
def test_strings_are_learnt_place_by_place(decoder):
    X, y = binary(0, 60)
    model = KernelDependency(Positions(), Positions(), alpha=1e-3, decoder=decoder).fit(X, y)
    X_new, y_new = binary(1, 40)
    assert np.mean(model.predict(X_new) == np.array(y_new, dtype=object)) > 0.9


@pytest.mark.parametrize(
    ("output_kernel", "decoder"),
    [
        (Positions(), PerPosition("input")),
        (Positions(), Viterbi()),
        (Positions(), Lexicon(background="auto")),
        (Spectrum(2, blended=True, width=2), NGramPath()),
        (Spectrum(2), None),
    ],
)
def test_models_of_strings_keep_the_contract_of_estimators(output_kernel, decoder):
    X, y = binary(2, 12)
    kernel = Normalized(Spectrum(2, blended=True, width=2))
    check_structured_estimator(
        KernelDependency(kernel, output_kernel, alpha=0.1, decoder=decoder), X, y
    )


def test_models_of_strings_go_through_scikit_learn():
    X, y = binary(0, 30)
    X, y = np.array(X, dtype=object), np.array(y, dtype=object)
    model = KernelDependency(Positions(), Positions(), decoder=PerPosition("input"))
    grid = {"alpha": [1e-3, 1e3], "decoder__length": ["input", None]}
    search = GridSearchCV(model, grid, scoring=make_scorer(symbol_accuracy), cv=3).fit(X, y)
    assert search.best_params_["alpha"] == 1e-3
    assert symbol_accuracy(y, cross_val_predict(search.best_estimator_, X, y, cv=3)) > 0.9


def test_length_by_input_beyond_training_leaves_the_rest_out():
    X, y = ["01", "1"], ["ab", "b"]
    model = KernelDependency(Positions(), Positions(), alpha=1e-3, decoder=PerPosition("input"))
    assert len(model.fit(X, y).predict(["0101"])[0]) == 2


# -- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decoder", "kernel", "message"),
    [
        (PerPosition(), Spectrum(2), r"PerPosition needs an output kernel Positions"),
        (PerPosition(), Linear(), r"Use decoder=Candidates"),
        (NGramPath(), Positions(), r"NGramPath needs an output kernel Spectrum"),
        (Viterbi(transitions=np.eye(3)), Positions(), r"transitions must have shape \(2, 2\)"),
        (Viterbi(order=-1), Positions(), "order must be an integer"),
        (NGramPath(ngrams="some"), Spectrum(2), "ngrams must be"),
        (Lexicon(restrict="size"), Positions(), "restrict must be"),
        (Lexicon(rarity=0.1), Linear(), "rarity needs outputs that are sequences"),
        (Lexicon(words=["ab", "xyz"]), Positions(), r"candidates\[1\] has the symbol 'x'"),
    ],
)
def test_fit_refuses(decoder, kernel, message):
    y = [[1.0], [2.0]] if isinstance(kernel, Linear) else ["ab", "ba"]
    kernel = kernel.fit(y)
    with pytest.raises(ValueError, match=message):
        decoder.fit(kernel, kernel.as_outputs(y))


@pytest.mark.parametrize(
    ("decoder", "name"),
    [
        (NGramPath(bonus="best"), "bonus"),
        (Viterbi(weight="best"), "weight"),
        (Lexicon(rarity="best"), "rarity"),
    ],
)
def test_a_parameter_is_a_number_or_auto(decoder, name):
    with pytest.raises(ValueError, match=f'{name} must be a number or "auto"'):
        decoder.calibrates  # noqa: B018


def test_lengths_that_make_no_sense_name_the_input():
    kernel = Positions().fit(["ab", "b"])
    points = some_points(kernel, ["ab", "b"], 0, t=2, inputs=["..", 3.0])
    decoder = PerPosition("input").fit(kernel, kernel.as_outputs(["ab", "b"]))
    with pytest.raises(ValueError, match="input 1 is 3"):
        decoder.decode(points)
    with pytest.raises(ValueError, match="input 0 is -1"):
        PerPosition(lambda x: -1).fit(kernel, ["ab"]).decode(points)
    with pytest.raises(ValueError, match="must be None"):
        PerPosition("output").fit(kernel, ["ab"]).decode(points)
    with pytest.raises(ValueError, match="know their x"):
        decoder.decode(some_points(kernel, ["ab", "b"], 0))


def test_too_many_ngrams_to_enumerate_are_refused():
    y = ["".join(map(chr, range(100, 300)))]
    with pytest.raises(ValueError, match='use ngrams="seen"'):
        NGramPath("all").fit(Spectrum(3).fit(y), y)
