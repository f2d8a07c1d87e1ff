"""``mercer predict``, ``evaluate`` and ``info``: use a saved model."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import click

from .options import (
    FRACTION,
    data,
    load_model,
    load_model_and_table,
    model_argument,
    with_reading_options,
)
from .options import as_json as json_option
from .out import STDOUT, check_table_out, write_file
from .terminal import report_errors, show_facts, spinner, summary_of, to_stdout


@click.command()
@model_argument
@data
@click.option("--top", type=click.IntRange(1), help="Write the best TOP outputs and their scores.")
@click.option(
    "--coverage",
    type=FRACTION,
    help="Add sets that contain the true output with this probability, such as 0.9.",
)
@click.option("--probabilities", is_flag=True, help="Add the probability of each class or label.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="File for the predictions, in the format of its suffix; standard output (CSV) by default.",
)
@with_reading_options
@report_errors
def predict(
    model: str,
    data: str,
    top: int | None,
    coverage: float | None,
    probabilities: bool,
    out: Path | None,
    drop_missing: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Predict the output of every row of DATA by a saved MODEL.

    Either of the two can be - for standard input.
    """
    from ...tables import write

    to = STDOUT if out is None else out
    check_table_out(to, model, data)
    if top is not None and coverage is not None:
        raise ValueError("--top and --coverage cannot be combined: use one of them.")
    learnt, table = load_model_and_table(model, data, options)
    if probabilities and not learnt.outputs_.has_labels:
        raise ValueError("--probabilities requires classes or label sets as outputs.")
    if drop_missing:
        table = _without_missing(table, learnt.inputs_.kinds_)
    with spinner(f"predicting {len(table)} rows"):
        rows = _prediction_rows(learnt, table, top, coverage, probabilities)
    if to != STDOUT:
        write_file(to, partial(write, rows, to))
        return
    text = write(rows, None, "jsonl" if as_json else "csv")
    to_stdout(str(text).encode())


@click.command()
@model_argument
@data
@with_reading_options
@report_errors
def evaluate(model: str, data: str, drop_missing: bool, as_json: bool, **options: Any) -> None:
    """Compare the predictions of a saved MODEL with the outputs in DATA."""
    learnt, table = load_model_and_table(model, data, options)
    if drop_missing:
        table = _without_missing(table, learnt.spaces_)
    with spinner(f"predicting {len(table)} rows"):
        measures = learnt.evaluate(table)
    _warn_of_unseen_labels(learnt, table)
    show_facts({"rows": len(table), **measures}, table.source, as_json)


@click.command()
@model_argument
@json_option
@report_errors
def info(model: str, as_json: bool) -> None:
    """Show the columns, the chosen kernels and the score of a saved MODEL."""
    learnt = load_model(model)
    try:
        facts = summary_of(learnt, as_json)
    except Exception as problem:  # a damaged file can contain anything
        raise ValueError(
            f"{model} is damaged: its summary cannot be shown ({problem!s:.100}). Save the model "
            "again."
        ) from problem
    show_facts(facts, model, as_json)


def _without_missing(table: Any, kinds: dict[Any, str]) -> Any:
    """Return the table without the rows that have an empty cell in a column that is used."""
    used = [name for name, kind in kinds.items() if kind != "nothing"]
    return table.filled(table.names(used), drop=True)


def _warn_of_unseen_labels(model: Any, table: Any) -> None:
    """Warn about labels in the output columns of the table that the model cannot predict."""
    if not model.outputs_.has_labels or len(model.outputs_.columns_) > 1:
        return
    labels = set().union(*model.outputs_.sets_of(model.outputs_.read(table)))
    unseen = sorted(map(str, labels - set(model.classes_)))
    if unseen:
        named = ", ".join(map(repr, unseen[:5])) + (", …" if len(unseen) > 5 else "")
        warnings.warn(
            f"{table.source} has labels that the training data does not have and that are never "
            f"predicted: {named}.", stacklevel=2
        )  # fmt: skip


def _prediction_rows(
    model: Any, table: Any, top: int | None, coverage: float | None, probabilities: bool
) -> list[dict]:
    """Return the cells and predictions of each row as dictionaries, without input arrays.

    `top`, `coverage` and `probabilities` are the options of the command. With `top`, there is a
    dictionary for each of the best outputs of a row.
    """
    import numpy as np

    shown_columns = [
        n for n, cells in table.columns.items() if not isinstance(cells[0], np.ndarray)
    ]
    inputs = [{name: table.columns[name][i] for name in shown_columns} for i in range(len(table))]
    if not shown_columns:
        inputs = [{"line": line} for line in table.lines]
    if top is not None:
        predictions = [_ranked_rows(model, ranked) for ranked in model.predict_top(table, top)]
    else:
        predicted = model.predict(table)
        columns = {f"predicted {name}": predicted[name] for name in model.outputs_.columns_}
        if coverage is not None:
            sets = model.predict_set(table, coverage)
            columns |= {name: cells for name, cells in sets.items() if name != model.id}
        if probabilities:
            named = zip(model.classes_, model.predict_proba(table).T, strict=True)
            columns |= {f"probability of {name}": column for name, column in named}
        predictions = [[{n: cells[i] for n, cells in columns.items()}] for i in range(len(table))]
    _check_finite(predictions, table)
    return [
        row | {_free_name(name, row): value for name, value in cells.items()}
        for row, predicted in zip(inputs, predictions, strict=True)
        for cells in predicted
    ]


def _ranked_rows(model: Any, ranked: list) -> list[dict]:
    """Return a row with rank, score and output for each (output, score) pair of `ranked`."""
    names = model.outputs_.columns_
    return [
        {"rank": i + 1, "score": score}
        | {f"predicted {name}": y if len(names) == 1 else y[name] for name in names}
        for i, (y, score) in enumerate(ranked)
    ]


def _check_finite(predicted: list[list[dict]], table: Any) -> None:
    """Raise an error that names the first row of the table with a prediction that is not finite."""
    import numpy as np

    for i, cells in enumerate(predicted):
        values = [value for row in cells for value in row.values()]
        numbers = [np.asarray(v) for v in values if isinstance(v, float | np.ndarray)]
        if not all(np.isfinite(A).all() for A in numbers if A.dtype.kind == "f"):
            raise ValueError(
                f"{table.at(i)}: the prediction is not finite. Check whether the input is far "
                "from the training data, or fit the model again."
            )


def _free_name(name: str, row: dict) -> str:
    """Return `name`, followed by a number such as " (2)" if the row has a cell of that name."""
    others = (f"{name} ({number})" for number in count(2))
    return next(free for free in chain([name], others) if free not in row)
