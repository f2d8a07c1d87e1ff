"""Molecules from SMILES strings: their substructures, and their labelled graphs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .._base.arrays import Array, Items
from .._base.checks import Limits, bounded, is_integer
from .._base.errors import require
from .._base.parameters import one_of, parameters
from ..spaces import Molecules
from ._bags import Bags, count_matrices, inner_products, sqnorms
from .base import Kernel
from .histograms import Tanimoto

FINGERPRINTS = ("morgan", "functions", "pairs", "torsions", "paths", "maccs")
"""The values of `kind`."""
SIMILARITIES = ("tanimoto", "linear")
"""The values of `similarity`."""


@parameters
class Fingerprint(Kernel):
    r"""Similarity of molecules, given as SMILES strings, by the substructures that they share.

    With :math:`a_f` the count of substructure :math:`f` in molecule :math:`a` (0 or 1 without
    `counts`), :math:`k(a, b) = \sum_f \min(a_f, b_f) / \sum_f \max(a_f, b_f)`, the min-max kernel
    of counts and Tanimoto's of sets.

    Parameters
    ----------
    kind : str, default="morgan"
        "morgan" (circular, atoms by element and degree), "functions" (circular, atoms by their
        function: donor, acceptor, ring …), "pairs" (two atoms and their distance), "torsions"
        (chains of four atoms), "paths" (chains of bonds), "maccs" (166 named keys).
    radius : int, default=2
        The number of bonds around an atom for circular kinds; "paths" have up to twice as many.
    size : int or None, default=None
        The number of features that substructures are hashed to; None for one feature each.
    counts : bool, default=True
        Whether features are counts of substructures rather than 0 or 1.
    similarity : str, default="tanimoto"
        "tanimoto" (as above) or "linear" (:math:`\sum_f a_f b_f`).

    Notes
    -----
    Needs rdkit. Fingerprints are cached by SMILES string, so that a molecule is parsed once.
    Both similarities are positive semidefinite (Ralaivola et al. 2005). Sums of kinds are kernels:
    ``Fingerprint() + Fingerprint("pairs")``.

    Examples
    --------
    >>> from mercer.kernels import Fingerprint
    >>> Fingerprint(radius=0)(["CO", "CCO"]).round(4)
    array([[1.    , 0.6667],
           [0.6667, 1.    ]])
    """

    kind: str = "morgan"
    radius: int = 2
    size: int | None = None
    counts: bool = True
    similarity: str = "tanimoto"

    space = Molecules()

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if the radius is larger than the limits allow."""
        bounded(self.radius, "radius", 0, limits.steps)

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """Return the items after checking that rdkit can read them as SMILES strings."""
        self._check_parameters()
        items = self.space.check(A, name)
        for i, smiles in enumerate(items):
            try:
                self._features(smiles)
            except Unparsable as error:
                raise ValueError(
                    f"{name}[{i}] is not a SMILES string that rdkit can read: {smiles!r:.80} "
                    f"({error}). Correct or remove it."
                ) from None
        return items

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the Tanimoto similarity, or inner product, of the substructures of all pairs."""
        if self.similarity == "linear":
            return inner_products(self._bags(A), self._bags(B))
        same = B is A
        F, G = count_matrices(self._bags(A), None if same else self._bags(B))
        return Tanimoto()._gram(F, G)

    def _diag(self, A: Items) -> Array:
        """Return k(a, a): 1 for the Tanimoto similarity, else the squared norm of the counts."""
        return np.ones(len(A)) if self.similarity == "tanimoto" else sqnorms(self._bags(A))

    def _bags(self, A: Items) -> Bags:
        """Return the substructure counts of a batch of molecules."""
        return Bags.of(self._features(smiles) for smiles in A)

    def _features(self, smiles: str) -> tuple[np.ndarray, np.ndarray]:
        """Return hashes of the substructures of a molecule, and the count of each."""
        return substructures(smiles, self.kind, self.radius, self.size, self.counts)

    def _check_parameters(self) -> None:
        """Raise an error if `kind` or `similarity` is unknown, or `radius` or `size` too small."""
        one_of(self.kind, "kind", FINGERPRINTS)
        one_of(self.similarity, "similarity", SIMILARITIES)
        for number, name, least in ((self.radius, "radius", 0), (self.size, "size", 1)):
            if number is not None and not (is_integer(number) and number >= least):
                raise ValueError(f"{name} must be an integer ≥ {least}, got {number!r}.")


@lru_cache(maxsize=2**17)
def substructures(
    smiles: str, kind: str, radius: int, size: int | None, counts: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return hashes of the substructures of a molecule, and the count of each.

    The arguments after `smiles` are those of `Fingerprint`.
    """
    mol = molecule(smiles)
    if kind == "maccs":
        from rdkit.Chem.rdMolDescriptors import GetMACCSKeysFingerprint

        counted = dict.fromkeys(GetMACCSKeysFingerprint(mol).GetOnBits(), 1)
    else:
        counted = _generator(kind, radius).GetSparseCountFingerprint(mol).GetNonzeroElements()
    keys = np.fromiter(counted.keys(), dtype=np.uint64, count=len(counted))
    values = np.fromiter(counted.values(), dtype=np.float64, count=len(counted))
    if size is not None:
        keys, column = np.unique(keys % np.uint64(size), return_inverse=True)
        values = np.bincount(column, weights=values, minlength=len(keys)).astype(np.float64)
    return keys, values if counts else np.ones_like(values)


