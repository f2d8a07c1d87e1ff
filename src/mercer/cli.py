"""The command line: ``mercer reproduce NAME``."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import click

from . import __version__
from .experiments import EXPERIMENTS


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Predict images, curves, words, rankings, label sets and graphs with kernels."""


@main.command(epilog="\n\n".join(f"{name}: {line}" for name, line in EXPERIMENTS.items()))
@click.argument("name", type=click.Choice([*EXPERIMENTS, "all"]))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out"),
    show_default=True,
    help="The folder for results.",
)
@click.option("--quick", is_flag=True, help="A small version, for a first look.")
@click.option(
    "--faces",
    type=click.Path(path_type=Path, exists=True),
    help="For faces: an array file (subject, view, height, width), or a folder of images.",
)
def reproduce(name: str, out: Path, quick: bool, faces: Path | None) -> None:
    """Regenerate a table of results, with its picture, under OUT/NAME."""
    from rich.console import Console

    from .datasets import DataNotFound, WrongData
    from .experiments import reproduce as run

    console, missing = Console(), 0
    with _stoppable():
        for chosen in EXPERIMENTS if name == "all" else [name]:
            try:
                options = {"faces": faces} if chosen == "faces" and faces else {}
                report = run(chosen, out, console, quick=quick, **options)
            except (DataNotFound, WrongData) as problem:
                missing += 1
                console.print(f"[yellow]{chosen}: {problem}[/]", soft_wrap=True)
                continue
            _show(console, report)
            console.print(f"written to {out / chosen}")
    if missing:
        raise SystemExit(1)


@contextmanager
def _stoppable() -> Iterator[None]:
    """A polite request to stop leaves through every `finally`, and takes drafts with it."""

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    names = ("SIGTERM", "SIGHUP") if current_thread() is main_thread() else ()
    numbers = [getattr(signal, name) for name in names if name in signal.Signals.__members__]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show(console: Any, report: Any) -> None:
    for table in report.tables():
        console.print(table.rich())
    for line in (*report.verdicts(), *report.notes, report.attribution):
        if line:
            console.print(line, style="dim", highlight=False, markup=False)
    console.print(f"{report.seconds:.1f} s, peak memory {report.peak:.2f} GiB")
