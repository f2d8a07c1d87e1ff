"""Intervals for each output column by itself, from left-out errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Items
from ..estimators.pairs import group_labels
from ..sets.weights import row_weights, weighted_quantile


@dataclass(frozen=True)
class ColumnIntervals:
    """Intervals around predicted numbers, each column covered by itself.

    Attributes
    ----------
    errors
        Absolute left-out errors, one row for each training row.
    weights
        The weight of each row, the same for every group.
    """

    errors: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, model: Any, y: Items, groups: Items | None) -> ColumnIntervals:
        """Calibrate on the left-out predictions of a fitted model."""
        truth = np.asarray(y, dtype=float).reshape(len(y), -1)
        errors = np.abs(truth - np.asarray(model.loo_predict()).reshape(truth.shape))
        return cls(errors, row_weights(group_labels(groups, len(truth))))

    def around(self, predicted: np.ndarray, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper ends of intervals around predictions."""
        half = [weighted_quantile(column, self.weights, coverage) for column in self.errors.T]
        return predicted - half, predicted + half
