from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from mercer import ConformalSets, KernelDependency, load, register, save
from mercer.decoders import Search
from mercer.decoders._explorer import Goal
from mercer.decoders._graph_search import GraphExplorer
from mercer.kernels import RBF, GraphCounts, Kendall, Kernel, Labels, Spectrum, WeisfeilerLehman
from mercer.kernels.capabilities import Features
from mercer.spaces import Graphs, Moves, Space


def random_graph(rng, n, edges, connected=True):
    while True:
        G = nx.gnm_random_graph(n, edges, seed=int(rng.integers(10**6)))
        if nx.is_connected(G) or not connected:
            break
    for v in G:
        G.nodes[v]["label"] = str(rng.choice(list("abc")))
    for e in G.edges:
        G.edges[e]["label"] = int(rng.integers(1, 3))
    return G


@pytest.fixture(scope="module", params=[True, False])
def batch(request):
    rng = np.random.default_rng(0)
    sizes = [(5, 5), (6, 7), (4, 4), (5, 4), (2, 1)]
    return [random_graph(rng, n, e, request.param) for n, e in sizes]


@pytest.mark.parametrize("like_training", [False, True])
def test_compiled_neighbours_are_those_of_the_definition(batch, like_training):
    rng = np.random.default_rng(1)
    kernel = GraphCounts(size=80).fit(batch)
    moves = kernel.moves(batch)
    moves = moves.like_training() if like_training else moves
    explorer = GraphExplorer(kernel, moves)
    for G in batch:
        g = kernel.features([G])[0] + rng.normal(size=80)
        goal, item = Goal(g, rng.random(80), 0.7), moves.code(G)
        compiled = {one.key: one.score for one in explorer.expand(item, goal, -np.inf, 3000, set())}
        literal = explorer.score(list(moves.coded_neighbours(item)), goal)
        assert compiled.keys() == {one.key for one in literal}
        for one in literal:
            assert compiled[one.key] == pytest.approx(one.score, abs=1e-8)
        best = explorer.expand(item, goal, -np.inf, 5, set())
        most = sorted(compiled.values(), reverse=True)[:5]
        np.testing.assert_allclose(sorted((s.score for s in best), reverse=True), most)
        assert not {s.key for s in explorer.expand(item, goal, -np.inf, 5, {best[0].key})} & {
            best[0].key
        }


def test_the_neighbours_of_one_edge_are_these():
    def chain(labels, cycle=False):
        G = nx.path_graph(len(labels)) if not cycle else nx.cycle_graph(len(labels))
        nx.set_node_attributes(G, dict(enumerate(labels)), "label")
        return Graphs().key(G)

    G = nx.path_graph(2)
    nx.set_node_attributes(G, {0: "a", 1: "b"}, "label")
    large = nx.path_graph(9)
    nx.set_node_attributes(large, "a", "label")
    made = {Graphs().key(H) for H in GraphCounts().moves([G, large]).neighbours(G)}
    ends = [a + b for a in ("aa", "bb", "ab") for b in ("",)]
    longer = ["aab", "abb", "bab", "aba"]
    assert made == {*map(chain, ["a", "b", *ends, *longer])}


def goal_of(decoder, features):
    return Goal(features, decoder.weights_, decoder.price_)


def model_of(kernel, y, decoder=None):
    X = np.arange(len(y), dtype=float)[:, None]
    return KernelDependency(RBF(0.3), kernel, alpha=1e-6, decoder=decoder or Search()).fit(X, y)


WORDS = ["abc", "abd", "aabc", "bbc", "cab", "dab", "abcd", "bcd", "cda", "dabc"]
RANKS = np.array([np.random.RandomState(i).permutation(5) for i in range(12)])
SETS = [["a"], ["a", "b"], ["b", "c"], ["c"], ["a", "c"], ["a", "b", "c"], ["d"], ["a", "d"]]


@pytest.mark.parametrize(
    ("kernel", "y", "new"),
    [
        (Spectrum(2, blended=True), WORDS, "abda"),
        (Kendall(), RANKS, np.array([4, 0, 3, 1, 2])),
        (Labels(), SETS, ["b", "d"]),
    ],
)
def test_the_search_makes_an_output_that_it_has_not_seen(kernel, y, new):
    model = model_of(kernel, y, Search(start="smallest", beam=12, rounds=60, patience=20))
    decoder, space = model.decoder_, kernel.space
    features = decoder.kernel_.features
    target = space.check([new], "y")
    g = np.asarray(features(decoder.kernel_.check(target, "y")), dtype=float)
    decoder._set_weights(np.ones(g.shape[1]), 1.0)
    found = decoder._search_from(goal_of(decoder, g[0]), np.zeros(0, dtype=int))
    assert space.key(decoder.explorer.decoded(found[0].item)) == space.key(target[0])


