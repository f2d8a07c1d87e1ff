from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import SequenceTransducer
from mercer.kernels._sequences import Alphabet
from mercer.sequences.transduction import ngram
from mercer.sequences.transduction._rescoring_loops import JointCounts, joint_log_probability
from mercer.sequences.transduction.joint import END_EVENT
from mercer.sequences.transduction.ngram import NGram

words = st.lists(st.text("abc", max_size=5), min_size=1, max_size=8).filter(any)


def literal(rows, symbols, order):
    """log p of a symbol after a context, by the recursion of its docstring."""
    counts = Counter()
    for row in rows:
        marked = ["<", *row, ">"]
        for t in range(1, len(marked)):
            for h in range(min(order - 1, t) + 1):
                counts[tuple(marked[t - h : t]), marked[t]] += 1

    def p(symbol, context):
        context = tuple(context)[-(order - 1) :] if order > 1 else ()
        shorter = p(symbol, context[1:]) if context else 1.0 / (len(symbols) + 1)
        after = [counts[context, s] for s in (*symbols, ">")]
        n, u = sum(after), sum(c > 0 for c in after)
        return shorter if n == 0 else (counts[context, symbol] + u * shorter) / (n + u)

    return p


@given(words, st.integers(1, 4), st.text("abc", max_size=6))
@settings(deadline=None, max_examples=40)
def test_walking_the_automaton_gives_the_literal_probabilities(rows, order, text):
    alphabet = Alphabet.of(rows)
    text = [s for s in text if s in alphabet.number]
    model, p = NGram.of(alphabet.encode(rows), len(alphabet), order), None
    p = literal(rows, alphabet.symbols, order)
    state, before = model.start, ["<"]
    for symbol in text:
        number = alphabet.number[symbol]
        assert model.logp[state, number] == pytest.approx(np.log(p(symbol, before)))
        state = model.next[state, number]
        before.append(symbol)
    assert model.logp[state, model.end] == pytest.approx(np.log(p(">", before)))
    np.testing.assert_allclose(np.exp(model.logp).sum(axis=1), 1.0)


def test_tables_that_would_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(ngram, "TABLE_BYTES", 100)
    alphabet = Alphabet.of(["abcabc"])
    with pytest.raises(MemoryError, match="lower order"):
        NGram.of(alphabet.encode(["abcabc"]), 3, 3)


def test_joint_models_are_distributions_also_of_outlines():
    """After any events the probabilities of all that can follow sum to one."""
    X = ["ban", "bana", "tab", "nat", "ant", "bat"]
    model = SequenceTransducer(tiers=["a"], folds=None)
    fitted = model.fit(X, X).model_
    known = int(fitted.emissions.first[-1])  # the last symbol is the unknown one
    for joint in (fitted.joint, fitted.outline):
        counts = JointCounts(joint.keys, joint.table, joint.values, joint.size, joint.number)
        events = np.unique(joint.number[:known]) + 2
        assert joint.size == len(events) + 1  # the end
        for past in ([0] * 5, [*events[:2], 0, 0, 0][::-1], [*events] * 5):
            history = np.array(past[-5:], dtype=np.int64)
            chances = [
                np.exp(joint_log_probability(counts, history, e)) for e in (END_EVENT, *events)
            ]
            np.testing.assert_allclose(np.sum(chances), 1.0)
    assert fitted.outline.size == 3 < fitted.joint.size  # a, any other symbol, and the end


def test_without_vowels_there_is_no_outline():
    X = ["ban", "tab", "nat"]
    model = SequenceTransducer(tiers=None, folds=None)
    assert model.fit(X, X).model_.outline is None
