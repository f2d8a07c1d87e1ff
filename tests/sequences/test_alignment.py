import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels._sequences import Alphabet
from mercer.sequences.transduction.alignment import Lattice, align


def cuts(n, m, longest):
    """All chunk lengths of n input symbols that add up to m."""
    if n == 0:
        return [()] if m == 0 else []
    return [(k, *rest) for k in range(min(longest, m) + 1) for rest in cuts(n - 1, m - k, longest)]


def enumerated(x, y, longest):
    """All cuts of a pair: lengths, and the (symbol, chunk) types used."""
    for lengths in cuts(len(x), len(y), longest):
        ends = np.cumsum((0, *lengths))
        yield lengths, [(s, y[a:b]) for s, a, b in zip(x, ends[:-1], ends[1:], strict=True)]


pairs = st.lists(
    st.tuples(st.text("ab", min_size=1, max_size=4), st.text("xyz", max_size=6)),
    min_size=1,
    max_size=5,
).map(lambda rows: [(x, y[: 2 * len(x)]) for x, y in rows])


def encoded(rows):
    X, Y = zip(*rows, strict=True)
    return Alphabet.of(X).encode(X), Alphabet.of(Y).encode(Y)


def type_numbers(lattice, rows):
    """The number of each (symbol, chunk) type, found by walking the cells."""
    X, Y = zip(*rows, strict=True)
    sources, targets = Alphabet.of(X), Alphabet.of(Y)
    base = len(targets) + 1 if len(targets) else 2
    number = {}
    for t, (s, key) in enumerate(zip(lattice.symbols, lattice.chunks, strict=True)):
        chunk = ""
        while key:
            chunk = targets.symbols[key % base - 1] + chunk
            key //= base
        number[sources.symbols[s], chunk] = t
    return number


@given(pairs, st.integers(0, 1000))
@settings(deadline=None, max_examples=40)
def test_forward_backward_and_viterbi_equal_enumeration(rows, seed):
    lattice = Lattice.of(*encoded(rows), 2)
    number = type_numbers(lattice, rows)
    p = np.random.default_rng(seed).uniform(0.1, 1.0, len(lattice.symbols))
    expected, total, best = np.zeros(len(p)), 0.0, []
    for x, y in rows:
        weights, uses = [], []
        for lengths, types in enumerated(x, y, 2):
            numbers = [number[t] for t in types]
            weights.append(np.prod(p[numbers]))
            uses.append((lengths, numbers))
        for w, (_, numbers) in zip(weights, uses, strict=True):
            np.add.at(expected, numbers, w / sum(weights))
        total += np.log(sum(weights))
        best.append(max(weights))
    counts, gained = lattice.expected_counts(p)
    np.testing.assert_allclose(counts, expected, atol=1e-10)
    assert gained == pytest.approx(total)
    lengths = np.split(lattice.best_lengths(p), lattice.source.starts[1:-1])
    for (x, y), found, value in zip(rows, lengths, best, strict=True):
        types = dict(enumerated(x, y, 2))[tuple(int(k) for k in found)]
        assert np.prod(p[[number[t] for t in types]]) == pytest.approx(value)


@given(pairs)
@settings(deadline=None, max_examples=30)
def test_likelihood_never_falls(rows):
    gains = np.diff(align(*encoded(rows), 2).log_likelihoods)
    assert (gains > -1e-9).all()


def test_obvious_alignment_is_found():
    rows = [("ab", "xyy"), ("ba", "yyx"), ("a", "x"), ("b", "yy"), ("abb", "xyyyy")]
    found = align(*encoded(rows), 2)
    for p, (x, _) in enumerate(rows):
        assert [len(c) for c in found.chunks(p)] == [{"a": 1, "b": 2}[s] for s in x]


def test_repetition_does_not_blur_the_alignment():
    rows = [("ab" * 20, "xy" * 20), ("ba" * 20, "yx" * 20), ("a", "x")]
    assert (align(*encoded(rows), 3).lengths == 1).all()


def test_long_sequences_do_not_underflow():
    rng = np.random.default_rng(0)
    rows = [("".join(rng.choice(list("abcd"), 800)),) * 2 for _ in range(2)]
    found = align(*encoded(rows), 1)
    assert np.isfinite(found.log_likelihoods).all()
    assert (found.lengths == 1).all()


def test_long_pairs_that_are_improbable_are_counted_as_by_logarithms():
    """Cuts that fit are rare beside those that forward probabilities are spread over."""
    n = 1200
    lattice = Lattice.of(*encoded([("a" * n, "b" * n)]), 2)
    chances = dict(zip(lattice.chunks.tolist(), [0.98, 0.01, 0.01], strict=True))
    probability = np.array([chances[chunk] for chunk in lattice.chunks.tolist()])
    counts, gained = lattice.expected_counts(probability)
    logs = np.full(n + 3, -np.inf)
    logs[0] = 0.0
    for _ in range(n):
        shifted = [np.r_[np.full(k, -np.inf), logs[: n + 3 - k]] for k in range(3)]
        steps = [np.log(p) + row for p, row in zip(probability, shifted, strict=True)]
        logs = np.logaddexp(np.logaddexp(steps[0], steps[1]), steps[2])
    assert gained == pytest.approx(logs[n], rel=1e-9)
    assert counts.sum() == pytest.approx(n) and counts[1] + 2 * counts[2] == pytest.approx(n)


def test_too_many_chunks_for_a_key_are_refused():
    rows = [([1], list(range(1 << 14)))]
    with pytest.raises(ValueError, match="lower max_chunk"):
        Lattice.of(*encoded(rows), 8)
