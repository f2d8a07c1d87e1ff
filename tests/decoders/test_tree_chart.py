"""Trees that are made: the best over a grammar read off the training trees."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelDependency, KernelDependencyCV, load, save
from mercer.decoders import TreeChart
from mercer.embedding import Embedding, SpanFrame
from mercer.kernels import Linear, Normalized, Productions, Spectrum, SubsetTree
from mercer.operators import Covariance

SUMS = ["a", "b", "a+b", "b+a", "a+a+b", "b+b"]
TREES = [
    "(E a)", "(E b)", "(E (E a) + (E b))", "(E (E b) + (E a))",
    "(E (E (E a) + (E a)) + (E b))", "(E (E b) + (E b))",
]  # fmt: skip
BOTH_WAYS = [*TREES, "(E (E a) + (E (E b) + (E b)))", "(S (E a))"]


def parses(symbols):
    """All trees of E → E + E | a | b over some symbols."""
    if len(symbols) == 1:
        return [f"(E {symbols})"]
    cuts = [i for i, s in enumerate(symbols) if s == "+"]
    halves = [product(parses(symbols[:i]), parses(symbols[i + 1 :])) for i in cuts]
    return [f"(E {a} + {b})" for pairs in halves for a, b in pairs]


@pytest.mark.parametrize("height", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_of_all_parses(seed, height):
    rng = np.random.default_rng(seed)
    kernel = Productions(0.7, height).fit(BOTH_WAYS)
    weights = rng.normal(size=(1, len(BOTH_WAYS))) * 2.0
    symbols = "+".join(rng.choice(["a", "b"], 5))
    points = Embedding(weights, SpanFrame(kernel, BOTH_WAYS), inputs=np.array([symbols]))
    found = TreeChart().fit(kernel, BOTH_WAYS).certify(points)
    every = parses(symbols)
    scores = points.scores(every)[0]
    if height == 1:  # nothing tells the parses apart
        assert found.scores[0] == pytest.approx(scores.max())
    assert found.scores[0] == pytest.approx(points.scores(found.outputs)[0, 0])
    assert found.scores[0] + found.gaps[0] >= scores.max() - 1e-9
    if found.gaps[0] == 0:
        assert found.scores[0] == pytest.approx(scores.max())


@pytest.mark.parametrize("kernel", [Productions(), 2.0 * Productions(), Normalized(SubsetTree())])
def test_new_trees_from_their_leaves(kernel, tmp_path):
    model = KernelDependency(Spectrum(2), kernel, alpha=0.1, decoder=TreeChart()).fit(SUMS, TREES)
    wanted = "(E (E (E b) + (E b)) + (E a))"
    assert model.predict(["b+b+a"])[0] == wanted
    assert model.predict_top(["b+b+a"], 3)[0][0][0] == wanted
    save(model, tmp_path / "trees.mercer")
    assert load(tmp_path / "trees.mercer").predict(["b+b+a"])[0] == wanted


def test_tuples_words_and_symbols_of_ones_own():
    trees = [("S", ("N", "dogs"), ("V", "bark")), ("S", ("N", "cats"), ("V", "sleep"))]
    X = ["dogs bark", "cats sleep"]
    model = KernelDependency(Spectrum(3), Productions(), alpha=0.1, decoder=TreeChart())
    assert model.fit(X, trees).predict(["cats bark"])[0] == ("S", ("N", "cats"), ("V", "bark"))
    lists = [["S", *map(list, tree[1:])] for tree in trees]
    assert model.fit(X, lists).predict(["cats bark"])[0] == ["S", ["N", "cats"], ["V", "bark"]]
    own = TreeChart(symbols=lambda x: x.upper().lower().split(","))
    X = [x.replace(" ", ",") for x in X]
    model = KernelDependency(Spectrum(3), Productions(), alpha=0.1, decoder=own).fit(X, trees)
    assert model.predict(["dogs,sleep"])[0] == ("S", ("N", "dogs"), ("V", "sleep"))


def test_chains_of_single_children_end():
    trees = ["(A (B (A (B x))))", "(A (B y))", "(B (A (B x)))"]
    kernel = Productions().fit(trees)
    points = Embedding(np.ones((1, 3)), SpanFrame(kernel, trees), inputs=["x"])
    (tree,) = TreeChart().fit(kernel, trees).decode(points)
    assert tree.endswith("(B x)" + ")" * (tree.count("(") - 1))


def test_what_cannot_be_derived_gets_a_training_tree():
    model = KernelDependency(Spectrum(1), Productions(), alpha=0.1, decoder=TreeChart())
    model.fit(SUMS, TREES)
    assert model.predict(["+a"])[0] in TREES
    found = model.decoder_.certify(model.embed(["+a"]))
    assert np.isnan(found.gaps[0])


def test_places_that_were_not_seen_are_the_second_choice():
    """(E … + (E … + …)) was not seen on the right: x-y-z is left alone, brackets permitting."""
    model = KernelDependency(Spectrum(1), Productions(), alpha=0.1, decoder=TreeChart())
    only_left = [tree for tree in TREES if "+ (E (E" not in tree]
    model.fit(SUMS, only_left)
    assert model.predict(["a+b+a+b"])[0] == "(E (E (E (E a) + (E b)) + (E a)) + (E b))"


def test_refusals():
    with pytest.raises(ValueError, match="on trees"):
        KernelDependency("rbf", Linear(), decoder=TreeChart()).fit([[0.0], [1.0]], [[0.0], [1.0]])
    with pytest.raises(ValueError, match='leaves must be "input" or None'):
        TreeChart(leaves="x").fit(Productions(), TREES)
    kernel = Productions().fit(TREES)
    points = Embedding(np.eye(6), SpanFrame(kernel, TREES))
    with pytest.raises(ValueError, match="points that know their inputs"):
        TreeChart().fit(kernel, TREES).decode(points)
    with pytest.raises(ValueError, match="height must be 1 or 2"):
        Productions(height=3)(TREES)


@pytest.mark.parametrize(
    "model",
    [
        KernelDependencyCV(Spectrum(2), Productions(), alphas=[0.1], decoder=TreeChart()),
        KernelDependency(Spectrum(2) * Covariance(), Productions(), 1e-3, TreeChart()),
        KernelDependency(Spectrum(2), Productions(), 0.1, TreeChart(), solver="spectral"),
        KernelDependency(Spectrum(2), Productions() + 2.0 * Productions(), 0.1, TreeChart()),
    ],
    ids=["cv", "covariance", "spectral", "sum"],
)
def test_every_route_makes_new_trees(model):
    assert model.fit(SUMS, TREES).predict(["b+b+a"])[0] == "(E (E (E b) + (E b)) + (E a))"


def test_left_out_trees_equal_refits():
    """A tree that was left out is no fallback, and what it alone has is not in the grammar."""
    X, y = [*SUMS, "a+b+c", "a*b"], [*TREES, "(E (E (E a) + (E b)) + (E c))", "(E (E a) * (E b))"]
    for kernel in (Productions(), Productions() + 2.0 * Productions()):
        model = KernelDependency(Spectrum(2), kernel, alpha=0.1, decoder=TreeChart()).fit(X, y)
        found = model.loo_predict()
        assert found[-1] != y[-1]
        for i in range(len(X)):
            rest = [j for j in range(len(X)) if j != i]
            again = clone(model).fit([X[j] for j in rest], [y[j] for j in rest])
            assert again.predict([X[i]])[0] == found[i]


@pytest.mark.parametrize("height", [1, 2])
def test_small_problems_with_free_leaves_are_solved(height):
    rng = np.random.default_rng(height)
    kernel = Productions(0.7, height).fit(BOTH_WAYS)
    points = Embedding(rng.normal(size=(12, len(BOTH_WAYS))), SpanFrame(kernel, BOTH_WAYS))
    found = TreeChart(leaves=None, max_size=10).fit(kernel, BOTH_WAYS).certify(points)
    sums = ["+".join(row) for n in (1, 2, 3) for row in product("ab", repeat=n)]
    every = [tree for s in sums for tree in parses(s)] + ["(S (E a))", "(S (E b))"]
    best = points.scores(every).max(axis=1)
    np.testing.assert_allclose(found.scores, best, atol=1e-9)
    assert found.proved.all()
