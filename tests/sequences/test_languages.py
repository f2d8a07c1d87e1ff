"""Simulated languages: copying of unseen letters, and vowel harmony across neutral vowels."""

import itertools

import numpy as np
import pytest

from mercer import SequenceTransducer, load, save
from mercer.kernels._sequences import Alphabet
from mercer.sequences.transduction.harmony import harmony_classes, vowels_with_harmony
from mercer.sequences.transduction.reordering import PieceOrder
from mercer.sequences.transduction.tiers import find_vowels

BACK, FRONT, NEUTRAL = "aou", "äöy", "ei"
CONSONANTS = "hjklmnprstv"


def stems(n, seed, neutral=(0, 3)):
    """Stems whose first vowels are back or front and whose last vowels are neutral."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        own = BACK if rng.integers(2) else FRONT
        vowels = [rng.choice(list(own)) for _ in range(rng.integers(1, 3))]
        vowels += [rng.choice(list(NEUTRAL)) for _ in range(rng.integers(*neutral))]
        syllables = [
            rng.choice(list(CONSONANTS)) + v + rng.choice(["", "", "s", "n"]) for v in vowels
        ]
        found.append("".join(syllables))
    return found


def with_case(stem):
    """Return the stem with -na after a back vowel, -nä after a front one."""
    governing = [v for v in stem if v in BACK + FRONT][-1]
    return stem + ("na" if governing in BACK else "nä")


def test_transparent_vowels_are_found():
    words = list(map(with_case, stems(300, 0)))
    alphabet = Alphabet.of(words)
    member = np.array([s in BACK + FRONT + NEUTRAL for s in alphabet.symbols])
    classes = harmony_classes(alphabet.encode(words), member)
    kind = dict(zip(alphabet.symbols, classes, strict=True))
    assert {kind[v] for v in NEUTRAL + CONSONANTS} == {0}
    assert len({kind[v] for v in BACK}) == len({kind[v] for v in FRONT}) == 1
    assert {kind["a"], kind["ä"]} == {1, 2}


def test_two_properties_may_agree():
    """As in Turkish, vowels mostly agree in being back or front, and in being rounded or not."""
    rng, words = np.random.default_rng(0), []
    vowels = np.array([["ei", "öü"], ["aı", "ou"]])
    for _ in range(500):
        back = (rng.random(4) < 0.05) ^ rng.integers(2)
        rounded = (rng.random(4) < 0.1) ^ rng.integers(2)
        some = vowels[back, rounded]
        words.append("".join(rng.choice(["k", "t"]) + rng.choice(list(row)) for row in some))
    alphabet = Alphabet.of(words)
    member = np.array([s in "eiöüaıou" for s in alphabet.symbols])
    classes = harmony_classes(alphabet.encode(words), member)
    kind = dict(zip(alphabet.symbols, classes.tolist(), strict=True))
    first, second = ({v: kind[v] // factor % 3 for v in "eiöüaıou"} for factor in (1, 3))
    assert {first[v] for v in "aıou"} == {3 - first[v] for v in "eiöü"}
    assert {second[v] for v in "aıei"} == {3 - second[v] for v in "ouöü"}
    assert len(set(first.values())) == len(set(second.values())) == 2


def test_languages_without_harmony_have_no_classes():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("kt")) + rng.choice(list("aeiou")) for _ in range(4))
             for _ in range(300)]  # fmt: skip
    alphabet = Alphabet.of(words)
    member = np.array([s in "aeiou" for s in alphabet.symbols])
    assert not harmony_classes(alphabet.encode(words), member).any()


def test_harmony_passes_over_neutral_vowels():
    """The governing vowel is three to five syllables before the suffix."""
    X, new = stems(200, 0), stems(100, 1, neutral=(3, 6))
    model = SequenceTransducer(direction="forward", folds=3).fit(X, list(map(with_case, X)))
    assert model.score(new, list(map(with_case, new))) > 0.95


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_vowels_are_the_class_that_has_harmony(seed):
    """Vowels and consonants alternate: only harmony says which class is which."""
    words = list(map(with_case, stems(300, seed)))
    alphabet = Alphabet.of(words)
    codes = alphabet.encode(words)
    vowels = vowels_with_harmony(codes, find_vowels(codes, len(alphabet)))
    found = {s for s, inside in zip(alphabet.symbols, vowels, strict=True) if inside}
    assert found == set(BACK + FRONT + NEUTRAL)


@pytest.fixture(scope="module")
def plurals():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abdegilmnorst"), rng.integers(3, 7))) for _ in range(120)]
    return SequenceTransducer().fit(words, [word + "s" for word in words])


def test_unseen_letters_are_copied(plurals, tmp_path):
    new = ["quiz", "café", "ñandú", "z", "xyqw"]
    wanted = [word + "s" for word in new]
    assert list(plurals.predict(new)) == wanted
    save(plurals, tmp_path / "model.mercer")
    assert list(load(tmp_path / "model.mercer").predict(new)) == wanted
    assert plurals.predict(["quiz"], candidates=[["quip", "quizs", "quits"]])[0] == "quizs"
    (best, probability), *_ = plurals.predict_proba(["quiz"])[0]
    assert best == "quizs" and probability > 0.9


# -- order ------------------------------------------------------------------------------------

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def dates(n, seed):
    """Return dates in two formats, and in that of ISO 8601."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        year, month, day = (int(rng.integers(*span)) for span in ((1950, 2030), (1, 13), (10, 29)))
        name = MONTHS[month - 1]
        X.append(f"{name} {day}, {year}" if rng.integers(2) else f"{day}.{month}.{year}")
        y.append(f"{year}-{month:02}-{day}")
    return X, y


