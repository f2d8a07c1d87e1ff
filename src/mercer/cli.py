"""The command line: ``mercer reproduce NAME``."""

from __future__ import annotations

from pathlib import Path

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
def reproduce(name: str, out: Path, quick: bool) -> None:
    """Regenerate a table of results, with its picture, under OUT/NAME."""
    from rich.console import Console

    from .datasets import DataNotFound, WrongData
    from .experiments import reproduce as run

    console, missing = Console(), 0
    for chosen in EXPERIMENTS if name == "all" else [name]:
        try:
            report = run(chosen, out, console, quick=quick)
        except (DataNotFound, WrongData) as problem:
            missing += 1
            console.print(f"[yellow]{chosen}: {problem}[/]", soft_wrap=True)
            continue
        console.print(report.table())
        for note in report.notes:
            console.print(note, style="dim")
        console.print(f"written to {out / chosen}")
    if missing:
        raise SystemExit(1)
