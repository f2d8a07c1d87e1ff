"""``mercer reproduce``: published tables again, with one command each."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import click

from ..experiments import EXPERIMENTS
from .terminal import shown

WIDTH = 120
"""Columns where there is no terminal to ask: a file, a pipe."""


@click.command(epilog="\n\n".join(f"{name}: {line}" for name, line in EXPERIMENTS.items()))
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
    help="For the experiment faces: your own images, a folder or an array file.",
)
def reproduce(name: str, out: Path, quick: bool, faces: Path | None) -> None:
    """Regenerate a table of results, with its picture and page, under OUT/NAME."""
    from ..datasets import DataNotFound, WrongData
    from ..experiments import reproduce as run
    from ..experiments.folder import NotWritable

    if faces is not None and name not in ("faces", "all"):
        raise click.UsageError(f"--faces is for the experiment faces, not for {name}.")
    options: dict[str, dict] = {"faces": {"faces": faces}} if faces else {}
    console, missing, taken = _console(), 0, {}
    with _stoppable():
        for chosen in EXPERIMENTS if name == "all" else [name]:
            try:
                report = run(chosen, out, console, quick=quick, **options.get(chosen, {}))
            except (DataNotFound, WrongData, ImportError) as problem:  # an extra, with its command
                missing += 1
                console.print(
                    f"{chosen}: {shown(problem)}", style="yellow", soft_wrap=True, markup=False
                )
                continue
            except NotWritable as problem:
                raise click.ClickException(
                    f"{shown(problem)} Name another folder with --out."
                ) from None
            _show(console, report)
            console.print(f"written to {shown(out / chosen)}", markup=False)
            taken[chosen] = (report.seconds, report.peak)
    if len(taken) > 1:
        console.print(_summary(taken).rich())
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


def _console() -> Any:
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def _summary(taken: dict) -> Any:
    """What each experiment took, and all of them."""
    from ..experiments.tables import Table

    rows = [[name, f"{seconds:.1f}", f"{peak:.2f}"] for name, (seconds, peak) in taken.items()]
    seconds, peaks = zip(*taken.values(), strict=True)
    rows.append(["all", f"{sum(seconds):.1f}", f"{max(peaks):.2f}"])
    return Table("what it took", ["experiment", "seconds", "peak memory, GiB"], rows)


def _show(console: Any, report: Any) -> None:
    for table in report.tables():
        console.print(table.rich())
    for line in (*report.verdicts(), *report.notes, report.attribution):
        if line:
            console.print(line, style="dim", highlight=False, markup=False)
    console.print(f"{report.seconds:.1f} s, peak memory {report.peak:.2f} GiB")
