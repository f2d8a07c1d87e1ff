import networkx as nx
import numpy as np
import pytest

from experiments.graph_edits import edit_distance
from experiments.graphs import calibration_error


def as_graph(a):
    G = nx.Graph()
    for i in range(len(a)):
        G.add_node(i, label=int(a[i, i]))
        G.add_edges_from((i, j, {"label": int(a[i, j])}) for j in range(i) if a[i, j])
    return G


@pytest.mark.parametrize("seed", range(6))
def test_edit_distances_are_those_of_networkx(seed):
    rng = np.random.default_rng(seed)
    graphs = []
    for n in rng.integers(2, 5, size=2):
        a = np.triu(rng.integers(0, 3, size=(n, n)), 1)
        graphs.append(a + a.T + np.diag(rng.integers(1, 4, size=n)))

    def same(x, y):
        return x["label"] == y["label"]

    wanted = nx.graph_edit_distance(*map(as_graph, graphs), node_match=same, edge_match=same)
    assert edit_distance(*graphs) == wanted


def test_calibration_error_is_zero_for_exact_frequencies():
    assert calibration_error(np.full(4, 0.75), np.array([1, 1, 1, 0])) == pytest.approx(0.0)
    assert calibration_error(np.full(4, 0.95), np.array([1, 1, 0, 0])) == pytest.approx(0.45)
