"""Safe replacement of files, and the errors that damaged archives of arrays cause."""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

BROKEN = (OSError, EOFError, ValueError, KeyError, TypeError, NotImplementedError)
HEADER = (SyntaxError, OverflowError, struct.error, tokenize.TokenError)
ARCHIVE_ERRORS = (*BROKEN, *HEADER, zipfile.BadZipFile, zlib.error)
"""Errors that numpy raises for a damaged archive of arrays, or for a file that is not one."""


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path, and move the file there to `path` once it is complete.

    If `path` is a link, the file that it points to is replaced. If it is a pipe or a device, the
    temporary file is copied into it. After an interruption, or on a full disk, the old file is
    unchanged.
    """
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        with tempfile.TemporaryDirectory() as folder:
            draft = Path(folder) / "draft"
            yield draft
            with open(path, "wb") as sink, open(draft, "rb") as source:
                shutil.copyfileobj(source, sink)
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(13, "it may not be written to", str(path))
    draft = target.with_name(f".mercer-{uuid4().hex}")
    try:
        yield draft
        if target.exists():
            shutil.copymode(target, draft)
        _write_through(draft)
        os.replace(draft, target)
        _write_through(target.parent)
    finally:
        draft.unlink(missing_ok=True)


def _write_through(path: Path) -> None:
    """Flush a file to the disk, so that a power cut does not lose its data."""
    if path.is_dir() and not hasattr(os, "O_DIRECTORY"):
        return  # Windows cannot open folders
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
