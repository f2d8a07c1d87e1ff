"""``mercer fetch``: data sets from their public pages."""

from __future__ import annotations

from collections.abc import Callable

import click

from .terminal import report_errors, spinner


@click.command()
@click.argument("names", nargs=-1)
@report_errors
def fetch(names: tuple[str, ...]) -> None:
    """Download data sets into the folder MERCER_DATA (by default a cache), and check them.

    Without NAMES, list the data sets that can be downloaded and those that you have to download
    yourself.
    """
    from ... import datasets
    from ...datasets.fetching import BY_HAND

    if not names:
        click.echo(f"Data folder: {datasets.data_folder()}")
        click.echo(f"Download:    {', '.join(sorted(datasets.FETCHABLE))}")
        click.echo("Yourself:")
        for name in BY_HAND:
            click.echo(f"  {name}: {_availability(getattr(datasets, f'load_{name}'))}")
        return
    for name in names:
        with spinner(f"fetching {name}"):
            paths = datasets.fetch(name)
        for path in paths:
            click.echo(path)


def _availability(load: Callable[[], object]) -> str:
    """Return "is present." if `load` succeeds, and the message of its error if not."""
    try:
        load()
    except (OSError, ValueError) as problem:
        return str(problem)
    return "is present."
