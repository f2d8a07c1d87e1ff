"""Curves as outputs: the values of one curve in several columns, or in one cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.arrays import Items
from ...defaults import default_kernel
from ...kernels import Kernel
from ...spaces import Curves, Space
from ..pictures import Picture, curve, line, sparkline
from .base import Comparison, Kind, Rows
from .numbers import NumberKind, errors_of, rows_of


class CurveKind(NumberKind):
    """Curves, which are compared as a whole."""

    kind_ = "curve"
    metric_name = "R²"
    caption = (
        "True (line) and predicted (dashed), from a small to a large error, with the band that "
        "contains a whole curve nine times in ten."
    )
    has_column_intervals = False
    space: Space = Curves()

    def kernel(self, y: Items, weights: np.ndarray | None = None) -> Kernel:
        """Return the default kernel of the space, in one unit for all values."""
        return default_kernel(self.space)

    @property
    def is_one_number(self) -> bool:
        """Whether an output is a single number; a curve is several."""
        return False

    def metric(self, truth: Items, predicted: Items, weights: np.ndarray | None = None) -> float:
        """Return R² over all values, with sample weights."""
        Y = rows_of(truth)
        w = np.ones(len(Y)) if weights is None else weights
        total = (w @ (Y - w @ Y / w.sum()) ** 2).sum()
        lost = (w @ errors_of(truth, predicted) ** 2).sum()
        return float(1.0 - lost / total) if total > 0 else 0.0

    def row_errors(self, truth: Items, predicted: Items) -> np.ndarray:
        """Return the root mean squared error of each row, in units of the spread of all values."""
        total = float(np.sqrt((rows_of(truth).std(axis=0) ** 2).mean()))
        return np.sqrt((errors_of(truth, predicted) ** 2).mean(axis=1)) / (total or 1.0)

    def label_scores(self, truth: Items, predicted: Items) -> Rows:
        """Return an empty table: a curve has no columns of its own."""
        return Kind.label_scores(self, truth, predicted)

    def pictures(self, shown: Comparison) -> list[Picture]:
        """Return the true and the predicted curve of some rows, and the error by position."""
        Y, G = rows_of(shown.truth), rows_of(shown.left_out)
        half = shown.half_width()
        error = line("root mean squared error", np.sqrt(((Y - G) ** 2).mean(axis=0)))
        curves = [curve(f"row {number}", Y[i], G[i], half) for number, i in shown.numbered]
        return [*curves, error]

    def shown(self, item: Any, truth: Items) -> Any:
        """Return a small plot of a curve."""
        return sparkline(np.asarray(item))
