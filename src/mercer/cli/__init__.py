"""The command line: fit a model on a file, predict, evaluate, inspect, and serve the demo page."""

from __future__ import annotations

import click

from .. import __version__
from .demo import demo
from .fetch import fetch
from .fit import fit
from .predict import evaluate, info, predict


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Predict images, curves, words, rankings, label sets and graphs with kernels."""


@click.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def reproduce(arguments: tuple[str, ...]) -> None:
    """Say where the experiments are."""
    raise click.ClickException(
        "The experiments are not part of the installed package: run `make reproduce NAME=…` in a "
        "clone of the repository."
    )


for command in (fit, predict, evaluate, info, demo, fetch, reproduce):
    main.add_command(command)
