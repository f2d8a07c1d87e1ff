from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np

from .._arrays import Items, as_items, object_array
from .._extras import require
from ..cells import Table
from ..cells.values import refused
from .base import resolve
from .sequences import Sequences


class Molecules(Sequences):
    """Molecules, written as SMILES strings; whether rdkit can read them is the kernel's to say.

    A molecule that is written in two ways is one: strings are compared by rdkit's canonical SMILES,
    as they stand where rdkit is not installed. Stereoisomers stay two, and so do tautomers.

    Examples
    --------
    >>> from mercer.spaces import Molecules
    >>> list(Molecules().check(["CCO", "C1CC1"]))
    ['CCO', 'C1CC1']
    >>> Molecules().key("OCC") == Molecules().key("CCO")
    True
    """

    name = "molecules"

    def __init__(self) -> None:
        self.vectors = False

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """Strings in an object array."""
        items = list(as_items(A, name))
        for i, smiles in enumerate(items):
            if not isinstance(smiles, str):
                raise ValueError(f"{name}[{i}] must be a SMILES string, got {smiles!r:.60}.")
        return object_array([str(smiles) for smiles in items])

    def key(self, item: Any) -> Hashable:
        """The canonical SMILES."""
        return canonical(item)

    def read(self, table: Table) -> np.ndarray:
        """SMILES that rdkit can read."""
        require("rdkit", "molecules")
        from rdkit import Chem, rdBase

        items = super().read(table)
        with rdBase.BlockLogs():
            for i, item in enumerate(items):
                if Chem.MolFromSmiles(item) is None:
                    raise refused(table, i, self.columns_[0], f"{item!r:.40} is no SMILES.")
        return items

    def kernel(self) -> Any:
        """Shared substructures."""
        return resolve("kernels.Fingerprint")()


@lru_cache(maxsize=2**17)
def canonical(smiles: str) -> str:
    """Return rdkit's canonical SMILES; the string itself if rdkit is missing or cannot read it."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        return smiles
    with rdBase.BlockLogs():
        found = Chem.MolFromSmiles(smiles)
        return smiles if found is None else Chem.MolToSmiles(found)
