"""Commands on files of one's own: fit, predict, evaluate, info."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from .out import STDOUT, check_model_out, check_table_out, written
from .terminal import busy, one_sentence, tell, to_stdout

SPACES = ("text", "labels", "ranking", "curve", "image", "vector", "smiles")
FORMATS = ("csv", "tsv", "json", "jsonl", "parquet", "npz", "xlsx")


def options(*given: Callable) -> Callable:
    """Several options at once, in the order in which help should show them."""

    def decorate(command: Callable) -> Callable:
        for option in reversed(given):
            command = option(command)
        return command

    return decorate


data = click.argument("data", type=click.Path())
model_file = click.argument("model", type=click.Path())
reading = options(
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
    click.option("--json", "as_json", is_flag=True, help="JSON on standard output, for scripts."),
)  # fmt: skip


@click.command()
@data
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="COLUMN",
    help="What to predict from: a name, a number, or a range like 2-9; repeat it.",
)
@click.option(
    "--output", "outputs", multiple=True, metavar="COLUMN", help="What to predict, likewise."
)
@click.option("--space", type=click.Choice(SPACES), help="What the output is, if the guess errs.")
@click.option("--input-space", type=click.Choice(SPACES), help="What the input is, likewise.")
@click.option(
    "-o",
    "--out",
    default="model.mercer",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where to save the model; - for standard output.",
)
@reading
@one_sentence
def fit(data: str, inputs: tuple, outputs: tuple, space: str, input_space: str, out: Path,
        drop_missing: bool, as_json: bool, **how: Any) -> None:  # fmt: skip
    """Learn some columns of DATA from others, and save the model.

    DATA is CSV, TSV, JSON, JSON Lines, Parquet, NPZ or a spreadsheet (.xlsx), gzipped or not, or -
    for standard input. Without columns the first predicts the last. Kernel, operator and ridge are
    chosen by leave-one-out.
    """
    from ..tables import TableModel

    check_model_out(out, data)
    table = _table(data, **how)
    names = list(table.columns)
    start = time.perf_counter()
    model = TableModel(list(inputs) or names[:1], list(outputs) or names[-1:], input_space, space,
                       drop_missing)  # fmt: skip
    with busy(f"learning from {len(table)} rows"):
        model.fit(table)
    written(out, partial(_save, model, out))
    facts = {"read as": table.read_as} | _facts(model)
    facts |= {"seconds": round(time.perf_counter() - start, 2), "model": str(out)}
    tell(facts, table.source, as_json, err=out == STDOUT)


@click.command()
@model_file
@data
@click.option("--top", type=click.IntRange(1), help="The best so many, with their scores.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="Where to write; standard output otherwise (or -). The suffix says the format.",
)
@reading
@one_sentence
def predict(model: str, data: str, top: int | None, out: Path | None, drop_missing: bool,
            as_json: bool, **how: Any) -> None:  # fmt: skip
    """Predict for every row of DATA with a saved MODEL."""
    from ..tables import write

    to = STDOUT if out is None else out
    check_table_out(to, model, data)
    learnt = _model(model)
    table = _table(data, **_as_learnt(learnt, how))
    inputs = table.names(learnt.input_space_.columns_)
    table = table.filled(inputs, drop_missing)
    with busy(f"predicting {len(table)} rows"):
        rows = _predicted(learnt, table, top)
    if to != STDOUT:
        written(to, partial(write, rows, to))
        return
    text = write(rows, None, "jsonl" if as_json else None)
    to_stdout(str(text).encode())


@click.command()
@model_file
@data
@reading
@one_sentence
def evaluate(model: str, data: str, drop_missing: bool, as_json: bool, **how: Any) -> None:
    """Measure a saved MODEL on the rows of DATA, whose outputs are known."""
    learnt = _model(model)
    table = _table(data, **_as_learnt(learnt, how))
    learnt.drop_missing = drop_missing
    with busy(f"predicting {len(table)} rows"):
        measures = learnt.evaluate(table)
    tell({"rows": len(table), **measures}, table.source, as_json)


@click.command()
@model_file
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, for scripts.")
@one_sentence
def info(model: str, as_json: bool) -> None:
    """Say what a saved MODEL has learnt from what, and what it chose."""
    tell(_facts(_model(model)), model, as_json)


def _table(data: str, missing: tuple[str, ...], separator: str | None, **how: Any) -> Any:
    from ..tables import read

    separator = "\t" if separator in ("\\t", "tab") else separator
    if separator is not None and len(separator) != 1:
        raise ValueError(f"--separator is one character, got {separator!r}.")
    return read(data, missing=missing or None, separator=separator, **how)


def _as_learnt(model: Any, how: dict[str, Any]) -> dict[str, Any]:
    """How to read new rows: what counts as an empty cell is as it was in training, unless said."""
    return how | {"missing": how["missing"] or getattr(model, "missing_", ())}


def _save(model: Any, out: Path) -> None:
    from ..persistence import save

    if out != STDOUT:
        save(model, out)
        return
    with tempfile.TemporaryDirectory() as folder:
        to_stdout(save(model, Path(folder) / "model").read_bytes(), binary=True)


def _model(path: str) -> Any:
    from ..persistence import load
    from ..tables import TableModel

    model = load(path)
    if not isinstance(model, TableModel):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which knows of no columns: use it in Python "
            "with mercer.load, or make a model with mercer fit."
        )
    return model


def _predicted(model: Any, table: Any, top: int | None) -> list[dict]:
    """The rows of the table, with what is predicted for each; arrays are not repeated."""
    kept = [n for n, cells in table.columns.items() if not getattr(cells[0], "ndim", 0)]
    given = [{name: table.columns[name][i] for name in kept} for i in range(len(table))]
    if not kept:
        given = [{"line": line} for line in table.lines]
    if top is None:
        new = [[model.output_space_.cells(y)] for y in model.predict(table)]
    else:
        new = [
            [
                {"rank": rank, "score": float(score)} | model.output_space_.cells(y)
                for rank, (y, score) in enumerate(ranked, 1)
            ]
            for ranked in model.predict_top(table, top)
        ]
    _check_finite(new, table)
    return [
        row | {_free(name, row): value for name, value in cells.items()}
        for row, predicted in zip(given, new, strict=True)
        for cells in predicted
    ]


def _check_finite(predicted: list[list[dict]], table: Any) -> None:
    import numpy as np

    for line, cells in zip(table.lines, predicted, strict=True):
        for value in (value for row in cells for value in row.values()):
            if isinstance(value, float | np.ndarray) and not np.isfinite(value).all():
                raise ValueError(
                    f"{table.source}, line {line}: the prediction is not finite. The input is far "
                    "from everything learnt from, or the model is damaged: mend either."
                )


def _free(name: str, row: dict) -> str:
    """A name that no column of the table has: predictions never replace what was given."""
    number = 2
    free = name
    while free in row:
        free, number = f"{name} ({number})", number + 1
    return free


def _facts(model: Any) -> dict[str, Any]:
    """What there is to say of a model, for a table or for JSON."""
    estimator = model.estimator_
    sides = {
        "input": f"{', '.join(_short(model.input_space_.columns_))} ({model.input_space_.name})",
        "output": f"{', '.join(_short(model.output_space_.columns_))} ({model.output_space_.name})",
    }
    chosen = {"estimator": type(estimator).__name__}
    if hasattr(estimator, "alpha_"):
        chosen |= {"kernel": str(estimator.kernel_), "output kernel": str(estimator.output_kernel_),
                   "alpha": estimator.alpha_}  # fmt: skip
    left_out = {f"{name}, left out": value for name, value in model.left_out_.items()}
    return {**sides, "rows": model.rows_, **chosen, **left_out}


def _short(names: list[str]) -> list[str]:
    return names if len(names) <= 4 else [*names[:2], "…", names[-1]]
