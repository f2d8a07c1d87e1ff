"""Output files: commands never replace a file that they read, nor a file of another kind."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from ..._base.files import ARCHIVE_ERRORS

STDOUT = Path("-")
REPORT_MARK = b"<title>mercer"
"""Text that every report contains near its start."""


def check_out(out: Path, *sources: str) -> None:
    """Raise an error if a command cannot write to `out`.

    That is a folder, a file in a missing folder, or one of the files `sources` that the command
    reads.
    """
    if out == STDOUT:
        return
    if out.is_dir():
        raise ValueError(f"{out} is a folder: name a file in it with -o.")
    if not Path(os.path.realpath(out)).parent.is_dir():
        raise ValueError(
            f"{out.parent} is not a folder, or is a broken link: create it first, or choose "
            "another place with -o."
        )
    if out.is_file() and any(_is_same_file(out, source) for source in sources):
        raise ValueError(
            f"{out} is the file that is read and would be overwritten: name another file with -o."
        )


def check_model_out(out: Path, *sources: str) -> None:
    """Raise an error if a model cannot be written to `out`; it may replace only a model."""
    check_out(out, *sources)
    if _has_content(out) and not _is_model(out):
        raise _wrong_kind_error(out, "mercer model", "-o")


def check_table_out(out: Path, *sources: str) -> None:
    """Raise an error if a table cannot be written to `out`; it may not replace a model."""
    from ...auto.tables.write import output_format

    check_out(out, *sources)
    if out != STDOUT:
        output_format(out)
    if out.is_file() and _is_model(out):
        raise ValueError(f"{out} is a mercer model and would be lost: name another file with -o.")


def check_report_out(out: Path, *sources: str) -> None:
    """Raise an error if a report cannot be written to `out`; it may replace only a report."""
    from ...auto.report import check_report_packages

    check_out(out, *sources)
    if out == STDOUT or out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"The name of a report must end in .html, got {out}.")
    check_report_packages()
    if str(out) in sources or (_has_content(out) and not _is_report(out)):
        raise _wrong_kind_error(out, "mercer report", "--report")


def _has_content(out: Path) -> bool:
    """Return whether `out` is a file that is not empty."""
    return out.is_file() and out.stat().st_size > 0


def _wrong_kind_error(out: Path, wanted: str, option: str) -> ValueError:
    """Return the error that `out` exists and is not a `wanted` file, such as a model."""
    return ValueError(
        f"{out} exists and is not a {wanted}, so it is not replaced: name another file with "
        f"{option}, or delete it first."
    )


def write_file(out: Path, write: Callable[[], object]) -> None:
    """Call `write`, which writes the file `out`; convert an OS error to a `ValueError`."""
    try:
        write()
    except BrokenPipeError:
        raise
    except OSError as problem:
        why = problem.strerror or str(problem)
        kept = " What was there before is unchanged." if out.is_file() else ""
        raise ValueError(f"{out} cannot be written: {why}.{kept}") from None


def _is_same_file(out: Path, source: str) -> bool:
    """Return whether `out` is the file `source`; for "-", whether it is standard input."""
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
    """Return whether a file is a model of mercer."""
    from ...persistence import TREE

    try:
        with zipfile.ZipFile(path) as file:
            return TREE in file.namelist()
    except ARCHIVE_ERRORS:
        return False


def _is_report(path: Path) -> bool:
    """Return whether a file is a report of mercer."""
    try:
        with open(path, "rb") as file:
            return REPORT_MARK in file.read(500)
    except OSError:
        return False
