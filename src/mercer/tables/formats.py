"""Formats of tables by the ending of a file's name, for reading and for writing."""

from __future__ import annotations

import os
from pathlib import Path

SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "json", ".parquet": "parquet", ".npz": "npz", ".xlsx": "xlsx",
}  # fmt: skip
FORMATS = sorted(set(SUFFIXES.values()))
TEXT = ("csv", "tsv", "jsonl", "json")


def by_suffix(path: str | os.PathLike) -> tuple[str | None, bool]:
    """Return the format that the name of a file says, if any, and whether the file is gzipped."""
    name = Path(path)
    packed = name.suffix.lower() == ".gz"
    suffix = Path(name.stem).suffix if packed else name.suffix
    return SUFFIXES.get(suffix.lower()), packed
