from collections import Counter
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import Normalized, ShortestPath, WeisfeilerLehman
from mercer.testing import check_kernel


@st.composite
def graphs(draw):
    n = draw(st.integers(0, 6))
    G = nx.Graph()
    for i in range(n):
        G.add_node(i, label=draw(st.sampled_from("ab")))
    for i in range(n):
        for j in range(i):
            if draw(st.booleans()):
                G.add_edge(i, j, label=draw(st.sampled_from([1, 2])))
    return G


def wl_counts(G, iterations):
    """Labels spelt out as nested tuples, round by round."""
    label = {v: G.nodes[v].get("label") for v in G}
    counts = Counter()
    for h in range(iterations + 1):
        counts.update((h, label[v]) for v in G)
        label = {
            v: (label[v], tuple(sorted((str(G[v][u].get("label")), str(label[u])) for u in G[v])))
            for v in G
        }
    return counts


def path_counts(G):
    """Labels of the ends, and the edge labels of every shortest path, spelt out."""
    counts = Counter()
    for u, v in ((u, v) for u in G for v in G if nx.has_path(G, u, v)):
        paths = sorted(
            tuple(str(G[a][b].get("label")) for a, b in pairwise(p))
            for p in nx.all_shortest_paths(G, u, v)
        )
        counts[G.nodes[u].get("label"), G.nodes[v].get("label"), tuple(paths)] += 1
    return counts


def dot(a, b):
    return sum(n * b[f] for f, n in a.items())


@settings(deadline=None, max_examples=40)
@given(st.lists(graphs(), min_size=2, max_size=4))
def test_weisfeiler_lehman_counts_equal_labels(batch):
    counts = [wl_counts(G, 2) for G in batch]
    K = WeisfeilerLehman(iterations=2)(batch)
    assert np.array_equal(K, [[dot(a, b) for b in counts] for a in counts])


@settings(deadline=None, max_examples=40)
@given(st.lists(graphs(), min_size=2, max_size=4))
def test_shortest_path_counts_equal_pairs_on_trees(batch):
    batch = [nx.bfs_tree(G, 0).to_undirected() if len(G) else G for G in batch]
    for G in batch:
        for i, (u, v) in enumerate(list(G.edges)):
            G[u][v]["label"] = i % 2
    counts = [path_counts(G) for G in batch]
    assert np.array_equal(ShortestPath()(batch), [[dot(a, b) for b in counts] for a in counts])


def test_shortest_path_without_edge_labels_counts_ends_and_distances():
    def ends(G):
        far = dict(nx.all_pairs_shortest_path_length(G))
        return Counter(far[u][v] for u in far for v in far[u])

    batch = [nx.random_labeled_tree(n, seed=n) for n in (1, 4, 7, 9)]
    counts = [ends(G) for G in batch]
    K = ShortestPath(edge_label=None)(batch)
    assert np.array_equal(K, [[dot(a, b) for b in counts] for a in counts])


def test_shortest_path_without_edge_labels_takes_no_notice_of_bundles():
    ring, path = nx.cycle_graph(4), nx.path_graph(3)
    assert ShortestPath(edge_label=None)([ring], [path])[0, 0] == 4 * 3 + 8 * 4 + 4 * 2 == 52


def test_shortest_path_tells_bundles_of_paths_apart():
    """Opposite corners of a square are joined by two paths, the ends of a path by one."""
    square, path = nx.cycle_graph(4), nx.path_graph(3)
    assert ShortestPath()([square], [path])[0, 0] == 4 * 3 + 8 * 4


@settings(deadline=None, max_examples=20)
@given(graphs(), st.randoms())
@pytest.mark.parametrize("kernel", [WeisfeilerLehman(3), ShortestPath()], ids=str)
def test_isomorphic_graphs_are_equal(kernel, G, random):
    order = list(G)
    random.shuffle(order)
    renamed = nx.relabel_nodes(G, dict(zip(G, order, strict=True)))
    shuffled = nx.Graph()
    shuffled.add_nodes_from(sorted(renamed.nodes(data=True)))
    shuffled.add_edges_from(renamed.edges(data=True))
    K = kernel([G, shuffled])
    assert np.all(K[0, 0] == K)


def molecules():
    def made(bonds, atoms):
        G = nx.Graph()
        G.add_nodes_from((i, {"label": a}) for i, a in enumerate(atoms))
        G.add_edges_from((i, j, {"label": b}) for i, j, b in bonds)
        return G

    ethanol = made([(0, 1, 1), (1, 2, 1)], "CCO")
    return [ethanol, made([(0, 1, 2), (1, 2, 1)], "CCO"), made([], "CO"), made([], ""), ethanol]


