"""The zip archive of a model: its tree and its arrays, read within limits."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._base.checks import DamagedModel, Limits, is_integer, must
from .._base.memory import available
from .._base.zipped import read_member, read_npy

FORMAT = 4
"""The only format that is read and written; raised when the meaning of a file changes."""
TREE = "model.json"
UNPACKED_BYTES, UNPACKED_RATIO = 2**28, 50
"""A file may unpack to UNPACKED_BYTES bytes, or to UNPACKED_RATIO times its size if larger."""
PER_BYTE = 4
"""A tree may have this many values for each byte on disk, in addition to the limit of values."""
SIGNS = 4
"""The largest mean number of brackets and commas of a tree for each value."""
TREE_BYTES = 64
"""The largest mean number of bytes of a tree for each value."""


class RefusedModel(DamagedModel):
    """Error for an intact file that this version, or this call, cannot load."""


class Archive:
    """An open model file: a JSON tree of values, and arrays with numbers.

    Parameters
    ----------
    file
        The open zip archive.
    limits
        The limits that its content must respect.

    Attributes
    ----------
    root
        The tree of the model.
    limits
        The limits, the number of values raised by the size of the file.
    """

    def __init__(self, file: zipfile.ZipFile, limits: Limits):
        self._file = file
        self._check_memory(limits)
        packed = self._file.getinfo(TREE).compress_size
        self.limits = replace(limits, nodes=limits.nodes + PER_BYTE * packed)
        tree = json.loads(self._checked_tree_text())
        _check_format(tree)
        self.root, self._digests = tree["root"], tree["digests"]

    def _check_memory(self, limits: Limits) -> None:
        """Raise an error if the unpacked file would take more memory than allowed."""
        on_disk = os.path.getsize(str(self._file.filename))
        usual = min(available() / 2, UNPACKED_BYTES + UNPACKED_RATIO * on_disk)
        most = usual if limits.memory is None else limits.memory
        members = self._file.infolist()
        packed = {info.compress_type for info in members}
        must(packed <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}, "it is packed in another way")
        stated = max((info.compress_size for info in members), default=0)
        must(stated <= on_disk, "it states that a member is larger than the file")
        total = sum(info.file_size for info in members)
        must(total <= most, f"it claims {total:.3g} bytes, more than the allowed {most:.3g}")

    def _checked_tree_text(self) -> bytes:
        """Return the JSON text of the tree; raise an error if it has too many values."""
        nodes = self.limits.nodes
        too_many = f"it holds more than {nodes} values"
        must(self._file.getinfo(TREE).file_size <= TREE_BYTES * nodes, too_many)
        text = read_member(self._file, TREE)
        must(sum(text.count(sign) for sign in (b"{", b"[", b",")) <= SIGNS * nodes, too_many)
        return text

    def array(self, number: int) -> np.ndarray:
        """Return the array with the given number, after checking its SHA-256 digest."""
        name = f"arrays/{int(number)}.npy"
        data = read_member(self._file, name)
        digest = hashlib.sha256(data).hexdigest()
        must(digest == self._digests[name], f"the array {name} is not the one that was saved")
        found = read_npy(data, name)
        plain = found.dtype.kind in "biufcSUmM" and found.dtype.isnative
        must(plain, f"the array {name} has dtype {found.dtype}")
        return found


def _check_format(tree: dict) -> None:
    """Raise an error unless the tree has the format version of this release."""
    number = tree["format"]
    if not is_integer(number) or number != FORMAT:
        newer = is_integer(number) and number > FORMAT
        writer = f"mercer {tree.get('mercer')!s:.20}, which wrote it"
        again = f"read it with {writer}, or fit the model again and save it"
        way_out = "upgrade mercer" if newer else again
        raise RefusedModel(f"has the model format {number!s:.20}, expected {FORMAT}: {way_out}.")


def write_archive(path: Path, root: Any, arrays: Sequence[np.ndarray]) -> None:
    """Write a tree of values, `root`, and its arrays to a new model file."""
    members = {f"arrays/{i}.npy": _npy_bytes(array) for i, array in enumerate(arrays)}
    tree = {
        "format": FORMAT,
        "mercer": __version__,
        "root": root,
        "digests": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    members[TREE] = json.dumps(tree, allow_nan=False).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            member = zipfile.ZipInfo(name)  # without a date: equal models are equal files
            file.writestr(member, data, zipfile.ZIP_DEFLATED, compresslevel=1)


def _npy_bytes(array: np.ndarray) -> bytes:
    """Return an array as the bytes of an NPY file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
