"""The sections of a report, from what was found to examples with their explanations."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..._files import replacing
from ..measures import row_errors
from .html import Html, bar, joined, page, pixels, section, shown, soft, table, tag
from .pictures import pictures, spread_over
from .svg import spark

EXAMPLES = 4
COLUMNS = 12
"""Columns that are listed before one asks for more."""
INPUTS = 6
"""Input columns that an example shows."""
PICTURES = {
    "curve": "True (line) and predicted (dashed), from a small to a large error, with the band "
    "that holds a whole curve nine times in ten.",
    "image": "True (left) and predicted (right), from a small to a large error.",
    "class": "Rows: true; columns: predicted.",
    "labels": "Right (green), missed (dashed) and wrong (red), from a small to a large error.",
}
"""What the pictures of a kind of output show."""


def write_report(model: Any, path: Path) -> Path:
    """Write the report of a fitted `AutoDependency`."""
    names = ", ".join(map(str, model.outputs_.columns_[:5]))
    title = tag("h1", f"Predicting {names}")
    text = page(names[:80], [title, _head(model), _columns(model), _scores(model), _errors(model)])
    with replacing(path) as draft:
        draft.write_bytes(text.encode("utf-8", "backslashreplace"))
    return path


def _head(model: Any) -> Html:
    best = max(model.baselines_, key=lambda name: model.baselines_[name], default=None)
    tiles = {f"mercer, {model.metric_name_} of left-out rows": model.loo_score_}
    if best is not None:
        tiles[f"{best}, the best simple baseline"] = model.baselines_[best]
    tiles[f"rows, fitted in {model.seconds_:.0f} s"] = f"{model.n_rows_:,}"
    shown_tiles = [
        tag("div", tag("div", value, class_="big"), tag("div", what, class_="soft"))
        for what, value in tiles.items()
    ]
    notes = [soft(note) for note in (f"Chosen: {model.chosen_}", *model.notes_)]
    return tag("section", tag("div", *shown_tiles, class_="tiles"), *notes)


def column_rows(model: Any, names: Iterable[Any]) -> list[dict[str, str]]:
    """Return what each of some columns is used as, holds and looks like."""
    used = dict.fromkeys(model.outputs_.columns_, "output")
    used |= {model.id: "id", model.groups: "groups"}
    rows = []
    for name in names:
        kind = model.spaces_.get(name, "")
        role = "not used" if kind == "nothing" else used.get(name, "input")
        seen = model.found_.get(name, "")
        rows.append({"column": str(name), "used as": role, "holds": kind, "seen": seen})
    return rows


def _columns(model: Any) -> Html:
    rows = column_rows(model, model.spaces_)
    rest = table(rows[COLUMNS:], most=200)
    more = tag("details", tag("summary", f"{len(rows) - COLUMNS} more"), rest) if rest else rest
    return section("Columns", table(rows[:COLUMNS]), more)


def _scores(model: Any) -> Html:
    metric = model.metric_name_
    board = [
        {"family": row["family"], "model": row["model"], "rows": row["rows"], metric: row["score"],
         "": bar(row["score"])}
        for row in model.board_
    ]  # fmt: skip
    simple = [{"baseline": "mercer", metric: model.loo_score_, "": bar(model.loo_score_)}] + [
        {"baseline": name, metric: score, "": bar(score, "bar base")}
        for name, score in sorted(model.baselines_.items(), key=lambda item: -item[1])
    ]
    return _two(
        section("Beside simple baselines", table(simple), note="On rows left out in five folds; "
                "mercer's score is a little optimistic, for the model was chosen by it."),
        section("Candidates", table(board, most=15), note=f"By left-out {metric}."),
    )  # fmt: skip


def _two(*sections: Html) -> Html:
    """Return sections side by side."""
    return tag("div", *sections, class_="two")


def _errors(model: Any) -> Html:
    """Return what needs the training rows and left-out predictions, which saved models lack."""
    try:
        pairs = model.training_.pairs
        left_out = model.best_estimator_.loo_predict()
    except (AttributeError, ValueError) as problem:
        return section("Errors", soft(str(problem)))
    errors = row_errors(model.outputs_, pairs.y, left_out)
    found = model.diagnose()
    drawn = pictures(model, pairs.y, left_out, errors)
    note = PICTURES.get(model.outputs_.kind_, "All predictions are left out.")
    by_label = "label" in (found["labels"] or [{}])[0]
    tables = _two(
        section("Errors by label" if by_label else "By column", table(found["labels"], most=25)),
        section("Errors by region", table(found["regions"]),
                note="Mean errors in parts of the inputs that a small tree tells apart."),
        section("Errors by group", table(found["groups"], most=15), note="The largest first."),
    )  # fmt: skip
    examples = _examples(model, pairs, left_out, errors)
    return joined(section("Left-out predictions", drawn, note=note), tables, examples)


def _examples(model: Any, pairs: Any, left_out: Any, errors: np.ndarray) -> Html:
    """Return rows with what was predicted and the training rows behind it."""
    rows = spread_over(errors, EXAMPLES)
    try:
        behind = model.best_estimator_.explain(pairs.X[rows], k=6)
    except ValueError:  # low rank, without weights
        return Html()
    columns = model.training_.table.columns
    inputs = [name for name, kind in model.inputs_.kinds_.items() if kind != "nothing"][:INPUTS]
    cards = []
    for i, named in zip(rows, behind, strict=True):
        cells = [{"column": str(name), "value": _input(columns[name][i])} for name in inputs]
        told = [
            {"": what, "output": _output(model, items[i])}
            for what, items in (("true", pairs.y), ("predicted", left_out))
        ]
        why = [
            {"row": j, "weight": weight, "output": _output(model, item)}
            for j, weight, item in [other for other in named if other[0] != i][:5]
        ]
        cards.append(section(f"Row {i}", table(cells), table(told), table(why),
                             note="Its inputs, its output, and the other rows behind the "
                             "prediction."))  # fmt: skip
    return _two(*cards)


def _input(cell: Any) -> Any:
    """Return a cell of an input: an array as a picture."""
    if isinstance(cell, np.ndarray) and cell.ndim > 1:
        return _small(cell, cell)
    return spark(cell) if isinstance(cell, np.ndarray) else shown(cell)


def _small(image: np.ndarray, among: np.ndarray) -> Html:
    """Return an image of the size of a few words, as dark as it is among others."""
    return tag("div", pixels(image, (float(among.min()), float(among.max()))), class_="small")


def _output(model: Any, item: Any) -> Any:
    """Return an output: an image or a curve as a picture, others as their cells."""
    if model.outputs_.kind_ == "image":
        truth = model.training_.pairs.y
        return _small(np.reshape(item, np.shape(truth)[1:]), truth)
    if model.outputs_.kind_ == "curve":
        return spark(np.asarray(item))
    written = model.outputs_.one(item, named=True, flat=True)
    if not isinstance(written, dict):
        return shown(written, 80)
    pairs = [f"{name} {shown(cell)}" for name, cell in list(written.items())[:6]]
    return ", ".join(pairs) + (", …" if len(written) > 6 else "")
