"""The command line: learn from files, predict, evaluate, play, and reproduce published tables."""

from __future__ import annotations

import click

from .. import __version__
from .demo import demo
from .files import evaluate, fit, info, predict
from .reproduce import reproduce


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Predict images, curves, words, rankings, label sets and graphs with kernels."""


for command in (fit, predict, evaluate, info, demo, reproduce):
    main.add_command(command)
