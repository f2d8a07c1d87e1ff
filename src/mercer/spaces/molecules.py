from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Items, as_items, object_array
from .base import resolve
from .sequences import Sequences


class Molecules(Sequences):
    """Molecules, written as SMILES strings; whether rdkit can read them is the kernel's to say.

    Examples
    --------
    >>> from mercer.spaces import Molecules
    >>> list(Molecules().check(["CCO", "C1CC1"]))
    ['CCO', 'C1CC1']
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

    def kernel(self) -> Any:
        """Shared substructures."""
        return resolve("kernels.Fingerprint")()
