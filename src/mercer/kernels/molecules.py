"""Molecules from SMILES strings, as rdkit sees them and as labelled graphs."""

from __future__ import annotations

from typing import Any

from .._extras import require


class Unparsable(ValueError):
    """A string that is no molecule."""


def molecule(smiles: str) -> Any:
    """The rdkit molecule of a SMILES string, or a reason why there is none."""
    require("rdkit", "molecules")
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        found = Chem.MolFromSmiles(smiles)
    if found is None or found.GetNumAtoms() == 0:
        raise Unparsable("no atoms" if found is not None else "no molecule")
    return found


def molecule_graph(smiles: str) -> Any:
    """A molecule as a networkx graph without hydrogens, for the kernels on graphs.

    Atoms have the attribute "label", their element and charge; bonds have it too: "single",
    "double", "triple" or "aromatic".

    Examples
    --------
    >>> from mercer.kernels import molecule_graph
    >>> molecule_graph("C=O").edges(data="label")
    EdgeDataView([(0, 1, 'double')])
    """
    require("networkx", "graphs")
    import networkx as nx

    mol = molecule(smiles)
    graph = nx.Graph()
    for atom in mol.GetAtoms():
        charge = atom.GetFormalCharge()
        graph.add_node(atom.GetIdx(), label=atom.GetSymbol() + (f"{charge:+d}" if charge else ""))
    for bond in mol.GetBonds():
        kind = str(bond.GetBondType()).lower()
        graph.add_edge(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), label=kind)
    return graph
