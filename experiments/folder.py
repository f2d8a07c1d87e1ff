"""A folder of results that is there in whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class NotWritable(OSError):
    """Error for a folder of results that cannot be created or written to."""


@contextmanager
def output_folder(out: Path, name: str) -> Iterator[Path]:
    """Yield a draft folder that becomes `out`/`name` once the block ends without an error.

    Earlier results stay until the new ones are complete, and stay for good when they never are.
    """
    made = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=out))
    except OSError as problem:
        raise NotWritable(f"{out} cannot be written to ({problem.strerror}).") from problem
    try:
        (draft / "new").mkdir()
        yield draft / "new"
        _replace_folder(draft / "new", out / name, draft / "old")
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if made:
            with suppress(OSError):  # not empty: it has results
                out.rmdir()


def _replace_folder(new: Path, place: Path, old: Path) -> None:
    """Rename `new` to `place`, with the previous folder kept as `old`; undo it on an error."""
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except BaseException:
        if old.exists() and not place.exists():
            old.rename(place)
        raise