@lru_cache(maxsize=64)
def _generator(kind: str, radius: int) -> Any:
    """Return the rdkit fingerprint generator for a kind of substructure and a radius."""
    from rdkit.Chem import rdFingerprintGenerator as make

    if kind == "functions":
        invariants = make.GetMorganFeatureAtomInvGen()
        return make.GetMorganGenerator(radius=radius, atomInvariantsGenerator=invariants)
    if kind == "paths":
        return make.GetRDKitFPGenerator(maxPath=max(1, 2 * radius))
    return {
        "morgan": lambda: make.GetMorganGenerator(radius=radius),
        "pairs": make.GetAtomPairGenerator,
        "torsions": make.GetTopologicalTorsionGenerator,
    }[kind]()


class Unparsable(ValueError):
    """Error for a string that rdkit cannot read as a molecule."""


def molecule(smiles: str) -> Any:
    """Return the rdkit molecule of a SMILES string; raise `Unparsable` if rdkit cannot read it."""
    require("rdkit", "molecules")
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        mol = Chem.MolFromSmiles(smiles)
    if mol is None or mol.GetNumAtoms() == 0:
        raise Unparsable("no atoms" if mol is not None else "no molecule")
    return mol


def molecule_graph(smiles: str) -> Any:
    """Return a molecule as a networkx graph without hydrogens, for the kernels on graphs.

    Atoms have the attribute "label": their element, the number of hydrogens if it differs from the
    one that the bonds imply, the charge, and a dot for every unpaired electron; the attribute
    "element" is the element alone. Bonds have a "label" too: "single", "double", "triple" or
    "aromatic".

    Parameters
    ----------
    smiles : str
        The molecule as a SMILES string.

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
    for atom, implied in zip(mol.GetAtoms(), _implied_hydrogens(mol), strict=True):
        actual, charge = atom.GetTotalNumHs(), atom.GetFormalCharge()
        label = atom.GetSymbol() + (f"H{actual}" if actual != implied else "")
        label += (f"{charge:+d}" if charge else "") + "." * atom.GetNumRadicalElectrons()
        graph.add_node(atom.GetIdx(), label=label, element=atom.GetSymbol())
    for bond in mol.GetBonds():
        kind = str(bond.GetBondType()).lower()
        graph.add_edge(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), label=kind)
    return graph


def _implied_hydrogens(mol: Any) -> list[int]:
    """Return for each atom the number of hydrogens that its bonds imply."""
    from rdkit import Chem

    implied = Chem.RWMol(mol)
    for atom in implied.GetAtoms():
        atom.SetNoImplicit(False)
        atom.SetNumExplicitHs(0)
        atom.SetNumRadicalElectrons(0)
    implied.UpdatePropertyCache(strict=False)
    return [atom.GetTotalNumHs() for atom in implied.GetAtoms()]
