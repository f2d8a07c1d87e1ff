"""Where data files are looked for, and how they are known to be the right ones."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


class DataNotFound(FileNotFoundError):
    """A data set is not on this machine; the message says which file to put where."""


class WrongData(ValueError):
    """A data file is there, but it is not the one expected."""


def data_folder(data_home: str | Path | None = None) -> Path:
    """`data_home`, else the folder that MERCER_DATA names, else a folder in the user's cache."""
    if data_home is not None:
        return Path(data_home)
    named = os.environ.get("MERCER_DATA")
    return Path(named) if named else Path.home() / ".cache" / "mercer"


def find(
    name: str, data_home: str | Path | None = None, *, sha256: str | None = None, origin: str = ""
) -> Path:
    """The path of a data file, such as "usps/usps.npz", after its content was verified.

    Parameters
    ----------
    name
        Folder and file, below the data folder.
    data_home
        The data folder; None for MERCER_DATA or the cache.
    sha256
        What the content must hash to; None where any file of that form will do.
    origin
        Where the file comes from, for the message when it is missing.
    """
    path = data_folder(data_home) / name
    if not path.is_file():
        raise DataNotFound(
            f"{path.name} is missing: put it at {path} (or set MERCER_DATA to the folder that "
            f"holds {name}){'; it comes from ' + origin if origin else ''}."
        )
    if sha256 is not None and hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        raise WrongData(f"{path} is not the file expected: its SHA-256 differs. Replace it.")
    return path
