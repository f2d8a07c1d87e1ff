"""Coupled positions: as the formula says, on words of any length; what is wrong is named."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Lexicon, PerPosition
from mercer.kernels import RBF, Linear, Normalized, Polynomial, Positions
from mercer.operators import Positionwise
from mercer.testing import check_operator_kernel
from tolerances import IDENTITY

WORDS = ["aba", "b", "cabb", "bca", "ccba", "ab"]
PAIR = Normalized(Positions(Polynomial(3)))
CHOICES = {
    "apart": {"mu": 0.5, "eta": 0.0},
    "shared": {"mu": 0.5, "eta": 0.7},
    "words": {"mu": 0.0, "word_kernel": PAIR},
    "words and apart": {"mu": 0.3, "word_kernel": PAIR},
    "all": {"mu": 0.3, "eta": 2.0, "word_kernel": PAIR},
}


def drawn(words, seed=0):
    """Noisy two-dimensional pictures of the letters."""
    rng = np.random.default_rng(seed)
    corner = {"a": (0.0, 0.0), "b": (2.0, 0.0), "c": (0.0, 2.0)}
    return [np.array([corner[c] for c in w]).reshape(-1, 2) + 0.1 * rng.normal(size=(len(w), 2))
            for w in words]  # fmt: skip


def literal(kernel, A, B, places, letters):
    """K_pq(a, b), letter by letter, by the formula alone."""
    words = kernel.word_kernel.fit(A)(A, B) if kernel.word_kernel is not None else 0.0 * PAIR(A, B)
    out = np.zeros((len(A), len(B), places * letters, places * letters))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            for p in range(min(len(a), places)):
                for q in range(min(len(b), places)):
                    k = float(kernel.kernel(a[p : p + 1], b[q : q + 1])[0, 0])
                    value = words[i, j] * (p == q) + kernel.mu * k * ((p == q) + kernel.eta)
                    for c in range(letters):
                        out[i, j, p * letters + c, q * letters + c] = value
    return out


@pytest.mark.parametrize("name", CHOICES)
def test_contract(name):
    V = Positions().fit(WORDS).features(WORDS)
    check_operator_kernel(Positionwise(RBF(1.0), **CHOICES[name]), drawn(WORDS), V)


@pytest.mark.parametrize("name", CHOICES)
def test_values_are_those_of_the_formula(name):
    kernel = Positionwise(RBF(1.0), **CHOICES[name])
    A, B = drawn(WORDS), drawn(["abcabc", "c", ""], 1)
    B[2] = np.zeros((0, 0))
    kernel.fit(kernel.inputs.check(A), Positions().fit(WORDS).features(WORDS))
    assert (kernel.places_, kernel.letters_) == (4, 3)
    found = kernel.gram(kernel.inputs.check(B), kernel.inputs.check(A)).blocks()
    assert_allclose(found, literal(kernel, B, A, 4, 3), atol=IDENTITY)


@pytest.mark.parametrize("name", CHOICES)
def test_fits_are_those_of_the_whole_system(name):
    """Every component of every word in one dense system, dead places and all."""
    X, alpha = drawn(WORDS), 0.1
    kernel = Positionwise(RBF(1.0), **CHOICES[name])
    model = KernelDependency(
        kernel, Positions(), alpha, PerPosition("input"), fit_intercept=False
    ).fit(X, WORDS)
    G = literal(kernel, X, X, 4, 3).transpose(0, 2, 1, 3).reshape(72, 72)
    V = Positions().fit(WORDS).features(WORDS).ravel()
    coef = np.linalg.solve(G + alpha * np.eye(72), V).reshape(6, 12)
    G_new = literal(kernel, drawn(["cab"], 2), X, 4, 3)
    wanted = np.einsum("ijpq,jq->ip", G_new, coef)
    assert_allclose(model.embed(drawn(["cab"], 2)).coordinates, wanted, atol=IDENTITY)


@pytest.mark.parametrize("name", ["apart", "all"])
def test_left_out_words_are_those_of_refits(name):
    X = drawn(WORDS)
    kernel = Positionwise(RBF(1.0), letters=3, **CHOICES[name])
    letters = Positions(letters="abc")
    model = KernelDependencyCV(
        kernel, letters, [0.1], decoder=PerPosition("input"), fit_intercept=False
    ).fit(X, WORDS)
    for i in range(len(WORDS)):
        rest = [j for j in range(len(WORDS)) if j != i]
        once = KernelDependency(kernel, letters, 0.1, PerPosition("input"), fit_intercept=False)
        once.fit([X[j] for j in rest], [WORDS[j] for j in rest])
        point = once.embed([X[i]]).coordinates[0]
        assert_allclose(model.loo_embed().coordinates[i][: len(point)], point, atol=IDENTITY)


@settings(max_examples=30)
@example(["ab", "b"], 5e-324)
@given(st.lists(st.text("abc", max_size=5), min_size=2, max_size=5), st.floats(0, 3))
def test_apart_and_shared_are_one_family(words, eta):
    """The matrix with η is that without, plus η times the one without any places."""
    if max(map(len, words)) == 0:
        return
    X = [x if len(x) else np.zeros((0, 0)) for x in drawn(words)]
    V = Positions(letters="abc").fit(words).features(words)
    kernels = [Positionwise(RBF(1.0), PAIR, 0.4, e).fit(X, V) for e in (0.0, eta)]
    apart, both = (kernel.gram(X).matrix() for kernel in kernels)
    images = np.concatenate([x for x in X if len(x)])
    assert_allclose(both, apart + 0.4 * eta * RBF(1.0)(images), atol=IDENTITY)


def test_places_apart_are_solved_apart():
    X = drawn(WORDS)
    V = Positions().fit(WORDS).features(WORDS)
    gram = Positionwise(RBF(1.0), PAIR).fit(X, V).gram(X)
    parts = list(gram.diagonal_blocks())
    assert [len(own) for own, _ in parts] == [6, 5, 4, 2]
    G = gram.matrix()
    for own, part in parts:
        assert_allclose(G[np.ix_(own, own)], part, atol=IDENTITY)
        G[np.ix_(own, own)] = 0.0
    assert not G.any()


def test_words_of_any_length_are_read():
    kernel = Positionwise(RBF(0.5), eta=1.0)
    model = KernelDependency(kernel, Positions(), 0.01, PerPosition("input"), fit_intercept=False)
    model.fit(drawn(WORDS), WORDS)
    assert model.predict(drawn(["bcb", "a"], 3)).tolist() == ["bcb", "a"]
    assert model.predict(drawn(["cabbac"], 3)).tolist() == ["cabb"]  # no fifth place was seen
    assert model.predict([np.zeros((0, 2)), *drawn(["b"], 3)]).tolist() == ["", "b"]
    model.set_params(decoder=Lexicon(restrict="length", background="auto"))
    model.fit(drawn(WORDS * 2), WORDS * 2)
    assert model.predict(drawn(["bca", "ab"], 3)).tolist() == ["bca", "ab"]


def test_empty_and_shorter_outputs_take_part():
    X = [*drawn([*WORDS, "abc"]), np.zeros((0, 2))]
    model = KernelDependency(
        Positionwise(RBF(0.5), eta=1.0),
        Positions(),
        0.01,
        PerPosition("input"),
        fit_intercept=False,
    ).fit(X, [*WORDS, "ab", ""])  # one word has a picture that is no letter
    assert model.predict(drawn(["cb"], 3)).tolist() == ["cb"]


def test_parameters_nest_and_clone():
    model = KernelDependency(Positionwise(RBF(1.0), PAIR), Positions(), fit_intercept=False)
    model.set_params(kernel__eta=2.0, kernel__kernel__length_scale=0.5)
    assert model.kernel.eta == 2.0 and model.kernel.kernel.length_scale == 0.5


def fitted(X=None, y=None, kernel=RBF(1.0), **params):  # noqa: B008
    X = drawn(WORDS) if X is None else X
    model = KernelDependency(Positionwise(kernel, **params), Positions(), fit_intercept=False)
    return model.fit(X, WORDS if y is None else y)


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("mu must be a finite number ≥ 0, got -1", {"mu": -1}),
        ("eta must be a finite number ≥ 0, got 'much'", {"eta": "much"}),
        ("eta must be a finite number ≥ 0, got inf", {"eta": np.inf}),
        ("mu=0 without a word_kernel", {"mu": 0}),
        ("kernel must be a kernel on the vectors at the positions", {"kernel": None, "X": WORDS}),
        ("letters must be a positive integer, got 0", {"letters": 0}),
        ("12 output components are not a multiple of letters=5", {"letters": 5}),
        (r"y\[1\] has a symbol at position 1, but X\[1\] has only 1",
         {"y": ["aba", "bb", "cabb", "bca", "ccba", "ab"]}),
        ("not a multiple of the", {"y": ["a", "b", "c", "b", "c", "acb"]}),
        ("every sequence in X is empty", {"X": [[]] * 6}),
        ("must be a sequence of finite real vectors", {"X": ["ab"] * 6}),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(message, wrong):
    with pytest.raises(ValueError, match=message):
        fitted(**wrong)


def test_it_speaks_of_the_components_of_outputs():
    model = KernelDependency(Positionwise(RBF(1.0)), Positions(Linear()), fit_intercept=False)
    with pytest.raises(ValueError, match="no finite features"):
        model.fit(drawn(WORDS), drawn(WORDS))


# -- an intercept, and inputs of different lengths -------------------------------------------------


def with_constants(kernel, A, V, B, w, alpha, places, letters):
    """Predictions at B of the ridge with a constant for each component, over slots that exist.

    A component that no input in A has gets the constant zero.
    """

    def slots(X):
        return [(i, c) for i, x in enumerate(X) for c in range(min(len(x), places) * letters)]

    def gram(X, Z):
        K = literal(kernel, X, Z, places, letters)
        return np.array([[K[i, j, c, d] for j, d in slots(Z)] for i, c in slots(X)])

    def constants(X):
        return np.array([[float(c == d) for d in range(places * letters)] for _, c in slots(X)])

    T = np.array([V[i, c] for i, c in slots(A)])
    N = constants(A)
    ridge = np.diag(alpha / np.array([w[i] for i, _ in slots(A)]))
    inverse = np.linalg.inv(gram(A, A) + ridge)
    offset = np.linalg.pinv(N.T @ inverse @ N) @ (N.T @ (inverse @ T))
    g = gram(B, A) @ (inverse @ (T - N @ offset)) + constants(B) @ offset
    out = np.full((len(B), places * letters), np.nan)
    for value, (i, c) in zip(g, slots(B), strict=True):
        out[i, c] = value
    return out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CHOICES)
def test_intercepts_with_inputs_of_different_lengths(name, weighted):
    """The word of five letters is the only one with a fifth position."""
    words = [*WORDS, "abcab"]
    X, new = drawn(words), drawn(["abc", "c", "cabba"], 1)
    w = np.arange(1.0, len(words) + 1) if weighted else np.ones(len(words))
    model = KernelDependency(Positionwise(RBF(1.0), **CHOICES[name]), Positions(), alpha=0.3)
    model.fit(X, words, sample_weight=w if weighted else None)
    V = model.output_kernel_.features(words)
    kernel, places, letters = model.kernel_, model.kernel_.places_, model.kernel_.letters_
    wanted = with_constants(kernel, X, V, new, w, 0.3, places, letters)

    def off(points, wanted):
        """The largest difference where an input has a position."""
        return np.nanmax(np.abs(points.coordinates - wanted))

    assert off(model.embed(new), wanted) <= 1e-10
    found = model.loo_embed()
    predict_without = model.fitted_.predictor_without()
    for i in range(len(X)):
        rest = [j for j in range(len(X)) if j != i]
        wanted = with_constants(
            kernel, [X[j] for j in rest], V[rest], [X[i]], w[rest], 0.3, places, letters
        )
        assert off(found[i : i + 1], wanted) <= 1e-10
        assert off(predict_without([X[i]], [np.array([i])]), wanted) <= 1e-10
