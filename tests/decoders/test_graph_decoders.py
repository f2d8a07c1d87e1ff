import networkx as nx
import numpy as np
import pytest
from ot.gromov import fused_gromov_wasserstein2
from scipy.spatial.distance import cdist
from sklearn.base import clone

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates, GromovWassersteinBarycenter
from mercer.embedding import Embedding, SpanFrame
from mercer.kernels import RBF, Linear, Normalized, ShortestPath, WeisfeilerLehman
from mercer.metrics import graph_distance
from mercer.testing import check_decoder


def ring(n, label="C", tail=None):
    G = nx.cycle_graph(n)
    nx.set_node_attributes(G, label, "label")
    nx.set_edge_attributes(G, 1, "label")
    if tail:
        G.add_node(n, label=tail)
        G.add_edge(0, n, label=2)
    return G


def adjacency(G):
    return nx.to_numpy_array(G, weight="label"), [G.nodes[v]["label"] for v in G]


GRAPHS = [ring(3), ring(4), ring(5), ring(4, tail="O"), ring(5, tail="N"), ring(3, "N")]
SAME = nx.algorithms.isomorphism.categorical_node_match("label", None)
DECODERS = [
    Candidates(),
    GromovWassersteinBarycenter(),
    GromovWassersteinBarycenter(compete=False),
]


@pytest.mark.parametrize("decoder", DECODERS, ids=str)
@pytest.mark.parametrize("kernel", [WeisfeilerLehman(3), Normalized(ShortestPath())], ids=str)
def test_every_graph_is_found_again(decoder, kernel):
    check_decoder(decoder, kernel, GRAPHS)


@pytest.mark.parametrize("decoder", DECODERS[:2], ids=str)
def test_matrices_with_labels_are_graphs_too(decoder):
    check_decoder(decoder, WeisfeilerLehman(3), [adjacency(G) for G in GRAPHS])


def test_isomorphic_not_only_equal_to_the_kernel():
    outputs = GRAPHS
    model = KernelDependency(
        "linear",
        WeisfeilerLehman(),
        alpha=1e-9,
        decoder=GromovWassersteinBarycenter(),
        fit_intercept=False,
    )
    found = model.fit(np.eye(len(outputs)), outputs).predict(np.eye(len(outputs)))
    for made, true in zip(found, outputs, strict=True):
        assert nx.is_isomorphic(made, true, node_match=SAME, edge_match=SAME)


def test_new_graphs_are_made():
    """Three chains, each off in a place of its own: what most of them agree on was never seen."""

    def chain():
        G = nx.path_graph(5)
        nx.set_node_attributes(G, dict(enumerate("abcde")), "label")
        nx.set_edge_attributes(G, 1, "label")
        return G

    outputs = [chain(), chain(), chain()]
    outputs[0].nodes[0]["label"] = "x"
    outputs[1].edges[1, 2]["label"] = 2
    outputs[2].edges[3, 4]["label"] = 2
    decoder = GromovWassersteinBarycenter(compete=False)
    model = KernelDependency(
        "linear", WeisfeilerLehman(), alpha=1e-3, decoder=decoder, fit_intercept=False
    )
    made = model.fit([[1.0]] * 3, outputs).predict([[1.0]])[0]
    assert nx.is_isomorphic(made, chain(), node_match=SAME, edge_match=SAME)


def test_competing_never_scores_worse_than_candidates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2))
    model = KernelDependency(
        "rbf",
        WeisfeilerLehman(2),
        alpha=0.1,
        decoder=GromovWassersteinBarycenter(),
        fit_intercept=False,
    ).fit(X, GRAPHS)
    new = rng.normal(size=(4, 2))
    made = [row[0][1] for row in model.predict_top(new, 1)]
    model.decoder_ = Candidates().fit(model.output_kernel_, model.outputs_)
    assert np.all(np.array(made) >= [row[0][1] - 1e-9 for row in model.predict_top(new, 1)])


