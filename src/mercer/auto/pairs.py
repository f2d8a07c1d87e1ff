"""Training data in the form that models take."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Items, count, take
from ..estimators import Blend, MissingTargets
from ..spaces.records import fill_missing_fields, known_fields


@dataclass(frozen=True)
class Pairs:
    """Training pairs of inputs X and outputs y, with groups and sample weights."""

    X: Items
    y: Items
    groups: np.ndarray | None
    weights: np.ndarray | None

    @property
    def n(self) -> int:
        """The number of training pairs."""
        return count(self.y)

    def rows(self, index: np.ndarray) -> Pairs:
        """Return the training pairs at the indices `index`."""
        groups = None if self.groups is None else self.groups[index]
        weights = None if self.weights is None else self.weights[index]
        return Pairs(take(self.X, index), take(self.y, index), groups, weights)

    @cached_property
    def known(self) -> np.ndarray | None:
        """A mask (records, fields) of values that are not missing; None if no value is missing."""
        if not (isinstance(self.y, np.ndarray) and self.y.dtype == object):
            return None
        if not isinstance(self.y[0], dict):
            return None
        known = known_fields(self.y, list(self.y[0]))
        return None if known.all() else known

    @cached_property
    def complete(self) -> Items:
        """The outputs, with missing fields of records replaced by known values of other records."""
        return (
            self.y
            if self.known is None
            else fill_missing_fields(self.y, list(self.y[0]), self.known)
        )

    def fit_model(self, model: Any) -> Any:
        """Fit a model to the pairs without warnings, and return the model.

        Where fields are missing, a copy of the model is fitted for each set of fields that are
        known in the same rows.
        """
        if self.known is not None and not isinstance(model, Blend):
            model = MissingTargets(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return model.fit(self.X, self.y, groups=self.groups, sample_weight=self.weights)
