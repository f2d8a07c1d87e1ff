"""Commands on files of one's own: fit, predict, evaluate, info."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

SPACES = ("text", "labels", "ranking", "curve", "image", "vector", "smiles")


def one_sentence(command: Callable) -> Callable:
    """What is wrong with a file or a model ends a command with a sentence, not a traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _note
                command(*args, **kwargs)
        except (ValueError, TypeError, ImportError, MemoryError, OSError) as problem:
            raise click.ClickException(str(problem)) from None

    return run


def _note(message: Any, *_: Any, **__: Any) -> None:
    """A warning as a sentence, without the line of code that gave it."""
    click.echo(f"Note: {message}", err=True)


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
    click.option("--format", type=click.Choice(["csv", "tsv", "jsonl", "parquet", "npz"]),
                 help="Of DATA, where its suffix does not say."),
    click.option("--encoding", default="utf-8", show_default=True, help="Of a text file."),
    click.option("--header/--no-header", default=None,
                 help="Whether the first row names the columns, which are 1, 2, … otherwise; "
                 "seen from the file if not said."),
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
    help="Where to save the model.",
)
@reading
@one_sentence
def fit(data: str, inputs: tuple, outputs: tuple, space: str, input_space: str, out: Path,
        drop_missing: bool, as_json: bool, **how: Any) -> None:  # fmt: skip
    """Learn some columns of DATA from others, and save the model.

    DATA is CSV, TSV, JSON Lines, Parquet or NPZ, or - for standard input. Without columns the
    first predicts the last. Kernel, operator and ridge are chosen by leave-one-out.
    """
    from ..persistence import save
    from ..tables import TableModel

    table = _table(data, **how)
    names = list(table.columns)
    _check_out(out)
    start = time.perf_counter()
    model = TableModel(list(inputs) or names[:1], list(outputs) or names[-1:], input_space, space,
                       drop_missing)  # fmt: skip
    with _busy(f"learning from {len(table)} rows"):
        model.fit(table)
    save(model, out)
    facts = _facts(model) | {"seconds": round(time.perf_counter() - start, 2), "model": str(out)}
    _tell(facts, f"{table.source}", as_json)


@click.command()
@model_file
@data
@click.option("--top", type=click.IntRange(1), help="The best so many, with their scores.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="Where to write; standard output otherwise. The suffix says the format.",
)
@reading
@one_sentence
def predict(model: str, data: str, top: int | None, out: Path | None, drop_missing: bool,
            as_json: bool, **how: Any) -> None:  # fmt: skip
    """Predict for every row of DATA with a saved MODEL."""
    from ..tables import write

    learnt, table = _model(model), _table(data, **how)
    inputs = table.names(learnt.input_space_.columns_)
    table = table.filled(inputs, drop_missing)
    if out is not None:
        _check_out(out)
    with _busy(f"predicting {len(table)} rows"):
        rows = _predicted(learnt, table, inputs, top)
    text = write(rows, out, "jsonl" if as_json and out is None else None)
    if text is not None:
        click.echo(text, nl=False)


@click.command()
@model_file
@data
@reading
@one_sentence
def evaluate(model: str, data: str, drop_missing: bool, as_json: bool, **how: Any) -> None:
    """Measure a saved MODEL on the rows of DATA, whose outputs are known."""
    learnt, table = _model(model), _table(data, **how)
    learnt.drop_missing = drop_missing
    with _busy(f"predicting {len(table)} rows"):
        measures = learnt.evaluate(table)
    _tell({"rows": len(table), **measures}, f"{table.source}", as_json)


@click.command()
@model_file
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, for scripts.")
@one_sentence
def info(model: str, as_json: bool) -> None:
    """Say what a saved MODEL has learnt from what, and what it chose."""
    _tell(_facts(_model(model)), model, as_json)


def _table(data: str, **how: Any) -> Any:
    from ..tables import read

    return read(data, **how)


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


def _predicted(model: Any, table: Any, inputs: list[str], top: int | None) -> list[dict]:
    given = [{name: table.columns[name][i] for name in inputs} for i in range(len(table))]
    if any(getattr(cell, "ndim", 0) for row in given[:1] for cell in row.values()):
        given = [{"line": line} for line in table.lines]  # arrays are not repeated
    cells = model.output_space_.cells
    if top is None:
        return [a | cells(y) for a, y in zip(given, model.predict(table), strict=True)]
    return [
        row | {"rank": rank, "score": float(score)} | cells(y)
        for row, ranked in zip(given, model.predict_top(table, top), strict=True)
        for rank, (y, score) in enumerate(ranked, 1)
    ]


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


def _check_out(out: Path) -> None:
    if out.is_dir():
        raise ValueError(f"{out} is a folder: name a file in it with -o.")
    if not out.parent.is_dir():
        raise ValueError(f"{out.parent} is no folder: make it first, or write elsewhere with -o.")


def _busy(what: str) -> Any:
    """A sign of life on standard error, where somebody is looking."""
    from rich.console import Console

    return Console(stderr=True).status(f"{what} …")


def _tell(facts: dict[str, Any], title: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, show_header=False)
    for name, value in facts.items():
        table.add_row(name, f"{value:.4g}" if isinstance(value, float) else str(value))
    Console(file=sys.stdout).print(table)
