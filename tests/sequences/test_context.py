"""Transducers with a context, tiers, candidates, lexicons and probabilities."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import SequenceTransducer, load, save
from mercer.kernels import RBF, Labels, LocalWindow
from mercer.kernels._sequences import Alphabet, Codes
from mercer.sequences.transduction import task
from mercer.sequences.transduction.inputs import InputCoder, reversed_codes
from mercer.sequences.transduction.side_information import LabelContext
from mercer.sequences.transduction.tiers import find_vowels

STEMS = [
    "kala",
    "talo",
    "sana",
    "muna",
    "hete",
    "lepo",
    "kori",
    "tupa",
    "veli",
    "susi",
    "pata",
    "noki",
    "leka",
    "rosa",
    "mipu",
    "tali",
]
TAGS = [["pos=N", "num=SG"], ["pos=N", "num=PL"], ["pos=N", "num=PL", "case=IN"]]


def inflected(stem, tags):
    """Plural -lar or -ler by the last vowel of the stem, then the case -da or -de."""
    back = [c for c in stem if c in "aeiou"][-1] in "aou"
    form = stem + ("lar" if back else "ler") * ("num=PL" in tags)
    return form + ("da" if back else "de") * ("case=IN" in tags)


@pytest.fixture(scope="module")
def forms():
    stems = [a + b for a in STEMS for b in STEMS[:5]]
    rng = np.random.default_rng(0)
    pairs = [(stem, TAGS[rng.integers(3)]) for stem in stems]
    return pairs[:64], pairs[64:]


def parts(pairs):
    X, tags = [stem for stem, _ in pairs], [tags for _, tags in pairs]
    return X, tags, [inflected(*pair) for pair in pairs]


@pytest.fixture(scope="module")
def model(forms):
    X, tags, y = parts(forms[0])
    return SequenceTransducer(LocalWindow(2)).fit(X, y, context=tags)


def test_context_is_learnt(model, forms):
    X, tags, y = parts(forms[1])
    assert model.score(X, y, context=tags) > 0.8
    wrong = [TAGS[0] for _ in tags]
    assert model.score(X, y, context=wrong) < 0.6


def test_labels_and_ends_are_tokens(model):
    first = model.aligned(0)
    assert first[0][0] == "<"
    assert ">" in [symbol for symbol, _ in first]
    assert first[-1][0].startswith(("num=", "case="))


def test_context_is_asked_for_and_refused_by_name(model, forms):
    X, tags, y = parts(forms[0])
    with pytest.raises(ValueError, match="pass context"):
        model.predict(X)
    with pytest.raises(ValueError, match="one item for each of 64 inputs, got 63"):
        SequenceTransducer().fit(X, y, context=tags[1:])
    with pytest.raises(ValueError, match="without a context"):
        SequenceTransducer(folds=None).fit(X, y).predict(X, context=tags)
    with pytest.raises(ValueError, match=r"context\[0\] must be a label"):
        SequenceTransducer().fit(X, y, context=[{"a": 1}] * len(X))
    with pytest.raises(ValueError, match="context_kernel is given but no context"):
        SequenceTransducer(context_kernel=RBF(1.0)).fit(X, y)


def test_a_context_of_another_kind_is_named(forms):
    X, tags, y = parts(forms[0])
    rows = np.eye(len(X))[:, :3]
    with pytest.raises(ValueError, match=r"context\[0\] must be a label.* Pass context_kernel"):
        SequenceTransducer().fit(X, y, context=rows)
    model = SequenceTransducer(LocalWindow(1), context_kernel=RBF(1.0)).fit(X, y, context=rows)
    with pytest.raises(ValueError, match="context does not fit what the model was fitted with"):
        model.predict(X, context=tags)


def test_unknown_labels_are_ignored_with_a_warning(model, forms):
    X, _, _ = parts(forms[1][:2])
    with pytest.warns(UserWarning, match=r"not seen in fit, and they are ignored: \['num=DU'\]"):
        predicted = model.predict(X, context=[["pos=N", "num=DU"], []])
    assert all(isinstance(form, str) for form in predicted)


def test_order_of_a_set_of_labels_does_not_matter():
    coder = LabelContext.of([{"a", "b"}, {"b"}])
    one, other = coder.keys([["a", "b"]])[0], coder.keys([["b", "a"]])[0]
    assert one[0, -1] == other[0, -1]
    assert set(one[0]) == set(other[0])


def test_a_label_is_the_same_feature_wherever_it_stands(model):
    both = [["pos=N", "num=PL"], ["num=PL", "pos=N"]]
    inputs = model.coder_.encode(["tola", "tola"], both)
    keys = model.model_.contexts.features(inputs).keys
    one, other = (set(keys[start + 1]) for start in inputs.source.starts[:2])
    assert one == other


def test_any_items_with_a_kernel_are_contexts(forms):
    X, tags, y = parts(forms[0])
    X_new, tags_new, y_new = parts(forms[1])
    model = SequenceTransducer(LocalWindow(2), context_kernel=Labels()).fit(X, y, context=tags)
    assert model.score(X_new, y_new, context=tags_new) > 0.7


def test_models_do_not_share_a_context_kernel(forms):
    X, _, y = parts(forms[0][:20])
    kernel = RBF("median")
    rows = np.random.default_rng(0).normal(size=(20, 2))
    first = SequenceTransducer(LocalWindow(1), context_kernel=kernel, folds=None)
    second = clone(first)
    before = first.fit(X, y, context=rows).predict_top(X, context=rows)
    second.set_params(context_kernel=kernel).fit(X, y, context=100 * rows)
    assert first.predict_top(X, context=rows) == before
    assert vars(kernel) == vars(RBF("median"))


def test_tables_and_rows_of_labels_are_contexts(forms):
    pandas = pytest.importorskip("pandas")
    X, tags, y = parts(forms[0])
    given = [tuple((*labels, "-")[:3]) for labels in tags]
    quick = SequenceTransducer(LocalWindow(2), folds=None)
    model = clone(quick).fit(X, y, context=given)
    rows = pandas.DataFrame(given, index=range(7, 7 + len(X)))
    for other in (rows, rows.to_numpy(), np.array(given), pandas.Series(given, index=rows.index)):
        same = clone(quick).fit(X, y, context=other)
        assert (same.predict(X, context=other) == model.predict(X, context=given)).all()


def test_context_features_are_the_product_kernel(forms, monkeypatch):
    """Features of windows and labels have the inner products LocalWindow × (1 + k_context)."""
    monkeypatch.setattr(task, "ENDS", 0)
    monkeypatch.setattr(task, "HISTORY", 0)
    X, tags, y = parts(forms[0][:6])
    model = SequenceTransducer(
        LocalWindow(1), tiers=None, folds=None, unalignable="skip"
    ).fit(X, y, context=tags)  # fmt: skip
    inputs = model.coder_.encode(X, tags)
    contexts = model.model_.contexts
    columns = contexts.features(inputs)
    values = contexts.templates.weights * columns.values
    codes = inputs.source
    tokens = [tuple(map(int, part)) for part in np.split(codes.flat, codes.starts[1:-1])]
    items = [(tokens[r], int(p)) for r, p in zip(codes.rows, codes.positions, strict=True)]
    window = LocalWindow(1)(items)
    near = sum(
        np.array([[_same(a, b, lo, hi) for b in items] for a in items])
        * 0.45 ** (hi - lo) for lo in (-1, 0) for hi in (0, 1)
    )  # fmt: skip
    common = np.array([[len(set(s) & set(t)) + (set(s) == set(t)) for t in tags] for s in tags])
    expected = window + near * common[np.ix_(codes.rows, codes.rows)]
    gram = np.zeros(expected.shape)
    for i in range(len(items)):
        for j in range(len(items)):
            both = (columns.keys[i][:, None] == columns.keys[j]) & (columns.keys[i] != 0)[:, None]
            gram[i, j] = (both * np.outer(values[0], values[0])).sum()
    np.testing.assert_allclose(gram, expected, rtol=1e-5)


def _same(a, b, lo, hi):
    (x, i), (z, j) = a, b

    def at(s, p):
        return s[p] if 0 <= p < len(s) else ("out", min(max(-p, p - len(s) + 1), 2))

    return all(at(x, i + d) == at(z, j + d) for d in {0, *range(lo, hi + 1)})


# -- tiers ------------------------------------------------------------------------------------


def test_vowels_are_learnt():
    alphabet = Alphabet.of(STEMS)
    vowels = find_vowels(alphabet.encode(STEMS), len(alphabet))
    assert {s for s, v in zip(alphabet.symbols, vowels, strict=True) if v} == set("aeiou")


def test_harmony_needs_tiers(forms):
    """The vowel of the suffix depends on one that is far away."""
    far = [(stem + "ttkkpp", tags) for stem, tags in forms[0]]
    new = [(stem + "ttkkpp", tags) for stem, tags in forms[1]]
    X, tags, y = parts(far)
    X_new, tags_new, y_new = parts(new)
    near = SequenceTransducer(LocalWindow(2), tiers=None).fit(X, y, context=tags)
    tiers = SequenceTransducer(LocalWindow(2), tiers=["aeiou"]).fit(X, y, context=tags)
    assert tiers.score(X_new, y_new, context=tags_new) > near.score(X_new, y_new, context=tags_new)


def test_outlines_know_open_syllables_by_any_consonant():
    """A vowel is long before one consonant and a vowel; new words have other consonants."""
    rng = np.random.default_rng(0)

    def words(letters, n):
        drawn = zip(rng.choice(list(letters), (n, 3)), rng.choice(list("ae"), (n, 2)), strict=True)
        return [f"{a}{v}{b}{b * int(rng.integers(2))}{w}{c}" for (a, b, c), (v, w) in drawn]

    def said(words):
        return [(w[0] + w[1] * (1 + (w[3] in "ae")) + w[2:]).upper() for w in words]

    X, new = words("bdfgkl", 60), words("mnprst", 40)
    y, more = said(X), list("mnprst")  # the other consonants are heard alone
    scores = []
    for tiers in (["ae"], None):
        model = SequenceTransducer(LocalWindow(1), tiers=tiers, folds=None)
        model.fit([*X, *more], [*y, *map(str.upper, more)])
        scores.append(model.score(new, said(new)))
    assert scores[0] > 0.9 > scores[1]


@pytest.mark.parametrize("tiers", ["vowels", 3])
def test_bad_tiers_are_named(tiers):
    with pytest.raises((ValueError, TypeError), match="tiers"):
        SequenceTransducer(tiers=tiers).fit(["a", "b"], ["A", "B"])


# -- direction --------------------------------------------------------------------------------


def test_backward_is_forward_on_mirrored_pairs(forms, monkeypatch):
    X, _, y = parts([(stem, TAGS[1]) for stem, _ in forms[0]])
    monkeypatch.setattr(task, "ENDS", 0)
    given = {"folds": None, "tiers": ["aeiou"]}
    backward = SequenceTransducer(LocalWindow(2), direction="backward", max_chunk=4, **given)
    mirrored = SequenceTransducer(LocalWindow(2), max_chunk=4, **given)
    new = [stem for stem, _ in forms[1]]
    one = backward.fit(X, y).predict(new)
    other = mirrored.fit([x[::-1] for x in X], [v[::-1] for v in y]).predict([x[::-1] for x in new])
    assert list(one) == [v[::-1] for v in other]
    assert backward.aligned(0)[0][0] == X[0][0]


def test_reversed_codes():
    codes = Codes(np.array([1, 2, 3, 4, 5]), np.array([0, 2, 2, 5]))
    assert list(reversed_codes(codes).flat) == [2, 1, 5, 4, 3]
    coder = InputCoder(Alphabet("abc"), Alphabet("abc"), backward=True)
    inputs = coder.encode(np.array(["abc", "a"], dtype=object))
    assert list(inputs.source.flat) == [2, 1, 0, 0]
    assert list(inputs.first) == [0, 0]


# -- saving -----------------------------------------------------------------------------------


def test_models_with_context_are_saved(model, forms, tmp_path):
    X, tags, _ = parts(forms[1])
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert list(again.predict(X, context=tags)) == list(model.predict(X, context=tags))
    assert again.predict_proba(X[:2], context=tags[:2]) == model.predict_proba(
        X[:2], context=tags[:2]
    )


def test_both_directions_agree_on_the_mean_of_their_scores(forms):
    X, tags, y = parts(forms[0])
    X_new, tags_new, _ = parts(forms[1][:6])
    given = {"folds": None}
    both = SequenceTransducer(LocalWindow(2), direction="both", **given).fit(X, y, context=tags)
    lists = [[o for o, _ in row] for row in both.predict_top(X_new, 4, context=tags_new)]
    scores = []
    for direction in ("forward", "backward"):
        one = SequenceTransducer(LocalWindow(2), direction=direction, **given)
        rows = one.fit(X, y, context=tags).predict_top(X_new, 4, context=tags_new, candidates=lists)
        scores.append([dict(row) for row in rows])
    for i, row in enumerate(both.predict_top(X_new, 4, context=tags_new)):
        for output, score in row:
            assert score == pytest.approx((scores[0][i][output] + scores[1][i][output]) / 2)
