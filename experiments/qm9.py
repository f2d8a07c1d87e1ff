"""Draw molecules from a description: counts of atoms, bonds and rings in, a labelled graph out."""

from __future__ import annotations

import time
from collections import Counter
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.model_selection import GroupShuffleSplit
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from mercer import KernelDependencyCV
from mercer._base.arrays import object_array
from mercer.datasets import load_qm9
from mercer.decoders import Candidates, GromovWassersteinBarycenter
from mercer.kernels import RBF, Kernel, Normalized, ShortestPath, WeisfeilerLehman, molecule_graph
from mercer.kernels.fingerprint import molecule
from mercer.metrics import graph_distance

from .report import Report

ATOMS = ("C", "N", "O", "F", "H")
SCALES = (2.0, 4.0, 8.0)
NEAREST = "scikit-learn: nearest description"


def describe_molecule(smiles: str) -> tuple[np.ndarray, str]:
    """Return counts of atoms, bonds and rings of a molecule, and its formula."""
    mol = molecule(smiles)
    atoms = Counter(atom.GetSymbol() for atom in mol.GetAtoms())
    atoms["H"] = sum(atom.GetTotalNumHs() for atom in mol.GetAtoms())
    bonds = Counter(str(bond.GetBondType()) for bond in mol.GetBonds())
    degrees = Counter(atom.GetDegree() for atom in mol.GetAtoms())
    rings = [len(ring) for ring in mol.GetRingInfo().AtomRings()]
    counts = [
        *(atoms[a] for a in ATOMS),
        *(bonds[b] for b in ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")),
        *(degrees[d] for d in (1, 2, 3, 4)),
        *(rings.count(size) for size in (3, 4, 5, 6, 7)),
        len(rings),
    ]
    formula = "".join(f"{a}{atoms[a]}" for a in ATOMS if atoms[a])
    return np.array(counts, dtype=float), formula


def element_graph(smiles: str) -> Any:
    """Return the graph of a molecule, with atoms labelled by element only."""
    graph = molecule_graph(smiles)
    for _, atom in graph.nodes(data=True):
        atom["label"] = atom["element"]
    return graph


def output_kernel() -> Kernel:
    """Return the mean of two graph kernels, with and without atom and bond labels.

    On the training molecules each such view adds to the left-out top-1: what a description
    shows of the skeleton is no longer hidden by the labels.
    """
    names = ("label", None)
    views: list[Kernel] = [
        Normalized(kernel)
        for node in names
        for edge in names
        for kernel in (WeisfeilerLehman(2, node, edge), ShortestPath(node, edge))
    ]
    return reduce(add, views) * (1.0 / len(views))


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report top-1 among the molecules of a formula, and the distance of predicted graphs."""
    smiles = load_qm9()[: 300 if quick else None]
    described = [describe_molecule(s) for s in smiles]
    X = np.array([counts for counts, _ in described])
    formulas = np.array([formula for _, formula in described])
    graphs = object_array([element_graph(s) for s in smiles])
    for i, graph in enumerate(graphs):  # predictions are copies, which keep this number
        graph.graph["number"] = i
    train, test = split(formulas, *((100, 8) if quick else (2000, 500)))
    X = StandardScaler().fit(X[train]).transform(X)
    report = Report("qm9")
    setting = f"{len(train)} training and {len(test)} test molecules, no formula in both"
    start = time.perf_counter()
    model = KernelDependencyCV(
        [RBF(scale) for scale in SCALES],
        output_kernel(),
        alphas=np.logspace(-3, 1, 9),
        fit_intercept=False,
    ).fit(X[train], graphs[train], groups=formulas[train])
    pools = [np.flatnonzero(formulas == formula) for formula in formulas[test]]
    lists = [list(graphs[pool]) for pool in pools]
    predicted = model.predict(X[test], candidates=lists)
    hits = [graph.graph["number"] == i for graph, i in zip(predicted, test, strict=True)]
    seconds = time.perf_counter() - start
    chance = float(np.mean([1.0 / len(pool) for pool in pools]))
    alike = [(X[pool] == X[i]).all(axis=1).sum() for pool, i in zip(pools, test, strict=True)]
    report.add("chance", setting, "top-1 of a formula", chance)
    report.add(
        "a guess among equal descriptions",
        setting,
        "top-1 of a formula",
        float(np.mean(1.0 / np.array(alike))),
    )
    report.add("mercer", setting, "top-1 of a formula", float(np.mean(hits)), seconds=seconds)
    near = nearest_graphs(X[train], graphs[train], X[test])
    every = np.unique(np.concatenate(pools))
    alike_near = model.output_kernel_(near, graphs[every])
    hits = [
        pool[row[np.searchsorted(every, pool)].argmax()] == i
        for row, pool, i in zip(alike_near, pools, test, strict=True)
    ]
    report.add(NEAREST, setting, "top-1 of a formula", float(np.mean(hits)))
    distances = graph_distance(graphs[test], near, average=False)
    report.add(NEAREST, setting, "graph distance", float(distances.mean()), float(distances.std()))
    for name, decoder in track(decoders().items(), "decoding", console=console, transient=True):
        start = time.perf_counter()
        model.decoder_ = decoder.fit(model.output_kernel_, model.outputs_)
        predicted_graphs = model.predict(X[test])
        seconds = time.perf_counter() - start
        distances = graph_distance(graphs[test], predicted_graphs, average=False)
        report.add(
            name,
            setting,
            "graph distance",
            float(distances.mean()),
            float(distances.std()),
            None,
            seconds,
        )
    rng = np.random.default_rng(0)
    guess = graphs[rng.choice(train, len(test))]
    distances = graph_distance(graphs[test], guess, average=False)
    report.add(
        "a random training graph",
        setting,
        "graph distance",
        float(distances.mean()),
        float(distances.std()),
    )
    report.notes.append(
        "Top-1 is retrieval in a closed world: the candidates are all molecules of the file with "
        "the formula of the description, none of which was trained on. A guess among equal "
        "descriptions is the best that can be. The graph distance (fused "
        "Gromov–Wasserstein, 0 for the same graph) compares decoders that know the training "
        "molecules alone. The nearest description is that of the nearest training molecule; in "
        "the closed world the candidate most similar to that molecule is taken. Length scale and "
        "alpha by closed-form leave-formula-out risk: "
        f"{model.kernel_.scalar}, {model.alpha_:g}."
    )
    return report


def nearest_graphs(X: np.ndarray, graphs: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the training graph whose description is nearest, for each row of `new`."""
    search = NearestNeighbors(n_neighbors=1).fit(X)
    return graphs[search.kneighbors(new, return_distance=False)[:, 0]]


def decoders() -> dict[str, Any]:
    """Return the decoders to compare, which use training molecules only, by name."""
    return {
        "Candidates": Candidates(),
        "barycentre": GromovWassersteinBarycenter(compete=False),
        "barycentre or candidate": GromovWassersteinBarycenter(),
    }


def split(formulas: np.ndarray, n_train: int, n_test: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test molecules without common formulas, as indices."""
    rng = np.random.default_rng(0)
    shuffle = GroupShuffleSplit(1, test_size=0.3, random_state=0)
    train, test = next(shuffle.split(formulas, groups=formulas))
    several = Counter(formulas)
    test = test[[several[formula] > 1 for formula in formulas[test]]]
    return rng.permutation(train)[:n_train], rng.permutation(test)[:n_test]
