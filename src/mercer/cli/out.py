"""Where commands write: never over what they read, and never over a file of another kind."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from .._files import NO_ARCHIVE

STDOUT = Path("-")
REPORT = b"<title>mercer"
"""What every report has near its start."""


def check_out(out: Path, *read: str) -> None:
    """Refuse to write over a file that is read, into a folder, or where there is none."""
    if out == STDOUT:
        return
    if out.is_dir():
        raise ValueError(f"{out} is a folder: name a file in it with -o.")
    if not Path(os.path.realpath(out)).parent.is_dir():
        raise ValueError(
            f"{out.parent} is no folder, or a link that leads nowhere: make it first, or write "
            "elsewhere with -o."
        )
    if out.is_file() and any(_is_same(out, source) for source in read):
        raise ValueError(
            f"{out} is the file that is read, and would be lost: name another file with -o."
        )


def check_model_out(out: Path, *read: str) -> None:
    """The same for a model, which may replace a model, but no other file."""
    check_out(out, *read)
    if _has_content(out) and not _is_model(out):
        raise _kept(out, "mercer model", "-o")


def check_table_out(out: Path, *read: str) -> None:
    """The same for a table, which may replace any file but a model."""
    from ..auto.tables.write import output_format

    check_out(out, *read)
    if out != STDOUT:
        output_format(out)
    if out.is_file() and _is_model(out):
        raise ValueError(f"{out} is a mercer model, and would be lost: name another file with -o.")


def check_report_out(out: Path, *read: str) -> None:
    """The same for a report, which may replace a report, but no other file."""
    check_out(out, *read)
    if out == STDOUT or out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{out} is no name of a report: let it end in .html.")
    if str(out) in read or (_has_content(out) and not _is_report(out)):
        raise _kept(out, "report of mercer's", "--report")


def _has_content(out: Path) -> bool:
    return out.is_file() and out.stat().st_size > 0


def _kept(out: Path, wanted: str, option: str) -> ValueError:
    return ValueError(
        f"{out} is there already and is no {wanted}, so it is not replaced: name another file "
        f"with {option}, or delete it first."
    )


def written(out: Path, write: Callable[[], object]) -> None:
    """Write, and say which file could not be written and that the old one is as it was."""
    try:
        write()
    except BrokenPipeError:
        raise
    except OSError as problem:
        why = problem.strerror or str(problem)
        kept = " What was there before is unchanged." if out.is_file() else ""
        raise ValueError(f"{out} cannot be written: {why}.{kept}") from None


def _is_same(out: Path, source: str) -> bool:
    if source == "-":
        try:
            return os.path.samestat(os.fstat(sys.stdin.fileno()), out.stat())
        except (AttributeError, OSError, ValueError):  # closed, or not a file at all
            return False
    try:
        return os.path.samefile(out, source)
    except OSError:
        return False


def _is_model(path: Path) -> bool:
    from ..persistence import TREE

    try:
        with zipfile.ZipFile(path) as file:
            return TREE in file.namelist()
    except NO_ARCHIVE:
        return False


def _is_report(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return REPORT in file.read(500)
    except OSError:
        return False
