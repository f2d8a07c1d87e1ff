"""Options that several commands share, and the tables and models that their arguments name."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

OUTPUT_FORMATS = ("csv", "tsv", "json", "jsonl", "parquet", "npz", "xlsx")


class FiniteNumber(click.FloatRange):
    """Type of command-line values that are finite numbers in a range."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Convert a command-line value to a finite number in the range, or fail with a message."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


FRACTION = FiniteNumber(0, 1, min_open=True, max_open=True)
POSITIVE_SECONDS = FiniteNumber(0, min_open=True)
FILE = click.Path(exists=True, dir_okay=False, allow_dash=True)
data = click.argument("data", type=FILE)
model_argument = click.argument("model", type=FILE)
as_json = click.option(
    "--json", "as_json", is_flag=True, help="Write JSON to standard output, for scripts."
)
READING = (
    click.option("--format", type=click.Choice(OUTPUT_FORMATS),
                 help="Format of DATA, if its suffix does not say it."),
    click.option("--encoding", help="Encoding of a text file; guessed from the file by default."),
    click.option("--header/--no-header", default=None,
                 help="Whether the first row has the names of the columns (otherwise 1, 2, …); "
                 "guessed from the file by default."),
    click.option("--separator", help="Separator of cells: a comma, semicolon, tab (\\t) or |; "
                 "guessed from the file by default."),
    click.option("--sheet", help="Sheet of a spreadsheet, if several have cells."),
    click.option("--decimal", type=click.Choice([".", ","]),
                 help="Decimal mark, if the numbers are ambiguous."),
    click.option("--day-first/--month-first", default=None,
                 help="How to read 3/4/2024, if the dates are ambiguous."),
    click.option("--missing", multiple=True, metavar="TEXT",
                 help="Text of an empty cell, instead of NA, N/A, NaN, null and None; can be "
                 "repeated. With --missing '' only cells without text are empty."),
    click.option("--drop-missing", is_flag=True, help="Leave out rows with empty cells."),
    as_json,
)  # fmt: skip


def with_reading_options(command: Callable) -> Callable:
    """Add the options for reading a table to a command."""
    return reduce(lambda command, option: option(command), reversed(READING), command)


def read_table(data: str, missing: tuple[str, ...], separator: str | None, **options: Any) -> Any:
    """Read the table in the file `data` according to the command-line options."""
    from ...tables import read

    separator = "\t" if separator in ("\\t", "tab") else separator
    if separator is not None and len(separator) != 1:
        raise ValueError(f"--separator must be one character, got {separator!r}.")
    return read(data, missing=missing or None, separator=separator, **options)


def load_model(path: str) -> Any:
    """Load the model in the file `path`; "-" is standard input."""
    from ... import AutoDependency
    from ...persistence import load

    model = load(path) if path != "-" else _load_from_stdin(load)
    if not isinstance(model, AutoDependency):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which has no named columns: use it in Python "
            "with mercer.load, or make a model with mercer fit."
        )
    if not model.named_:
        raise ValueError(f"{path} was fitted on arrays without names: use it in Python.")
    return model


def _load_from_stdin(load: Callable[[Path], Any]) -> Any:
    """Load a model from standard input: write it to a temporary file, and call `load` on it."""
    if sys.stdin is None:
        raise ValueError("standard input is closed: name a file.")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        file.write_bytes(sys.stdin.buffer.read())
        try:
            return load(file)
        except ValueError as problem:
            raise ValueError(str(problem).replace(str(file), "standard input")) from None


def load_model_and_table(model: str, data: str, options: dict[str, Any]) -> tuple[Any, Any]:
    """Load the model in the file `model`, and read the table in the file `data`.

    Unless `options` say so, the texts that mean an empty cell are those of the training table.
    """
    if model == data == "-":
        raise ValueError("only one of MODEL and DATA can be standard input.")
    learnt = load_model(model)
    missing = options["missing"] or learnt.missing_
    return learnt, read_table(data, **options | {"missing": missing})
