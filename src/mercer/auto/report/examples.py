"""Predicted next to true outputs for each kind of output, and single rows with explanations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...sets.parameters import fewest_groups
from .. import pictures
from ..kinds.base import Comparison

FIGURES, EXAMPLES = 6, 4
SHOWN_INPUTS = 6
"""The largest number of input columns that an example shows."""
EXAMPLE_COVERAGE = 0.9


def figures_or_rows(model: Any, truth: Any, left_out: Any, errors: np.ndarray) -> dict[str, list]:
    """Return pictures or table rows that compare left-out predictions with the truth.

    The key is "figures" for pictures, and "rows" for rows of a table. They go from small to large
    `errors`.
    """
    numbered = [(model._training_row(i), i) for i in _quantile_rows(errors, FIGURES)]
    shown = Comparison(truth, left_out, numbered, partial(_band_half_width, model))
    if model.outputs_.has_pictures:
        return {"figures": model.outputs_.pictures(shown)}
    return {"rows": model.outputs_.compared_rows(shown)}


def _quantile_rows(errors: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of k rows at evenly spaced quantiles of the errors, smallest first."""
    order = np.argsort(errors, kind="stable")
    return order[np.linspace(0.05 * (len(order) - 1), 0.98 * (len(order) - 1), k).astype(int)]


def _band_half_width(model: Any) -> np.ndarray | None:
    """Return half the width of the prediction band of curves; None if there are too few rows."""
    coverage = model.coverage or EXAMPLE_COVERAGE
    pairs = model.training_.pairs
    groups = pairs.n if pairs.groups is None else len(np.unique(pairs.groups))
    if "sets_" not in vars(model) or groups < fewest_groups(coverage):
        return None
    bands = model.sets_.predict(pairs.X[:1], coverage)
    return (np.ravel(bands.upper[0]) - np.ravel(bands.lower[0])) / 2.0


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
                {"": what, "output": model.outputs_.shown(items[i], pairs.y)}
                for what, items in (("true", pairs.y), ("predicted", left_out))
            ],
            "behind": [
                {
                    "row": model._training_row(j),
                    "weight": float(weight),
                    "output": model.outputs_.shown(item, pairs.y),
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