def test_graphs_are_made_exactly_from_their_own_features(batch):
    model = model_of(GraphCounts(), batch, Search(start="smallest", rounds=60, patience=20))
    decoder = model.decoder_
    decoder._set_weights(np.ones(len(decoder.weights_)), 1.0)
    for G in batch:
        g = decoder.kernel_.features([G])[0]
        found = decoder._search_from(goal_of(decoder, g), np.zeros(0, dtype=int))
        assert Graphs().key(decoder.explorer.decoded(found[0].item)) == Graphs().key(G)


def test_weights_are_inverse_left_out_variances(batch):
    y = batch * 3
    model = model_of(GraphCounts(size=40), y, Search(floor=0.5))
    left_out = model.loo_embed()
    G = left_out.frame.kernel_features(left_out.coordinates)
    variances = ((G - model.output_kernel_.features(y)) ** 2).mean(axis=0)
    expected = 1.0 / (variances + 0.5 * variances.mean())
    np.testing.assert_allclose(model.decoder_.weights_, expected, rtol=1e-6)
    assert model.decoder_.price_ == pytest.approx(np.quantile(expected, 0.9))
    equal = model_of(GraphCounts(size=40), y, Search(weights="equal")).decoder_
    np.testing.assert_array_equal(equal.weights_, np.ones(40))


def test_a_left_out_search_does_not_start_from_its_own_group(batch):
    y = [*batch, batch[0]]
    groups = [0, 1, 2, 3, 4, 5]
    model = KernelDependency("rbf", GraphCounts(), alpha=0.1, decoder=Search(starts=9))
    model.fit(np.arange(6.0)[:, None], y, groups=groups)
    decoder, points = model.decoder_, model.loo_embed()
    G = decoder._predicted(points)
    for rows in (np.arange(6), np.array([4, 1])):
        some = points[rows]
        starts = decoder._starting_outputs(some, G[rows], slice(0, len(rows)))
        for i, own in zip(rows, starts, strict=True):
            keys = {Graphs().key(decoder.outputs_[j]) for j in own}
            allowed = {Graphs().key(H) for j, H in enumerate(y) if groups[j] != groups[i]}
            assert keys == allowed


def test_the_beam_is_a_list_with_probabilities(batch):
    model = model_of(GraphCounts(), batch * 2)
    (row,) = model.predict_top([[0.0]], k=3)
    chances = [p for _, p in row]
    assert len(row) == 3 and chances == sorted(chances, reverse=True) and sum(chances) <= 1.0
    assert Graphs().key(row[0][0]) == Graphs().key(model.predict([[0.0]])[0])
    whole = model.decoder_.decode_top(model.embed([[0.0]]), 8)[0]
    decoder = model.decoder_
    own = decoder.scores_of(model.embed([[0.0]]), [whole[1][0]])
    assert own == pytest.approx([whole[1][1]], abs=1e-6)
    scores = np.array([score for _, score in whole])
    logits = (scores - scores[0]) / decoder.temperature_
    logits[0] += decoder.first_
    expected = np.exp(logits) / (np.exp(logits).sum() + np.exp(decoder.none_))
    np.testing.assert_allclose(decoder.probabilities(whole), expected, rtol=1e-9)


def test_probabilities_do_not_depend_on_the_level_of_the_scores(batch):
    """Scores grow with the size of an output: only differences within a list are compared."""
    decoder = model_of(GraphCounts(), batch * 2).decoder_
    whole = [("a", 10.0), ("b", 8.0), ("c", -5.0)]
    higher = [(name, score + 1e4) for name, score in whole]
    found = [decoder.probabilities(ranked) for ranked in (whole, higher)]
    np.testing.assert_allclose(found[0], found[1])
    assert found[0].sum() < 1 and (np.diff(found[0]) <= 0).all()


def test_prediction_sets_are_lists_of_the_beam():
    rng = np.random.default_rng(0)
    y = ["".join(rng.choice(list("ab"), 3)) for _ in range(60)]
    X = np.array([[s.count("a"), s.find("a")] for s in y], dtype=float)
    decoder = Search(floor=1.0, beam=4)
    model = KernelDependency(RBF(1.0), Spectrum(2, blended=True), alpha=0.1, decoder=decoder)
    sets = ConformalSets(model, coverage=0.8).fit(X[:50], y[:50])
    lists = sets.predict_set(X[50:])
    assert all(len(made) <= 4 for made in lists)
    assert np.mean([s in made for s, made in zip(y[50:], lists, strict=True)]) >= 0.6


