"""Options that several commands have, and the tables and models that their arguments name."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

FORMATS = ("csv", "tsv", "json", "jsonl", "parquet", "npz", "xlsx")


data = click.argument("data", type=click.Path())
model_file = click.argument("model", type=click.Path())
as_json = click.option(
    "--json", "as_json", is_flag=True, help="JSON on standard output, for scripts."
)
READING = (
    click.option("--format", type=click.Choice(FORMATS), help="Of DATA, where its suffix does not "
                 "say."),
    click.option("--encoding", default="utf-8", show_default=True, help="Of a text file."),
    click.option("--header/--no-header", default=None,
                 help="Whether the first row names the columns, which are 1, 2, … otherwise; "
                 "seen from the file if not said."),
    click.option("--separator", help="Between cells: a comma, semicolon, tab (\\t) or |; seen from "
                 "the file if not said."),
    click.option("--sheet", help="Of a spreadsheet, where several have cells."),
    click.option("--decimal", type=click.Choice([".", ","]), help="The decimal mark, where the "
                 "numbers leave it open."),
    click.option("--day-first/--month-first", default=None, help="What 3/4/2024 is, where the "
                 "dates leave it open."),
    click.option("--missing", multiple=True, metavar="TEXT",
                 help="What means an empty cell, in place of NA, N/A, NaN, null and None; repeat "
                 "it. --missing '' leaves empty cells alone."),
    click.option("--drop-missing", is_flag=True, help="Leave out rows with empty cells."),
    as_json,
)  # fmt: skip


def reading(command: Callable) -> Callable:
    """Give a command the options of reading a table, which help shows in their order."""
    return reduce(lambda command, option: option(command), reversed(READING), command)


def table_of(data: str, missing: tuple[str, ...], separator: str | None, **how: Any) -> Any:
    """The table that an argument names, read as the options say."""
    from ..tables import read

    separator = "\t" if separator in ("\\t", "tab") else separator
    if separator is not None and len(separator) != 1:
        raise ValueError(f"--separator is one character, got {separator!r}.")
    return read(data, missing=missing or None, separator=separator, **how)


def as_learnt(model: Any, how: dict[str, Any]) -> dict[str, Any]:
    """How to read new rows: what counts as an empty cell is as it was in training, unless said."""
    return how | {"missing": how["missing"] or model.missing_}


def model_of(path: str) -> Any:
    """The model that an argument names."""
    from .. import AutoDependency
    from ..persistence import load

    model = load(path)
    if not isinstance(model, AutoDependency):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which knows of no columns: use it in Python "
            "with mercer.load, or make a model with mercer fit."
        )
    if not model.named_:
        raise ValueError(f"{path} was fitted on arrays without names: use it in Python.")
    return model
