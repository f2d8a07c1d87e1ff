"""Graphs whose nodes and edges carry vectors."""

import networkx as nx
import numpy as np
import pytest

from mercer import KernelDependency, load, save
from mercer.kernels import Normalized, ShortestPath, VectorGraph, WeisfeilerLehman
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)


def graph(n, shift=0.0, edges=False):
    made = nx.cycle_graph(n)
    for v in made:
        made.nodes[v]["vector"] = np.array([np.cos(v), np.sin(v)]) + shift
    if edges:
        for e in made.edges.values():
            e["vector"] = [shift, 1.0]
    return made


GRAPHS = [graph(n, s) for n in (3, 4, 5) for s in (0.0, 0.2, 3.0)]


@pytest.mark.parametrize("inner", [None, WeisfeilerLehman(1), ShortestPath()])
def test_near_vectors_are_alike(inner):
    kernel = Normalized(VectorGraph(inner, draws=60))
    K = kernel(GRAPHS[:3])
    assert K[0, 1] > K[0, 2] + 0.2 and K[0, 0] == pytest.approx(1.0)
    assert np.linalg.eigvalsh(kernel(GRAPHS)).min() > -1e-9
    check_kernel(VectorGraph(inner), GRAPHS)


def test_vectors_of_edges():
    kernel = Normalized(VectorGraph(node_vector=None, edge_vector="vector", draws=60))
    K = kernel([graph(4, s, edges=True) for s in (0.0, 0.1, 4.0)])
    assert K[0, 1] > K[0, 2] + 0.2
    plain = WeisfeilerLehman(2)
    same = VectorGraph(plain, node_vector=None)
    assert same(GRAPHS) == pytest.approx(plain(GRAPHS))


def test_adjacency_with_rows_of_labels():
    A = nx.to_numpy_array(nx.cycle_graph(4))
    near, far = RNG.normal(size=(4, 3)), 9.0 + RNG.normal(size=(4, 3))
    K = VectorGraph(draws=40)([(A, near), (A, near + 0.01), (A, far)])
    assert K[0, 1] > K[0, 2]


def test_outputs_that_carry_vectors(tmp_path):
    X = np.arange(9.0)[:, None]
    model = KernelDependency("rbf", VectorGraph(), alpha=0.1).fit(X, GRAPHS)
    assert model.predict(X[:1])[0] is GRAPHS[0]
    save(model, tmp_path / "graphs.mercer")
    assert len(load(tmp_path / "graphs.mercer").predict(X[:1])[0]) == 3


def test_missing_vectors():
    with pytest.raises(ValueError, match=r"X\[0\] must carry 'vector' everywhere"):
        VectorGraph().check([nx.path_graph(2)])


def test_vectors_of_different_lengths():
    other = graph(3)
    for v in other:
        other.nodes[v]["vector"] = [1.0]
    with pytest.raises(ValueError, match="give all the same length"):
        VectorGraph().check([graph(3), other])
    with pytest.raises(ValueError, match="finite vectors"):
        VectorGraph().check([nx.set_node_attributes(other, np.nan, "vector") or other])