def test_left_out_points_do_not_see_their_own_graph():
    outputs = [*GRAPHS, *GRAPHS[:2]]
    X = np.arange(8.0)[:, None]
    decoder = GromovWassersteinBarycenter()
    model = KernelDependencyCV(
        "rbf", WeisfeilerLehman(2), alphas=[0.1], decoder=decoder, fit_intercept=False
    ).fit(X, outputs, groups=np.arange(8) // 2)  # fmt: skip
    assert len(model.loo_predict()) == 8


def test_empty_and_disconnected_graphs_are_decoded():
    two = nx.disjoint_union(ring(3), ring(4))
    outputs = [nx.Graph(), two, ring(3)]
    check_decoder(GromovWassersteinBarycenter(), WeisfeilerLehman() + ShortestPath(), outputs[1:])
    model = KernelDependency(
        "rbf", WeisfeilerLehman(), decoder=GromovWassersteinBarycenter(), fit_intercept=False
    )
    assert len(model.fit([[0.0], [1.0], [2.0]], outputs).predict([[0.5], [0.0]])) == 2


def test_graphs_without_labels_come_back_without():
    outputs = [nx.path_graph(n) for n in (2, 3, 4)]
    model = KernelDependency(
        "rbf", ShortestPath(), decoder=GromovWassersteinBarycenter(), fit_intercept=False
    )
    made = model.fit([[2.0], [3.0], [4.0]], outputs).predict([[3.0]])[0]
    assert all(not data for _, data in made.nodes(data=True))
    assert all(not data for _, _, data in made.edges(data=True))


def test_other_outputs_are_refused():
    with pytest.raises(ValueError, match="needs outputs that are networkx graphs"):
        GromovWassersteinBarycenter().fit(Linear(), np.eye(3))


@pytest.mark.parametrize("bad", [{"trade_off": 2.0}, {"graphs": 0}, {"thresholds": ()}])
def test_bad_parameters(bad):
    with pytest.raises(ValueError, match="trade_off must lie in"):
        GromovWassersteinBarycenter(**bad).fit(WeisfeilerLehman(), GRAPHS)


def test_graph_distance_is_zero_for_the_same_graph_and_counts_differences():
    assert graph_distance(GRAPHS, GRAPHS) == pytest.approx(0.0, abs=1e-9)
    near, far = graph_distance([ring(5)] * 2, [ring(5, tail="O"), ring(3, "N")], average=False)
    assert 0 < near < far
    assert graph_distance([nx.Graph()], [nx.Graph()]) == 0
    assert graph_distance([nx.Graph()], [ring(3)]) == 1.0


@pytest.mark.parametrize("trade_off", [0.1, 0.5, 1.0])
def test_graph_distance_compares_edges_by_presence_as_pot_does(trade_off):
    near, far = GRAPHS[0], GRAPHS[3]
    features = [
        np.array([[1, 0, 1.0, 0]] * 3),
        np.array([[1, 0, 1.0, 0.5], *[[1, 0, 1.0, 0]] * 3, [0, 1, 0.5, 0]]),
    ]
    M = cdist(*features, "sqeuclidean")
    C, D = (nx.to_numpy_array(graph, weight=None) for graph in (near, far))
    ours = graph_distance([near], [far], trade_off)
    assert ours == pytest.approx(fused_gromov_wasserstein2(M, C, D, alpha=trade_off), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_graph_distance_counts_pairs_of_nodes_with_other_edge_labels(seed):
    """All nodes differ, so that each is matched with itself."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(0, 4, size=(6, 6)), 1)
    other = np.where(upper > 0, rng.integers(1, 4, size=upper.shape), 0)
    A, B = upper + upper.T, other + other.T
    tuples = (A, list("abcdef")), (B, list("abcdef"))
    graphs = [nx.from_numpy_array(M, edge_attr="kind") for M in (A, B)]
    for graph in graphs:
        nx.set_node_attributes(graph, dict(enumerate("abcdef")), "label")
    expected = 0.1 * (A != B).mean()
    assert expected > 0
    for left in (tuples[0], graphs[0]):
        for right in (tuples[1], graphs[1]):
            assert graph_distance([left], [right], 0.1) == pytest.approx(0.0, abs=1e-9)
            distance = graph_distance([left], [right], 0.1, edge_label="kind")
            assert distance == pytest.approx(expected, abs=1e-9)


def test_graph_distance_of_nodes_alone_is_that_of_the_best_assignment():
    a, b = nx.empty_graph(2), nx.empty_graph(2)
    nx.set_node_attributes(a, {0: "x", 1: "y"}, "label")
    nx.set_node_attributes(b, {0: "y", 1: "y"}, "label")
    assert graph_distance([a, a], [a, b], 0.0, average=False) == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("trade_off", [-0.1, 1.1, np.nan])
def test_graph_distance_refuses_other_trade_offs(trade_off):
    with pytest.raises(ValueError, match="trade_off must be between 0 and 1"):
        graph_distance(GRAPHS, GRAPHS, trade_off)


def test_a_ring_outweighs_a_faint_path():
    """A matching of all nodes with all others is stationary for a ring; it is left."""
    graphs = [nx.path_graph(4), nx.cycle_graph(4)]
    kernel = ShortestPath().fit(graphs)
    decoder = GromovWassersteinBarycenter(compete=False).fit(kernel, graphs)
    points = Embedding(np.array([[0.01, 0.99]]), SpanFrame(kernel, graphs))
    (found,) = decoder.decode(points)
    assert nx.is_isomorphic(found, graphs[1])


def test_no_node_is_joined_to_itself_unless_a_training_graph_has_such():
    rng = np.random.default_rng(0)
    graphs = [nx.gnp_random_graph(n, 0.5, seed=n) for n in range(4, 9)]
    kernel = WeisfeilerLehman().fit(graphs)
    decoder = GromovWassersteinBarycenter(thresholds=(0.1, 0.3), compete=False).fit(kernel, graphs)
    points = Embedding(rng.random((6, 5)), SpanFrame(kernel, graphs))
    assert not any(nx.number_of_selfloops(G) for G in decoder.decode(points))


def test_left_out_graphs_of_groups_equal_refits():
    """Weights are those of the ridge equation, also where several sums give the same point."""
    graphs = [nx.path_graph(n) for n in (2, 3, 4)] + [nx.cycle_graph(n) for n in (3, 4, 5)]
    X, groups = np.random.default_rng(2).normal(size=(6, 2)), np.arange(6) // 2
    model = KernelDependency(
        RBF(0.7), ShortestPath(), 0.03, GromovWassersteinBarycenter(), fit_intercept=False
    ).fit(X, graphs, groups=groups)
    found = model.loo_predict()
    for i in range(6):
        rest = np.flatnonzero(groups != groups[i])
        again = clone(model).fit(X[rest], [graphs[j] for j in rest])
        assert nx.is_isomorphic(again.predict(X[[i]])[0], found[i])
