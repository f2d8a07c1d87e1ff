"""Molecules: tandem mass spectra of compounds, and small organic molecules."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._base.arrays import object_array
from ._files import find_file

SPECTRA_HASH = "50b2d23bb1fc86261fd46ff71131f8bc0861b1b2c2ed1d4e1357b6f3171f7359"
POOL_HASH = "0b490c8f912d4734e2892fb4db13d12cfcade40821fb76b677d3b5ea79248164"
QM9_HASH = "4f5f7c16e7cea506651fe2d489924c31bdd744c74dd4a0db3a98af05b957d7eb"
MASSBANK_ORIGIN = "MassBank-data (openly licensed MS2 records, positive [M+H]+, by compound)"
QM9_ORIGIN = "a list of 4,989 SMILES of QM9 (Ramakrishnan et al. 2014; `mercer fetch qm9`)"

# Masses of the most abundant isotopes, in unified atomic mass units.
ATOM_MASSES = {
    "H": 1.00782503, "B": 11.0093054, "C": 12.0, "N": 14.0030740, "O": 15.9949146,
    "F": 18.9984032, "Si": 27.9769265, "P": 30.9737620, "S": 31.9720712, "Cl": 34.9688527,
    "As": 74.9215946, "Se": 79.9165218, "Br": 78.9183376, "I": 126.9044719,
}  # fmt: skip
ELECTRON = 0.00054858


class TandemSpectrum(NamedTuple):
    """A tandem mass spectrum of a compound with a known molecular formula."""

    mz: np.ndarray
    intensity: np.ndarray
    precursor: float
    formula: str


class MassBank(NamedTuple):
    """A data set of mass spectra, with their molecules and the candidate molecules by formula."""

    spectra: np.ndarray
    molecules: np.ndarray
    formulas: np.ndarray
    pool: dict[str, list[str]]


def load_massbank(
    data_home: str | Path | None = None,
    *,
    sha256: tuple[str | None, str | None] = (SPECTRA_HASH, POOL_HASH),
) -> MassBank:
    """Load 4,088 mass spectra with their molecules, and 7,128 candidate molecules.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    sha256 : tuple of str or None
        The expected SHA-256 hashes of the two files; None accepts any file of the right format.

    Returns
    -------
    MassBank
        `spectra` (`TandemSpectrum`, up to 100 peaks), `molecules` (SMILES), `formulas`, and
        `pool`: for each formula the SMILES of all its molecules, the true one among them. If a
        record has no precursor mass, the mass of the protonated formula is used.

    Examples
    --------
    >>> from mercer.datasets import load_massbank
    >>> found = load_massbank()  # doctest: +SKIP
    """
    names = ("massbank/massbank_msms_pos_MH.jsonl.gz", "massbank/massbank_structure_pool.tsv.gz")
    paths = [
        find_file(name, data_home, sha256=digest, origin=MASSBANK_ORIGIN)
        for name, digest in zip(names, sha256, strict=True)
    ]
    with gzip.open(paths[1], "rt", encoding="utf-8") as file:
        structures = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    pool: dict[str, list[str]] = {}
    for row in structures:
        pool.setdefault(row["formula"], []).append(row["smiles"])
    smiles = {row["ik14"]: row["smiles"] for row in structures}
    with gzip.open(paths[0], "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return MassBank(
        object_array([_spectrum_of_record(record) for record in records]),
        object_array([smiles[record["ik14"]] for record in records]),
        object_array([record["formula"] for record in records]),
        pool,
    )


def load_qm9(data_home: str | Path | None = None, *, sha256: str | None = QM9_HASH) -> np.ndarray:
    """Load 4,989 molecules of QM9 as SMILES, with at most nine atoms of C, N, O and F.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

    Examples
    --------
    >>> from mercer.datasets import load_qm9
    >>> smiles = load_qm9()  # doctest: +SKIP
    >>> len(smiles)  # doctest: +SKIP
    4989
    """
    path = find_file("molecules/qm9_5k.smi", data_home, sha256=sha256, origin=QM9_ORIGIN)
    return object_array(path.read_text(encoding="utf-8").split())


def _spectrum_of_record(record: dict) -> TandemSpectrum:
    """Convert a JSON record to a `TandemSpectrum`."""
    precursor = record["precursor_mz"] or protonated_mass(record["formula"])
    mz, intensity = (np.array(record[name]) for name in ("mz", "intensity"))
    return TandemSpectrum(mz, intensity, float(precursor), record["formula"])


def protonated_mass(formula: str) -> float:
    """Return the mass-to-charge ratio of [M+H]+, or of M+ if the formula M has a charge.

    Examples
    --------
    >>> from mercer.datasets.molecules import protonated_mass
    >>> round(protonated_mass("H2O"), 4)
    19.0178
    """
    parts = re.findall(r"([A-Z][a-z]?)(\d*)", formula)
    mass = sum(ATOM_MASSES[element] * int(times or 1) for element, times in parts)
    return mass - ELECTRON + (0.0 if formula.endswith("+") else ATOM_MASSES["H"])
