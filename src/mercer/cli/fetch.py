"""``mercer fetch``: data sets from their public pages."""

from __future__ import annotations

import click

from .terminal import busy, one_sentence


@click.command()
@click.argument("names", nargs=-1)
@one_sentence
def fetch(names: tuple[str, ...]) -> None:
    """Download data sets into the folder that MERCER_DATA names (or a cache), and check them.

    Without NAMES, list those that can be fetched, and those whose files you must get yourself.
    """
    from .. import datasets
    from ..datasets.fetching import BY_HAND

    if not names:
        click.echo(f"Data folder: {datasets.data_folder()}")
        click.echo(f"To fetch:    {', '.join(sorted(datasets.FETCHABLE))}")
        click.echo("By hand:")
        for name in BY_HAND:
            click.echo(f"  {name}: {_state(getattr(datasets, f'load_{name}'))}")
        return
    for name in names:
        with busy(f"fetching {name}"):
            paths = datasets.fetch(name)
        for path in paths:
            click.echo(path)


def _state(load: object) -> str:
    try:
        load()  # type: ignore[operator]
    except (OSError, ValueError) as problem:
        return str(problem)
    return "is there."