def test_pieces_are_put_into_the_order_of_the_output(tmp_path):
    (X, y), (new, wanted) = dates(200, 0), dates(60, 1)
    model = SequenceTransducer(direction="forward", folds=3).fit(X, y)
    orders = {"A 9, 9999": (2, 0, 1), "9.9.9999": (2, 1, 0)}
    assert {form: model.order_.orders[form] for form in orders} == orders
    assert model.score(new, wanted) > 0.95
    save(model, tmp_path / "dates.mercer")
    assert list(load(tmp_path / "dates.mercer").predict(new)) == list(model.predict(new))


def test_leading_zeros_are_written_next_to_their_digit():
    """The separator emits the separator, so that a day is one that was seen in any month."""
    X, y = (
        ["2018 May 11", "2017 June 4", "1997 July 7"] * 9,
        ["2018-05-11", "2017-06-04", "1997-07-07"] * 9,
    )
    model = SequenceTransducer(direction="forward", folds=None).fit(X, y)
    for i in range(3):
        chunks = [chunk for symbol, chunk in model.aligned(i) if symbol == " "]
        assert all(chunk.startswith("-") for chunk in chunks)


def test_symbols_are_pieces():
    """EUR and € look nothing alike, and occur together; amounts of any length have one order."""
    amounts = [f"{i}.{i % 90 + 10}" for i in range(1, 60)]
    names = ["EUR", "USD", "GBP"] * 20
    X = [f"{name} {a}" for name, a in zip(names, amounts, strict=False)]
    y = [f"{a} {'€$£'[i % 3]}" for i, a in enumerate(amounts)]
    order = PieceOrder.of(X, y)
    assert list(order.apply(["USD 7.25", "EUR 1234.56"])) == ["7 25.USD", "1234 56.EUR"]


def test_orders_of_new_forms_follow_those_of_similar_ones():
    """Names with initials are in no training pair."""
    names = ["Turing", "Gödel", "Noether", "Hopper", "Knuth", "Liskov", "Curry", "Shannon"]
    firsts = ["Alan", "Kurt", "Emmy", "Grace", "Donald", "Barbara", "Haskell", "Claude"]
    pairs = [(a, b, c) for a in names for b, c in itertools.pairwise(firsts)]
    X = [f"{a}, {b}" for a, b, _ in pairs] + [f"{a}, {b} {c}" for a, b, c in pairs[:9]]
    y = [f"{b} {a}" for a, b, _ in pairs] + [f"{b} {c} {a}" for a, b, c in pairs[:9]]
    order = PieceOrder.of(X, y)
    assert list(order.apply(["Turing, A. M.", "Knuth, D. E. X"])) == [
        "A, M. Turing.",
        "D, E. X. Knuth",
    ]


# -- words ------------------------------------------------------------------------------------

ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def in_words(hundreds, tens, ones):
    parts = [f"{ONES[hundreds]} hundred"] if hundreds else []
    below = [TENS[tens]] * (tens > 0) + [ONES[ones]] * (ones > 0)
    return " ".join([*parts, *([" ".join(below)] if below else [])])


def test_number_words():
    """The zeros of 709 and 790 are in no word: the words next to a position say where they are."""
    digits = [(h, t, o) for h in range(1, 10) for t in (0, *range(2, 10)) for o in range(10)]
    rng = np.random.default_rng(0)
    drawn = [digits[i] for i in rng.permutation(len(digits))[:320]]
    X, y = [in_words(*d) for d in drawn], ["".join(map(str, d)) for d in drawn]
    model = SequenceTransducer(direction="forward", folds=3).fit(X[:220], y[:220])
    assert model.score(X[220:], y[220:]) > 0.9


def test_inputs_in_order_stay_as_they_are():
    X, _ = dates(60, 0)
    model = SequenceTransducer(direction="forward", folds=2).fit(X, [x.upper() for x in X])
    assert model.order_ is None


def test_outputs_in_another_order_are_warned_about():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abcdefghik"), 6, replace=False)) for _ in range(60)]
    with pytest.warns(UserWarning, match=r"in another order.*left-out accuracy is 0\.\d\d"):
        SequenceTransducer(direction="forward", folds=2).fit(X, [x[::-1] for x in X])
