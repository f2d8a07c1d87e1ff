"""
New graphs
==========

This example predicts a molecule, as a labelled graph, from counts of its atoms, bonds and rings.
One decoder returns the best training molecule. Another returns a new graph, the barycentre of
several training molecules. It needs ``mercer[graphs,molecules,plots]``. The QM9 molecules are read
by `mercer.datasets.load_qm9`.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from rdkit import Chem

from mercer import KernelDependency
from mercer.datasets import load_qm9
from mercer.decoders import Candidates, GromovWassersteinBarycenter
from mercer.kernels import Normalized, WeisfeilerLehman, molecule_graph
from mercer.metrics import graph_distance


def description(smiles):
    """Count atoms, bonds and rings of each kind."""
    molecule = Chem.MolFromSmiles(smiles)
    atoms = [atom.GetSymbol() for atom in molecule.GetAtoms()]
    bonds = [str(bond.GetBondType()) for bond in molecule.GetBonds()]
    rings = [len(ring) for ring in molecule.GetRingInfo().AtomRings()]
    return [
        *(atoms.count(symbol) for symbol in "CNOF"),
        *(bonds.count(kind) for kind in ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")),
        *(rings.count(size) for size in range(3, 8)),
    ]


smiles = load_qm9()[:503]
graphs = [molecule_graph(s) for s in smiles]
X = np.array([description(s) for s in smiles], dtype=float)
train, test = slice(0, 500), slice(500, 503)

# %%
# Fit the model with each decoder, and print the distances to the true graphs.
rows = {"truth": graphs[test]}
for name, decoder in {
    "best training graph": Candidates(),
    "barycentre": GromovWassersteinBarycenter(compete=False),
}.items():
    model = KernelDependency("rbf", Normalized(WeisfeilerLehman(2)), alpha=0.1, decoder=decoder)
    rows[name] = model.fit(X[train], graphs[train]).predict(X[test])
    print(name, graph_distance(graphs[test], rows[name], average=False).round(3))

# %%
# Each column is a test molecule.
figure, axes = plt.subplots(len(rows), 3, figsize=(9, 8), layout="constrained")
for axis_row, (name, made) in zip(axes, rows.items(), strict=True):
    for axis, graph in zip(axis_row, made, strict=True):
        labels = nx.get_node_attributes(graph, "label")
        nx.draw_kamada_kawai(graph, ax=axis, labels=labels, node_color="lightgrey")
        axis.set_title(name)
plt.show()

# sphinx_gallery_thumbnail_path = '_static/gallery/graphs.png'
