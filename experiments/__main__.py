"""Run experiments: ``python -m experiments NAME [NAME …] [--out DIR] [--quick]``."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import click

from . import EXPERIMENTS

WIDTH = 120
"""Columns where output goes to a file or a pipe."""


@click.command(epilog="\n\n".join(f"{name}: {line}" for name, line in EXPERIMENTS.items()))
@click.argument("names", nargs=-1, required=True, type=click.Choice([*EXPERIMENTS, "all"]))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out"),
    show_default=True,
    help="The folder for results.",
)
@click.option("--quick", is_flag=True, help="Run a small version, for a first look.")
@click.option(
    "--faces",
    type=click.Path(path_type=Path, exists=True),
    help="For the experiment faces: your own images, a folder or an array file.",
)
@click.option("--jobs", type=click.IntRange(1), help="Processes, for experiments that can.")
@click.option("--device", help="For the experiment operators: a GPU of PyTorch, such as cuda.")
@click.option("--repeats", type=click.IntRange(1), help="Repeats or splits, where there are any.")
def main(
    names: tuple[str, ...],
    out: Path,
    quick: bool,
    faces: Path | None,
    jobs: int | None,
    repeats: int | None,
    device: str | None,
) -> None:
    """Regenerate tables of results, each with its picture and page, under OUT/NAME."""
    from mercer.datasets import DataNotFound, WrongData

    from . import reproduce
    from .folder import NotWritable

    chosen = list(EXPERIMENTS if "all" in names else dict.fromkeys(names))
    if faces is not None and "faces" not in chosen:
        raise click.UsageError(f"--faces is for the experiment faces, not for {', '.join(chosen)}.")
    given = {"faces": faces, "jobs": jobs, "repeats": repeats, "device": device}
    given = {name: value for name, value in given.items() if value is not None}
    console, missing, resources = _make_console(), 0, {}
    with _stop_by_system_exit():
        for name in chosen:
            try:
                report = reproduce(name, out, console, quick=quick, **given)
            except (DataNotFound, WrongData, ImportError) as problem:  # an extra, with its command
                missing += 1
                console.print(f"{name}: {problem}", style="yellow", soft_wrap=True, markup=False)
                continue
            except NotWritable as problem:
                raise click.ClickException(f"{problem} Name another folder with --out.") from None
            _print_report(console, report)
            console.print(f"written to {out / name}")
            resources[name] = (report.seconds, report.peak)
    if len(resources) > 1:
        console.print(_resource_table(resources).rich())
    if missing:
        raise SystemExit(1)


@contextmanager
def _stop_by_system_exit() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit, so that draft folders are removed."""

    def leave(number: int, frame: Any) -> None:
        """Raise SystemExit with the exit status of the signal."""
        raise SystemExit(128 + number)

    names = ("SIGTERM", "SIGHUP") if current_thread() is main_thread() else ()
    numbers = [getattr(signal, name) for name in names if name in signal.Signals.__members__]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _make_console() -> Any:
    """Return a rich console, of a fixed width where the output is not a terminal."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def _resource_table(resources: dict) -> Any:
    """Return a table of the seconds and the peak memory of each experiment."""
    from .tables import Table

    rows = [[name, f"{seconds:.1f}", f"{peak:.2f}"] for name, (seconds, peak) in resources.items()]
    seconds, peaks = zip(*resources.values(), strict=True)
    rows.append(["all", f"{sum(seconds):.1f}", f"{max(peaks):.2f}"])
    return Table("what it took", ["experiment", "seconds", "peak memory, GiB"], rows)


def _print_report(console: Any, report: Any) -> None:
    """Print the tables, the verdicts and the notes of a report."""
    for table in report.tables():
        console.print(table.rich())
    for line in (*report.verdicts(), *report.notes, report.attribution):
        if line:
            console.print(line, style="dim", highlight=False, markup=False)
    console.print(f"{report.seconds:.1f} s, peak memory {report.peak:.2f} GiB")


if __name__ == "__main__":
    main(prog_name="python -m experiments")
