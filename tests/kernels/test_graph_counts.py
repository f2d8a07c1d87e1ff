from collections import Counter
from itertools import combinations, pairwise, permutations

import networkx as nx
import numpy as np
import pytest

from mercer.kernels import GraphCounts, WeisfeilerLehman
from mercer.spaces import Graphs


def random_graph(rng, n, edges, names="ab", marks=(1, 2)):
    G = nx.Graph()
    for i in range(n):
        G.add_node(i, label=str(rng.choice(list(names))))
    for i, j in rng.permutation(list(combinations(range(n), 2)))[:edges]:
        G.add_edge(int(i), int(j), label=int(rng.choice(marks)))
    return G


def bag(values):
    return tuple(sorted(Counter(values).items(), key=repr))


def simple_paths(G, longest):
    """Each simple path of 3 or more nodes, once."""
    for n in range(3, longest + 1):
        for path in permutations(G, n):
            if path[0] < path[-1] and all(G.has_edge(a, b) for a, b in pairwise(path)):
                yield path


def cycles(G, longest):
    for n in range(3, longest + 1):
        for path in permutations(G, n):
            closed = all(G.has_edge(a, b) for a, b in pairwise([*path, path[0]]))
            if closed and path[0] == min(path) and path[1] < path[-1]:
                yield path


def spelt_out(G, radius=3, paths=5, cycle=7):
    """Every feature written as a tuple."""
    label, degree = {v: G.nodes[v].get("label") for v in G}, dict(G.degree)
    mark = {frozenset(e): G.edges[e].get("label") for e in G.edges}
    near, bare = dict(label), dict(degree)
    found = Counter([("nodes",)] * len(G) + [("edges",)] * len(G.edges))
    found.update(("label", label[v]) for v in G)
    found.update(("degree", degree[v]) for v in G)
    found.update(("marks", label[v], bag(mark[frozenset((u, v))] for u in G[v])) for v in G)
    around = label
    for r in range(1, radius + 1):
        near, bare = (
            {v: (near[v], bag((near[u], mark[frozenset((u, v))]) for u in G[v])) for v in G},
            {v: (bare[v], bag(bare[u] for u in G[v])) for v in G},
        )
        around = near if r == 1 else around
        found.update(("near", r, near[v]) for v in G)
        found.update(("bare", r, bare[v]) for v in G if r <= 2)
    for a, b in G.edges:
        m = mark[frozenset((a, b))]
        found[("edge", bag([label[a], label[b]]), m)] += 1
        found[("edge d", bag([(label[a], degree[a]), (label[b], degree[b])]), m)] += 1
        found[("edge r", bag([around[a], around[b]]), m)] += 1
    for path in simple_paths(G, paths):
        ways = [
            (tuple(label[v] for v in p), tuple(mark[frozenset(e)] for e in pairwise(p)))
            for p in (path, path[::-1])
        ]
        found[("path", min(ways))] += 1
    for c in cycles(G, cycle):
        edges = list(pairwise([*c, c[0]]))
        found[("cycle", len(c))] += 1
        found[("cycle l", bag(label[v] for v in c))] += 1
        found[
            ("cycle e", bag((bag([label[a], label[b]]), mark[frozenset((a, b))]) for a, b in edges))
        ] += 1
        found[("cycle d", bag(degree[v] for v in c))] += 1
        found.update(("in cycle", len(c), label[v]) for v in c)
        found.update(("around cycle", len(c), around[v]) for v in c)
    lengths = dict(nx.all_pairs_shortest_path_length(G))
    for a, b in combinations(G, 2):
        if b in lengths[a]:
            d = lengths[a][b]
            found[("distance", d, bag([label[a], label[b]]))] += 1
            found[("distance d", d, bag([(label[a], degree[a]), (label[b], degree[b])]))] += 1
    return found


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(0)
    return [random_graph(rng, n, e) for n, e in ((1, 0), (4, 4), (5, 7), (6, 6), (6, 9), (7, 8))]


