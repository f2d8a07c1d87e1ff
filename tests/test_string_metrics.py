from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.metrics import character_error_rate, edit_distance, symbol_accuracy


def levenshtein(s, t):
    row = list(range(len(t) + 1))
    for i, a in enumerate(s, start=1):
        row, before = [i], row
        for j, b in enumerate(t, start=1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
    return row[-1]


pairs = st.lists(
    st.tuples(st.text("abc", max_size=6), st.text("abc", max_size=6)), min_size=1, max_size=5
)


@settings(deadline=None, max_examples=30)
@given(pairs)
def test_edit_distance_is_levenshteins(pairs):
    y, found = zip(*pairs, strict=True)
    expected = [levenshtein(a, b) for a, b in pairs]
    assert edit_distance(y, found, average=False).tolist() == expected
    lists = [list(a) for a in y], [np.array(list(b), dtype=object) for b in found]
    assert edit_distance(*lists, average=False).tolist() == expected
    assert edit_distance(y, found) == pytest.approx(np.mean(expected))


def test_error_rate_is_over_all_symbols():
    assert character_error_rate(["abcd", "a"], ["abce", "b"]) == pytest.approx(2 / 5)
    assert character_error_rate([("AH", "B")], [("AH",)]) == pytest.approx(1 / 2)


def test_symbols_must_stand_at_their_place():
    assert symbol_accuracy(["abc"], ["xabc"]) == 0.0
    assert symbol_accuracy([(1, 2)], [[1, 3, 4]]) == 0.5


def test_refusals():
    for metric in (edit_distance, character_error_rate, symbol_accuracy):
        with pytest.raises(ValueError, match="one length"):
            metric(["a"], ["a", "b"])
        with pytest.raises(ValueError, match=r"y_pred\[0\] must be a sequence"):
            metric(["a"], [3])
    for metric in (character_error_rate, symbol_accuracy):
        with pytest.raises(ValueError, match="empty"):
            metric([""], [""])


def test_a_missing_extra_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    with pytest.raises((ImportError, ValueError)) as caught:
        edit_distance(["a"], ["b"])
    assert "rapidfuzz" in str(caught.value)
