"""Members of zip archives and arrays in them, read only as far as they claim to be long."""

from __future__ import annotations

import copy
import io
import math
import zipfile
from typing import Any

import numpy as np

UNPACKED_AT_ONCE = 2**20


def read_member(file: zipfile.ZipFile, name: str) -> bytes:
    """Return the content of a member; raise an error if it is not as long as the directory says.

    Python's own `ZipFile.read` unpacks up to 2 GB of a member before it compares its length.
    """
    size = file.getinfo(name).file_size
    with _open_one_byte_longer(file, name) as member:
        content = member.read(size + 1)
    _check_length(name, len(content), size)
    return content


def check_members(file: zipfile.ZipFile) -> None:
    """Raise an error if a member is not as long as the directory says; keep none in memory."""
    for info in file.infolist():
        length = 0
        with _open_one_byte_longer(file, info.filename) as member:
            while piece := member.read(UNPACKED_AT_ONCE):
                length += len(piece)
        _check_length(info.filename, length, info.file_size)


def _open_one_byte_longer(file: zipfile.ZipFile, name: str) -> Any:
    """Open a member that may have one byte more than the directory says, to see leftovers."""
    info = copy.copy(file.getinfo(name))
    info.file_size += 1
    return file.open(info)


def _check_length(name: str, found: int, claimed: int) -> None:
    """Raise an error unless a member has as many bytes as the directory says."""
    if found != claimed:
        more = "more" if found > claimed else "fewer"
        raise zipfile.BadZipFile(f"{name} has {more} bytes than the archive says, {claimed}")


def read_npy(data: bytes, name: str) -> np.ndarray:
    """Return the array of the NPY bytes `data`; raise an error if its header claims another size.

    numpy allocates what the header claims, and would unpickle objects.
    """
    buffer = io.BytesIO(data)
    major, minor = np.lib.format.read_magic(buffer)
    header = getattr(np.lib.format, f"read_array_header_{major}_{minor}")
    shape, _, dtype = header(buffer)
    if dtype.hasobject:
        raise ValueError(f"the array {name} is a pickle, which is never read")
    claimed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or claimed != len(data) - buffer.tell():
        raise ValueError(f"the array {name} is not as large as it claims")
    buffer.seek(0)
    return np.load(buffer, allow_pickle=False)
