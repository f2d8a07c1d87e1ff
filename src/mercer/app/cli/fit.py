"""``mercer fit``: from a file to a model."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from .options import FRACTION, POSITIVE_SECONDS, data, read_table, with_reading_options
from .out import STDOUT, check_model_out, check_report_out, write_file
from .terminal import (
    report_errors,
    score_line,
    show_columns,
    show_facts,
    spinner,
    summary_of,
    to_stdout,
)

MODEL_OPTIONS = ("scoring", "coverage", "time_limit", "preset", "random_state")
"""Options that are passed on to `AutoDependency` as parameters."""


@click.command()
@data
@click.option(
    "--input",
    "--inputs",
    "inputs",
    multiple=True,
    metavar="COLUMNS",
    help="Input columns; all other columns by default. A name, a number, a range (2-9, "
    "first..last), or several of these separated by commas; can be repeated.",
)
@click.option(
    "--output",
    "--outputs",
    "outputs",
    multiple=True,
    metavar="COLUMNS",
    help="Output columns, in the same notation; the last column by default.",
)
@click.option("--groups", metavar="COLUMN", help="Rows with equal values are left out together.")
@click.option("--id", "identity", metavar="COLUMN", help="Column with names of rows, not an input.")
@click.option(
    "--space",
    "spaces",
    multiple=True,
    metavar="[COLUMN=]KIND",
    help="Kind of a column, if the guess is wrong: number, curve, image, labels, class, ranking, "
    "text or smiles; for an input also category or nothing. Without a column: of the output. Can "
    "be repeated.",
)
@click.option("--input-space", metavar="KIND", help="Kind of all inputs.")
@click.option(
    "--scoring", help="Metric for the choice: a scorer of scikit-learn or of mercer.metrics."
)
@click.option(
    "--coverage",
    type=FRACTION,
    help="Prepare prediction sets, and check that there are enough rows for this probability, such "
    "as 0.9. Required for over 4000 rows of label sets, rankings or texts.",
)
@click.option(
    "--preset",
    type=click.Choice(["fast", "default", "best"]),
    default="default",
    help="How much is tried.",
)
@click.option(
    "--time-limit",
    type=POSITIVE_SECONDS,
    metavar="SECONDS",
    help="Time limit for fitting.",
)
@click.option("--seed", "random_state", type=int, default=0, show_default=True,
              help="Seed of forests and samples.")  # fmt: skip
@click.option(
    "--report", type=click.Path(path_type=Path), help="Write an HTML report with pictures."
)
@click.option(
    "-o",
    "--out",
    default="model.mercer",
    show_default=True,
    type=click.Path(path_type=Path),
    help="File for the model; - for standard output.",
)
@with_reading_options
@report_errors
def fit(
    data: str,
    inputs: tuple,
    outputs: tuple,
    groups: str | None,
    identity: str | None,
    spaces: tuple,
    input_space: str | None,
    report: Path | None,
    out: Path,
    drop_missing: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn some columns of DATA from others, and save the model.

    DATA is CSV, TSV, JSON, JSON Lines, Parquet, NPZ or a spreadsheet (.xlsx), gzipped or not, or -
    for standard input. By default all other columns predict the last one. The kind of each column
    is guessed from its cells and shown; kernels, forests and their blend are chosen by left-out
    predictions.
    """
    from ... import AutoDependency

    check_model_out(out, data)
    if report is not None:
        check_report_out(report, data, str(out))
    parameters = {name: options.pop(name) for name in MODEL_OPTIONS}
    table = read_table(data, **options)
    others = (name and table.names([name])[0] for name in (groups, identity))
    columns = list(inputs) or None, list(outputs) or None, *others
    model = AutoDependency(*columns, **parameters, verbose=True)
    table = _choose_columns(model, table, spaces, input_space, drop_missing)
    model.fit(table)
    model.verbose = False
    with spinner("scoring the baselines"):
        model.baselines_  # noqa: B018 (their scores are saved with the model)
    to_stderr = out == STDOUT
    write_file(out, partial(_save_model, model, out))
    if report is not None:
        write_file(report, lambda: model.report(report))
    if not as_json:
        show_columns(model, table.columns, err=to_stderr)
    facts = {"read as": table.read_as} | summary_of(model, as_json)
    facts |= {"seconds": round(model.seconds_, 2), "model": str(out)}
    facts |= {} if report is None else {"report": str(report)}
    show_facts(facts, table.source, as_json, err=to_stderr)
    if not as_json:
        click.echo(score_line(model), err=to_stderr)


def _choose_columns(
    model: Any, table: Any, spaces: tuple, input_space: str | None, drop: bool
) -> Any:
    """Set the inputs and the output of a model by the options; return a table of their columns.

    If `drop`, rows with empty cells are left out.
    """
    from ...auto.kinds.guess import with_guesses

    outputs = model._output_names(table)
    inputs = model._input_names(table, outputs)
    if not inputs:
        raise ValueError(f"{table.source} has one column: an input and an output are required.")
    kinds = {name: input_space for name in inputs if input_space}
    chosen: dict[Any, str] = {}
    for space in spaces:
        column, equals, kind = space.rpartition("=")
        names = table.names([column]) if equals else outputs
        kinds |= {name: kind for name in names if name in inputs}
        chosen |= {name: kind for name in names if name in outputs}
    given = with_guesses(table, outputs, chosen) if chosen else outputs
    model.set_params(inputs=kinds or None, output=given)
    if drop:  # a column without a single value is not used
        full = [name for name in inputs if len(table.empty(name)) < len(table)]
        table = table.filled([*full, *outputs], drop=True)
    kept = {*inputs, *outputs, model.groups, model.id}
    return replace(table, columns={n: cells for n, cells in table.columns.items() if n in kept})


def _save_model(model: Any, out: Path) -> None:
    """Write the model to the file `out`, or to standard output."""
    from ...persistence import save

    if out != STDOUT:
        save(model, out)
        return
    with tempfile.TemporaryDirectory() as folder:
        to_stdout(save(model, Path(folder) / "model").read_bytes(), binary=True)