def test_allowed_restricts_the_answers():
    y = ["abc", "abd", "aab", "bba", "cab"]
    free = model_of(Spectrum(2, blended=True), y)
    assert free.predict([[0.0]])[0] == "abc"
    model = model_of(Spectrum(2, blended=True), y, Search(allowed=lambda s: "c" not in s))
    assert all("c" not in made for made in model.predict(np.arange(5.0)[:, None]))
    never = model_of(Spectrum(2, blended=True), y)
    never.decoder_.allowed = lambda s: False
    with pytest.warns(UserWarning, match="no output that allowed="):
        never.predict([[0.0]])


def test_the_rule_of_the_training_graphs_bounds_edges(batch):
    moves = GraphCounts().moves(batch).like_training()
    seen = {}
    for G in batch:
        for v in G:
            marks = sorted(G.edges[v, u]["label"] for u in G[v])
            seen.setdefault(G.nodes[v]["label"], []).append(marks)
    for H in moves.neighbours(batch[0]):
        for v in H:
            own = [H.edges[v, u]["label"] for u in H[v]]
            fits = [all(own.count(m) <= marks.count(m) for m in (1, 2)) for marks in seen[
                H.nodes[v]["label"]]]  # fmt: skip
            assert any(fits)


def test_features_explain_an_answer(batch):
    model = model_of(GraphCounts(), batch)
    points = model.embed([[0.0]])
    best, rival = model.decoder_.decode_top(points, 2)[0]
    (parts,) = model.decoder_.explain_features(points, [best[0]], [rival[0]], k=10**4)
    columns = sum(part for _, part in parts)
    outside = model.output_kernel_.features.outside([best[0], rival[0]])
    lost = model.decoder_.price_ * (outside[0] - outside[1])
    assert columns - lost == pytest.approx(best[1] - rival[1], rel=1e-6, abs=1e-6)


@register
@dataclass
class Triples(Space):
    """Triples of digits, with moves of one digit by one."""

    name = "triples"

    def moves(self, y):
        return DigitMoves()


class DigitMoves(Moves):
    def neighbours(self, item):
        for i in range(3):
            for step in (-1, 1):
                other = list(item)
                other[i] += step
                yield tuple(other)

    def smallest(self):
        return (0, 0, 0)


@register
class Digits(Kernel):
    space = Triples()
    features = Features(lambda A: np.array([list(a) for a in A], dtype=float))


def test_a_custom_space_with_moves_is_searched_and_saved(tmp_path):
    y = np.empty(5, dtype=object)
    y[:] = [(i, 2 * i, 9 - i) for i in range(5)]
    X = np.arange(5.0)[:, None]
    model = KernelDependency("linear", Digits(), alpha=1e-6, decoder=Search()).fit(X, y)
    assert model.predict([[6.0]])[0] == (6, 12, 3)
    again = load(save(model, tmp_path / "m.mercer"))
    assert again.predict([[6.0]])[0] == (6, 12, 3)


def test_a_saved_model_makes_the_same_graphs(batch, tmp_path):
    model = model_of(2.0 * GraphCounts(), batch)
    again = load(save(model, tmp_path / "m.mercer"))
    X = np.arange(5.0)[:, None] + 0.1
    for made, other in zip(model.predict(X), again.predict(X), strict=True):
        assert Graphs().key(made) == Graphs().key(other)
    same = [p for _, p in model.predict_top(X)[0]] == [p for _, p in again.predict_top(X)[0]]
    assert same


def test_what_cannot_be_searched_is_refused(batch):
    X = np.arange(5.0)[:, None]
    with pytest.raises(ValueError, match="explicit features"):
        KernelDependency("rbf", WeisfeilerLehman(), decoder=Search()).fit(X, batch)
    with pytest.raises(ValueError, match="vectors lack them"):
        KernelDependency("rbf", "linear", decoder=Search()).fit(X, X)
    with pytest.raises(ValueError, match="allowed"):
        KernelDependency("rbf", GraphCounts(), decoder=Search(allowed=3)).fit(X, batch)
    with pytest.raises(ValueError, match="is for graphs"):
        KernelDependency("rbf", Spectrum(2), decoder=Search(allowed="training")).fit(X, WORDS[:5])


def test_tuples_of_adjacency_and_labels_are_made():
    def path(n):
        return np.eye(n, k=1) + np.eye(n, k=-1), ["a"] * n

    y = [path(n) for n in (2, 3, 4, 6, 7)]
    X = [[2.0], [3.0], [4.0], [6.0], [7.0]]
    made = KernelDependency("linear", GraphCounts(), alpha=1e-3, decoder=Search()).fit(X, y)
    A, labels = made.predict([[5.0]])[0]
    assert labels == ["a"] * 5 and sorted(A.sum(axis=0)) == [1, 1, 2, 2, 2]
    assert list(pairwise(labels))
