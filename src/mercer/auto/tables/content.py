"""Bytes of a file or of standard input, unpacked, within limits of memory."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from pathlib import Path
from typing import Any

from ..._base.memory import available
from .bad_table import BadTable

MEMORY_DIVISOR = 8
"""A file may have 1 / MEMORY_DIVISOR of the free memory, because cells take several times that."""
PACKED_BYTES, PACKED_RATIO = 2**26, 50
"""A packed file may unpack to PACKED_BYTES bytes, or to PACKED_RATIO times its size if larger."""
PIECE = 2**20
SPLIT = ["split it", "learn from a stream of blocks in Python"]
UNREADABLE = {
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet (.xls)", "save it as .xlsx or CSV"),
    b"BZh": ("packed with bzip2", "unpack it first"),
    b"\xfd7zXZ": ("packed with xz", "unpack it first"),
    b"\x28\xb5\x2f\xfd": ("packed with Zstandard", "unpack it first"),
    b"7z\xbc\xaf": ("a 7z archive", "unpack it first"),
    b"%PDF": ("a PDF file", "save the table in it as CSV"),
}


def read_content(path: str | Path, data: bytes | None = None) -> tuple[str, bytes]:
    """Return the name of a file for messages, and its unpacked bytes; "-" is standard input."""
    name = "standard input" if str(path) == "-" else str(path)
    data = _read_bytes(path, name) if data is None else data
    if data[:2] == b"\x1f\x8b":
        data = _unpack_gzip(data, name)
    for magic, (what, remedy) in UNREADABLE.items():
        if data.startswith(magic):
            raise BadTable(f"{name} is {what}", remedy)
    if not data.strip():
        raise BadTable(f"{name} is empty", "write a header and at least two rows")
    return name, data


def format_of(path: str | Path, data: bytes, name: str) -> str:
    """Return the format of a file, such as "csv": by content if that is certain, else by suffix.

    An .xlsx file that was renamed to .csv is still a spreadsheet.
    """
    if data[:4] == b"PAR1":
        return "parquet"
    if data[:4] == b"PK\x03\x04":
        sheet = b"xl/" in data or b"[Content_Types].xml" in data[:200]
        if sheet or format_by_suffix(path)[0] == "xlsx":
            return "xlsx"
        if format_by_suffix(path)[0] == "npz" or b".npy" in data[:200]:
            return "npz"
        raise BadTable(f"{name} is a zip archive", "unpack it, and give the table in it")
    start = data.lstrip()[:100]
    records = start[:1] == b"[" and start[1:].lstrip()[:1] == b"{"
    return format_by_suffix(path)[0] or (
        "json" if records else "jsonl" if start[:1] == b"{" else "csv"
    )


def check_unpacked(name: str, unpacked: int, packed: int, way_out: str) -> None:
    """Raise an error if a packed file would unpack to far more than its size.

    `unpacked` and `packed` are numbers of bytes, and `way_out` is the advice in the message.
    """
    if (
        unpacked > max(PACKED_BYTES, PACKED_RATIO * packed)
        or unpacked > available() / MEMORY_DIVISOR
    ):
        raise BadTable(
            f"{name} unpacks from {packed / 1e6:.1f} MB to {unpacked / 1e6:.0f} MB or more, which "
            "is over the limit for packed files", way_out
        )  # fmt: skip


def check_memory(name: str, needed: int) -> None:
    """Raise an error if the table `name` needs more bytes than there is free memory."""
    if needed > available():
        raise BadTable(
            f"{name} takes about {needed / 1e9:.1f} GB in memory, where {available() / 1e9:.1f} GB "
            "are free", SPLIT
        )  # fmt: skip


def _read_bytes(path: str | Path, name: str) -> bytes:
    """Read all bytes of a file or of standard input."""
    if str(path) == "-":
        if sys.stdin is None:
            raise BadTable("standard input is closed", ["name a file", "pipe a table in"])
        return _read_to_end(sys.stdin.buffer, name)
    if Path(path).is_dir():
        raise BadTable(f"{name} is a folder", "give a file")
    try:
        with open(path, "rb") as file:
            return _read_to_end(file, name)
    except FileNotFoundError:
        raise BadTable(f"{name} does not exist", "check its path") from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL in a path
        why = getattr(problem, "strerror", None) or problem
        raise BadTable(f"{name} cannot be read ({why})") from None


def _read_to_end(file: Any, name: str, packed: int = 0) -> bytes:
    """Read a file object to its end; raise an error before memory runs out.

    `packed` is the size of the file in bytes if it is being unpacked, else 0.
    """
    pieces, size, most = [], 0, available() / MEMORY_DIVISOR
    while piece := file.read(PIECE):
        pieces.append(piece)
        size += len(piece)
        if packed:
            check_unpacked(name, size, packed, "unpack it first (gunzip)")
        elif size > most:
            raise BadTable(
                f"{name} is larger than {most / 1e9:.1f} GB, an {MEMORY_DIVISOR}th of the free "
                "memory", SPLIT
            )  # fmt: skip
    return b"".join(pieces)


def _unpack_gzip(data: bytes, name: str) -> bytes:
    """Unpack the bytes of a gzip file; raise an error if they do not fit into memory."""
    try:
        with gzip.open(io.BytesIO(data)) as file:
            return _read_to_end(file, name, len(data))
    except (OSError, EOFError, zlib.error) as problem:
        raise BadTable(f"{name} is a damaged gzip file ({problem})", "copy it again") from None


SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "json", ".parquet": "parquet", ".npz": "npz", ".xlsx": "xlsx",
}  # fmt: skip
TABLE_FORMATS = sorted(set(SUFFIXES.values()))
TEXT_FORMATS = ("csv", "tsv", "jsonl", "json")


def format_by_suffix(path: str | os.PathLike) -> tuple[str | None, bool]:
    """Return the format that the suffix of a path means, or None, and whether it is gzipped."""
    name = Path(path)
    packed = name.suffix.lower() == ".gz"
    suffix = Path(name.stem).suffix if packed else name.suffix
    return SUFFIXES.get(suffix.lower()), packed
