"""Command line: fit a model on a file, predict, evaluate, inspect, and serve the web page."""

from __future__ import annotations

import click

from ... import __version__
from .compile import compile_loops
from .demo import demo
from .fetch import fetch
from .fit import fit
from .predict import evaluate, info, predict


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__)
def main() -> None:
    """Predict images, curves, words, rankings, label sets and graphs with kernels."""


for command in (fit, predict, evaluate, info, demo, fetch, compile_loops):
    command.short_help = (command.help or "").split("\n\n")[0].replace("\n", " ")  # never cut
    main.add_command(command)
