"""Find data files, and verify that they are the right ones."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._base.files import ARCHIVE_ERRORS


class DataNotFound(FileNotFoundError):
    """Error for a missing data set; the message says which file to put where.

    Examples
    --------
    >>> import tempfile
    >>> from mercer.datasets import DataNotFound, load_usps
    >>> try:
    ...     load_usps(tempfile.mkdtemp())
    ... except DataNotFound as problem:
    ...     print(str(problem).split(":")[0])
    usps.npz is missing
    """


class WrongData(ValueError):
    """Error for a data file with unexpected content.

    Examples
    --------
    >>> import os, tempfile
    >>> from mercer.datasets import WrongData, load_cmudict
    >>> folder = tempfile.mkdtemp()
    >>> os.mkdir(os.path.join(folder, "cmudict"))
    >>> with open(os.path.join(folder, "cmudict", "cmudict.dict"), "w") as file:
    ...     _ = file.write("a AH0")
    >>> try:
    ...     load_cmudict(folder)
    ... except WrongData as problem:
    ...     print("SHA-256" in str(problem))
    True
    """


def data_folder(data_home: str | Path | None = None) -> Path:
    """Return `data_home`, else the folder that MERCER_DATA names, else a cache folder of the user.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.

    Examples
    --------
    >>> from mercer.datasets import data_folder
    >>> data_folder("here").name
    'here'
    """
    if data_home is not None:
        return Path(data_home)
    named = os.environ.get("MERCER_DATA")
    return Path(named) if named else Path.home() / ".cache" / "mercer"


def file_hash(data: bytes) -> str:
    """Return the SHA-256 hash of the bytes of a file."""
    return hashlib.sha256(data).hexdigest()


def content_hash(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a hash of the names and values of arrays, which are rounded to six decimals."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        values = np.rint(np.asarray(arrays[name], dtype=float) * 1e6).astype("<i8")
        digest.update(f"{name}{values.shape}".encode() + values.tobytes())
    return digest.hexdigest()


def find_file(
    name: str,
    data_home: str | Path | None = None,
    *,
    sha256: str | None = None,
    origin: str = "",
    content: tuple[str, tuple[str, ...]] | None = None,
) -> Path:
    """Return the path of a data file, such as "usps/usps.npz", after checking its hash.

    Parameters
    ----------
    name : str
        Folder and file, below the data folder.
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    sha256 : str, default=None
        The expected SHA-256 hash of the file; None accepts any file of the right format.
    origin : str, default=""
        Where the file comes from, for the message when it is missing.
    content : tuple, default=None
        The `content_hash` of some arrays of an npz file, and their names. A file with another
        SHA-256 hash is accepted if this hash is right.
    """
    path = data_folder(data_home) / name
    if not path.is_file():
        raise DataNotFound(
            f"{path.name} is missing: put it at {path} (or set MERCER_DATA to the folder that "
            f"holds {name}){'; it comes from ' + origin if origin else ''}."
        )
    if (
        sha256 is not None
        and file_hash(path.read_bytes()) != sha256
        and not _has_expected_arrays(path, content)
    ):
        raise WrongData(f"{path} is not the file expected: its SHA-256 differs. Replace it.")
    return path


def load_arrays(
    name: str, data_home: str | Path | None = None, **options: Any
) -> dict[str, np.ndarray]:
    """Return the arrays of a verified npz file by name; `options` are those of `find_file`."""
    with np.load(find_file(name, data_home, **options), allow_pickle=False) as z:
        return dict(z)


def read_rows(path: Path, width: int, what: str) -> list[list[str]]:
    """Return the tab-separated cells of each line of a file; each line must have `width` cells.

    `what` says in error messages what a line should be.
    """
    cells = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    wrong = next((i for i, row in enumerate(cells, 1) if len(row) != width), None)
    if wrong is not None:
        raise ValueError(f"line {wrong} of {path} is not {what}.")
    return cells


def _has_expected_arrays(path: Path, content: tuple[str, tuple[str, ...]] | None) -> bool:
    """Return whether an npz file has arrays of the names and the hash in `content`."""
    if content is None:
        return False
    try:
        with np.load(path, allow_pickle=False) as z:
            return content_hash({name: z[name] for name in content[1]}) == content[0]
    except ARCHIVE_ERRORS:
        return False