def test_counts_equal_those_of_features_spelt_out(batch):
    counts = [spelt_out(G) for G in batch]
    K = [[sum(n * b[f] for f, n in a.items()) for b in counts] for a in counts]
    np.testing.assert_array_equal(GraphCounts()(batch), K)
    kernel = GraphCounts(size=None).fit(batch)
    np.testing.assert_array_equal(kernel(batch), K)
    assert kernel.features(batch).shape[1] == len(set().union(*counts))


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        ({"radius": 0, "paths": 0, "cycles": 0, "bonds": False, "distances": False},
         {"nodes", "edges", "label", "degree", "marks"}),
        ({"sizes": False, "labels": False, "degrees": False, "bonds": False, "distances": False,
          "radius": 2}, {"near", "bare", "path", "cycle", "cycle l", "cycle e", "cycle d",
                         "in cycle", "around cycle"}),
    ],
)  # fmt: skip
def test_families_are_switched_off(batch, chosen, names):
    kernel = GraphCounts(**chosen)
    radius, paths, cycle = kernel.radius, kernel.paths, kernel.cycles
    counts = [
        {f: n for f, n in spelt_out(G, radius, paths, cycle).items() if f[0] in names}
        for G in batch
    ]
    K = [[sum(n * b.get(f, 0) for f, n in a.items()) for b in counts] for a in counts]
    np.testing.assert_array_equal(kernel(batch), K)


def test_the_most_frequent_features_are_kept(batch):
    counts = [spelt_out(G) for G in batch]
    graphs = Counter(f for found in counts for f in found)
    kernel = GraphCounts(size=12).fit(batch)
    kept = (kernel.features(batch) > 0).sum(axis=0)
    assert sorted(kept, reverse=True) == sorted(graphs.values(), reverse=True)[:12]
    total = [sum(found.values()) for found in counts]
    F, outside = kernel.features.rows(batch), kernel.features.outside(batch)
    np.testing.assert_array_equal(F.sum(axis=1) + outside, total)
    rare = GraphCounts(least=2).fit(batch)
    assert rare.features(batch).shape[1] == sum(n >= 2 for n in graphs.values())


def test_names_and_other_features_survive_scaling_and_sums(batch):
    kernel = GraphCounts(size=30).fit(batch)
    both = (2.0 * kernel + GraphCounts(size=10)).fit(batch)
    assert both.features.names()[:30] == kernel.names_ and len(both.features.names()) == 40
    one, other = kernel.features.outside(batch), GraphCounts(size=10).fit(batch).features
    np.testing.assert_array_equal(both.features.outside(batch), one + other.outside(batch))
    assert "label: a" in kernel.names_ and "a node" in kernel.names_


def test_graphs_of_more_than_64_nodes_have_their_features():
    long, short = nx.path_graph(70), nx.path_graph(5)
    kernel = GraphCounts(radius=0, bonds=False, degrees=False, distances=False)
    expected = [70 * 5 + 69 * 4 + 70 * 5 + 68 * 3 + 67 * 2 + 66 * 1]  # labels are all None
    np.testing.assert_array_equal(kernel([long], [short])[0], expected)


def test_isomorphic_graphs_have_the_same_key_and_others_do_not():
    rng = np.random.default_rng(1)
    pairs = [
        (nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)), nx.cycle_graph(6)),
        (nx.circulant_graph(8, [1, 4]), nx.cubical_graph()),
    ]
    for a, b in pairs:  # the Weisfeiler–Lehman test does not tell them apart
        assert WeisfeilerLehman(5)([a], [a]) == WeisfeilerLehman(5)([a], [b])
        assert Graphs().key(a) != Graphs().key(b)
    for G in [*sum(pairs, ()), nx.star_graph(12), nx.petersen_graph(), random_graph(rng, 9, 14)]:
        order = rng.permutation(len(G)).tolist()
        H = nx.relabel_nodes(G, dict(zip(G, order, strict=True)))
        shuffled = nx.Graph()
        shuffled.add_nodes_from(sorted(H.nodes(data=True)))
        shuffled.add_edges_from(H.edges(data=True))
        assert Graphs().key(shuffled) == Graphs().key(G)
        A = nx.to_numpy_array(G, weight="none")
        assert Graphs().key((A, None)) == Graphs().key((A[np.ix_(order, order)], None))
    G = random_graph(rng, 6, 8)
    H = G.copy()
    H.nodes[0]["label"] = "c"
    assert Graphs().key(G) != Graphs().key(H)


def test_the_key_finds_all_small_graphs():
    from networkx.generators.atlas import graph_atlas_g

    graphs = [G for G in graph_atlas_g() if len(G) <= 6]
    assert len({Graphs().key(G) for G in graphs}) == len(graphs)
