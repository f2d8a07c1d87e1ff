"""Spaces of molecules (SMILES strings) and of mass spectra."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np

from .._base.arrays import Items, as_items, object_array
from .base import Space
from .sequences import Sequences


class Molecules(Sequences):
    """Molecules, given as SMILES strings; kernels check that rdkit can read them.

    Two strings for the same molecule are equal items: they are compared by rdkit's canonical SMILES
    if rdkit is installed. Stereoisomers and tautomers are different items.

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
        """Check that items are SMILES strings; return them in an object array."""
        items = list(as_items(A, name))
        for i, smiles in enumerate(items):
            if not isinstance(smiles, str):
                raise ValueError(f"{name}[{i}] must be a SMILES string, got {smiles!r:.60}.")
        return object_array([str(smiles) for smiles in items])

    def key(self, item: Any) -> Hashable:
        """Return the canonical SMILES string of a molecule, which identifies it."""
        return canonical_smiles(item)


@lru_cache(maxsize=2**17)
def canonical_smiles(smiles: str) -> str:
    """Return rdkit's canonical SMILES; without rdkit or if it fails, the string itself."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        return smiles
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        return smiles if molecule is None else Chem.MolToSmiles(molecule)


class Spectra(Space):
    """Mass spectra, tuples (mz, intensity, precursor, …).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.spaces import Spectra
    >>> peaks = (np.array([50.0, 77.1]), np.array([0.2, 1.0]), 105.1)
    >>> len(Spectra().check([peaks]))
    1
    """

    name = "spectra"

    def check(self, A: Items, name: str = "y") -> np.ndarray:
        """Check that items are mass spectra; return them in an object array."""
        items = as_items(A, name)
        for i, item in enumerate(items):
            read_spectrum(item, f"{name}[{i}]")
        return items


def read_spectrum(item: Any, name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Check a mass spectrum, and return its masses, intensities and precursor mass."""
    try:
        mz, intensity = (np.asarray(part, dtype=np.float64) for part in item[:2])
        precursor = float(item[2])
    except (TypeError, ValueError, IndexError, KeyError):
        raise ValueError(
            f"{name} must be a spectrum (mz, intensity, precursor), got {item!r:.80}."
        ) from None
    if mz.ndim != 1 or mz.shape != intensity.shape:
        raise ValueError(
            f"{name} needs one intensity for each peak, got shapes {mz.shape} and "
            f"{intensity.shape}."
        )
    numbers = np.concatenate([mz, intensity, [precursor]])
    if not np.isfinite(numbers).all() or (intensity <= 0).any():
        raise ValueError(f"{name} needs finite masses and positive intensities. Drop other peaks.")
    return mz, intensity, precursor
