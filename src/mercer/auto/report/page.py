"""The sections of a report, from what was found to examples with their explanations."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..._files import replacing
from ..measures import row_errors
from .html import Html, bar, page, section, shown, small, table
from .pictures import pictures, spread_over
from .svg import spark

EXAMPLES = 4
COLUMNS = 12
"""Columns that are listed before one asks for more."""
INPUTS = 6
"""Input columns that an example shows."""


def write_report(model: Any, path: Path) -> Path:
    """Write the report of a fitted `AutoDependency`."""
    names = ", ".join(map(str, model.outputs_.columns_[:5]))
    body = [_head(model, names), _columns(model), _scores(model), *_errors(model)]
    text = page(names[:80], body)
    with replacing(path) as draft:
        draft.write_bytes(text.encode("utf-8", "backslashreplace"))
    return path


def _head(model: Any, names: str) -> str:
    best = max(model.baselines_, key=lambda name: model.baselines_[name], default=None)
    metric = model.metric_name_
    tiles = [(f"{model.loo_score_:.3f}", f"mercer, {metric} of left-out rows")]
    if best is not None:
        tiles.append((f"{model.baselines_[best]:.3f}", f"{best}, the best simple baseline"))
    tiles.append((f"{model.n_rows_:,}", f"rows, fitted in {model.seconds_:.0f} s"))
    shown_tiles = "".join(
        f'<div><div class="big">{escape(value)}</div><div class="soft">{escape(what)}</div></div>'
        for value, what in tiles
    )
    notes = "".join(f'<p class="soft">{escape(note)}</p>' for note in model.notes_)
    what = f'<p class="soft">Chosen: {escape(model.chosen_)}</p>'
    return (
        f"<h1>Predicting {escape(names)}</h1>"
        f'<section><div class="tiles">{shown_tiles}</div>{what}{notes}</section>'
    )


def _columns(model: Any) -> str:
    outputs = set(model.outputs_.columns_)
    rows = [
        {
            "column": str(name),
            "used as": "output" if name in outputs else "not used" * (kind == "nothing") or "input",
            "holds": kind,
            "seen": model.found_.get(name, ""),
        }
        for name, kind in model.spaces_.items()
    ]
    rest = table(rows[COLUMNS:], most=200)
    more = f"<details><summary>{len(rows) - COLUMNS} more</summary>{rest}</details>" if rest else ""
    return section("Columns", table(rows[:COLUMNS]), more)


def _scores(model: Any) -> str:
    metric = model.metric_name_
    board = [
        {"family": row["family"], "model": row["model"], "rows": row["rows"], metric: row["score"],
         "": bar(row["score"])}
        for row in model.leaderboard_
    ]  # fmt: skip
    simple = [
        {"baseline": name, metric: score, "": bar(score, base=True)}
        for name, score in sorted(model.baselines_.items(), key=lambda item: -item[1])
    ]
    simple = [{"baseline": "mercer", metric: model.loo_score_, "": bar(model.loo_score_)}, *simple]
    return (
        '<div class="two">'
        + section("Beside simple baselines", table(simple), note="On rows left out in five folds; "
                  "mercer's score is a little optimistic, for the model was chosen by it.")
        + section("Candidates", table(board, most=15), note=f"By left-out {metric}.")
        + "</div>"
    )  # fmt: skip


def _errors(model: Any) -> list[str]:
    """What needs the training rows and left-out predictions, which saved models lack."""
    try:
        _, pairs, _ = model.training_
        left_out = model.best_estimator_.loo_predict()
    except (AttributeError, ValueError) as problem:
        return [section("Errors", f'<p class="soft">{escape(str(problem))}</p>')]
    errors = row_errors(model.outputs_, pairs.y, left_out)
    found = model.diagnose()
    pairs_note = {
        "curve": "True (line) and predicted (dashed), from a small to a large error, with the band "
        "that holds a whole curve nine times in ten.",
        "image": "True (left) and predicted (right), from a small to a large error.",
        "class": "Rows: true; columns: predicted.",
        "labels": "Right (green), missed (dashed) and wrong (red), from a small to a large error.",
    }
    drawn = pictures(model, pairs.y, left_out, errors)
    note = pairs_note.get(model.outputs_.kind_, "All predictions are left out.")
    return [
        section("Left-out predictions", drawn, note=note),
        '<div class="two">',
        section("Errors by label" if "label" in (found["labels"] or [{}])[0] else "By column",
                table(found["labels"], most=25)),
        section("Errors by region", table(found["regions"]),
                note="Mean errors in parts of the inputs that a small tree tells apart."),
        section("Errors by group", table(found["groups"], most=15), note="The largest first."),
        "</div>",
        _examples(model, pairs, left_out, errors),
    ]  # fmt: skip


def _examples(model: Any, pairs: Any, left_out: Any, errors: np.ndarray) -> str:
    """Rows with what was predicted and the training rows behind it."""
    table_ = model.training_.table
    rows = spread_over(errors, EXAMPLES)
    try:
        behind = model.best_estimator_.explain(pairs.X[rows], k=6)
    except ValueError:  # low rank, without weights
        return ""
    inputs = [name for name, kind in model.inputs_.kinds_.items() if kind != "nothing"][:INPUTS]
    cards = []
    for i, named in zip(rows, behind, strict=True):
        cells = [{"column": str(name), "value": _input(table_.columns[name][i])} for name in inputs]
        told = [
            {"": "true", "output": _output(model, pairs.y[i])},
            {"": "predicted", "output": _output(model, left_out[i])},
        ]
        others = [e for e in named if e[0] != i][:5]
        why = [
            {"row": j, "weight": weight, "output": _output(model, item)}
            for j, weight, item in others
        ]
        cards.append(section(f"Row {i}", table(cells), table(told), table(why),
                             note="Its inputs, its output, and the other rows behind the "
                             "prediction."))  # fmt: skip
    return f'<div class="two">{"".join(cards)}</div>'


def _input(cell: Any) -> Any:
    """A cell of an input: an array as a picture."""
    if isinstance(cell, np.ndarray) and cell.ndim > 1:
        return Html(small(cell, (float(cell.min()), float(cell.max()))))
    return Html(spark(cell)) if isinstance(cell, np.ndarray) else shown(cell)


def _output(model: Any, item: Any) -> Any:
    """An output: an image or a curve as a picture, others as their cells."""
    if model.outputs_.kind_ == "image":
        truth = model.training_.pairs.y
        shape = np.shape(truth)[1:]
        return Html(small(np.reshape(item, shape), (float(truth.min()), float(truth.max()))))
    if model.outputs_.kind_ == "curve":
        return Html(spark(np.asarray(item)))
    columns = model.outputs_.space_.write([item])
    if len(columns) == 1:
        return shown(next(iter(columns.values()))[0], 80)
    pairs = [f"{name} {shown(cells[0])}" for name, cells in list(columns.items())[:6]]
    return ", ".join(pairs) + (", …" if len(columns) > 6 else "")
