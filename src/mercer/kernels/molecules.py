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

    Atoms have the attribute "label": their element, the number of hydrogens where it is not the
    one that the bonds imply, the charge, and a dot for every unpaired electron; the attribute
    "element" has the element alone. Bonds have a "label" too: "single", "double", "triple" or
    "aromatic".

    Examples
    --------
    >>> from mercer.kernels import molecule_graph
    >>> molecule_graph("C=O").edges(data="label")
    EdgeDataView([(0, 1, 'double')])
    >>> [label for _, label in molecule_graph("[CH2]C[NH3+]").nodes(data="label")]
    ['CH2.', 'C', 'N+1']
    """
    require("networkx", "graphs")
    import networkx as nx

    mol = molecule(smiles)
    graph = nx.Graph()
    for atom, hydrogens in zip(mol.GetAtoms(), _implied_hydrogens(mol), strict=True):
        own, charge = atom.GetTotalNumHs(), atom.GetFormalCharge()
        label = atom.GetSymbol() + (f"H{own}" if own != hydrogens else "")
        label += (f"{charge:+d}" if charge else "") + "." * atom.GetNumRadicalElectrons()
        graph.add_node(atom.GetIdx(), label=label, element=atom.GetSymbol())
    for bond in mol.GetBonds():
        kind = str(bond.GetBondType()).lower()
        graph.add_edge(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), label=kind)
    return graph


def _implied_hydrogens(mol: Any) -> list[int]:
    """The hydrogens of every atom if none were written and no electron were unpaired."""
    from rdkit import Chem

    plain = Chem.RWMol(mol)
    for atom in plain.GetAtoms():
        atom.SetNoImplicit(False)
        atom.SetNumExplicitHs(0)
        atom.SetNumRadicalElectrons(0)
    plain.UpdatePropertyCache(strict=False)
    return [atom.GetTotalNumHs() for atom in plain.GetAtoms()]