@pytest.mark.parametrize(
    "kernel", [WeisfeilerLehman(2), ShortestPath(), Normalized(ShortestPath())]
)
def test_contract(kernel):
    check_kernel(kernel, molecules())


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(2), ShortestPath()], ids=str)
def test_both_forms_agree(kernel):
    matrices = [
        (nx.to_numpy_array(G, weight="label") if len(G) else np.zeros((0, 0)),
         [G.nodes[v]["label"] for v in G])
        for G in molecules()
    ]  # fmt: skip
    K = kernel(molecules())
    assert np.array_equal(kernel(matrices), K)
    assert np.array_equal(kernel(matrices, molecules()), K)


def test_edge_labels_matter_unless_ignored():
    single, double = molecules()[:2]
    assert WeisfeilerLehman(1)([single], [double])[0, 0] < WeisfeilerLehman(1).diag([single])[0]
    blind = WeisfeilerLehman(1, edge_label=None)
    assert blind([single], [double])[0, 0] == blind.diag([single])[0]


def test_sums_and_checked_batches():
    kernel = WeisfeilerLehman(1) + ShortestPath()
    batch = molecules()
    flat = kernel.check(batch)
    assert kernel.check(flat) is flat
    assert np.array_equal(kernel(batch), WeisfeilerLehman(1)(batch) + ShortestPath()(batch))


def test_kernels_in_a_sum_read_labels_of_their_own():
    batch = molecules()
    parts = [WeisfeilerLehman(1), WeisfeilerLehman(1, None, None), ShortestPath(node_label=None)]
    np.testing.assert_array_equal(sum(parts)(batch), sum(k(batch) for k in parts))
    np.testing.assert_array_equal((parts[1] * parts[0])(batch), parts[1](batch) * parts[0](batch))


def test_disconnected_graphs_have_no_pairs_across_parts():
    two = nx.Graph([(0, 1), (2, 3)])
    assert ShortestPath()([two])[0, 0] == 4 * 4 + 4 * 4  # four nodes alone, four ordered edges


def test_empty_graph_is_zero_to_everything():
    K = WeisfeilerLehman()([nx.Graph(), nx.path_graph(2)])
    assert K[0].tolist() == [0, 0]
    assert Normalized(WeisfeilerLehman())([nx.Graph()]).tolist() == [[0.0]]
    assert WeisfeilerLehman()([nx.Graph()]).tolist() == [[0.0]]


def test_graphs_without_labels_are_one_label():
    plain = [nx.path_graph(3), nx.path_graph(3)]
    marked = [nx.path_graph(3), nx.path_graph(3)]
    for G in marked:
        nx.set_node_attributes(G, "C", "label")
    assert np.array_equal(WeisfeilerLehman()(plain), WeisfeilerLehman()(marked))
    adjacency = nx.to_numpy_array(plain[0])
    assert np.array_equal(WeisfeilerLehman()([(adjacency, None)] * 2).shape, (2, 2))


def half_labelled():
    G = nx.path_graph(2)
    G.nodes[0]["label"] = "C"
    return G


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([nx.path_graph(2), "CCO"], r"X\[1\] must be a networkx graph or a tuple"),
        ([nx.DiGraph([(0, 1)])], r"X\[0\] is a DiGraph: expected an undirected"),
        ([nx.MultiGraph([(0, 1)])], r"X\[0\] is a MultiGraph"),
        ([half_labelled()], r"X\[0\] has 1 nodes with 'label' and others without, such as 1"),
        ([([[0, 1], [0, 0]], "ab")], r"X\[0\] needs a symmetric square adjacency"),
        ([([[0, 1], [1, 0]], "abc")], r"X\[0\] has 2 nodes but 3 labels"),
        ([([[0.0]], "a"), ([[0.0]], None)], r"X\[1\] has no node labels while X\[0\] has"),
        ([], "X is empty"),
    ],
)
def test_bad_graphs_are_named(bad, message):
    with pytest.raises(ValueError, match=message):
        WeisfeilerLehman().check(bad, "X")


def test_bad_iterations():
    with pytest.raises(ValueError, match="iterations must be an integer"):
        WeisfeilerLehman(iterations=-1)([nx.path_graph(2)])
