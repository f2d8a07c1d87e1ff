"""Predicted next to true outputs for each kind of output, and single rows with explanations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..measures import as_sets
from . import pictures
from .pictures import Picture

FIGURES, EXAMPLES = 6, 4
COLUMNS = 6
"""The largest number of output columns that have a separate plot."""
INPUTS = 6
"""The largest number of input columns that an example shows."""
CLASSES = 20
COVERAGE = 0.9
LABELS = 20


@dataclass(frozen=True)
class Chips:
    """The labels of one row by result: predicted and true, missed, and wrongly predicted."""

    right: list[str]
    missed: list[str]
    wrong: list[str]


def shown_outputs(model: Any, truth: Any, left_out: Any, errors: np.ndarray) -> dict[str, list]:
    """Return figures or table rows of left-out predictions, ordered from small to large errors."""
    draw = _DRAWN.get(model.outputs_.kind_)
    rows = _spread_over(errors, FIGURES)
    if draw is not None:
        return {"figures": draw(model, truth, left_out, rows)}
    if model.outputs_.kind_ == "labels":
        return {"rows": _label_rows(model, truth, left_out, rows)}
    pairs = [(int(i), truth[i], left_out[i]) for i in rows]
    return {"rows": [{"row": i, "true": str(a), "predicted": str(b)} for i, a, b in pairs]}


def _spread_over(errors: np.ndarray, k: int) -> np.ndarray:
    """Return k row indices at evenly spaced quantiles of the errors, small errors first."""
    order = np.argsort(errors, kind="stable")
    return order[np.linspace(0.05 * (len(order) - 1), 0.98 * (len(order) - 1), k).astype(int)]


def _numbers(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Picture]:
    """Return a scatter plot of predicted against true values for each output column."""
    Y, G = (np.asarray(A, dtype=float).reshape(len(truth), -1) for A in (truth, left_out))
    names = list(model.outputs_.columns_)
    names = names if len(names) == Y.shape[1] else [f"value {j + 1}" for j in range(Y.shape[1])]
    some = enumerate(names[:COLUMNS])
    return [pictures.scatter(str(name), Y[:, j], G[:, j]) for j, name in some]


def _curves(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Picture]:
    """Return a plot of the true and the predicted curve for each of the given rows."""
    Y, G = (np.asarray(A, dtype=float).reshape(len(truth), -1) for A in (truth, left_out))
    half = _half_width(model)
    error = pictures.line("root mean squared error", np.sqrt(((Y - G) ** 2).mean(axis=0)))
    return [*(pictures.curve(f"row {i}", Y[i], G[i], half) for i in rows), error]


def _half_width(model: Any) -> np.ndarray | None:
    """Return half the width of the prediction band of curves; None if there are too few rows."""
    try:
        bands = model.sets_.predict(model.training_.pairs.X[:1], model.coverage or COVERAGE)
    except (AttributeError, ValueError):
        return None
    return (np.ravel(bands.upper[0]) - np.ravel(bands.lower[0])) / 2.0


def _images(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Picture]:
    """Return a picture of the true and the predicted image for each of the given rows."""
    Y = np.asarray(truth, dtype=float)
    G = np.asarray(left_out, dtype=float).reshape(Y.shape)
    limits = (float(Y.min()), float(Y.max()))
    return [pictures.pair(f"row {i}", Y[i], G[i], limits) for i in rows]


def _classes(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Picture]:
    """Return a picture of the confusion matrix; an empty list if there are many classes."""
    few = len({str(item) for item in truth}) <= CLASSES
    return [pictures.confusion("", truth, left_out)] if few else []


def _rankings(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Picture]:
    """Return a picture of the true and the predicted ranking for each of the given rows."""
    names = model.outputs_.cells_.names(np.shape(truth)[1])
    orders = [
        [[names[j] for j in np.argsort(np.asarray(items)[i], kind="stable")] for i in rows]
        for items in (truth, left_out)
    ]
    return [pictures.ranking(f"row {i}", a, b) for i, a, b in zip(rows, *orders, strict=True)]


_DRAWN: dict[str, Any] = {
    "number": _numbers, "curve": _curves, "image": _images, "class": _classes,
    "ranking": _rankings,
}  # fmt: skip


def _label_rows(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[dict[str, Any]]:
    """Return the right, missed and wrong labels of each of the given rows."""
    pairs = ([as_sets(model.outputs_, [items[i]])[0] for i in rows] for items in (truth, left_out))
    return [{"row": int(i), "labels": _chips(*pair)} for i, *pair in zip(rows, *pairs, strict=True)]


def _chips(true: set, predicted: set) -> Chips:
    """Compare a true and a predicted label set: right, missed and wrong labels."""
    parts = (true & predicted, true - predicted, predicted - true)
    return Chips(*([str(label) for label in sorted(part, key=str)[:LABELS]] for part in parts))


def examples_of(model: Any, pairs: Any, left_out: Any, errors: np.ndarray) -> list[dict[str, Any]]:
    """Return example rows with inputs, outputs, and the training rows with most weight."""
    rows = _spread_over(errors, EXAMPLES)
    try:
        behind = model.best_estimator_.explain(pairs.X[rows], k=6)
    except ValueError:  # low rank, without weights
        return []
    columns = model.training_.table.columns
    names = [name for name, kind in model.inputs_.kinds_.items() if kind != "nothing"][:INPUTS]
    return [
        {
            "row": int(i),
            "inputs": [{"column": str(n), "value": _input(columns[n][i])} for n in names],
            "outputs": [
                {"": what, "output": _output(model, items[i])}
                for what, items in (("true", pairs.y), ("predicted", left_out))
            ],
            "behind": [
                {"row": int(j), "weight": float(weight), "output": _output(model, item)}
                for j, weight, item in [other for other in named if other[0] != i][:5]
            ],
        }
        for i, named in zip(rows, behind, strict=True)
    ]


def _input(cell: Any) -> Any:
    """Return an input cell for the report: an array as a picture, other cells unchanged."""
    if isinstance(cell, np.ndarray) and cell.ndim > 1:
        return pictures.pixels(cell, (float(cell.min()), float(cell.max())))
    return pictures.spark(cell) if isinstance(cell, np.ndarray) else cell


def _output(model: Any, item: Any) -> Any:
    """Return an output for the report: an image or a curve as a picture, others as text."""
    if model.outputs_.kind_ == "image":
        truth = model.training_.pairs.y
        image = np.reshape(item, np.shape(truth)[1:])
        return pictures.pixels(image, (float(truth.min()), float(truth.max())))
    if model.outputs_.kind_ == "curve":
        return pictures.spark(np.asarray(item))
    written = model.outputs_.one(item, named=True, flat=True)
    if not isinstance(written, dict):
        return written
    some = [f"{name} {_short(cell)}" for name, cell in list(written.items())[:6]]
    return ", ".join(some) + (", …" if len(written) > 6 else "")


def _short(cell: Any) -> str:
    """Return a cell as text, with numbers rounded to four digits."""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
