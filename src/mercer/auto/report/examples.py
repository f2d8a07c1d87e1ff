"""Predicted next to true outputs for each kind of output, and single rows with explanations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..measures import as_sets
from . import pictures
from .pictures import Picture

FIGURES, EXAMPLES = 6, 4
PLOTTED_COLUMNS = 6
"""The largest number of output columns that have a separate plot."""
SHOWN_INPUTS = 6
"""The largest number of input columns that an example shows."""
CLASSES = 20
EXAMPLE_COVERAGE = 0.9
LABELS = 20


@dataclass(frozen=True)
class LabelComparison:
    """Labels of one row: correctly predicted, missed, and wrongly predicted."""

    right: list[str]
    missed: list[str]
    wrong: list[str]


def figures_or_rows(model: Any, truth: Any, left_out: Any, errors: np.ndarray) -> dict[str, list]:
    """Return pictures or table rows that compare left-out predictions with the truth.

    The key is "figures" for pictures, and "rows" for rows of a table. They go from small to large
    `errors`.
    """
    draw = _DRAW_BY_KIND.get(model.outputs_.kind_)
    rows = _quantile_rows(errors, FIGURES)
    if draw is not None:
        return {"figures": draw(model, truth, left_out, rows)}
    if model.outputs_.kind_ == "labels":
        return {"rows": _label_rows(model, truth, left_out, rows)}
    pairs = [(model._training_row(i), truth[i], left_out[i]) for i in rows]
    return {"rows": [{"row": i, "true": str(a), "predicted": str(b)} for i, a, b in pairs]}


def _quantile_rows(errors: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of k rows at evenly spaced quantiles of the errors, smallest first."""
    order = np.argsort(errors, kind="stable")
    return order[np.linspace(0.05 * (len(order) - 1), 0.98 * (len(order) - 1), k).astype(int)]


def _title(model: Any, i: int) -> str:
    """Return the title of a picture of row `i`."""
    return f"row {model._training_row(i)}"


def _draw_numbers(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Picture]:
    """Return a scatter plot of predicted against true values for each output column."""
    Y, G = (np.asarray(A, dtype=float).reshape(len(truth), -1) for A in (truth, left_out))
    names = list(model.outputs_.columns_)
    names = names if len(names) == Y.shape[1] else [f"value {j + 1}" for j in range(Y.shape[1])]
    some = enumerate(names[:PLOTTED_COLUMNS])
    return [pictures.scatter(str(name), Y[:, j], G[:, j]) for j, name in some]


def _draw_curves(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Picture]:
    """Return a plot of the true and the predicted curve for each row index in `rows`."""
    Y, G = (np.asarray(A, dtype=float).reshape(len(truth), -1) for A in (truth, left_out))
    half = _band_half_width(model)
    error = pictures.line("root mean squared error", np.sqrt(((Y - G) ** 2).mean(axis=0)))
    return [
        *(pictures.curve(_title(model, i), Y[i], G[i], half) for i in rows),
        error,
    ]


def _band_half_width(model: Any) -> np.ndarray | None:
    """Return half the width of the prediction band of curves; None if there are too few rows."""
    try:
        bands = model.sets_.predict(model.training_.pairs.X[:1], model.coverage or EXAMPLE_COVERAGE)
    except (AttributeError, ValueError):
        return None
    return (np.ravel(bands.upper[0]) - np.ravel(bands.lower[0])) / 2.0


def _draw_images(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Picture]:
    """Return a picture of the true and the predicted image for each row index in `rows`."""
    Y = np.asarray(truth, dtype=float)
    G = np.asarray(left_out, dtype=float).reshape(Y.shape)
    limits = (float(Y.min()), float(Y.max()))
    return [pictures.image_pair(_title(model, i), Y[i], G[i], limits) for i in rows]


def _draw_classes(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Picture]:
    """Return a list of one picture, the confusion matrix; no picture for many classes."""
    few = len({str(item) for item in truth}) <= CLASSES
    return [pictures.confusion_matrix("", truth, left_out)] if few else []


