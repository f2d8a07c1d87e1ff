"""String kernels against their definitions, written as loops."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelDependency
from mercer.kernels import (
    RBF,
    Gaussian,
    Linear,
    Normalized,
    Polynomial,
    Positions,
    Spectrum,
    Subsequences,
    WeightedDegree,
)
from mercer.testing import check_kernel

WORDS = ["gatto", "gatta", "otto", "", "tag", "gatto", "a", "tagatagata"]
TOKENS = [("ga", "tto"), ("tto",), [], ["ga", "ga", "tto"], ("ga", "tto"), np.array(["tto", "ga"])]
words = st.lists(st.text("abcä", max_size=6), min_size=2, max_size=5)
few = settings(deadline=None, max_examples=30)


def naive(pair, A, B):
    return np.array([[pair(a, b) for b in B] for a in A], dtype=float)


def grams(s, m):
    return [s[i : i + m] for i in range(len(s) - m + 1)]


def spectrum(s, t, lengths, width, weights):
    total = 0.0
    for m, w in zip(lengths, weights, strict=True):
        for i, u in enumerate(grams(s, m)):
            for j, v in enumerate(grams(t, m)):
                front, back = abs(i - j), abs((len(s) - m - i) - (len(t) - m - j))
                kappa = [1.0 if width is None else max(0, 1 - d / width) for d in (front, back)]
                total += w * (u == v) * sum(kappa) / 2
    return total


@few
@given(words, words, st.integers(1, 3), st.booleans(), st.sampled_from([None, 1, 2, 4]))
def test_spectrum_is_its_definition(A, B, n, blended, width):
    lengths = range(1, n + 1) if blended else [n]
    weights = [0.5 + m for m in lengths]
    k = Spectrum(n, blended, width, weights)
    expected = naive(lambda s, t: spectrum(s, t, lengths, width, weights), A, B)
    np.testing.assert_allclose(k(A, B), expected, atol=1e-12)
    np.testing.assert_allclose(
        k(A), naive(lambda s, t: spectrum(s, t, lengths, width, weights), A, A), atol=1e-12
    )
    np.testing.assert_allclose(k.diag(A), np.diag(k(A)), atol=1e-12)


@few
@given(words, words, st.integers(1, 3), st.booleans(), st.sampled_from([None, 1, 3]))
def test_spectrum_features_are_exact_where_one_side_was_seen(A, B, n, blended, width):
    k = Spectrum(n, blended, width).fit([*A, "x" * 7])
    np.testing.assert_allclose(k.features(A) @ k.features(B).T, k(A, B), atol=1e-12)


def weighted_degree(s, t, degree, shifts):
    total = 0.0
    for d in range(1, degree + 1):
        beta = 2 * (degree - d + 1) / (degree * (degree + 1))
        for i in range(len(s) - d + 1):
            for shift in range(-shifts, shifts + 1):
                j = i + shift
                same = 0 <= j <= len(t) - d and s[i : i + d] == t[j : j + d]
                total += beta * same * (1.0 if shift == 0 else 0.5 / (abs(shift) + 1))
    return total


@few
@given(words, words, st.integers(1, 4), st.integers(0, 3))
def test_weighted_degree_is_its_definition(A, B, degree, shifts):
    k = WeightedDegree(degree, shifts)
    pair = lambda s, t: weighted_degree(s, t, degree, shifts)  # noqa: E731
    np.testing.assert_allclose(k(A, B), naive(pair, A, B), atol=1e-12)
    np.testing.assert_allclose(k(A), naive(pair, A, A), atol=1e-12)


def subsequences(s, t, n, decay):
    def weighted(s):
        total = Counter()
        for i in combinations(range(len(s)), n):
            total["".join(s[j] for j in i)] += decay ** (i[-1] - i[0] + 1)
        return total

    a, b = weighted(s), weighted(t)
    return sum(a[u] * b[u] for u in a)


@few
@given(words, words, st.integers(1, 3), st.sampled_from([0.3, 0.9, 1.0]), st.booleans())
def test_subsequences_are_their_definition(A, B, n, decay, blended):
    k = Subsequences(n, decay, blended)
    lengths = range(1, n + 1) if blended else [n]
    pair = lambda s, t: sum(subsequences(s, t, m, decay) for m in lengths)  # noqa: E731
    np.testing.assert_allclose(k(A, B), naive(pair, A, B), atol=1e-10)
    np.testing.assert_allclose(k(A), naive(pair, A, A), atol=1e-10)
    np.testing.assert_allclose(k.diag(A), np.diag(k(A)), atol=1e-10)


@few
@given(words, words)
def test_positions_of_symbols_are_their_definition(A, B):
    pair = lambda s, t: sum(a == b for a, b in zip(s, t, strict=False))  # noqa: E731
    np.testing.assert_array_equal(Positions()(A, B), naive(pair, A, B))


@pytest.mark.parametrize("base", [Polynomial(3), Normalized(Polynomial(3, 0.1)), RBF("median")])
def test_positions_of_vectors_are_their_definition(base):
    rng = np.random.default_rng(0)
    A, B = ([rng.normal(size=(q, 4)) for q in lengths] for lengths in ((3, 0, 5, 1), (2, 5)))
    k = Positions(base).fit(A)

    def pair(s, t):
        return sum(k.inner(s[p : p + 1], t[p : p + 1])[0, 0] for p in range(min(len(s), len(t))))

    np.testing.assert_allclose(k(A, B), naive(pair, A, B), atol=1e-10)
    np.testing.assert_allclose(k(A), naive(pair, A, A), atol=1e-10)
    np.testing.assert_allclose(k.diag(A), np.diag(k(A)), atol=1e-10)
    images = [a.reshape(-1, 2, 2) for a in A]
    np.testing.assert_allclose(k(images, B), k(A, B))


@pytest.mark.parametrize("items", [WORDS, TOKENS, [[3, 1], (2, 3, 1), [1]]])
@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(2),
        Spectrum(3, blended=True),
        Spectrum(2, blended=True, width=2),
        WeightedDegree(3),
        WeightedDegree(2, shifts=2),
        Subsequences(2, 0.7),
        Subsequences(3, 0.7, blended=True),
        Positions(),
        Normalized(Spectrum(2, blended=True)),
        Gaussian(Positions()),
        Spectrum(2) + WeightedDegree(2),
        Spectrum(1) * Subsequences(2),
    ],
)
def test_contract(kernel, items):
    check_kernel(kernel, items)


def test_contract_on_vectors():
    rng = np.random.default_rng(0)
    check_kernel(Positions(Polynomial(3)), [rng.normal(size=(q, 3)) for q in (2, 4, 1, 0, 3)])


def test_any_container_of_strings_will_do():
    pandas = pytest.importorskip("pandas")
    expected = Spectrum(2)(WORDS)
    for container in (tuple, np.array, pandas.Series):
        np.testing.assert_array_equal(Spectrum(2)(container(WORDS)), expected)


def test_unknown_symbols_are_fine_in_inputs():
    for kernel in (Spectrum(2), WeightedDegree(), Subsequences(2), Positions()):
        fitted = kernel.fit(["ab", "ba"])
        assert fitted(["xy"], ["ab"]).item() == 0
        assert fitted(["xy"], ["xy"]).item() > 0


def test_empty_strings_are_zero():
    for kernel in (Spectrum(2), WeightedDegree(), Subsequences(2), Positions()):
        np.testing.assert_array_equal(kernel(["", "ab"], [""]), np.zeros((2, 1)))
    np.testing.assert_array_equal(Normalized(Spectrum(2))([""], ["ab"]), [[0.0]])
    assert not Positions(Linear())([[], []]).any()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (["ab", None], r"X\[1\] must be a sequence of symbols .* got NoneType None"),
        (["ab", 3.5], r"X\[1\] must be a sequence of symbols .* got float 3.5"),
        (["ab", {"a"}], r"X\[1\] must be a sequence"),
        (["ab", np.zeros((2, 2))], r"X\[1\] must be a sequence .* got ndarray of shape \(2, 2\)"),
        (["ab", [["a"], ["b"]]], r"X\[1\] holds symbols that cannot be compared"),
        (np.arange(3), r"X\[0\] must be a sequence"),
        ([], "X is empty"),
    ],
)
@pytest.mark.parametrize("kernel", [Spectrum(), WeightedDegree(), Subsequences(), Positions()])
def test_what_is_no_sequence_is_refused_by_its_index(kernel, bad, message):
    with pytest.raises(ValueError, match=message):
        kernel.check(bad)


def test_a_string_is_no_batch():
    with pytest.raises(TypeError, match="batch of items"):
        Spectrum()("gatto")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([[[1.0]], "ab"], r"X\[1\] must be a sequence of finite real vectors"),
        ([[[1.0]], [[np.nan]]], r"X\[1\] must be a sequence of finite"),
        ([[[1.0]], [1.0, 2.0]], r"X\[1\] must be a sequence"),
        ([[[1.0]], [[1.0, 2.0]]], r"X\[1\] holds vectors of length 2"),
    ],
)
def test_bad_sequences_of_vectors_are_refused_by_their_index(bad, message):
    with pytest.raises(ValueError, match=message):
        Positions(Linear()).check(bad)


def test_unknown_symbols_of_outputs_are_refused_by_their_index():
    model = KernelDependency(Spectrum(1), Positions(), alpha=1.0).fit(["0", "1"], ["ab", "b"])
    with pytest.raises(ValueError, match=r"y\[1\] has the symbol 'z'"):
        model.score(["0", "1"], ["ab", "bz"])
    with pytest.raises(ValueError, match=r"y\[0\] has the symbol 'q'"):
        KernelDependency(Spectrum(1), Positions(letters="ab")).fit(["0", "1"], ["q", "b"])
    with pytest.raises(ValueError, match=r"candidates\[0\]\[1\] has the symbol 'q'"):
        model.predict(["0"], candidates=[["a", "q"]])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Spectrum(0), "n must be a positive integer"),
        (Spectrum(2, width=0), "width must be a positive integer"),
        (Spectrum(2, weights=[1.0, 2.0]), "weights must hold a number"),
        (WeightedDegree(0), "degree must be a positive"),
        (WeightedDegree(2, shifts=-1), "shifts must be an integer"),
        (Subsequences(2, decay=1.5), "decay must be at most 1"),
        (Subsequences(2, decay=0.0), "decay must be a positive number"),
    ],
)
def test_bad_parameters_are_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(["ab", "ba"])


def test_features_want_a_fit():
    for kernel in (Spectrum(), Positions()):
        with pytest.raises(ValueError, match="fit"):
            kernel.features(["ab"])
    assert Positions(Linear()).features is None
