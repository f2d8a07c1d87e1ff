"""Trees, graphs, molecules and spectra on either side of a model."""

import networkx as nx
import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import (
    Fingerprint,
    MassSpectrum,
    Normalized,
    ShortestPath,
    SubsetTree,
    Subtree,
    WeisfeilerLehman,
)
from mercer.testing import check_structured_estimator

SPACES = {
    "trees": (
        [f"(S (N {noun}) (V {verb}))" for noun in ("dog", "cat", "cow") for verb in ("is", "eats")],
        [Subtree(0.5), Normalized(SubsetTree())],
    ),
    "molecules": (["CO", "CCO", "CN", "CCN", "C=O", "c1ccccc1"], [Fingerprint()]),
    "graphs": (
        [nx.path_graph(2), nx.path_graph(3), nx.cycle_graph(3), nx.star_graph(3), nx.cycle_graph(4),
         nx.complete_graph(4)],
        [WeisfeilerLehman(2), Normalized(ShortestPath())],
    ),
    "spectra": ([([20.0 + i, 30.0], [1.0, 0.5], 40.0 + i) for i in range(6)], [MassSpectrum()]),
}  # fmt: skip
KERNELS = [(name, kernel) for name, (_, kernels) in SPACES.items() for kernel in kernels]
TARGETS = np.random.default_rng(0).normal(size=(6, 2))


@pytest.mark.parametrize(("space", "kernel"), KERNELS, ids=str)
@pytest.mark.parametrize("Model", [KernelDependency, KernelDependencyCV])
def test_as_inputs(Model, space, kernel):
    check_structured_estimator(Model(kernel, "rbf"), SPACES[space][0], TARGETS)


@pytest.mark.parametrize(("space", "kernel"), [k for k in KERNELS if k[0] != "graphs"], ids=str)
@pytest.mark.parametrize("Model", [KernelDependency, KernelDependencyCV])
def test_as_outputs(Model, space, kernel):
    check_structured_estimator(Model("rbf", kernel), TARGETS, SPACES[space][0])


def test_from_graphs_to_trees():
    graphs, trees = SPACES["graphs"][0], SPACES["trees"][0]
    kernel = WeisfeilerLehman(2) + ShortestPath()
    model = KernelDependency(kernel, SubsetTree(), alpha=1e-3).fit(graphs, trees)
    assert model.predict(graphs).tolist() == trees