def _draw_rankings(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Picture]:
    """Return a picture of the true and the predicted ranking for each row index in `rows`."""
    names = model.outputs_.cells_.label_names(np.shape(truth)[1])
    orders = [
        [[names[j] for j in np.argsort(np.asarray(items)[i], kind="stable")] for i in rows]
        for items in (truth, left_out)
    ]
    return [pictures.ranking(_title(model, i), a, b) for i, a, b in zip(rows, *orders, strict=True)]


_DRAW_BY_KIND: dict[str, Any] = {
    "number": _draw_numbers, "curve": _draw_curves, "image": _draw_images, "class": _draw_classes,
    "ranking": _draw_rankings,
}  # fmt: skip


def _label_rows(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[dict[str, Any]]:
    """Return the right, missed and wrong labels for each row index in `rows`."""
    pairs = ([as_sets(model.outputs_, [items[i]])[0] for i in rows] for items in (truth, left_out))
    return [
        {"row": model._training_row(i), "labels": _compare_labels(*pair)}
        for i, *pair in zip(rows, *pairs, strict=True)
    ]


def _compare_labels(true: set, predicted: set) -> LabelComparison:
    """Return the right, missed and wrong labels of a predicted label set."""
    parts = (true & predicted, true - predicted, predicted - true)
    return LabelComparison(
        *([str(label) for label in sorted(part, key=str)[:LABELS]] for part in parts)
    )


def examples_of(model: Any, pairs: Any, left_out: Any, errors: np.ndarray) -> list[dict[str, Any]]:
    """Return some rows with their inputs, outputs, and the training rows behind the prediction.

    `pairs` are the training pairs, with their left-out predictions and the `errors` of these.
    """
    rows = _quantile_rows(errors, EXAMPLES)
    try:
        behind = model.best_estimator_.explain(pairs.X[rows], k=6)
    except ValueError:  # low rank, without weights
        return []
    columns = model.training_.table.columns
    names = [name for name, kind in model.inputs_.kinds_.items() if kind != "nothing"][
        :SHOWN_INPUTS
    ]
    return [
        {
            "row": model._training_row(i),
            "inputs": [{"column": str(n), "value": _show_input(columns[n][i])} for n in names],
            "outputs": [
                {"": what, "output": _show_output(model, items[i])}
                for what, items in (("true", pairs.y), ("predicted", left_out))
            ],
            "behind": [
                {
                    "row": model._training_row(j),
                    "weight": float(weight),
                    "output": _show_output(model, item),
                }
                for j, weight, item in [other for other in named if other[0] != i][:5]
            ],
        }
        for i, named in zip(rows, behind, strict=True)
    ]


def _show_input(cell: Any) -> Any:
    """Return an input cell for the report: an array as a picture, other cells unchanged."""
    if isinstance(cell, np.ndarray) and cell.ndim > 1:
        return pictures.small_image(cell, (float(cell.min()), float(cell.max())))
    return pictures.sparkline(cell) if isinstance(cell, np.ndarray) else cell


def _show_output(model: Any, item: Any) -> Any:
    """Return an output for the report: an image or a curve as a picture, others as text."""
    if model.outputs_.kind_ == "image":
        truth = model.training_.pairs.y
        image = np.reshape(item, np.shape(truth)[1:])
        return pictures.small_image(image, (float(truth.min()), float(truth.max())))
    if model.outputs_.kind_ == "curve":
        return pictures.sparkline(np.asarray(item))
    written = model.outputs_.format_one(item, named=True, flat=True)
    if not isinstance(written, dict):
        return written
    some = [f"{name} {_format_cell(cell)}" for name, cell in list(written.items())[:6]]
    return ", ".join(some) + (", …" if len(written) > 6 else "")


def _format_cell(cell: Any) -> str:
    """Return a cell as text, with floats rounded to four digits."""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
