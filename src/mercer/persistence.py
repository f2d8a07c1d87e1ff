"""Models as files that are safe to share: arrays, text and named parts, nothing that runs.

A model file is a zip of ``model.json``, a tree of plain values and of mercer's own parts by name,
and one ``.npy`` member for each array. Loading makes parts without calling any code of theirs and
sets what the file says; it never unpickles, and imports nothing but the rooms of mercer.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__
from ._files import replacing
from ._memory import available
from ._parts import Reader, Writer

FORMAT = 1
"""Raised when files of this version cannot be read by an older mercer."""
TREE = "model.json"


class DamagedModel(ValueError):
    """A file that is no model, is not whole, or holds what no model of mercer's holds."""


def save(model: Any, path: str | os.PathLike) -> Path:
    """Write a fitted model (or a kernel, an operator, any part) to a file.

    Parameters
    ----------
    model
        What to save. Functions cannot be saved, and are refused by name.
    path
        The file; it is replaced only once the new one is whole.

    Examples
    --------
    >>> import tempfile
    >>> import mercer
    >>> model = mercer.KernelDependency().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = mercer.save(model, f"{folder}/model.mercer")
    ...     again = mercer.load(file)
    >>> bool(again.predict([[0.5]]) == model.predict([[0.5]]))
    True
    """
    path = _named(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is no folder: make it first, or save elsewhere.")
    writer = Writer()
    root = writer.write(model, type(model).__name__)
    members = {f"arrays/{i}.npy": _npy(array) for i, array in enumerate(writer.arrays)}
    tree = {
        "format": FORMAT,
        "mercer": __version__,
        "root": root,
        "digests": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    members[TREE] = json.dumps(tree, allow_nan=False).encode()
    _write_whole(path, members)
    return path


def load(path: str | os.PathLike) -> Any:
    """Read what `save` wrote; runs no code of the file, whoever made it.

    Parameters
    ----------
    path
        The file. `DamagedModel` says what is wrong with one that cannot be read.
    """
    path = _named(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file: give the path of a model that was saved.")
    try:
        with zipfile.ZipFile(path) as file:
            tree = json.loads(_member(file, TREE))
            _check_format(tree)
            arrays = _Arrays(file, tree["digests"])
            return Reader(arrays).read(tree["root"])
    except DamagedModel as problem:
        raise DamagedModel(f"{path}: {problem}") from None
    except Exception as problem:  # whatever a broken file makes zip, json or numpy say
        raise DamagedModel(
            f"{path} is no mercer model, or is damaged ({type(problem).__name__}: {problem}). "
            "Save or copy it again."
        ) from None


def _named(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"a model is saved to and loaded from a path, got {type(path).__name__}: of an open "
            "file give the name."
        )
    return Path(path)


class _Arrays:
    """The arrays of a file, read when asked for and checked against their digests."""

    def __init__(self, file: zipfile.ZipFile, digests: dict[str, str]):
        self.file, self.digests = file, digests

    def __getitem__(self, i: int) -> np.ndarray:
        name = f"arrays/{int(i)}.npy"
        data = _member(self.file, name)
        if hashlib.sha256(data).hexdigest() != self.digests[name]:
            raise DamagedModel(f"the array {name} is not the one that was saved.")
        return np.load(io.BytesIO(data), allow_pickle=False)


def _member(file: zipfile.ZipFile, name: str) -> bytes:
    if file.getinfo(name).file_size > available():
        raise DamagedModel(f"{name} claims to be larger than the memory that is free.")
    return file.read(name)


def _check_format(tree: dict) -> None:
    if not isinstance(tree["format"], int) or tree["format"] > FORMAT:
        raise DamagedModel(
            f"it was written by mercer {tree['mercer']!s:.20} in format {tree['format']!s:.20}; "
            f"this is mercer {__version__}, which reads formats up to {FORMAT}. Upgrade mercer."
        )


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _write_whole(path: Path, members: dict[str, bytes]) -> None:
    with replacing(path) as draft, zipfile.ZipFile(draft, "w") as file:
        for name, data in members.items():
            member = zipfile.ZipInfo(name)  # without a date: equal models are equal files
            file.writestr(member, data, zipfile.ZIP_DEFLATED, compresslevel=1)
